# SPDX-License-Identifier: Apache-2.0
"""Route: the edges of one mapping, for inspection or for use by hand."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

from .._core.edges.context import Context, Level, Target
from .._core.edges.edge import Access, check_access, not_writable
from .._core.edges.mapper import MemoryMapper, Refused
from .._core.memory.frame import Frame
from .._core.memory.tensor import Tensor
from .._plugins.discovery import tables
from ..errors import (
    CopyRequiredError,
    NoRouteError,
    SamebytesError,
    UnknownNameError,
    UnsupportedObjectError,
)
from ..formats import ImageFormat
from .contexts import context, find_spec, node_of, resolve
from .dead_ends import DeadEnds
from .failures import Reason, failure
from .route_functions import find_routes, mappers_of, refusal, route_function, route_name
from .search import copies, search_routes, usable

__all__ = ["Route", "route"]


class Route:
    """A route from one context to another, hop by hop. Itself a mapper: see `map`.

    Attributes:
        contexts: the source, the contexts in between, and the target; held strongly.
        hops: one mapper for each step; none where source and target are the same.
        level: "tensor" or "frame".
        access: the access that it was found for.
        cost: the sum of the edges' costs.
        refused: one line for each cheaper route that could not be used, with the reason.
        item_checked: True if it was found for a tensor or frame, which can take this route. A route
            that was found between names may still refuse the layout of an object.
    """

    def __init__(
        self, hops: tuple[MemoryMapper, ...], contexts: tuple[Context, ...], level: Level,
        access: Access, refused: tuple[str, ...] = (), item_checked: bool = False,
    ) -> None:  # fmt: skip
        self.hops = hops
        self.item_checked = item_checked
        self.contexts = contexts
        self.level = level
        self.access = access
        self.refused = refused
        self.cost = sum(h.spec.weight for h in hops)
        self._run = route_function(hops, level, access) if hops else None

    @property
    def source(self) -> Context:
        """The context in which the route starts."""
        return self.contexts[0]

    @property
    def target(self) -> Context:
        """The context to which the route leads."""
        return self.contexts[-1]

    @property
    def copies(self) -> bool:
        """True if a hop copies the bytes."""
        return any(h.spec.transfer.name == "COPY" for h in self.hops)

    @property
    def depends_on(self) -> tuple[str, ...]:
        """The conditions on an object for this route, if it was found between names; else empty.

        Such a route promises nothing: another object takes another route, which may copy, or none.
        """
        if self.item_checked:
            return ()
        return tuple(f"{h.spec.name} takes only {h.spec.only}" for h in self.hops if h.spec.only)

    def map(self, item: Any) -> Any:
        """Map a tensor or frame of the source context along exactly this route.

        Args:
            item: a tensor or frame of the first context.

        Returns:
            A tensor or frame of the last context, as `Tensor.map` and `Frame.map` give it.

        Raises:
            NoRouteError: a hop cannot take this object.
            AccessError: the object is read-only and the route was found for writing.
            UnsupportedObjectError: `item` is neither a tensor nor a frame.
        """
        if not isinstance(item, Tensor | Frame):
            raise UnsupportedObjectError(
                f"map() takes a Tensor or a Frame, not {item!r}: wrap it first"
            )
        if (item.context, isinstance(item, Frame)) != (self.source, self.level == "frame"):
            raise NoRouteError(
                self.source.node,
                self.target.node,
                [f"{item!r} is not a {self.level} of {self.source!r}"],
            )
        if self._run is None:
            return item.map(self.target, self.access)
        try:
            return self._run(item)
        except Refused as reason:
            raise NoRouteError(self.source.node, self.target.node, [str(reason)]) from reason

    def explain(self) -> str:
        """The route in words: each hop, what it does, its cost."""
        from .._seen.text import Explanation  # deferred: most programs explain nothing

        return Explanation("\n".join(self._lines()))

    def _lines(self) -> list[str]:
        ends = f"{self.source.node} -> {self.target.node}"
        if not self.hops:
            return [f"{ends} ({self.level}s): the same memory, nothing to do"]
        promise = "COPIES the bytes" if self.copies else "no copy"
        if self.depends_on:
            promise = "depends on the object"
        elif not (self.copies or self.item_checked):
            promise += " for memory of the best layout"
        lines = [f'{ends} ({self.level}s, access "{self.access}"): {promise}, cost {self.cost:g}']
        width = max(len(h.spec.name) for h in self.hops)
        for number, hop in enumerate(self.hops, 1):
            spec = hop.spec
            lines.append(
                f"  {number}. {spec.name:{width}}  {spec.transfer.name:6}  "
                f"cost {spec.weight:g}  {spec.summary}"
            )
        lines.extend(f"  depends on the object: {line}" for line in self.depends_on)
        if self.depends_on and not self.copies:
            lines.append("    others need a copy (copy=True), or do not go there at all")
        lines.extend(f"  not used: {line}" for line in self.refused)
        if self.depends_on or not (self.copies or self.item_checked):
            lines.append(
                f"  whether your {self.level} can take this route: "
                f'samebytes.route({self.level}, "{self.target.node}")'
            )
        return lines

    def as_dict(self) -> dict[str, Any]:
        """The route as plain data."""
        return {
            "source": self.source.node,
            "target": self.target.node,
            "level": self.level,
            "access": self.access,
            "cost": self.cost,
            # Null if it is not known without an object.
            "copies": None if self.depends_on and not self.copies else self.copies,
            "depends_on": list(self.depends_on),
            "hops": [
                {
                    "source": h.spec.source,
                    "target": h.spec.target,
                    "transfer": h.spec.transfer.value,
                    "cost": h.spec.weight,
                    "summary": h.spec.summary,
                }
                for h in self.hops
            ],
            "refused": list(self.refused),
        }

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _repr_html_(self) -> str:
        from .._seen.text import preformatted, table_as_html

        first, *rest = self._lines()
        hops = [
            (number, h.spec.source, h.spec.target, h.spec.transfer.name, f"{h.spec.weight:g}",
             h.spec.summary)
            for number, h in enumerate(self.hops, 1)
        ]  # fmt: skip
        headers = ("", "from", "to", "transfer", "cost", "how")
        below = "\n".join(line.strip() for line in rest[len(hops) :])
        return preformatted(first) + (table_as_html(headers, hops, below) if hops else "")

    def __repr__(self) -> str:
        return f"<Route {' -> '.join(c.node for c in self.contexts)}, cost {self.cost:g}>"


def route(
    source: Target | Tensor | Frame,
    target: Target,
    access: Access = "r",
    *,
    level: Level | None = None,
    format: str | ImageFormat | None = None,  # the usual word, although it hides a builtin
    copy: bool = False,
    via: Target | Iterable[Target] = (),
) -> Route:
    """The route from source to target that `map` would take, without mapping anything.

    Args:
        source: a memory type, a context, or an object, whose own layout then counts too.
        target: a memory type, "type:device", a context, or the class of contexts.
        access: "r", "w" or "rw".
        level: "tensor" or "frame"; by default that of `source`. Between names, "frame" if either
            memory type is mostly used for frames.
        format: an image format, for routes of frames.
        copy: allow edges that copy.
        via: go exactly through these contexts, or this one, one edge for each step; names are as
            for `context()`.

    Raises:
        AccessError: `source` is a read-only object, and `access` writes.
        NoRouteError: there is no route; `reasons` has the reasons.
        CopyRequiredError: the only routes copy.
        UnknownNameError: no plugin declares such a memory type.
    """
    check_access(access)
    if level not in (None, "tensor", "frame"):
        raise UnknownNameError("level", str(level), ("tensor", "frame"))
    item = source if isinstance(source, Tensor | Frame) else None
    if item is not None and access != "r" and item.readonly:
        raise not_writable(item, access)
    start, level = _start(source, target, level)
    name = ImageFormat.of(format).name if format is not None else None
    if item is not None and name is None and isinstance(item, Frame) and item.media == "image":
        name = item.format.name
    if via:
        named = (via,) if isinstance(via, str | Context | type) else via
        steps = tuple(step if isinstance(step, Context) else context(step) for step in named)
        return _explicit(start, target, level, access, name, copy, steps)
    end = resolve(start, target)
    if end == start:
        return Route((), (start,), level, access)
    found = find_routes(start, end, level, access, copy, name)
    refused: list[Reason] = []
    dead = DeadEnds()
    for edges in found:
        if dead.has(edges):
            continue
        try:
            hops, contexts = mappers_of(edges, start, end)
        except SamebytesError as error:
            refused.append((route_name(edges), str(error)))
            continue
        if item is not None and (answer := refusal(item, hops, level, access)) is not None:
            refused.append((route_name(edges), str(answer)))
            dead.add(edges, answer)
            continue
        reasons = tuple(f"{n}: {why}" for n, why in refused)
        return Route(hops, contexts, level, access, reasons, item is not None)
    raise failure(start, end, level, access, copy, refused, name, item)


def _start(
    source: Target | Tensor | Frame, target: Target, level: Level | None
) -> tuple[Context, Level]:
    if isinstance(source, Frame):
        return source.context, level or "frame"
    if isinstance(source, Tensor):
        return source.context, level or "tensor"
    start = source if isinstance(source, Context) else context(source)
    end = target if isinstance(target, str) else node_of(target)
    frames = any(find_spec(node)[0].level == "frame" for node in (start.node, end))
    return start, level or ("frame" if frames else "tensor")


def _explicit(
    start: Context, target: Target, level: Level, access: Access, name: str | None,
    copy: bool, via: tuple[Context, ...],
) -> Route:  # fmt: skip
    end = target if isinstance(target, Context) else resolve(via[-1], target)
    edges, bad = usable(tables().edges, level, access, name)
    steps = [start, *via, end]
    picked = []
    for a, b in pairwise(steps):
        direct = next((c for c in search_routes(edges, a.node, b.node) if len(c) == 1), None)
        if direct is None:
            why = [f"no edge leads from {a.node} to {b.node}"]
            if b is end and a in via and a.node == end.node:
                why.append(f"`via` names the nodes between the two ends: leave out {a.node!r}")
            why += [reason for e, reason in bad if e.spec.name == f"{a.node} -> {b.node}"]
            raise NoRouteError(start.node, end.node, why)
        if copies(direct) and not copy:
            raise CopyRequiredError(start.node, end.node, direct[0].spec.name)
        picked.append(direct[0])
    hops, contexts = mappers_of(tuple(picked), start, end, via)
    return Route(hops, contexts, level, access)
