# SPDX-License-Identifier: Apache-2.0
"""From chains of edges to one function, which a context keeps in its table."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import islice
from typing import Any, cast

from .._core.access import Access, check_access
from .._core.context import Context, Level
from .._core.frame import Frame
from .._core.mapper import (
    Fallback,
    Gone,
    MemoryMapper,
    Refused,
    frame_hop,
    not_writable,
    tensor_hop,
)
from .._plugins.discovery import tables
from .._plugins.loading import call, load_class
from .._plugins.tables import Edge
from ..errors import (
    CopyRequiredError,
    DeviceMismatchError,
    NoRouteError,
    RouteError,
    SamebytesError,
    UnknownNameError,
)
from .contexts import remember, resolve
from .search import (
    Chain,
    chains,
    copies,
    device_nodes,
    usable,
    without_needless_detours,
)

__all__ = [
    "Reason",
    "chain_function",
    "chain_name",
    "compile_route",
    "failure",
    "find_chains",
    "forget_compiled",
    "mappers_of",
]

# How many ways are tried when edges refuse an object; each further one costs more.
_MAX_TRIES = 8

Run = Callable[[Any], Any]
# A way that was not taken, and why.
Reason = tuple[str, str]

# Every context whose tables hold a route, by its id: equal contexts have tables of their own.
_with_routes: weakref.WeakValueDictionary[int, Context] = weakref.WeakValueDictionary()


def compile_route(
    source: Context, level: Level, target: str | Context, access: str, copy: bool
) -> Run:
    """The function for a key, entered in the table of `source`.

    The cheapest chain takes the object; where it refuses, the next ones are tried.
    """
    routes: dict[Any, Run] = cast(
        "dict[Any, Run]", source.frame_routes if level == "frame" else source.tensor_routes
    )
    rest = (access, copy) if copy else (access,)
    name: object = target
    if isinstance(target, Context):
        target.check_open()
        # Weak: a table must not hold device contexts. And not `target.key`: the route to a context
        # that is gone would be found again for an equal one made later.
        name = weakref.ref(target)
    if (name, *rest) in routes:
        return routes[(name, *rest)]
    check_access(access)
    mode = cast(Access, access)
    end = resolve(source, target)
    run = (
        _identity(source, level, mode)
        if end == source
        else _Ways(end, target, level, mode, copy).cheapest(source, end)
    )
    _drop_gone(routes)
    _with_routes[id(source)] = source
    routes[(name, *rest)] = run
    if end.singleton:  # found at the first look-up from now on
        routes[(end, *rest)] = run
    return run


def forget_compiled() -> None:
    """Empty the tables of all contexts, as when plugins were added."""
    for ref in _with_routes.valuerefs():  # a list: other threads may add contexts meanwhile
        context = ref()
        if context is not None:
            context.forget_routes()


def _drop_gone(routes: dict[Any, Run]) -> None:
    """Take out the routes to contexts that are no more."""
    for key in list(routes):  # a list: other threads may add routes meanwhile
        if isinstance(key[0], weakref.ref) and key[0]() is None:
            routes.pop(key, None)


class _Ways:
    """All chains for one key. Holds no context: tables would tie device contexts together.

    Nor does it hold the function that it makes, which holds it: that would be a cycle.
    """

    __slots__ = ("_access", "_copy", "_end", "_first", "_level", "_lock", "_others", "_target")

    def __init__(
        self, end: Context, target: str | Context, level: Level, access: Access, copy: bool
    ) -> None:
        self._level: Level = level
        self._access = access
        self._copy = copy
        self._end = weakref.ref(end)
        # A context that is gone can be found again by its name.
        self._target = target if isinstance(target, str) else None
        self._lock = threading.Lock()
        self._others: list[tuple[str, Run | str]] | None = None

    def cheapest(self, source: Context, end: Context) -> Run:
        """The function of the cheapest chain, which tries the others where it refuses."""
        broken: list[Reason] = []
        for index, (name, way) in enumerate(self._ways(source, end, self._retry)):
            if not isinstance(way, str):
                # By number: two edges that join the same nodes make chains of one name.
                self._first = index, name
                return way
            broken.append((name, way))
        raise failure(source, end, self._level, self._access, self._copy, broken)

    def _ways(
        self, source: Context, end: Context, refused: Fallback | None = None
    ) -> Iterator[tuple[str, Run | str]]:
        """(name, function) of each chain, or (name, reason) where it cannot be loaded."""
        found = find_chains(source, end, self._level, self._access, self._copy)
        for chain in _first(found):
            name = chain_name(chain)
            try:
                mappers, _ = mappers_of(chain, source, end)
                way = chain_function(mappers, self._level, self._access, refused)
            except SamebytesError as error:
                yield name, str(error)
            except Gone as gone:  # another thread may close a context meanwhile
                source.check_open()
                end.check_open()
                yield name, str(gone)
            else:
                yield name, way

    def _retry(self, item: Any, reason: Refused) -> Any:
        source, end = item.context, self._end()
        if isinstance(reason, Gone) or end is None:
            if self._target is None:
                raise NoRouteError(source.node, "a context that is gone", [str(reason)])
            source.forget_routes()
            return compile_route(source, self._level, self._target, self._access, self._copy)(item)
        with self._lock:
            if self._others is None:
                self._others = list(self._besides_the_first(source, end))
            others = self._others
        why = [(self._first[1], str(reason))]
        with suppress(Refused):
            try:
                return _first_that_takes(item, others, why)
            except Gone:
                # Contexts between are kept for a while only. Made anew one after another, each
                # lives until its way was tried.
                with self._lock:
                    self._others = None
                del why[1:]
            return _first_that_takes(item, self._besides_the_first(source, end), why)
        raise failure(source, end, self._level, self._access, self._copy, why, item=item)

    def _besides_the_first(self, source: Context, end: Context) -> Iterator[tuple[str, Run | str]]:
        return (way for index, way in enumerate(self._ways(source, end)) if index != self._first[0])


def _first_that_takes(item: Any, ways: Iterable[tuple[str, Run | str]], why: list[Reason]) -> Any:
    """What the first way makes that does not refuse; the reasons of those before go into `why`.

    Raises:
        Gone: all refused, and of one a context is gone.
        Refused: all refused.
    """
    gone = False
    for name, way in ways:
        if isinstance(way, str):
            why.append((name, way))
            continue
        try:
            return way(item)
        except Refused as further:
            gone = gone or isinstance(further, Gone)
            why.append((name, str(further)))
    raise (Gone if gone else Refused)("all ways refuse")


def _identity(context: Context, level: Level, access: Access) -> Run:
    """The same memory as a new object, since map() never returns its source."""
    write = access != "r"
    readonly_native = _readonly_frame(context) if level == "frame" else context.readonly_native

    def run(source: Any) -> Any:
        native = source.native
        if write:
            if source.readonly:
                raise not_writable(source, access)
        elif not source.readonly:
            native = readonly_native(native)
        make, where, owner = type(source), source.context, source._owner
        if level == "tensor":
            return make(native, where, owner, source, not write, source.given_info)
        return make(native, where, source.meta, owner, source, not write)

    return run


def _readonly_frame(context: Context) -> Callable[[Any], Any]:
    plane = context.readonly_native

    def run(native: Any) -> Any:
        # Where the framework has no frame object, the native is a tuple of its planes.
        return tuple(map(plane, native)) if type(native) is tuple else plane(native)

    return run


def chain_name(chain: Chain) -> str:
    """ "ffmpeg -> cpu -> openvino"."""
    return " -> ".join([chain[0].spec.source, *(e.spec.target for e in chain)])


def chain_function(
    mappers: tuple[MemoryMapper, ...], level: Level, access: Access,
    refused: Fallback | None = None,
) -> Run:  # fmt: skip
    """The hops as one function from tensor to tensor, or from frame to frame.

    With `refused`, that is called in place of raising Refused.
    """
    make: Callable[..., Run] = frame_hop if level == "frame" else tensor_hop
    checked = level == "frame" and any(m.spec.formats for m in mappers)
    if len(mappers) == 1 and not checked:
        return make(mappers[0], access, refused)
    hops = tuple(_only_formats(m, make(m, access)) if checked else make(m, access) for m in mappers)

    def run(source: Any) -> Any:
        item, made = source, ()
        try:
            for hop in hops:
                item = hop(item)
                made += item._made
        except Refused as answer:
            if refused is None:
                raise
            return refused(source, answer)
        # The objects between are nobody's: what they hold is held by the storages.
        item.parent = source
        item._made = made
        if isinstance(item, Frame):
            for plane in item._planes or ():
                plane.parent = source
        return item

    return run


def _only_formats(mapper: MemoryMapper, hop: Run) -> Run:
    formats = mapper.spec.formats

    def run(source: Frame) -> Frame:
        if formats and source.format.name not in formats:
            raise Refused(f"{mapper.spec.name} takes {', '.join(formats)}, not {source.format}")
        mapped: Frame = hop(source)
        return mapped

    return run


def find_chains(
    source: Context, target: Context, level: Level, access: str, copy: bool,
    image_format: str | None = None,
) -> Iterator[Chain]:  # fmt: skip
    """The chains that may serve, cheapest first."""
    edges, _ = usable(tables().edges, level, access, image_format)
    return (c for c in _between_nodes(edges, source.node, target.node) if copy or not copies(c))


def _between_nodes(edges: list[Edge], source: str, target: str) -> Iterator[Chain]:
    known = tables().contexts
    devices = device_nodes(known, source, target)
    closed = {node for node, spec in known.items() if not spec.transit}
    every = chains(edges, source, target, devices, closed)
    return without_needless_detours(every, devices)


def _first(found: Iterator[Chain]) -> Iterator[Chain]:
    """Those that are tried: so many without a copy, and as many with one."""
    left = {False: _MAX_TRIES, True: _MAX_TRIES}
    for chain in found:
        kind = copies(chain)
        if left[kind]:
            left[kind] -= 1
            yield chain
        elif not any(left.values()):
            return


def mappers_of(
    chain: Chain, source: Context, target: Context, via: tuple[Context, ...] = ()
) -> tuple[tuple[MemoryMapper, ...], tuple[Context, ...]]:
    """Instantiate the mappers of a chain; contexts between are derived on the way, or `via`.

    Raises:
        PluginError: a mapper or context cannot be loaded.
        RouteError: a context between cannot be made.
    """
    mappers: list[MemoryMapper] = []
    contexts: list[Context] = [source]
    for index, edge in enumerate(chain):
        here = contexts[-1]
        if index == len(chain) - 1:
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
        # Memory goes on from there only where both have the same native context.
        with suppress(DeviceMismatchError, RouteError, UnknownNameError):
            return remember(target.derive(node))
    return resolve(here, node)


def failure(
    source: Context, target: Context, level: Level, access: str, copy: bool, why: list[Reason],
    image_format: str | None = None, item: Any = None,
) -> RouteError:  # fmt: skip
    """The error that says why there is no way, or that the only ones copy.

    Of ways that were refused for one reason, it names the cheapest.
    """
    cheapest = {reason: name for name, reason in reversed(why)}
    refused = [f"{n}: {r}" for n, r in dict.fromkeys(why) if cheapest[r] == n]
    if not copy:
        with_copy = find_chains(source, target, level, access, True, image_format)
        for chain in islice((c for c in with_copy if copies(c)), _MAX_TRIES):
            if _may_take(chain, source, target, item):
                edge = next(e for e in chain if copies((e,)))
                return CopyRequiredError(source.node, target.node, edge.spec.name, refused)
    unusable = _unusable(source.node, target.node, level, access, image_format)
    reasons = [*refused, *unusable] or [_nothing_joins(source.node, target.node, level)]
    return NoRouteError(source.node, target.node, reasons, f' for {level}s, access "{access}"')


def _unusable(
    source: str, target: str, level: Level, access: str, image_format: str | None
) -> list[str]:
    """Why there are no other ways: the first edge of each that cannot serve."""
    good, bad = usable(tables().edges, level, access, image_format)
    why = dict(bad)
    ways = _between_nodes([*good, *why], source, target)
    tried = islice(ways, _MAX_TRIES)
    # A dense copy on the way has nothing to do with the pair that was asked for.
    cannot = {e for e in why if e.spec.source != e.spec.target}
    first = (next((e for e in chain if e in cannot), None) for chain in tried)
    culprits = dict.fromkeys(e for e in first if e is not None)
    return [f"{e.spec.name} [{e.plugin}]: {why[e]}" for e in culprits]


def _may_take(chain: Chain, source: Context, target: Context, item: Any) -> bool:
    """Whether a chain can be loaded and its first edge has nothing against the object, if any."""
    try:
        (first, *_), _ = mappers_of(chain, source, target)
    except SamebytesError:
        return False
    if item is None:
        return True
    parts = item.planes if isinstance(item, Frame) and first.spec.level == "tensor" else [item]
    return all(first.accepts(part) is None for part in parts)


def _nothing_joins(source: str, target: str, level: Level) -> str:
    specs = [e.spec for e in tables().edges if e.spec.serves(level)]
    if target not in {s.target for s in specs}:
        return f"no installed plugin maps {level}s to {target}"
    if source not in {s.source for s in specs}:
        return f"no installed plugin maps {level}s from {source}"
    return f"no chain of installed mappers joins them ({level} level)"
