# SPDX-License-Identifier: Apache-2.0
"""Functions of routes, which contexts keep in their tables."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, cast

from .._core.edges.context import Context, Level, Target
from .._core.edges.edge import Access, check_access, not_writable
from .._core.memory.frame import Frame
from .._core.memory.tensor import Tensor

__all__ = ["compile_route", "forget_compiled"]

Run = Callable[[Any], Any]

# Every context whose tables hold a route, by its id: equal contexts have their own tables.
_with_routes: weakref.WeakValueDictionary[int, Context] = weakref.WeakValueDictionary()


def compile_route(
    source: Context, level: Level, target: Target, access: str, copy: bool, item: Any = None
) -> Run:
    """Make the function for a key, and enter it in the table of `source`.

    The cheapest route takes the object; if it refuses, the next ones are tried. If there is no
    route, the error says what holds for `item`.
    """
    routes: dict[Any, Run] = cast(
        "dict[Any, Run]", source.frame_routes if level == "frame" else source.tensor_routes
    )
    rest = (access, copy) if copy else (access,)
    name: object = target
    if isinstance(target, Context):
        # Weak, since a table must not hold device contexts. And not by `target.key`: the route to a
        # context that is gone would be found again for an equal one made later.
        name = weakref.ref(target)
    if (name, *rest) in routes:
        return routes[(name, *rest)]
    check_access(access)
    mode = cast(Access, access)
    end = source
    if target != source.node:  # the identity needs no plugins
        from .contexts import node_of, resolve

        if isinstance(target, type):  # in the table by its class, which lives as long as its module
            target = node_of(target)
        end = resolve(source, target)
    if end == source:
        run = _identity(level, mode)
    else:
        from .routes import Routes

        run = Routes(end, target, level, mode, copy).cheapest(source, end, item)
    _drop_gone(routes)
    _with_routes[id(source)] = source
    routes[(name, *rest)] = run
    if end.singleton:  # from now on, the first look-up finds it
        routes[(end, *rest)] = run
    return run


def forget_compiled() -> None:
    """Empty the tables of all contexts, for example after plugins were added."""
    for ref in _with_routes.valuerefs():  # a list: other threads may add contexts meanwhile
        context = ref()
        if context is not None:
            context.forget_routes()


def _drop_gone(routes: dict[Any, Run]) -> None:
    """Remove the routes to contexts that are gone."""
    for key in list(routes):  # a list: other threads may add routes meanwhile
        if isinstance(key[0], weakref.ref) and key[0]() is None:
            routes.pop(key, None)


def _identity(level: Level, access: Access) -> Run:
    """A function that returns the same memory as a new object: map() never returns its source.

    It asks each object for its context, since a context whose table holds it would hold itself.
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
            # If the framework has no frame object, the native is a tuple of planes.
            native = tuple(map(plane, native)) if type(native) is tuple else plane(native)
        return type(source)(native, where, source._owner, source, not write, source.meta)

    return frame if level == "frame" else tensor
