# SPDX-License-Identifier: Apache-2.0
"""One step at work: it maps each frame for its element, and passes on what the element gives."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

from .._api import frame as wrapped_frame
from .._core.memory.frame import Frame
from .._core.owner.locks import Lock
from .._counting import copied_here, moved_here
from .._raising import throw
from ..errors import (
    CopyRequiredError,
    ElementError,
    LayoutError,
    NegotiationError,
    UnsupportedObjectError,
)
from ._channel import Stopped
from ._copying import make_writable, own_copy
from ._current import CURRENT, is_stopping
from ._element import Element, Sink, Source, TransformInplace
from ._gate import Gate
from ._graph import Step
from ._identity import identify
from ._media import FrameInfo
from ._negotiation import Link, Negotiation
from ._statistics import Meter

__all__ = ["Stage", "announced", "wrapped"]

_clock = time.perf_counter_ns

_AT_THE_END, _NAP = 1.0, 0.001
"""Seconds that a stream's last frames may take until nobody else reads them: decoders see the end
when the source does, and release frames in threads of their own."""


class Stage:
    """One step of a running pipeline.

    Args:
        step: the step.
        negotiation: finds links for streams and layouts that are new.
        hold: how many frames of a stream may wait until they can be written to.
        sources: the origins of their frames, if there are several sources.
        drops: whether frames at the end of a stream are left out if the element raises for them.
        threaded: whether several threads may feed it.
    """

    def __init__(
        self,
        step: Step,
        negotiation: Negotiation,
        hold: int,
        sources: frozenset[Any] = frozenset(),
        *,
        drops: bool = False,
        threaded: bool = True,
    ) -> None:
        self._sources = sources
        self._drops = drops
        self._ended: set[int] = set()
        self.step = step
        self.name = step.name
        self.links: dict[int, Link] = {}
        self._shared = bool(step.shares)
        self._gives_same = step.element._gives is None
        self.meter = Meter(step.name)
        self._negotiation = negotiation
        self._hold = hold
        self._waiting: dict[int, deque[Frame]] = {}
        self._given: dict[int, tuple[Any, Any]] = {}
        self._confirming = Lock()
        # The results of negotiate() for each stream: an element may give frames of earlier ones.
        self._plans: dict[int, list[FrameInfo]] = {}
        self._gate = Gate() if threaded and step.element.concurrent else None
        element = step.element
        # If several threads use an element at a time, its count does not show whose frames it kept.
        self._keeps = type(element).frames_kept is not Element.frames_kept
        self._counts_kept = self._keeps and not element.concurrent
        # Functions, not bound methods: those would refer to the stage, and the stage to them.
        self._work: Callable[[Stage, Frame, int, Link], Iterator[tuple[int, Frame]]]
        if isinstance(element, Sink):
            self._work = Stage._write
        elif isinstance(element, TransformInplace):
            self._work = Stage._change
        else:
            self._work = Stage._transform

    def feed(self, frame: Frame, stream: int) -> Iterator[tuple[int, Frame]]:
        """Pass one frame to the element, and give what comes of it, each with its stream.

        The stream can be another one, since elements may give frames later.

        Raises:
            ElementError: the element raised, or cannot take the frame.
        """
        entered = False
        before = self._account() if self._counts_kept else 0
        taken = self.meter.frames_in
        try:
            if self._gate is not None:
                link = self._gate.enter(self._fitting, self._confirm, frame, stream)
                entered = True
            else:
                link = self._fitting(frame, stream) or self._confirm(frame, stream)
            if link.access != "r":
                yield from self._when_writable(frame, stream, link)
            else:
                yield from self._work(self, frame, stream, link)
        except Stopped:
            self.meter.lose(self._gone(before))
            raise
        except Exception as error:
            gone = self._gone(before)
            earlier = gone - (self.meter.frames_in == taken) if self._counts_kept else 0
            throw(self._failed(error, stream, frame, gone, earlier))
        finally:
            if entered and self._gate is not None:
                self._gate.leave()

    def end(self, stream: int) -> Iterator[tuple[int, Frame]]:
        """End a stream, and give what was kept back, each with its stream.

        Raises:
            ElementError: the element raised.
        """
        try:
            # Each stays in the queue until its turn: if this is stopped, the others are counted.
            until = time.monotonic() + _AT_THE_END
            while waiting := self._waiting.get(stream):
                _await_release(waiting[0], until)
                frame = waiting.popleft()
                try:
                    yield from self._write_now(frame, stream, self.links[stream], at_the_end=True)
                except Stopped:
                    self.meter.lose(1)
                    raise
                except Exception as error:
                    self._fail_or_drop(error, stream, frame)
                del frame
            while not (yield from self._rest(stream)):
                pass
        finally:
            self._ended.add(stream)

    def _rest(self, stream: int) -> Generator[tuple[int, Frame], None, bool]:
        """The frames that end_of_stream() gives.

        Returns:
            True if that was all; False if it raised, and still has frames that it kept.
        """
        before = self._account() if self._keeps else 0
        try:
            for given in self._each(self.step.element.end_of_stream(stream) or ()):
                yield self._checked(given, None, stream)
        except Stopped:
            raise
        except Exception as error:
            after = self._account() if self._keeps else 0
            self._fail_or_drop(error, stream, None, before - after, before - after)
            return after >= before or not self.step.element.frames_kept()
        return True

    def _each(self, given: Iterable[Any]) -> Iterator[Any]:
        """The items that an element gave, without None, which stands for no frame."""
        items = iter(given)
        try:
            yield from (one for one in items if one is not None)
        except GeneratorExit:
            if items is not given:  # a list: nobody else counts its other frames
                self.meter.lose(sum(one is not None for one in items))
            raise

    def _gone(self, before: int) -> int:
        """The number of frames lost with a call that raised: the one that it got, and others."""
        return 1 + before - self._account() if self._counts_kept else 1

    def _account(self) -> int:
        """The number of frames that the element has kept back or given."""
        return self.step.element.frames_kept() + self.meter.frames_out

    def abandon(self, stream: int) -> None:
        """End a stream early: what waits does not go on."""
        self.meter.lose(len(self._waiting.pop(stream, ())))

    def hold_at_most(self, frames: int | None) -> None:
        """Let fewer frames wait, since the source has no more of them."""
        if frames is not None:
            self._hold = min(self._hold, max(frames, 1))

    def forget(self) -> None:
        """Let go of every frame."""
        for stream in list(self._waiting):
            self.abandon(stream)

    def lose_kept(self) -> None:
        """Count what the element has kept back as lost, before it is closed."""
        if self._keeps:
            self.meter.lose(self.step.element.frames_kept())

    def _failed(
        self, error: Exception, stream: int, frame: Frame | None, frames: int = 1,
        taken: int = 0,
    ) -> ElementError:  # fmt: skip
        self.meter.raised(max(frames, 1), max(taken, 0))
        pts = None if frame is None else frame.meta.pts
        failure = self.step.failed(error, stream=stream, pts=pts)
        run = CURRENT.run
        if run is not None and not run.stopping:  # what ends a call is no failure
            run.journal.failed(failure, goes_on=self._drops)
        return failure

    def _fail_or_drop(
        self, error: Exception, stream: int, frame: Frame | None, frames: int = 1,
        taken: int = 0,
    ) -> None:  # fmt: skip
        """Leave out the frame for which the element raised, if that was chosen; else raise."""
        if self._drops:
            # It is counted, and the log reports it.
            self._failed(error, stream, frame, frames, taken)
        else:
            throw(self._failed(error, stream, frame, frames, taken))

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
        """Check the plan for a stream's first frame, or one of another layout; return the link."""
        with self._confirming:
            planned = self.links.get(stream)
            context = self._negotiation.contexts.add(frame.context)
            like = self._source_of(frame) if planned is None else planned.given
            given = FrameInfo.of(frame, like)
            link = self._negotiation.link(self.step, given, frame, stream=stream)
            link.context, link.info = context, frame.meta.info
            plans = self._plans.setdefault(stream, [])
            if link.gives not in plans:
                plans.append(link.gives)
            self.links[stream] = link
            return link

    def _source_of(self, frame: Frame) -> FrameInfo | None:
        """The description that a source gave of its frames, if this frame came straight from it."""
        before, origin = self.step.before, frame._origin
        own = before is not None and isinstance(before.element, Source) and origin is not None
        return origin[0].info if own else None

    def _when_writable(self, frame: Frame, stream: int, link: Link) -> Iterator[tuple[int, Frame]]:
        """Let frames to which a decoder still refers wait, in order, until it no longer does."""
        waiting = self._waiting.setdefault(stream, deque())
        if not waiting:
            if link.private or not frame.readonly:
                yield from self._work(self, frame, stream, link)
                return
            if not frame.may_become_writable:
                yield from self._write_now(frame, stream, link)
                return
        waiting.append(frame)
        while waiting and (len(waiting) > self._hold or not waiting[0].readonly):
            yield from self._write_now(waiting.popleft(), stream, link)

    def _write_now(
        self, frame: Frame, stream: int, link: Link, at_the_end: bool = False
    ) -> Iterator[tuple[int, Frame]]:
        if frame.readonly and not link.private:
            if link.copy:
                copied = copied_here()
                frame = _instead_of(frame, make_writable(frame))
                self.meter.copies(copied_here() - copied)
            elif frame.may_become_writable:
                node = frame.context.node
                if at_the_end:
                    when, remedy = "though its stream has ended", "allow a copy (copy=True)"
                else:
                    when = f"after {self._hold} newer frames"
                    remedy = "let more wait (hold=), or allow a copy (copy=True)"
                raise ElementError(
                    self.name,
                    "a frame cannot be written to: its decoder, or whatever made it, still reads "
                    f"it {when}; {remedy}",
                    stream=stream,
                    pts=frame.meta.pts,
                ) from CopyRequiredError(node, node, f"{node} -> {node} (make_writable)")
        yield from self._work(self, frame, stream, link)

    def _mapped(self, frame: Frame, link: Link) -> tuple[Frame, Frame]:
        """The frame that goes on, and the one that the element gets."""
        if link.private:
            frame = _instead_of(frame, own_copy(frame))
        target = link.target
        if link.access == "r" and (target is None or target is frame.context):
            # If others get the frame too, nobody gets one that can be written to.
            return frame, frame.map(frame.context, "r") if self._shared else frame
        if target is None:
            return frame, frame
        return frame, frame.map(target, link.access, copy=link.copy)

    def _write(self, frame: Frame, stream: int, link: Link) -> Iterator[tuple[int, Frame]]:
        began, before = _clock(), moved_here()
        frame, view = self._mapped(frame, link)
        self.step.element.write(view)  # type: ignore[attr-defined]  # it is a Sink
        self.meter.took(began, before, gave=True)
        del view
        yield stream, frame

    def _change(self, frame: Frame, stream: int, link: Link) -> Iterator[tuple[int, Frame]]:
        began, before = _clock(), moved_here()
        frame, view = self._mapped(frame, link)
        kept = self.step.element.process(view)  # type: ignore[attr-defined]  # a TransformInplace
        if isinstance(kept, Frame) and kept is not view and kept is not frame:
            raise TypeError(
                f"it returned another frame, {kept!r}, and passes on the one that it was given: "
                "write into that one, or make it a Transform (@el.transform)"
            )
        if link.access != "r" and view is not frame:
            view.flush()
        self.meter.took(began, before, gave=kept is not False)
        del view
        if kept is not False:
            yield stream, frame

    def _transform(self, frame: Frame, stream: int, link: Link) -> Iterator[tuple[int, Frame]]:
        began, before = _clock(), moved_here()
        frame, view = self._mapped(frame, link)
        result = self.step.element.process(view)  # type: ignore[attr-defined]  # a Transform
        if result is None:
            self.meter.took(began, before)
        elif result is view or result is frame:
            if link.access != "r" and view is not frame:
                view.flush()
            self.meter.took(began, before, gave=self._gives_same)
            del view, result
            yield (stream, frame) if self._gives_same else self._passed(frame, stream, link)
        elif isinstance(result, Frame) or not isinstance(result, Iterator | list | tuple):
            self.meter.took(began, before)
            del view
            yield self._checked(result, frame, stream)
        else:
            made = self._each(result)
            first = next(made, None)
            self.meter.took(began, before)
            for given in chain((first,), made):
                if given is view or given is frame:
                    if link.writes and view is not frame:
                        view.flush()
                    if self._gives_same:
                        self.meter.gave()
                        yield stream, frame
                    else:
                        yield self._passed(frame, stream, link)
                elif given is not None:  # as where it is returned: no frame
                    yield self._checked(given, frame, stream)

    def _passed(self, frame: Frame, stream: int, link: Link) -> tuple[int, Frame]:
        """The frame that came, from an element that announced that it gives others."""
        if self._shared and not link.private:
            raise NegotiationError(
                self.name, "it passes on a frame that others read too: announce gives=el.same()"
            )
        return self._checked(frame, frame, stream)

    def _checked(self, given: Any, made_of: Frame | None, stream: int) -> tuple[int, Frame]:
        """The stream and the frame that an element gave, if that is what was announced."""
        frame = wrapped(given, self.name)
        stream = self._note_origin(frame, made_of, stream)
        seen = (frame.context, frame.meta.info)
        if self._given.get(stream) != seen:
            # One that announced nothing may give anything: who takes it says whether it fits.
            plans = () if self._gives_same else self._plans.get(stream, ())
            moved = made_of is not None and _is_of(frame, made_of)
            announced(self._negotiation, self.step, frame, plans, moved=moved)
            self._given[stream] = seen
        identify(frame, stream)
        self.meter.gave()
        return stream, frame

    def _note_origin(self, given: Frame, made_of: Frame | None, stream: int) -> int:
        """Note when the frame was read that this one is, or was made of; and give its stream."""
        one: Frame | None = given
        while one is not None:
            origin = getattr(one, "_origin", None)
            if origin is not None:
                break
            one = one.parent
        else:
            origin = getattr(made_of, "_origin", None) or (None, _clock())
        given._origin = origin
        source: Any = origin[0]
        late = source in self._sources and source.stream not in self._ended
        return source.stream if late else stream


