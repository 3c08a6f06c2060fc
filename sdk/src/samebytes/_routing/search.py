# SPDX-License-Identifier: Apache-2.0
"""The search for routes from node to node, cheapest first; a route is a tuple of edges here."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING

from .._core.edge import Transfer

if TYPE_CHECKING:
    from .._plugins.specs import ContextSpec
    from .._plugins.tables import Edge

__all__ = [
    "Edges",
    "copies",
    "device_nodes",
    "search_routes",
    "usable",
    "without_needless_detours",
]

Edges = tuple["Edge", ...]
"""A route, as the edges that it goes over."""

# The longest route of the design has five hops; more would be a mistake of the tables.
_MAX_HOPS = 6

# What it costs to go through a device that is neither source nor target: more than any mapping to
# the CPU, less than a copy. Its driver is loaded for it, and its contexts are made.
_DETOUR = 1_000.0
_MAX_DETOURS = 2


def device_nodes(contexts: Mapping[str, ContextSpec], source: str, target: str) -> frozenset[str]:
    """The nodes of devices that a route from `source` to `target` should not go through needlessly.

    They have a choice of devices, or derive from others. Those that share handles with the source
    or the target are not a detour: they derive from the one, or the other derives from them.
    """
    own = contexts[target].derives_from if target in contexts else ()
    return frozenset(
        node
        for node, spec in contexts.items()
        if (spec.devices or spec.derives_from)
        and node not in own
        and source not in spec.derives_from
    )


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
    edges: list[Edge],
    source: str,
    target: str,
    devices: Collection[str] = (),
    closed: Collection[str] = (),
) -> Iterator[Edges]:
    """Every route from `source` to `target`, cheapest first, ties by the names of the edges.

    Of two edges between the same nodes, one made for frames comes before one for tensors.

    Routes through `devices`, other than source and target, come after those that need none. None
    leads through `closed` nodes.

    No node is visited twice, except by an edge from a node to itself (a dense copy), and no edge
    is used twice. A route that copies once the bytes are where they should be is left out.
    """
    by_source: defaultdict[str, list[Edge]] = defaultdict(list)
    for edge in edges:
        by_source[edge.spec.source].append(edge)
    serial = 0
    queue: list[tuple[float, tuple[str, ...], int, str, Edges]] = [(0.0, (), 0, source, ())]
    while queue:
        cost, names, _, node, route = heapq.heappop(queue)
        if node == target and route:
            yield route
        if len(route) == _MAX_HOPS or (node == target and route and source != target):
            continue
        seen = {source, *(e.spec.target for e in route)}
        for edge in by_source[node]:
            loop = edge.spec.target == node
            if edge in route or (not loop and edge.spec.target in seen):
                continue
            if edge.spec.target in closed and edge.spec.target not in (source, target):
                continue
            detour = not loop and edge.spec.target != target and edge.spec.target in devices
            if detour and _detours(route, devices) == _MAX_DETOURS:
                continue
            serial += 1
            heapq.heappush(
                queue,
                (
                    cost + edge.spec.weight + (_DETOUR if detour else 0.0),
                    (*names, f"{edge.spec.name} {edge.spec.level} {edge.plugin}"),
                    serial,
                    edge.spec.target,
                    (*route, edge),
                ),
            )


def without_needless_detours(found: Iterator[Edges], devices: Collection[str]) -> Iterator[Edges]:
    """Leave out routes through more devices than the cheapest one.

    A detour is for memory that no other edges lead on from. Where an edge that leads there refuses
    an object, drivers that have nothing to do with it would hardly do better, and their contexts
    would be made for the attempt.
    """
    least: dict[bool, int] = {}
    for route in found:
        count = _detours(route[:-1], devices)
        # Routes that copy may take no more detours than those that do not.
        kinds = (False, True) if not copies(route) else (True,)
        for kind in kinds:
            least.setdefault(kind, count)
        if count <= least[copies(route)]:
            yield route


def _detours(route: Edges, devices: Collection[str]) -> int:
    return len({edge.spec.target for edge in route} & set(devices))


def copies(route: Edges) -> bool:
    """Whether some edge of it copies."""
    return any(edge.spec.transfer is Transfer.COPY for edge in route)
