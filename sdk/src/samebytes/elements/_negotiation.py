# SPDX-License-Identifier: Apache-2.0
"""The frames that two neighbours agree on: the cheapest that one gives and the other takes.

An agreement is about names and sizes; a frame can still have a layout that an edge refuses. So it
is a plan until `confirm` has seen a frame.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import inf
from typing import Any

from .._core.edges.context import Context
from .._core.edges.edge import Access
from .._core.memory.frame import Frame
from .._routing.route import Route, route
from ..errors import (
    MissingDependencyError,
    NegotiationError,
    RouteError,
    SamebytesError,
    UnknownNameError,
)
from ..formats import ImageFormat
from ._contexts import Contexts
from ._element import Element, Sink, Source, Transform, TransformInplace
from ._graph import Step
from ._media import FrameInfo, Media

__all__ = ["Link", "Negotiation"]

_COPY = 10_000.0
"""The cost of a copy, as in routes."""
_REFUSED = 1e9
"""The cost of frames that a step does not take."""


@dataclass(slots=True)
class Link:
    """The frames that one step takes of one stream, and how it gets them.

    Attributes:
        given: the frames that come.
        taken: the pattern of the element that they are mapped to.
        target: the context to map to; None if the frames are taken as they come.
        access: the access of the mapping.
        copy: True if a copy was allowed.
        private: True if each frame is copied first, since others read it or it is read-only.
        gives: the frames that the step will give.
        route: the route of the frames; None if they are there already, or if no route takes frames
            of this layout and the element has ways of its own.
        own: the context to which the element itself maps them; None if it does not.
        copies, converts: the element's own copies and conversions, in words.
        confirmed: True once a frame was seen that can take the route.
    """

    given: FrameInfo
    taken: Media
    target: Context | None
    access: Access
    copy: bool
    private: bool
    gives: FrameInfo
    route: Route | None
    confirmed: bool = False
    own: Context | None = None
    copies: str = ""
    converts: str = ""
    # Those of the frames that were seen, compared for each frame.
    context: Context | None = None
    info: Any = None

    @property
    def writes(self) -> bool:
        """True if the element writes into the frame."""
        return self.access != "r"


@dataclass(slots=True)
class _Option:
    """One of the ways in which a step can take its frames."""

    cost: float
    taken: Media
    memory: str
    private: bool
    reason: str = ""
    own: str = ""  # the context to which the element itself maps them


class Negotiation:
    """Finds links. One for each pipeline.

    Args:
        copy: True if the user allows copies.
        sources: the names of the sources, by stream, for errors.
    """

    def __init__(self, *, copy: bool, sources: Sequence[str] = ()) -> None:
        self.copy = copy
        self._sources = tuple(sources)
        self.contexts = Contexts()
        self._after: dict[tuple[Step, FrameInfo], float] = {}
        self._costs: dict[tuple[Any, ...], float | str] = {}

    def source(self, step: Step) -> FrameInfo | None:
        """The frames that a source agrees to give to the next elements; None if not known yet.

        Raises:
            NegotiationError: it gives nothing that they take, or something other than announced.
        """
        element = step.element
        assert isinstance(element, Source)
        element._contexts = self.contexts
        offers = [info for pattern in element._gives or () for info in pattern.offers(None)]
        costs = {info: self._cost_after(step, info) for info in offers}
        offers.sort(key=costs.__getitem__)
        wanted = offers[0] if offers else None
        taken = (info.format for info in offers if info.format and costs[info] < _REFUSED)
        vars(element)["wanted_formats"] = tuple(dict.fromkeys(taken))
        found = element.negotiate(wanted)
        if found is None:
            return None
        if not isinstance(found, FrameInfo):
            raise NegotiationError(step.name, f"negotiate() returned {found!r}, not a FrameInfo")
        self.check_announced(step, found)
        return found

    def check_announced(self, step: Step, info: FrameInfo) -> None:
        """Check that a step gives the frames that it announced.

        Raises:
            NegotiationError: it gives others.
        """
        gives = step.element._gives
        if gives is None:
            return
        reasons = []
        for pattern in gives:
            reason = pattern.why_not(info)
            if reason is None and pattern.memories and not self._is_in(info, pattern):
                reason = f"it is in {info.memory}, not {' or '.join(pattern.memories)}"
            if reason is None:
                return
            reasons.append(reason)
        announced = " or ".join(map(str, gives))
        raise NegotiationError(
            step.name, f"it announced {announced}, but gives {info}", reasons=reasons
        )

    def link(
        self, step: Step, given: FrameInfo, frame: Frame | None = None, *, stream: int = 0
    ) -> Link:
        """The cheapest way in which a step can take such frames.

        Args:
            step: the step.
            given: the frames that come.
            frame: one of them, which the route then must be able to take.
            stream: the number of their stream, for the error.

        Raises:
            NegotiationError: no route exists; the error shows both sides.
        """
        options = sorted(self._options(step, given, frame), key=lambda option: option.cost)
        reasons = [option.reason for option in options if option.reason]
        for option in options:
            if option.reason:
                continue
            try:
                return self._link(step, given, option, frame)
            except (ValueError, RouteError, MissingDependencyError, UnknownNameError) as error:
                reasons.append(f"{option.taken}: {error}")
        before = step.before.name if step.before is not None else ""
        several = len(self._sources) > 1
        if several and step.before is not None and isinstance(step.before.element, Source):
            before = self._sources[stream]  # all sources have the same steps after them
        takes = " or ".join(map(str, step.element._takes))
        for own in dict.fromkeys(option.own for option in options if option.own):
            takes += f", and maps it to {own} itself"
        takes += self._advice(step, given)
        raise NegotiationError(
            step.name, f"{before!r} gives {given}; it takes {takes}", before, reasons,
            stream=stream if several else None,
        )  # fmt: skip

    def _advice(self, step: Step, given: FrameInfo) -> str:
        """Advice on an element that converts the pictures to some that the step takes, if any."""
        if all(taken.why_not(given) for taken in step.element._takes):
            from ._advice import format_to_convert_to  # seldom needed

            name = format_to_convert_to(step.element._takes, given, self.contexts)
            if name:
                return f'. Put el.create("convert", "{name}") before it'
        return ""

    def check_shared(self, step: Step) -> None:
        """Check that a step may write as it has to, whatever frames come.

        Raises:
            NegotiationError: it writes into frames that others get too, and copies are not allowed.
        """
        reasons = [_why_private(step, taken, None) for taken in step.element._takes]
        if reasons and all(reasons) and not self.copy:
            assert step.before is not None
            raise NegotiationError(
                step.name, f"it writes into the frames of {step.before.name!r}", step.before.name,
                reasons,
            )  # fmt: skip

    def _link(self, step: Step, given: FrameInfo, option: _Option, frame: Frame | None) -> Link:
        element, taken = step.element, option.taken
        target, found, own = None, None, None
        memory = given.memory
        if option.memory:
            target = self.contexts.find(option.memory)
            memory = target.node
            origin: Any = "cpu" if option.private else given.memory if frame is None else frame
            if not (isinstance(origin, Frame) and origin.context is target):
                copy = self.copy or option.private
                found = self._route(origin, target, taken.access, given, copy=copy)
        elif option.own:
            near = frame.context if frame is not None else self.contexts.of_node(given.memory)
            own = self.contexts.find(option.own, near)
            found = self._own_route(element, own, given, frame)
        assert isinstance(element, Transform | Sink)
        gives = element.negotiate(replace(given, memory=memory))
        if not isinstance(gives, FrameInfo):
            raise NegotiationError(step.name, f"negotiate() returned {gives!r}, not a FrameInfo")
        if isinstance(element, Sink | TransformInplace) or element._gives is None:
            gives = given
        else:
            self.check_announced(step, gives)
        return Link(
            given, taken, target, taken.access, self.copy, option.private, gives, found,
            confirmed=frame is not None, own=own, copies=element.copies(given, frame),
            converts=element.converts(given, frame),
        )  # fmt: skip

    def _own_route(
        self, element: Element, target: Context, given: FrameInfo, frame: Frame | None
    ) -> Route | None:
        """The route to the context where an element maps frames itself; None if none takes them."""
        origin = given.memory if frame is None else frame
        at = frame.context if frame is not None else self.contexts.find(given.memory)
        if at is target:
            return None
        try:
            return self._route(origin, target, "r", given, copy=element.may_copy)
        except RouteError:
            if frame is None:
                raise
            return None

    def _options(
        self, step: Step, given: FrameInfo, frame: Frame | None = None
    ) -> Iterator[_Option]:
        element = step.element
        element._contexts = self.contexts
        self.settle_on(given)
        for taken in element._takes:
            reason = taken.why_not(given)
            why = _why_private(step, taken, frame)
            private = bool(why)
            if reason is None and private and not self.copy:
                reason = why
            if reason is not None:
                yield _Option(inf, taken, "", private, f"{taken}: {reason}")
                continue
            after = self._cost_of_rest(step, given, taken)
            extra = after + (_COPY if private else 0.0)
            for memory in taken.memories:
                cost = self._cost(
                    given, memory, taken.access, frame, private=private, copy=self.copy
                )
                if isinstance(cost, str):
                    yield _Option(inf, taken, memory, private, cost)
                else:
                    yield _Option(cost + extra, taken, memory, private)
            if not taken.memories:
                own = element.maps_to(given)
                copy = element.may_copy
                # By names: a frame that no route takes whole is for the element to judge.
                cost = self._cost(given, own, "r", None, private=private, copy=copy) if own else 0.0
                if isinstance(cost, str):
                    yield _Option(inf, taken, "", private, f"{own}: {cost}", own)
                else:
                    yield _Option(cost + extra, taken, "", private, own=own)

    def _cost(
        self, given: FrameInfo, memory: str, access: Access, frame: Frame | None, *, private: bool,
        copy: bool,
    ) -> float | str:  # fmt: skip
        """The cost of the route, or the reason why there is none."""
        origin = "cpu" if private else given.memory
        if frame is None or private:
            key = (origin, memory, access, given.format, copy)
            if key not in self._costs:
                self._costs[key] = self._new_cost(origin, memory, access, given, copy=copy)
            return self._costs[key]
        return self._new_cost(frame, memory, access, given, copy=copy)

    def _new_cost(
        self, origin: str | Frame, memory: str, access: Access, given: FrameInfo, *, copy: bool
    ) -> float | str:
        try:
            target = self.contexts.find(memory)
            at = origin.context if isinstance(origin, Frame) else self.contexts.find(origin)
            if at is target:
                return 0.0
            return self._route(origin, target, access, given, copy=copy).cost
        except SamebytesError as error:
            return str(error)

    def _route(
        self, origin: str | Frame, target: Context, access: Access, given: FrameInfo, *, copy: bool
    ) -> Route:
        if isinstance(origin, Frame):
            return route(origin, target, access=_access_to_ask(origin, access), copy=copy)
        source, format_ = self.contexts.find(origin), None
        # A format of one framework alone has no known name: its frames show which edges take them.
        with suppress(UnknownNameError):
            format_ = given.format and ImageFormat.of(given.format)
        return route(source, target, access=access, level="frame", format=format_, copy=copy)

    def settle_on(self, info: FrameInfo) -> None:
        """Find the context of frames first, so that the one they go to shares its handles."""
        with suppress(SamebytesError):  # the context of the frames comes with them
            self.contexts.find(info.memory)

    def _is_in(self, info: FrameInfo, pattern: Media) -> bool:
        """True if the frames are in the pattern's memory: "openvino:GPU.1" is in "openvino:GPU"."""
        return any(
            info.memory in (name, name.partition(".")[0])
            or self.contexts.find(name).node == info.memory
            for name in pattern.memories
        )

    def _cost_of_rest(self, step: Step, given: FrameInfo, taken: Media) -> float:
        element = step.element
        if isinstance(element, Sink | TransformInplace) or element._gives is None:
            return self._cost_after(step, given)
        offers = [info for pattern in element._gives for info in pattern.offers(given)]
        return min((self._cost_after(step, info) for info in offers), default=0.0)

    def _cost_after(self, step: Step, info: FrameInfo) -> float:
        """The least cost of all routes after a step together; very high if there is none."""
        key = (step, info)
        if key not in self._after:
            self._after[key] = sum(
                min(
                    (min(o.cost, _REFUSED) for o in self._options(next_, info)),
                    default=0.0,
                )
                for next_ in step.after
            )
        return self._after[key]


def _why_private(step: Step, taken: Media, frame: Frame | None) -> str:
    """The reason why a step that writes needs frames of its own; "" if it does not."""
    if taken.access == "r":
        return ""
    if step.shares:
        others = " and ".join(step.shares)
        return (
            f"the frame is shared with {others}, so nobody may write to it: write before the "
            "branch, or allow a copy (copy=True)"
        )
    if frame is not None and frame.readonly and not frame.may_become_writable:
        giver = step.before
        while giver is not None and giver.passes_on:
            giver = giver.before
        if giver is not None and vars(giver.element).get("writable") is False:
            return (
                f"{giver.name!r} gives a part of a frame that may only be read: pass it "
                "writable=True, or allow a copy (copy=True)"
            )
        return (
            "the frame is read-only, as those of other processes are: take one that can be "
            "written, or allow a copy (copy=True)"
        )
    return ""


def _access_to_ask(frame: Frame, access: Access) -> Access:
    """The access to ask a route about: a decoder's frame may become writable after this."""
    return "r" if access != "r" and frame.readonly and frame.may_become_writable else access
