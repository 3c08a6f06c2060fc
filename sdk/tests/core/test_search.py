# SPDX-License-Identifier: Apache-2.0
"""The search for routes: which it gives, in which order, and where it ends.

Mappings between all memory types that are installed take no dearer route than they must.

The nodes and edges are those that the plugins declare; contexts and mappers are made up, so that
no device is needed and every edge can be made to refuse.
"""

from __future__ import annotations

import heapq
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

import samebytes as sb
from samebytes import CpuTensor, Frame, FrameMeta, MemoryMapper, Transfer
from samebytes._plugins import discovery
from samebytes._plugins.tables import Declarations, Edge, PluginRecord, Tables
from samebytes._routing import search
from samebytes.errors import RouteError
from samebytes.plugins import API, ContextSpec, HostContext, MapperSpec, Plugin

from .made_up import Alias, edge

HERE = __name__
MOST_HOPS = 6
ARRAY = np.zeros((4, 4), np.uint8)

Path = tuple[MapperSpec, ...]


class MadeUpTensor(CpuTensor):
    __slots__ = ()


class Declared(MemoryMapper):
    """Stands in for a mapper; it writes down that it was used, and refuses what the test says."""

    __slots__ = ()
    refusing: frozenset[str] = frozenset()
    used: list[MapperSpec] = []  # noqa: RUF012 - emptied by each mapping
    asked: set[str] = set()  # noqa: RUF012 - emptied where none refuses

    def accepts(self, item: Any) -> str | None:
        self.asked.add(self.spec.summary)
        return "the test says so" if self.spec.summary in self.refusing else None

    def connect(self, item: Any, access: str) -> Any:
        self.used.append(self.spec)
        native = item.native
        if access == "r" and not isinstance(native, tuple):
            native = native.view()
            native.flags.writeable = False
        return native, None, None


def made_up_context(node: str) -> type[HostContext[Any]]:
    """A context class for a node, importable from here."""
    name = f"At{abs(hash(node))}"

    def create(cls: Any, *_: object) -> Any:
        return cls.only

    body = {"memory_type": node, "node": node, "tensor_class": MadeUpTensor,
            "create": classmethod(create), "__module__": HERE}  # fmt: skip
    made: Any = type(name, (HostContext,), body)
    made.only = made()
    setattr(sys.modules[HERE], name, made)
    return made  # type: ignore[no-any-return]


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[dict[str, Any], list[MapperSpec]]]:
    """The nodes with their contexts, and the edges of all installed plugins."""
    sb.refresh()
    real, found = discovery.tables(), Tables()
    contexts, specs = {}, []
    for node, spec in real.contexts.items():
        made = made_up_context(node)
        contexts[node] = made.only  # type: ignore[attr-defined]
        specs.append(
            ContextSpec(node=node, context=f"{HERE}:{made.__name__}", transit=spec.transit)
        )
    edges = [
        replace(
            edge.spec, mapper=f"{HERE}:Declared", summary=str(number), requires=(), formats=None
        )
        for number, edge in enumerate(real.edges)
    ]
    plugin = Plugin(api=API, summary="made up")
    declared = Declarations((), tuple(specs), tuple(edges))
    found.add(PluginRecord("made-up", "made-up-dist", "1.5", HERE, plugin, declared))
    found.link()
    monkeypatch.setattr(discovery._found, "tables", found)
    yield contexts, edges
    Declared.refusing = frozenset()
    monkeypatch.undo()
    sb.refresh()


def every_path(edges: list[MapperSpec], closed: set[str], source: str, target: str) -> list[Path]:
    """All routes, by trying everything: no node twice, but by an edge that stays there."""
    found: list[Path] = []

    def go(node: str, path: Path, seen: frozenset[str]) -> None:
        if node == target and path:
            found.append(path)
            return
        if len(path) == MOST_HOPS or (path and node in closed):
            return
        for spec in edges:
            stays = spec.target == node
            if spec.source == node and spec not in path and (stays or spec.target not in seen):
                go(spec.target, (*path, spec), seen | {spec.target})

    go(source, (), frozenset({source}))
    return found


def cost(path: Path) -> float:
    return sum(spec.weight for spec in path)


def route_taken(source: str) -> float:
    """The cost of the last route that was tried. Before it there may be parts of others."""
    specs = [Declared.used.pop()]
    while specs[0].source != source:
        specs.insert(0, Declared.used.pop())
        assert specs[0].target == specs[1].source
    return cost(tuple(specs))


def refusals(edges: list[MapperSpec]) -> list[frozenset[str]]:
    """Refusals at a time: none; those that each edge is declared to give; all of these."""
    declared = [spec.summary for spec in edges if spec.only or spec.opaque]
    return [frozenset(), *(frozenset({one}) for one in declared), frozenset(declared)]


