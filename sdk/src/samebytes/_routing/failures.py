# SPDX-License-Identifier: Apache-2.0
"""The error for a missing route, with the reason for each route that was not taken."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from .._core.edges.context import Context, Level
from .._core.edges.edge import Transfer, not_writable
from .._core.edges.mapper import MemoryMapper
from .._core.memory.frame import Frame
from .._plugins.discovery import tables
from ..errors import (
    AccessError,
    CopyRequiredError,
    NoRouteError,
    RouteError,
    SamebytesError,
)
from .route_functions import find_routes, mappers_of, refusal, route_name, routes_between
from .search import MAX_TRIES, Edges, copies, usable

if TYPE_CHECKING:
    from .._plugins.tables import Edge

__all__ = ["Reason", "failure"]

# A route that was not taken, and the reason.
Reason = tuple[str, str]


def failure(
    source: Context, target: Context, level: Level, access: str, copy: bool, why: list[Reason],
    image_format: str | None = None, item: Any = None,
) -> RouteError | AccessError:  # fmt: skip
    """The error that says why there is no route, or that the only routes copy.

    If several routes were refused for the same reason, it names the cheapest. No route maps a
    read-only object for writing, or a frame to a context that excludes its media: for these, the
    error says only that.
    """
    if item is not None and access != "r" and item.readonly:
        return not_writable(item, access)
    if isinstance(item, Frame) and (reason := target.rules_out(item.meta.info)) is not None:
        return NoRouteError(source.node, target.node, [reason], " for this frame")
    if image_format is None and isinstance(item, Frame) and item.media == "image":
        image_format = item.format.name
    why = why.copy()
    if not copy:
        refused = _once(why)
        with_copy = find_routes(source, target, level, access, True, image_format)
        for route in islice((c for c in with_copy if copies(c)), MAX_TRIES):
            reason = _why_not(route, source, target, item)
            if reason is None:
                edge = next(e for e in route if copies((e,)))
                return CopyRequiredError(source.node, target.node, edge.spec.name, refused)
            if not any(map(_is_dense_copy, route)):
                why.append((route_name(route), reason))
    refused = _once(why)
    unusable = _unusable(source.node, target.node, level, access, image_format)
    reasons = [*refused, *unusable] or [_nothing_joins(source.node, target.node, level)]
    return NoRouteError(source.node, target.node, reasons, f' for {level}s, access "{access}"')


def _unusable(
    source: str, target: str, level: Level, access: str, image_format: str | None
) -> list[str]:
    """The reasons why there are no other routes: for each, the first edge that cannot serve."""
    good, bad = usable(tables().edges, level, access, image_format)
    why = dict(bad)
    tried = islice(routes_between([*good, *why], source, target), MAX_TRIES)
    cannot = {e for e in why if not _is_dense_copy(e)}
    first = (next((e for e in route if e in cannot), None) for route in tried)
    culprits = dict.fromkeys(e for e in first if e is not None)
    return [f"{e.spec.name} [{e.plugin}]: {why[e]}" for e in culprits]


def _is_dense_copy(edge: Edge) -> bool:
    """True for an edge within a node, which has nothing to do with the requested pair."""
    return edge.spec.source == edge.spec.target


def _once(why: list[Reason]) -> list[str]:
    cheapest = {reason: name for name, reason in reversed(why)}
    return [f"{n}: {r}" for n, r in dict.fromkeys(why) if cheapest[r] == n]


def _why_not(route: Edges, source: Context, target: Context, item: Any) -> str | None:
    """Say why a route that copies cannot be loaded or does not take the object, or return None."""
    try:
        mappers, contexts = mappers_of(route, source, target)
        if isinstance(item, Frame):
            rules = [context.rules_out(item.meta.info) for context in contexts]
            if ruled := list(filter(None, rules)):
                return ruled[0]
        return None if item is None else _refusal_of(item, mappers, contexts)
    except SamebytesError as error:
        return str(error)


def _refusal_of(
    item: Any, mappers: tuple[MemoryMapper, ...], contexts: tuple[Context, ...]
) -> str | None:
    """Say why the edges of a route refuse the object, or return None.

    The edges before a copy are used, for reading: only they can decide. The edges after it get new
    memory in place of the copy of a tensor or image, where the context can allocate some.
    """
    level: Level = "frame" if isinstance(item, Frame) else "tensor"
    answer = refusal(item, mappers, level, "r")
    copied = next((n for n, m in enumerate(mappers, 1) if m.spec.transfer is Transfer.COPY), 0)
    if answer is not None:
        return str(answer)
    if mappers[copied:] in ((), mappers) or getattr(item, "media", "image") != "image":
        return None
    context = contexts[copied]
    copy: Any
    try:
        if isinstance(item, Frame):
            copy = context.allocate_frame(item.format, item.width, item.height)
        else:
            copy = context.allocate(item.info.shape, item.info.dtype)
    except SamebytesError:
        return None
    return _refusal_of(copy, mappers[copied:], contexts[copied:])


def _nothing_joins(source: str, target: str, level: Level) -> str:
    specs = [e.spec for e in tables().edges if e.spec.serves(level)]
    if target not in {s.target for s in specs}:
        return f"no installed plugin maps {level}s to {target}"
    if source not in {s.source for s in specs}:
        return f"no installed plugin maps {level}s from {source}"
    return f"no installed mappers join them ({level} level)"
