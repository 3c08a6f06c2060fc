# SPDX-License-Identifier: Apache-2.0
"""Print tables: with rich on a terminal if it is installed, else as aligned text."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from shutil import get_terminal_size
from textwrap import fill

from .._seen.text import table_lines

__all__ = ["print_table"]

_ENOUGH = 40
"""The width in characters in which a column of sentences is readable."""

_BETWEEN = 4
"""The most characters that a column takes besides its text."""


def print_table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows below their headers.

    If a terminal leaves the last column less than `_ENOUGH`, it is shown below the others.
    """
    flat = [[" ".join(cell.split()) for cell in row] for row in rows]
    if sys.stdout.isatty() and (room := _room_below(headers, flat)):
        _print_below(headers, flat, room)
    elif not (sys.stdout.isatty() and _print_rich(headers, flat)):
        _print_plain(headers, flat)


def _room_below(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    """The width of a terminal that shows the last cell below the others; else 0."""
    room = get_terminal_size().columns
    *first, last = (max(map(len, column)) + _BETWEEN for column in zip(headers, *rows, strict=True))
    return room if min(last, _ENOUGH) > room - sum(first) else 0


def _print_below(headers: Sequence[str], rows: Sequence[Sequence[str]], room: int) -> None:
    """Print each row, and its last cell as indented lines below it."""
    lines = table_lines(headers[:-1], [row[:-1] for row in rows])
    for line, row in zip(lines, [headers, *rows], strict=True):
        last = row[-1].upper() if row is headers else row[-1]
        print(line)
        if last:
            print(fill(last, room, initial_indent="    ", subsequent_indent="    "))


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
        table.add_row(*map(Text, row))  # rich would take [ffmpeg] in a string for a style
    Console(file=sys.stdout).print(table)
    return True
