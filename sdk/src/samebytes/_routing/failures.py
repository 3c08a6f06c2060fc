# SPDX-License-Identifier: Apache-2.0
"""The error for a missing route, with the reason for each route that was not taken."""

from __future__ import annotations

from itertools import islice
from typing import Any

from .._core.edges.context import Context, Level
from .._core.edges.edge import not_writable
from .._core.memory.frame import Frame
from .._plugins.discovery import tables
from ..errors import (
    AccessError,
    CopyRequiredError,
    NoRouteError,
    RouteError,
    SamebytesError,
)
from .route_functions import find_routes, mappers_of, refusal, routes_between
from .search import MAX_TRIES, Edges, copies, usable

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
    cheapest = {reason: name for name, reason in reversed(why)}
    refused = [f"{n}: {r}" for n, r in dict.fromkeys(why) if cheapest[r] == n]
    if not copy:
        with_copy = find_routes(source, target, level, access, True, image_format)
        for route in islice((c for c in with_copy if copies(c)), MAX_TRIES):
            if _may_take(route, source, target, item):
                edge = next(e for e in route if copies((e,)))
                return CopyRequiredError(source.node, target.node, edge.spec.name, refused)
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
    # A dense copy in between has nothing to do with the requested pair.
    cannot = {e for e in why if e.spec.source != e.spec.target}
    first = (next((e for e in route if e in cannot), None) for route in tried)
    culprits = dict.fromkeys(e for e in first if e is not None)
    return [f"{e.spec.name} [{e.plugin}]: {why[e]}" for e in culprits]


def _may_take(route: Edges, source: Context, target: Context, item: Any) -> bool:
    """True if a route that copies can be loaded and takes the object, if any, up to its copy.

    The edges before the copy are used, for reading: only they can decide. For the edges after it,
    the contexts say what they exclude.
    """
    try:
        mappers, contexts = mappers_of(route, source, target)
        if isinstance(item, Frame) and any(c.rules_out(item.meta.info) for c in contexts):
            return False
        level: Level = "frame" if isinstance(item, Frame) else "tensor"
        return item is None or refusal(item, mappers, level, "r") is None
    except SamebytesError:
        return False


def _nothing_joins(source: str, target: str, level: Level) -> str:
    specs = [e.spec for e in tables().edges if e.spec.serves(level)]
    if target not in {s.target for s in specs}:
        return f"no installed plugin maps {level}s to {target}"
    if source not in {s.source for s in specs}:
        return f"no installed plugin maps {level}s from {source}"
    return f"no installed mappers join them ({level} level)"