@pytest.mark.parametrize("access", ["r", "rw"])
@pytest.mark.parametrize("level", ["tensor", "frame"])
def test_the_cheapest_route_that_takes_the_object_is_taken(
    world: tuple[dict[str, Any], list[MapperSpec]], level: str, access: Any
) -> None:
    contexts, every = world
    if len(contexts) < 6:
        pytest.skip("missing packages: the backends, whose edges are tried here")
    edges = [spec for spec in every if spec.serves(level) and access in spec.access]
    closed = {n for n, spec in discovery.tables().contexts.items() if not spec.transit}
    compared = 0
    for source, target in product(contexts, repeat=2):
        if source == target:
            continue
        paths = sorted(every_path(edges, closed, source, target), key=cost)
        home = contexts[source]
        item: Any
        if level == "tensor":
            item = MadeUpTensor.borrowed(ARRAY, home)
        else:
            meta = FrameMeta(sb.ImageInfo.of("GRAY8", 4, 4))
            item = Frame.borrowed((ARRAY,), home, meta)
        for copy, refused in product((False, True), refusals(every)):
            if not refused:
                Declared.asked.clear()
            elif refused.isdisjoint(Declared.asked):
                continue  # who is not asked cannot refuse: all goes as it went without
            cheapest = next((
                cost(path) for path in paths
                if not any(spec.summary in refused for spec in path)
                and (copy or not any(spec.transfer is Transfer.COPY for spec in path))
            ), None)  # fmt: skip
            Declared.refusing = refused
            Declared.used.clear()
            try:
                item.map(target, access, copy=copy)
                taken = route_taken(source)
            except RouteError:
                taken = None
            assert taken == cheapest, (source, target, copy, refused)
            compared += 1
    assert compared > 1000


@pytest.mark.parametrize("seed", range(20))
def test_every_route_of_any_graph_comes_in_the_order_of_its_cost(seed: int) -> None:
    chance = np.random.default_rng(seed)
    nodes = "abcdefg"
    specs = [
        MapperSpec(source=nodes[a], target=nodes[b], mapper="x:y", transfer=Transfer.ALIAS,
                   summary=str(n), cost=float(chance.integers(1, 6)))
        for n, (a, b) in enumerate(chance.integers(0, len(nodes), (18, 2)))
    ]  # fmt: skip
    closed = set(nodes[5:6])
    for source, target in product(nodes, repeat=2):
        if source == target:
            continue
        edges = [Edge(spec, f"plugin {spec.summary}") for spec in specs]
        found = [
            tuple(e.spec for e in r) for r in search.search_routes(edges, source, target, closed)
        ]
        shut = closed - {source, target}
        assert [cost(path) for path in found] == sorted(cost(path) for path in found)
        assert set(found) == set(every_path(specs, shut, source, target))
        assert len(set(found)) == len(found)


def test_a_route_among_forty_nodes_is_found_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Edges that lead elsewhere are not followed: it would be thousands of routes."""
    nodes = [f"n{n}" for n in range(40)]
    edges = [
        Edge(MapperSpec(source=a, target=b, mapper="x:y", transfer=Transfer.ALIAS, summary=""), "p")
        for place, a in enumerate(nodes)
        for b in (nodes[(place + step) % 40] for step in (1, 3, 9, 27))
    ]
    followed: list[object] = []
    push = heapq.heappush

    def counted(heap: list[Any], entry: Any) -> None:
        followed.append(entry)
        push(heap, entry)

    monkeypatch.setattr(heapq, "heappush", counted)
    for target in nodes[1:]:
        followed.clear()
        route = next(search.search_routes(edges, "n0", target))
        assert len(route) <= MOST_HOPS
        assert len(followed) < 200


def edges(*pairs: str) -> list[Edge]:
    """An edge for each pair, such as "ab"."""
    return [Edge(edge(pair[0], pair[1], Alias), "made-up") for pair in pairs]


def routes(found: list[Edge], source: str, target: str) -> list[str]:
    """The nodes of each route, in the order that the search gives them in."""
    return [
        source + "".join(one.spec.target for one in route)
        for route in search.search_routes(found, source, target)
    ]


def test_a_route_ends_at_its_target() -> None:
    # Were it followed beyond, it would come back: "abcb" by way of the loop of b.
    assert routes(edges("ab", "bb", "bc", "cb"), "a", "b") == ["ab"]


def test_a_memory_type_by_itself_takes_its_dense_copy() -> None:
    assert routes(edges("aa", "ab", "ba"), "a", "a") == ["aa"]


def test_a_route_has_six_hops_at_most() -> None:
    chain = edges("ab", "bc", "cd", "de", "ef", "fg", "gh")
    assert routes(chain, "a", "g") == ["abcdefg"]
    assert routes(chain, "a", "h") == []
