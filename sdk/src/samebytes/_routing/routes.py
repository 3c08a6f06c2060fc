# SPDX-License-Identifier: Apache-2.0
"""The cheapest route to another context, and the next ones if it refuses."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from .._core.edges.context import Context, Level, Target
from .._core.edges.edge import Access, ordering
from .._core.edges.mapper import Fallback, Gone, Refused
from ..errors import NoRouteError, SamebytesError
from .route_functions import Run, find_routes, mappers_of, route_function, route_name
from .search import MAX_TRIES, Edges, copies

if TYPE_CHECKING:
    from .failures import Reason

__all__ = ["Routes"]


class Routes:
    """All routes for one key. It holds no context, since tables would tie device contexts together.

    Nor does it hold the function that it makes: the function holds it, so that would be a cycle.
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
        # All routes, each with True if it copies; and the functions of the routes that were tried,
        # by their index.
        self._order: list[tuple[Edges, bool]] = []
        self._made: dict[int, Run | str] = {}

    def cheapest(self, source: Context, end: Context, item: Any) -> Run:
        """The function of the cheapest route, which tries the others if that one refuses.

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
        """The function of a route, or why it cannot be loaded. Contexts in between are made."""
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
            compile_route = source.router.compile_route
            return compile_route(source, self._level, self._target, self._access, self._copy)(item)
        if not self._order:  # two threads may both find them; either result will do
            self._order = [(route, copies(route)) for route in self._find(source, end)]
        why: list[Reason] = []
        with suppress(Refused):
            try:
                return self._first_that_takes(item, source, end, reason, why)
            except Gone:
                # Contexts in between are kept only for a while. If they are made again, one after
                # another, each lives until its route was tried.
                self._made = {}
                why.clear()
            return self._first_that_takes(item, source, end, reason, why)
        why.insert(0, (route_name(self._first), str(reason)))
        # The error has the reasons in its text; the edges' exceptions would be shown before it.
        raise self._failure(source, end, why, item) from None

    def _failure(self, source: Context, end: Context, why: list[Reason], item: Any) -> Exception:
        from .failures import failure  # deferred until something fails

        return failure(source, end, self._level, self._access, self._copy, why, item=item)

    def _first_that_takes(
        self, item: Any, source: Context, end: Context, reason: Refused, why: list[Reason]
    ) -> Any:
        """Map the item by the cheapest route that does not refuse it, and return the result.

        Args:
            reason: the refusal of the first route, which need not be tried.
            why: the list to which the reasons of the other routes that failed are added.

        Raises:
            Gone: all routes refused, at least one because a context is gone.
            Refused: all routes refused.
        """
        from .dead_ends import DeadEnds  # deferred: few objects are refused

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
    """Forget that edges of a route took the queue of map(queue=), since it refused the item.

    An edge may map another item on the way. A refusal of that item changes nothing: the edge itself
    has taken the queue.
    """
    current = ordering.get()
    if current is not None and current[2] is item:
        current[1] = False


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
