# SPDX-License-Identifier: Apache-2.0
"""One step at work: it maps each frame to its element, and gives what comes of it."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from .._api import frame as wrapped_frame
from .._core.frame import Frame
from .._core.locks import Lock
from .._stats import copied_here
from ..errors import ElementError, NegotiationError, UnsupportedObjectError
from ..metadata import SourceIdentifier, add, find
from ._copying import own_copy
from ._element import Sink, TransformInplace
from ._gate import Gate
from ._graph import Step
from ._media import FrameInfo
from ._negotiation import Link, Negotiation
from ._statistics import Meter

__all__ = ["Stage", "announced", "identify", "wrapped"]

_clock = time.perf_counter_ns


class Stage:
    """One step of a running pipeline.

    Args:
        step: the step.
        negotiation: finds links for streams and layouts that are new.
        hold: how many frames of a stream may wait until they can be written to.
        identify: note in each new frame which stream it is of.
    """

    def __init__(
        self, step: Step, negotiation: Negotiation, hold: int, *, identify: bool = False
    ) -> None:
        self._identify = identify
        self.step = step
        self.name = step.name
        self.links: dict[int, Link] = {}
        self._shared = bool(step.shares)
        self._gives_same = step.element._gives is None
        self.meter = Meter()
        self._negotiation = negotiation
        self._hold = hold
        self._waiting: dict[int, deque[Frame]] = {}
        self._given: dict[int, tuple[Any, Any]] = {}
        self._confirming = Lock()
        # What negotiate() said for each stream; an element may give a frame of before late.
        self._plans: dict[int, list[FrameInfo]] = {}
        self._gate = Gate() if step.element.concurrent else None
        element = step.element
        if isinstance(element, Sink):
            self._work = self._write
        elif isinstance(element, TransformInplace):
            self._work = self._change
        else:
            self._work = self._transform

    def feed(self, frame: Frame, stream: int) -> Iterator[Frame]:
        """Hand one frame to the element; gives what comes of it.

        Raises:
            ElementError: the element raised, or cannot take the frame.
        """
        entered = False
        try:
            if self._gate is not None:
                self._gate.enter(
                    lambda: self._fitting(frame, stream), lambda: self._confirm(frame, stream)
                )
                entered = True
            link = self._fitting(frame, stream) or self._confirm(frame, stream)
            if link.writes:
                yield from self._when_writable(frame, stream, link)
            else:
                yield from self._work(frame, stream, link)
        except Exception as error:
            raise self._failed(error, stream, frame) from error
        finally:
            if entered and self._gate is not None:
                self._gate.leave()

    def end(self, stream: int) -> Iterator[Frame]:
        """A stream has ended; gives what was kept back.

        Raises:
            ElementError: the element raised.
        """
        frame = None
        try:
            waiting = self._waiting.pop(stream, deque())
            while waiting:
                frame = waiting.popleft()
                yield from self._write_now(frame, stream, self.links[stream])
            frame = None
            for given in self.step.element.end_of_stream(stream) or ():
                yield self._checked(given, stream)
        except Exception as error:
            raise self._failed(error, stream, frame) from error

    def hold_at_most(self, frames: int | None) -> None:
        """Let fewer frames wait, since the source has no more of them."""
        if frames is not None:
            self._hold = max(min(self._hold, frames), 1)

    def forget(self) -> None:
        """Let go of every frame."""
        self._waiting.clear()

    def _failed(self, error: Exception, stream: int, frame: Frame | None) -> ElementError:
        self.meter.raised()
        if isinstance(error, ElementError):
            return error
        pts = None if frame is None else frame.meta.pts
        message = f"{type(error).__name__}: {error}"
        parameters = self.step.element.parameters
        return ElementError(self.name, message, stream=stream, pts=pts, parameters=parameters)

    def _fitting(self, frame: Frame, stream: int) -> Link | None:
        """The link of a stream, if its latest frames were like this one."""
        link, info = self.links.get(stream), frame.meta.info
        if (
            link is None
            or link.context is not frame.context
            or (link.info is not info and link.info != info)
        ):
            return None
        return link

    def _confirm(self, frame: Frame, stream: int) -> Link:
        """A stream's first frame, or one of another layout: see whether the plan holds."""
        with self._confirming:
            planned = self.links.get(stream)
            context = self._negotiation.contexts.add(frame.context)
            like = None if planned is None else planned.given
            link = self._negotiation.link(self.step, FrameInfo.of(frame, like), frame)
            link.context, link.info = context, frame.meta.info
            plans = self._plans.setdefault(stream, [])
            if link.gives not in plans:
                plans.append(link.gives)
            self.links[stream] = link
            return link

    def _when_writable(self, frame: Frame, stream: int, link: Link) -> Iterator[Frame]:
        """A decoder refers to frames that it gave: they wait here, in order, until it does not."""
        waiting = self._waiting.setdefault(stream, deque())
        if not waiting and (link.private or not frame.readonly or not frame.may_become_writable):
            yield from self._write_now(frame, stream, link)
            return
        waiting.append(frame)
        while waiting and (len(waiting) > self._hold or not waiting[0].readonly):
            yield from self._write_now(waiting.popleft(), stream, link)

    def _write_now(self, frame: Frame, stream: int, link: Link) -> Iterator[Frame]:
        if frame.readonly and not link.private:
            if link.copy:
                frame = own_copy(frame)
            elif frame.may_become_writable:
                raise ElementError(
                    self.name,
                    f"a frame cannot be written to: its decoder, or who else made it, still reads "
                    f"it after {self._hold} newer frames; let more wait (hold=), or allow a copy "
                    "(copy=True)",
                    stream=stream,
                    pts=frame.meta.pts,
                )
        yield from self._work(frame, stream, link)

    def _mapped(self, frame: Frame, link: Link) -> tuple[Frame, Frame]:
        """The frame that goes on, and the one that the element gets."""
        if link.private:
            frame = own_copy(frame)
        target = link.target
        if link.access == "r" and (target is None or target is frame.context):
            # Of a frame that others get too, nobody has one that can be written to.
            return frame, frame.map(frame.context, "r") if self._shared else frame
        if target is None:
            return frame, frame
        return frame, frame.map(target, link.access, copy=link.copy)

    def _write(self, frame: Frame, stream: int, link: Link) -> Iterator[Frame]:
        began, copied = _clock(), copied_here()
        frame, view = self._mapped(frame, link)
        self.step.element.write(view)  # type: ignore[attr-defined]  # it is a Sink
        self.meter.took(began, copied_here() - copied)
        del view
        self.meter.gave()
        yield frame

    def _change(self, frame: Frame, stream: int, link: Link) -> Iterator[Frame]:
        began, copied = _clock(), copied_here()
        frame, view = self._mapped(frame, link)
        kept = self.step.element.process(view)  # type: ignore[attr-defined]  # a TransformInplace
        if link.writes and view is not frame:
            view.flush()
        self.meter.took(began, copied_here() - copied)
        del view
        if kept is not False:
            self.meter.gave()
            yield frame

    def _transform(self, frame: Frame, stream: int, link: Link) -> Iterator[Frame]:
        began, copied = _clock(), copied_here()
        frame, view = self._mapped(frame, link)
        result = self.step.element.process(view)  # type: ignore[attr-defined]  # a Transform
        if result is None:
            self.meter.took(began, copied_here() - copied)
        elif result is view or result is frame:
            if link.writes and view is not frame:
                view.flush()
            self.meter.took(began, copied_here() - copied)
            del view, result
            yield self._passed(frame, stream, link)
        elif isinstance(result, Frame) or not isinstance(result, Iterator | list | tuple):
            self.meter.took(began, copied_here() - copied)
            del view
            yield self._checked(result, stream)
        else:
            made = iter(result)
            first = next(made, None)
            self.meter.took(began, copied_here() - copied)
            for given in chain((first,), made):
                if given is view or given is frame:
                    if link.writes and view is not frame:
                        view.flush()
                    yield self._passed(frame, stream, link)
                elif given is not None:  # as where it is returned: no frame
                    yield self._checked(given, stream)

    def _passed(self, frame: Frame, stream: int, link: Link) -> Frame:
        """The frame that came, from an element that might have given another one."""
        if self._gives_same:
            self.meter.gave()
            return frame
        if self._shared and not link.private:
            raise NegotiationError(
                self.name, "it passes on a frame that others read too: announce gives=el.same()"
            )
        return self._checked(frame, stream)

    def _checked(self, given: Any, stream: int) -> Frame:
        """What an element gave, as a frame, if it is what was announced."""
        frame = wrapped(given, self.name)
        seen = (frame.context, frame.meta.info)
        if self._given.get(stream) != seen:
            # One that announced nothing may give anything: who takes it says whether it fits.
            plans = () if self._gives_same else self._plans.get(stream, ())
            announced(self._negotiation, self.step, frame, plans)
            self._given[stream] = seen
        if self._identify:
            identify(frame, stream)
        self.meter.gave()
        return frame


