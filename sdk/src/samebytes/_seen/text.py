# SPDX-License-Identifier: Apache-2.0
"""Tables as text and as HTML, texts that a notebook shows as they are printed.

`html` is imported when a notebook asks: no program should wait for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

__all__ = ["Explanation", "preformatted", "table_as_html", "table_lines"]


class Explanation(str):
    """A text of several lines; a notebook shows the lines, not the repr of a str."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return preformatted(self)


def preformatted(text: str) -> str:
    """HTML that shows a text as it is printed."""
    from html import escape

    # Notebooks give <pre> a font whose columns do not stand below each other, and break words.
    return f'<pre style="font-family:monospace;word-break:normal">{escape(text)}</pre>'


def table_lines(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """The lines of a table of text, with its headers in capitals.

    Args:
        headers: of the columns.
        rows: a cell for each column.
    """
    lines = [[header.upper() for header in headers], *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = [cell.ljust(width) for cell, width in zip(line, widths, strict=True)]
        yield "  ".join(cells).rstrip()


def table_as_html(headers: Sequence[str], rows: Sequence[Sequence[object]], foot: str = "") -> str:
    """A table of HTML.

    Args:
        headers: of the columns.
        rows: a cell for each column.
        foot: lines below it, as text.
    """
    from html import escape

    # A page may align all cells to the right, as notebooks do: good for numbers, not for words.
    numbers = [all(map(_is_number, column)) for column in zip(*rows, strict=True)]
    sides = ["right" if number else "left" for number in numbers] or ["left"] * len(headers)

    def line(tag: str, cells: Sequence[object]) -> str:
        return "".join(
            f'<{tag} style="text-align:{side}">{escape(str(cell))}</{tag}>'
            for side, cell in zip(sides, cells, strict=True)
        )

    head = line("th", headers)
    body = "".join(f"<tr>{line('td', row)}</tr>" for row in rows)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f"{table}{preformatted(foot)}" if foot else table


def _is_number(cell: object) -> bool:
    try:
        float(str(cell))
    except ValueError:
        return False
    return True
