# SPDX-License-Identifier: Apache-2.0
"""Pictures of what a command shows on a terminal: rich draws what a pseudoterminal gave."""

from __future__ import annotations

import fcntl
import os
import re
import struct
import subprocess
import termios
from collections.abc import Sequence
from contextlib import suppress
from io import StringIO
from pathlib import Path

from rich.console import Console
from rich.text import Text

__all__ = ["drawn", "shown"]

_COLUMNS = 80
_SVG = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">
<style>
text {{ font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; }}
.{unique_id}-matrix {{ font-size: {char_height}px; line-height: {line_height}px; }}
.{unique_id}-title {{ font-size: 18px; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect width="{terminal_width}" height="{terminal_height}"/>
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""
"""Without the web fonts of rich's own format: a page of ours loads nothing from elsewhere."""


def shown(command: Sequence[str | Path], folder: Path, status: int = 0) -> str:
    """All that a command writes to a terminal of 80 columns, with its escape sequences.

    Args:
        command: the program and its arguments.
        folder: in which it runs.
        status: with which it ends.
    """
    terminal, end = os.openpty()
    with os.fdopen(terminal, "rb", buffering=0) as reader:
        with os.fdopen(end, "wb", buffering=0) as writer:
            fcntl.ioctl(writer, termios.TIOCSWINSZ, struct.pack("HHHH", 50, _COLUMNS, 0, 0))
            environment = {**os.environ, "TERM": "xterm-256color"}
            started = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=writer, stderr=writer, cwd=folder,
                env={k: v for k, v in environment.items() if k not in ("COLUMNS", "NO_COLOR")},
            )  # fmt: skip
        parts = []
        with started as process, suppress(OSError):  # EIO: nobody writes any more
            while part := reader.read(4096):
                parts.append(part)
    text = b"".join(parts).decode()
    if process.returncode != status:
        raise SystemExit(f"{command} ended with {process.returncode}:\n{text}")
    return text


def drawn(line: str, text: str) -> str:
    """The SVG of a terminal.

    Args:
        line: what was typed.
        text: what came; of a line that was written again, the last is drawn.
    """
    console = Console(record=True, width=_COLUMNS, file=StringIO(), legacy_windows=False)
    console.print(Text(f"$ {line}", style="bold"))
    for row in text.rstrip().split("\r\n"):
        plain = Text.from_ansi(row)
        # A terminal breaks a line where it ends, be that within a word.
        for part in plain.divide(range(_COLUMNS, len(plain), _COLUMNS)):
            console.print(part)
    svg = console.export_svg(title=line, code_format=_SVG, unique_id="terminal")
    return re.sub(r"[ \t]+$", "", svg, flags=re.MULTILINE)
