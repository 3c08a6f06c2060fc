# SPDX-License-Identifier: Apache-2.0
"""`dev.py edges`: the page that says which mapping copies, from what the plugins declare."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from pathlib import Path

import samebytes
from samebytes.plugins import MapperSpec

__all__ = ["PAGE", "edges_of_all_plugins", "page"]

PAGE = Path(__file__).resolve().parents[1] / "docs" / "explanation" / "copy-or-not.md"
_HEAD = """\
# Does this mapping copy?

All edges of all plugins, as they declare them: this page is written by `python3 dev.py edges`, and
a test compares it. A mapping between two frameworks is one edge, or several in a row; it copies
only if one of them does.

| word | the bytes |
|---|---|
| ALIAS | stay where they are: the target gets the same address, or the same handle |
| IMPORT | stay where they are: the target opens the same memory by another handle |
| MAP | stay where they are: the driver makes them readable at an address, and may copy to do so |
| COPY | are written to new memory, only with `copy=True`, and counted in `stats()` |

Where an edge takes only some memory of its source, the third column says which. Other memory takes
another edge of the table, or is refused. An empty cell promises nothing for unusual layouts:
OpenCV, for instance, takes no rows from the bottom up. `print(samebytes.route(x, "openvino"))` says
what happens to `x`. [Find out why something is copied](../how-to/find-out-why-it-copies.md) says
what to do about it, and [the matrix](../reference/matrix.md) has what was tried, by layout.
"""
_COLUMNS = "\n| edge | the bytes | only | access | how |\n|---|---|---|---|---|\n"


def edges_of_all_plugins() -> list[MapperSpec]:
    """The edges that the installed plugins declare."""
    return [edge for plugin in samebytes.installed_plugins() for edge in plugin.edges]


def page(edges: Iterable[MapperSpec]) -> str:
    """The text: a row for each pair of nodes and each way to get from one to the other.

    Args:
        edges: what the plugins declare; those for tensors and for frames share a row.
    """
    ordered = sorted(edges, key=_order)
    rows = [_row(list(same)) for _, same in groupby(ordered, key=_order)]
    return f"{_HEAD}{_COLUMNS}" + "\n".join(rows) + "\n"


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
