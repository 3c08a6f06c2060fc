# SPDX-License-Identifier: Apache-2.0
"""The edges of the installed plugins, joined into one link for each pair of nodes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from .._core.edges.edge import MapperSpec, Transfer
from .._plugins.listing import installed_plugins

__all__ = ["Link", "declared_edges", "links_of", "nodes_of"]


@dataclass(frozen=True, slots=True)
class Link:
    """All edges between two nodes, in both directions.

    Attributes:
        first, second: the nodes, in the order of their names.
        forth: the transfers of the edges from `first` to `second`, the cheapest first.
        back: the transfers of those from `second` to `first`.
    """

    first: str
    second: str
    forth: tuple[Transfer, ...] = field(default=())
    back: tuple[Transfer, ...] = field(default=())

    def arrows(self, *, copies: bool) -> tuple[bool, bool]:
        """Return whether edges that copy, or those that do not, lead to `first` and to `second`."""
        return (
            any((t is Transfer.COPY) is copies for t in self.back),
            any((t is Transfer.COPY) is copies for t in self.forth),
        )

    @property
    def best(self) -> Transfer:
        """The cheapest transfer in either direction."""
        return min((*self.forth, *self.back), key=_ORDER.index)


_ORDER = list(Transfer)


def declared_edges() -> list[MapperSpec]:
    """The edges of all plugins that are in use, in the order of their names."""
    edges = [edge for plugin in installed_plugins() for edge in plugin.edges]
    return sorted(edges, key=lambda e: (e.source, e.target, _ORDER.index(e.transfer), e.level))


def nodes_of(edges: Iterable[MapperSpec]) -> list[str]:
    """Every node that an edge begins or ends at, by name."""
    return sorted({node for edge in edges for node in (edge.source, edge.target)})


def links_of(edges: Iterable[MapperSpec]) -> list[Link]:
    """One link for each pair of nodes with an edge between them, by name.

    An edge from a node to itself joins nothing, and is left out.
    """
    found: dict[tuple[str, str], tuple[set[Transfer], set[Transfer]]] = {}
    for edge in edges:
        if edge.source != edge.target:
            first, second = sorted((edge.source, edge.target))
            both = found.setdefault((first, second), (set(), set()))
            both[edge.source == second].add(edge.transfer)
    return [
        Link(first, second, *(tuple(sorted(each, key=_ORDER.index)) for each in both))
        for (first, second), both in sorted(found.items())
    ]
