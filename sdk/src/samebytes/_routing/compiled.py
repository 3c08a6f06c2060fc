# SPDX-License-Identifier: Apache-2.0
"""From chains of edges to one function, which a context keeps in its table."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any, cast

from .._core.access import Access, check_access
from .._core.context import Context, Level, Target
from .._core.mapper import Fallback, Gone, Refused, not_writable
from ..errors import NoRouteError, SamebytesError
from .chain_functions import Run, chain_function, chain_name, find_chains, mappers_of
from .contexts import node_of, resolve
from .failures import MAX_TRIES, Reason, failure
from .search import Chain, copies

__all__ = ["compile_route", "forget_compiled"]

# Every context whose tables hold a route, by its id: equal contexts have their own tables.
_with_routes: weakref.WeakValueDictionary[int, Context] = weakref.WeakValueDictionary()


def compile_route(source: Context, level: Level, target: Target, access: str, copy: bool) -> Run:
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
    if isinstance(target, type):  # in the table by its class, which lives as long as its module
        target = node_of(target)
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

    __slots__ = ("_access", "_copy", "_end", "_first", "_level", "_others", "_target")

    def __init__(
        self, end: Context, target: Target, level: Level, access: Access, copy: bool
    ) -> None:
        self._level: Level = level
        self._access = access
        self._copy = copy
        self._end = weakref.ref(end)
        # A context that is gone can be found again by its name.
        self._target = target if isinstance(target, str) else None
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
        others = self._others
        if others is None:  # two threads may both make them, and either's will do
            others = self._others = list(self._besides_the_first(source, end))
        why = [(self._first[1], str(reason))]
        with suppress(Refused):
            try:
                return _first_that_takes(item, others, why)
            except Gone:
                # Contexts between are kept for a while only. Made again one after another, each
                # lives until its way was tried.
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
            return make(native, where, owner, source, not write, source.known_info)
        return make(native, where, source.meta, owner, source, not write)

    return run


def _readonly_frame(context: Context) -> Callable[[Any], Any]:
    plane = context.readonly_native

    def run(native: Any) -> Any:
        # Where the framework has no frame object, the native is a tuple of its planes.
        return tuple(map(plane, native)) if type(native) is tuple else plane(native)

    return run


def _first(found: Iterator[Chain]) -> Iterator[Chain]:
    """Those that are tried: so many without a copy, and as many with one."""
    left = {False: MAX_TRIES, True: MAX_TRIES}
    for chain in found:
        kind = copies(chain)
        if left[kind]:
            left[kind] -= 1
            yield chain
        elif not any(left.values()):
            return
