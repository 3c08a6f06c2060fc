# SPDX-License-Identifier: Apache-2.0
"""`dev.py edges`: the page on which mappings copy, made from the declarations of the plugins."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from pathlib import Path

import samebytes
from devtools.blocks import filled
from samebytes.plugins import MapperSpec

PAGE = Path(__file__).resolve().parents[1] / "docs" / "explanation" / "copy-or-not.md"
_BLOCK = "python3 dev.py edges"
_COLUMNS = "| edge | the bytes | only | access | how |\n|---|---|---|---|---|\n"


def edges_of_all_plugins() -> list[MapperSpec]:
    """The edges that the installed plugins declare."""
    return [edge for plugin in samebytes.installed_plugins() for edge in plugin.edges]


def page(edges: Iterable[MapperSpec]) -> str:
    """The page with a row for each pair of nodes and each way to get from one to the other.

    Args:
        edges: the edges that plugins declare; those for tensors and for frames share a row.
    """
    ordered = sorted(edges, key=_order)
    rows = [_row(list(same)) for _, same in groupby(ordered, key=_order)]
    return filled(PAGE.read_text(), {_BLOCK: _COLUMNS + "\n".join(rows)})


def _order(edge: MapperSpec) -> tuple[str, str, int]:
    return edge.source, edge.target, list(samebytes.Transfer).index(edge.transfer)


def _row(same: list[MapperSpec]) -> str:
    first = min(same, key=lambda edge: edge.level != "tensor")
    only = dict.fromkeys(edge.only for edge in same if edge.only)
    access = dict.fromkeys(mode for edge in same for mode in edge.access)
    cells = first.name, first.transfer.name, " or ".join(only), ", ".join(access), first.summary
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    PAGE.write_text(page(edges_of_all_plugins()))
