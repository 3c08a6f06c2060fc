# SPDX-License-Identifier: Apache-2.0
"""The search for a route among many nodes, as when a table is filled for the first time."""

from __future__ import annotations

import itertools

from .._core.edges.edge import MapperSpec, Transfer
from .._core.edges.mapper import MemoryMapper
from .._cpu.context import CPU
from .._plugins.tables import Edge
from .._routing.route_functions import route_function
from .._routing.search import search_routes, usable
from ..benchmarks import Ways

__all__ = ["among_forty"]

_NODES = 40
_STEPS = (1, 3, 9, 27)
"""The distances to the nodes that edges of each node lead to: six hops reach any node."""


def among_forty(_width: int, _height: int) -> Ways:
    """The cheapest route to the next of 40 nodes in turn, with the function of its hops."""
    names = [f"node{n}" for n in range(_NODES)]
    edges = [
        Edge(
            MapperSpec(
                source=name,
                target=names[(place + step) % _NODES],
                mapper="samebytes.plugins:MemoryMapper",
                transfer=Transfer.ALIAS,
                summary="made up",
            ),
            "made up",
        )
        for place, name in enumerate(names)
        for step in _STEPS
    ]
    targets = itertools.cycle(names[1:])

    def compile_next() -> None:
        good, _ = usable(edges, "tensor", "r", None)
        route = next(search_routes(good, names[0], next(targets)))
        hops = tuple(MemoryMapper(edge.spec, CPU, CPU) for edge in route)
        route_function(hops, "tensor", "r")

    return Ways(ours=compile_next)
