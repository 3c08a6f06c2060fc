# SPDX-License-Identifier: Apache-2.0
"""The routes that an object cannot take, concluded from the refusals of those that were tried."""

from __future__ import annotations

from itertools import takewhile

from .._core.edges.edge import Transfer
from .._core.edges.mapper import Refused
from .search import Edges, begins

__all__ = ["DeadEnds"]


class DeadEnds:
    """The routes that need not be tried for an object, by their first edges."""

    __slots__ = ("_refused", "_unreached")

    def __init__(self) -> None:
        # The edges up to the one that refused; and those before it, with a node that cannot reach
        # the memory, so that other ways from there to the node are dead unless they copy.
        self._refused: list[Edges] = []
        self._unreached: list[tuple[Edges, str]] = []

    def add(self, route: Edges, reason: Refused) -> None:
        """Learn from an edge of `route` that refused the object."""
        self._refused.append(route[: reason.took + 1])
        if reason.out_of_reach:
            self._unreached.append((route[: reason.took], route[reason.took].spec.target))

    def has(self, route: Edges) -> bool:
        """True if the route would be refused too. Called on each mapping, hence plain loops."""
        for start in self._refused:
            if begins(route, start):
                return True
        for start, node in self._unreached:
            if begins(route, start) and _reaches(route[len(start) :], node):
                return True
        return False


def _reaches(route: Edges, node: str) -> bool:
    """True if the route reaches the node before it copies."""
    uncopied = takewhile(lambda edge: edge.spec.transfer is not Transfer.COPY, route)
    return any(edge.spec.target == node for edge in uncopied)
