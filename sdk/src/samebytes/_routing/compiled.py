# SPDX-License-Identifier: Apache-2.0
"""The function of the cheapest route, which a context keeps in its table."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from .._core.edges.context import Context, Level, Target
from .._core.edges.edge import Access, check_access, ordering
from .._core.edges.mapper import Fallback, Gone, Refused, not_writable
from .._core.memory.frame import Frame
from .._core.memory.tensor import Tensor
from ..errors import NoRouteError, SamebytesError
from .contexts import node_of, resolve
from .route_functions import Run, find_routes, mappers_of, route_function, route_name
from .search import MAX_TRIES, Edges, copies

if TYPE_CHECKING:
    from .failures import Reason

__all__ = ["compile_route", "forget_compiled"]

# Every context whose tables hold a route, by its id: equal contexts have their own tables.
_with_routes: weakref.WeakValueDictionary[int, Context] = weakref.WeakValueDictionary()


def compile_route(
    source: Context, level: Level, target: Target, access: str, copy: bool, item: Any = None
) -> Run:
    """The function for a key, entered in the table of `source`.

    The cheapest route takes the object; where it refuses, the next ones are tried. Where there is
    none, the error says what holds for `item`.
    """
    routes: dict[Any, Run] = cast(
        "dict[Any, Run]", source.frame_routes if level == "frame" else source.tensor_routes
    )
    rest = (access, copy) if copy else (access,)
    name: object = target
    if isinstance(target, Context):
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
        _identity(level, mode)
        if end == source
        else _Routes(end, target, level, mode, copy).cheapest(source, end, item)
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
    """Take out the routes to contexts that are gone."""
    for key in list(routes):  # a list: other threads may add routes meanwhile
        if isinstance(key[0], weakref.ref) and key[0]() is None:
            routes.pop(key, None)


class _Routes:
    """All routes for one key. Holds no context: tables would tie device contexts together.

    Nor does it hold the function that it makes, which holds it: that would be a cycle.
    """

    __slots__ = ("_access", "_copy", "_end", "_first", "_level", "_made", "_order", "_target")

    _first: Edges

    def __init__(
        self, end: Context, target: Target, level: Level, access: Access, copy: bool
    ) -> None:
        self._level: Level = level
        self._access = access
        self._copy = copy
        self._end = weakref.ref(end)
        # A context that is gone can be found again by its name.
        self._target = target if isinstance(target, str) else None
        # All routes, with whether they copy, and the functions of those that were tried, by their
        # place among them.
        self._order: list[tuple[Edges, bool]] = []
        self._made: dict[int, Run | str] = {}

    def cheapest(self, source: Context, end: Context, item: Any) -> Run:
        """The function of the cheapest route, which tries the others where it refuses.

        Args:
            item: the object to be mapped, or None; for the error.
        """
        broken: list[Reason] = []
        for route in _first(self._find(source, end)):
            run = self._load(route, source, end, self._retry)
            if not isinstance(run, str):
                self._first = route
                return run
            broken.append((route_name(route), run))
        raise self._failure(source, end, broken, item)

    def _find(self, source: Context, end: Context) -> Iterator[Edges]:
        return find_routes(source, end, self._level, self._access, self._copy)

    def _load(
        self, route: Edges, source: Context, end: Context, refused: Fallback | None = None
    ) -> Run | str:
        """The function of a route, or why it cannot be loaded. Contexts between are made for it."""
        try:
            mappers, _ = mappers_of(route, source, end)
            return route_function(mappers, self._level, self._access, refused)
        except (SamebytesError, Gone) as error:  # gone: one between, which nobody else holds
            return str(error)

    def _retry(self, item: Any, reason: Refused) -> Any:
        source, end = item.context, self._end()
        _leave_queue(item)
        # The first edge may refuse before the last one notices that its context is gone.
        if isinstance(reason, Gone) or end is None:
            if self._target is None:
                raise NoRouteError(source.node, "a context that is gone", [str(reason)])
            source.forget_routes()
            return compile_route(source, self._level, self._target, self._access, self._copy)(item)
        if not self._order:  # two threads may both find them, and either's will do
            self._order = [(route, copies(route)) for route in self._find(source, end)]
        why: list[Reason] = []
        with suppress(Refused):
            try:
                return self._first_that_takes(item, source, end, reason, why)
            except Gone:
                # Contexts between are kept for a while only. Made again one after another, each
                # lives until its route was tried.
                self._made = {}
                why.clear()
            return self._first_that_takes(item, source, end, reason, why)
        why.insert(0, (route_name(self._first), str(reason)))
        # The reasons are in its text; what the edges raised would be shown before it.
        raise self._failure(source, end, why, item) from None

    def _failure(self, source: Context, end: Context, why: list[Reason], item: Any) -> Exception:
        from .failures import failure  # not before something fails

        return failure(source, end, self._level, self._access, self._copy, why, item=item)

    def _first_that_takes(
        self, item: Any, source: Context, end: Context, reason: Refused, why: list[Reason]
    ) -> Any:
        """Map the item by the cheapest route that does not refuse it, and return the result.

        Args:
            reason: the refusal of the first route, which need not be tried.
            why: gets the reason for each other route that was tried in vain.

        Raises:
            Gone: all refused, at least one because a context is gone.
            Refused: all refused.
        """
        from .dead_ends import DeadEnds  # few objects are refused

        gone = False
        made = self._made
        dead = DeadEnds()
        dead.add(self._first, reason)
        left = {False: MAX_TRIES, True: MAX_TRIES}
        for place, (route, kind) in enumerate(self._order):
            if not left[kind] or dead.has(route):
                continue
            left[kind] -= 1
            run = made.get(place)
            if run is None:
                run = made[place] = self._load(route, source, end)
            if isinstance(run, str):
                why.append((route_name(route), run))
                continue
            try:
                return run(item)
            except Refused as further:
                _leave_queue(item)
                if isinstance(further, Gone):
                    gone = True
                else:
                    dead.add(route, further)
                why.append((route_name(route), str(further)))
        raise (Gone if gone else Refused)("all routes refuse")


def _leave_queue(item: Any) -> None:
    """Forget that edges of a route took the queue of map(queue=): the route refused the item.

    What an edge maps by the way has that queue too, but is another item: the edge has taken it.
    """
    current = ordering.get()
    if current is not None and current[2] is item:
        current[1] = False


def _identity(level: Level, access: Access) -> Run:
    """The same memory as a new object, since map() never returns its source.

    It asks each object for its context: the context that has it in its table would hold itself.
    """
    write = access != "r"

    def tensor(source: Tensor) -> Tensor:
        native, where = source.native, source.context
        if write:
            if source.readonly:
                raise not_writable(source, access)
        elif not source.readonly:
            native = source._native_to_read()
        return type(source)(native, where, source._owner, source, not write, source.known_info)

    def frame(source: Frame) -> Frame:
        native, where = source.native, source.context
        if write:
            if source.readonly:
                raise not_writable(source, access)
        elif not source.readonly:
            plane = where.readonly_native
            # Where the framework has no frame object, the native is a tuple of its planes.
            native = tuple(map(plane, native)) if type(native) is tuple else plane(native)
        return type(source)(native, where, source._owner, source, not write, source.meta)

    return frame if level == "frame" else tensor


def _first(found: Iterator[Edges]) -> Iterator[Edges]:
    """The routes that are tried: up to MAX_TRIES without a copy, and as many with one."""
    left = {False: MAX_TRIES, True: MAX_TRIES}
    for route in found:
        kind = copies(route)
        if left[kind]:
            left[kind] -= 1
            yield route
        elif not any(left.values()):
            return
