# SPDX-License-Identifier: Apache-2.0
"""The routes between two contexts, and one function for all hops of a route."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from .._core.edges.context import Context, Level
from .._core.edges.edge import Access, Transfer
from .._core.edges.mapper import Fallback, MemoryMapper, Refused, check_format, hop_of, parts_in
from .._core.memory.frame import Frame
from .._core.memory.tensor import Tensor
from .._core.owner.storage import Storage, write_nothing_back
from .._plugins.discovery import tables
from .._plugins.loading import call, load_class
from .._raising import without_frames
from ..errors import (
    DeviceMismatchError,
    RouteError,
    UnknownNameError,
    UnsupportedObjectError,
)
from .contexts import remember, resolve
from .search import Edges, copies, search_routes, usable

if TYPE_CHECKING:
    from .._plugins.tables import Edge

__all__ = [
    "Run",
    "find_routes",
    "mappers_of",
    "refusal",
    "route_function",
    "route_name",
    "routes_between",
]

Run = Callable[[Any], Any]


def route_name(route: Edges) -> str:
    """ "ffmpeg -> cpu -> openvino"."""
    return " -> ".join([route[0].spec.source, *(e.spec.target for e in route)])


def route_function(
    mappers: tuple[MemoryMapper, ...], level: Level, access: Access,
    refused: Fallback | None = None,
) -> Run:  # fmt: skip
    """The hops as one function from tensor to tensor, or from frame to frame.

    If `refused` is given, it is called instead of raising Refused.
    """
    checked = level == "frame" and any(m.spec.formats for m in mappers)
    if len(mappers) == 1 and not checked:
        return hop_of(mappers[0], access, level, refused)
    inner = [hop_of(m, access, level) for m in mappers]
    writes = access != "r"
    ends = {_package(mappers[0].source), _package(mappers[-1].target)}
    hops = tuple(
        (
            _only_formats(m, hop) if checked else hop,
            m.spec.transfer is Transfer.COPY,
            _package(m) not in ends,
        )
        for m, hop in zip(mappers, inner, strict=True)
    )

    def run(source: Any) -> Any:
        item = source
        made: tuple[Storage, ...] = ()
        begun: tuple[Storage, ...] = ()
        try:
            for hop, is_copy, _ in hops:
                item = hop(item)
                if writes:
                    begun += item._made
                # A copy no longer needs the mappings that led to it: they end here.
                made = item._made if is_copy else made + item._made
        except BaseException as error:
            write_nothing_back(begun)
            if not isinstance(error, (Refused, UnsupportedObjectError)):
                raise
            took, between = next((n, b) for n, (one, _, b) in enumerate(hops) if one is hop)
            answer = error if isinstance(error, Refused) else Refused(str(error))
            if answer is not error and not between:
                raise
            # Otherwise the caller's queue, of a framework at an end, does not fit one in between.
            answer.took = took
            try:
                if refused is None:
                    raise answer from None
                return refused(source, answer)
            finally:
                del answer  # its traceback holds this call
        # Nobody owns the objects in between: the storages hold what these hold.
        item.parent = source
        item._made = made
        if isinstance(item, Frame):
            for plane in item._planes or ():
                plane.parent = source
        return item

    return run


def refusal(
    item: Tensor | Frame, hops: tuple[MemoryMapper, ...], level: Level, access: Access
) -> Refused | None:
    """The refusal of this object, if the route refuses it.

    The object is mapped up to the edge that copies, which is only asked. Nothing is written, so the
    contents must stay: if there is a mapping for "rw", none for "w" is begun.
    """
    if access == "w" and all("rw" in hop.spec.access for hop in hops):
        access = "rw"
    first = next((n for n, hop in enumerate(hops) if hop.spec.transfer is Transfer.COPY), len(hops))
    try:
        there = route_function(hops[:first], level, access)(item) if first else item
    except Refused as answer:
        return without_frames(answer)  # their variables would keep the mapping alive
    if first == len(hops):
        return None
    copier = hops[first]
    parts: tuple[Any, ...] = parts_in(there) if copier.spec.level == "tensor" else (there,)
    try:
        if isinstance(there, Frame):
            check_format(copier.spec, there)
        for part in parts:
            if (reason := copier.accepts(part)) is not None:
                raise Refused(reason)
    except Refused as answer:
        answer.took = first
        return without_frames(answer)
    return None


def _package(thing: object) -> str:
    return type(thing).__module__.partition(".")[0]


def _only_formats(mapper: MemoryMapper, hop: Run) -> Run:
    def run(source: Frame) -> Frame:
        check_format(mapper.spec, source)
        mapped: Frame = hop(source)
        return mapped

    return run


def find_routes(
    source: Context, target: Context, level: Level, access: str, copy: bool,
    image_format: str | None = None,
) -> Iterator[Edges]:  # fmt: skip
    """The routes that may serve, cheapest first."""
    edges, _ = usable(tables().edges, level, access, image_format)
    return (c for c in routes_between(edges, source.node, target.node) if copy or not copies(c))


def routes_between(edges: list[Edge], source: str, target: str) -> Iterator[Edges]:
    """The routes of these edges between two nodes, cheapest first."""
    closed = {node for node, spec in tables().contexts.items() if not spec.transit}
    return search_routes(edges, source, target, closed)


def mappers_of(
    route: Edges, source: Context, target: Context, via: tuple[Context, ...] = ()
) -> tuple[tuple[MemoryMapper, ...], tuple[Context, ...]]:
    """Instantiate the mappers of a route; contexts in between are derived, or those of `via`.

    Raises:
        PluginError: a mapper or context cannot be loaded.
        RouteError: a context in between cannot be made.
    """
    mappers: list[MemoryMapper] = []
    contexts: list[Context] = [source]
    for index, edge in enumerate(route):
        here = contexts[-1]
        if index == len(route) - 1:
            there = target
        elif via:
            there = via[index]
        else:
            there = _between(edge, here, target)
        make = load_class(edge.spec.mapper, edge.plugin, MemoryMapper)
        mappers.append(call(make, edge.plugin, edge.spec, here, there))
        contexts.append(there)
    return tuple(mappers), tuple(contexts)


def _between(edge: Edge, here: Context, target: Context) -> Context:
    node = edge.spec.target
    if node == here.node:
        return here
    lenders = tables().contexts[node].derives_from if node in tables().contexts else ()
    if here.node not in lenders and target.node in lenders:
        # Memory can go on from there only if both have the same native context.
        with suppress(DeviceMismatchError, RouteError, UnknownNameError):
            return remember(target.derive(node))
    return resolve(here, node)