def wrapped(given: Any, name: str) -> Frame:
    """What an element gave, as a frame.

    Raises:
        NegotiationError: it is none.
    """
    if isinstance(given, Frame):
        return given
    try:
        return wrapped_frame(given)
    except UnsupportedObjectError as error:
        raise NegotiationError(
            name, f"it gave {type(given).__name__!r}, no frame: {error}"
        ) from None


def identify(frame: Frame, stream: int) -> None:
    """Note in a frame which stream it is of, unless it says so already."""
    if find(frame, SourceIdentifier) is None:
        add(frame, SourceIdentifier(stream_id=stream))


def announced(
    negotiation: Negotiation, step: Step, frame: Frame, plans: Sequence[FrameInfo]
) -> FrameInfo:
    """See whether a frame is what its element announced.

    Args:
        plans: what negotiate() said, the latest last; a frame is to be like one of them.

    Raises:
        NegotiationError: it is not.
    """
    found = FrameInfo.of(frame, plans[-1] if plans else None)
    negotiation.check_announced(step, found)
    if plans and not any(_is_as_said(found, plan) for plan in plans):
        raise NegotiationError(step.name, f"negotiate() said {plans[-1]}, and it gives {found}")
    return found


def _is_as_said(found: FrameInfo, plan: FrameInfo) -> bool:
    names = ("media", "memory", "format", "width", "height", "audio")
    return all(getattr(plan, n) in (None, getattr(found, n)) for n in names)
