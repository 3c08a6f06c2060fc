# SPDX-License-Identifier: Apache-2.0
"""The tables of docs/reference/frame-metadata.md, whose cells the tests of this folder try."""

from __future__ import annotations

from pathlib import Path

__all__ = ["ENTRIES_OF_THE_PAGE", "FILES", "WAYS", "Table", "reasons"]

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "frame-metadata.md"

Table = dict[str, dict[str, str]]
"""Outcomes by column and row, or by row and column: "kept", "applied", "dropped", "refused"."""


def _section(heading: str) -> str:
    text = PAGE.read_text().partition(f"\n## {heading}\n")[2]
    assert text, f"{PAGE} has no section {heading!r}"
    return text.partition("\n## ")[0]


def _rows(section: str) -> list[list[str]]:
    """The cells of all tables of a section, without the lines that only rule them."""
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]


def _ways() -> Table:
    """Outcomes by way and property: the section has three tables with the same rows."""
    found: Table = {}
    for first, *cells in _rows(_section("What becomes of it")):
        if not first:
            ways = cells
            found |= {way: {} for way in ways}
            continue
        for way, cell in zip(ways, cells, strict=True):
            found[way][first.strip("`")] = cell
    return found


def _files() -> Table:
    """Outcomes by kind of file and entry."""
    (_, *entries), *rows = _rows(_section("What files say"))
    names = [entry.strip("`") for entry in entries]
    return {file: dict(zip(names, cells, strict=True)) for file, *cells in rows}


def reasons(heading: str) -> dict[str, str]:
    """The lines below the tables of a section: what is said of each way, or kind of file."""
    lines = [line[2:] for line in _section(heading).splitlines() if line.startswith("* ")]
    return {line.partition(": ")[0]: line.partition(": ")[2] for line in lines}


WAYS, FILES = _ways(), _files()
ENTRIES_OF_THE_PAGE = {
    line.split("`")[1]
    for line in PAGE.read_text().partition("## What becomes of it")[0].splitlines()
    if line.startswith("| `")
}
