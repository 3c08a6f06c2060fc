# SPDX-License-Identifier: Apache-2.0
"""Print tables: with rich on a terminal if it is installed, else as aligned text."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from .._seen.text import table_lines

__all__ = ["print_table"]


def print_table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows below their headers."""
    flat = [[" ".join(cell.split()) for cell in row] for row in rows]
    if not (sys.stdout.isatty() and _print_rich(headers, flat)):
        _print_plain(headers, flat)


def _print_plain(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    for line in table_lines(headers, rows):
        print(line)


def _print_rich(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    try:
        from rich.box import SIMPLE_HEAD
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text
    except ImportError:
        return False
    table = Table(*headers, box=SIMPLE_HEAD)
    for row in rows:
        table.add_row(*map(Text, row))  # not strings, in which rich takes [ffmpeg] for a style
    Console(file=sys.stdout).print(table)
    return True