def _await_release(frame: Frame, until: float) -> None:
    """Return when a frame can be written to, or at that time (monotonic)."""
    while frame.readonly and time.monotonic() < until:
        if is_stopping():
            raise Stopped
        time.sleep(_NAP)


def _instead_of(frame: Frame, copy: Frame) -> Frame:
    copy._origin = frame._origin
    return copy


def wrapped(given: Any, name: str) -> Frame:
    """The object that an element gave, as a frame.

    Raises:
        NegotiationError: it cannot be wrapped as a frame.
    """
    if isinstance(given, Frame):
        return given
    try:
        return wrapped_frame(given)
    except (LayoutError, UnsupportedObjectError) as error:
        raise NegotiationError(
            name, f"it gave {type(given).__name__!r}, not a frame: {error}"
        ) from None


def _is_of(frame: Frame, came: Frame) -> bool:
    """True if a frame is the one that came, or mapped from that."""
    one: Frame | None = frame
    while one is not None and one is not came:
        one = one.parent
    return one is came


def announced(
    negotiation: Negotiation, step: Step, frame: Frame, plans: Sequence[FrameInfo],
    *, moved: bool = False,
) -> FrameInfo:  # fmt: skip
    """See whether a frame is what its element announced.

    Args:
        plans: what negotiate() said, the latest last; a frame is to be like one of them.
        moved: it is the frame that came, or a mapping of it, which may lie elsewhere: the next
            element looks at it.

    Raises:
        NegotiationError: it is not.
    """
    found = FrameInfo.of(frame, plans[-1] if plans else None)
    negotiation.check_announced(step, found)
    if plans and not any(_is_as_said(found, plan, moved) for plan in plans):
        raise NegotiationError(
            step.name, f"negotiate() announced {plans[-1]}, but it gives {found}"
        )
    return found


def _is_as_said(found: FrameInfo, plan: FrameInfo, moved: bool) -> bool:
    names = ("media", "format", "width", "height", "audio", *(() if moved else ("memory",)))
    return all(getattr(plan, n) in (None, getattr(found, n)) for n in names)
