# SPDX-License-Identifier: Apache-2.0
"""The search for routes from node to node, cheapest first; a route is a tuple of edges here."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from operator import is_
from typing import TYPE_CHECKING

from .._core.edges.edge import Transfer

if TYPE_CHECKING:
    from .._plugins.tables import Edge

__all__ = [
    "MAX_TRIES",
    "Edges",
    "begins",
    "copies",
    "search_routes",
    "usable",
]

Edges = tuple["Edge", ...]
"""A route, as the edges that it goes over."""

MAX_TRIES = 32
"""The most routes without a copy, and with one, that are tried when edges refuse an object."""

# The longest route of the design has five hops; more would be a mistake in the tables.
_MAX_HOPS = 6


def usable(
    edges: list[Edge], level: str, access: str, image_format: str | None
) -> tuple[list[Edge], list[tuple[Edge, str]]]:
    """Split the edges into those that can serve, and those that cannot, with the reasons."""
    good: list[Edge] = []
    bad: list[tuple[Edge, str]] = []
    for edge in edges:
        spec = edge.spec
        if not spec.serves(level):
            continue
        if edge.missing is not None:
            bad.append((edge, edge.missing))
        elif access not in spec.access:
            what = "it copies, and serves" if spec.transfer is Transfer.COPY else "it serves"
            bad.append((edge, f'{what} access {"/".join(spec.access)}, not "{access}"'))
        elif (
            level == "frame"
            and image_format
            and spec.formats
            and (image_format not in spec.formats)
        ):
            bad.append((edge, f"it takes {', '.join(spec.formats)}, not {image_format}"))
        else:
            good.append(edge)
    return good, bad


def search_routes(
    edges: list[Edge], source: str, target: str, closed: Collection[str] = ()
) -> Iterator[Edges]:
    """Every route from `source` to `target`, cheapest first; the edges' names decide ties.

    Of two edges between the same nodes, one made for frames comes before one for tensors. No route
    leads through `closed` nodes.

    No node is visited twice, except by an edge from a node to itself (a dense copy), and no edge
    is used twice. A route that copies once the bytes are where they should be is left out.
    """
    shut = {*closed} - {source, target}
    by_source: defaultdict[str, list[Edge]] = defaultdict(list)
    for edge in edges:
        if edge.spec.target not in shut:
            by_source[edge.spec.source].append(edge)
    left = _costs_to(by_source, target)
    serial = 0
    # Each with the least cost of a whole route, so that only routes that arrive are followed.
    queue: list[tuple[float, tuple[str, ...], int, float, str, Edges]] = [
        (0.0, (), 0, 0.0, source, ())
    ]
    while queue:
        _, names, _, cost, node, route = heapq.heappop(queue)
        if node == target and route:
            yield route
        if len(route) == _MAX_HOPS or (node == target and route and source != target):
            continue
        seen = {source, *(e.spec.target for e in route)}
        hops = _MAX_HOPS - len(route) - 1
        for edge in by_source[node]:
            spec = edge.spec
            rest = left[hops].get(spec.target)
            if rest is None or edge in route or (spec.target != node and spec.target in seen):
                continue
            serial += 1
            spent = cost + spec.weight
            named = (*names, f"{spec.name} {spec.level} {edge.plugin}")
            queued = (spent + rest, named, serial, spent, spec.target, (*route, edge))
            heapq.heappush(queue, queued)


def _costs_to(by_source: Mapping[str, list[Edge]], target: str) -> list[dict[str, float]]:
    """The least cost from each node to the target, in at most 0, 1, 2 ... hops."""
    # The cheapest edge between two nodes, by its target: few nodes change from hop to hop.
    cheapest: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for node, edges in by_source.items():
        for edge in edges:
            known, weight = cheapest[edge.spec.target], edge.spec.weight
            if node not in known or weight < known[node]:
                known[node] = weight
    left = [{target: 0.0}]
    changed: Mapping[str, float] = left[0]
    for _ in range(_MAX_HOPS):
        best = dict(left[-1])
        better: dict[str, float] = {}
        for there, rest in changed.items():
            for node, weight in cheapest[there].items():
                if node not in best or weight + rest < best[node]:
                    best[node] = better[node] = weight + rest
        left.append(best)
        changed = better
    return left


def copies(route: Edges) -> bool:
    """True if an edge of the route copies."""
    return any(edge.spec.transfer is Transfer.COPY for edge in route)


def begins(route: Edges, prefix: Edges) -> bool:
    """True if the route begins with these very edges."""
    return len(prefix) <= len(route) and all(map(is_, route, prefix))
