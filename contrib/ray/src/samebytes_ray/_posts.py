# SPDX-License-Identifier: Apache-2.0
"""One stage at work: its actor, the frames that wait for it, and those that it has."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import ray

import samebytes.elements as el
from samebytes.errors import ElementError

from ._cluster import dismiss, hire, wait_for
from ._stages import Stage
from ._worker import KEPT, Failure, Given, Opened

__all__ = ["Call", "Parcel", "Post", "raised"]

# Calls that an actor has at a time: it begins the next one while the answer is on its way.
_AHEAD = 2


@dataclass(frozen=True, slots=True)
class Parcel:
    """A frame on its way: the driver has references to its planes, and passes those on.

    Attributes:
        number: the number of the source's frame that it is, or was made of, from 0.
        planes: the reference to a list of lists of planes.
        index: the index of its own list.
        description: format, times, metadata and regions, pickled.
        read: the time at which the source gave it, in nanoseconds of perf_counter().
    """

    number: int
    planes: Any
    index: int
    description: bytes
    read: int


@dataclass(slots=True, eq=False)
class Call:
    """A call that an actor was asked to make.

    Attributes:
        number: the number of the call in this stage.
        parcel: the frame; None if the actor was asked for the frames that it has kept.
        planes: the reference to the new planes that it returns.
        answer: its result; None while it runs.
    """

    number: int
    parcel: Parcel | None
    planes: Any
    answer: list[Given] | Failure | None = None


@dataclass(slots=True, eq=False)
class Post:
    """One stage of a running pipeline.

    Attributes:
        stage: the stage.
        on_error, timeout: as for `Pipeline.start`.
        answered: gets each call, and the future of its answer, in some thread of Ray.
        waiting: frames that the actor was not given yet.
        asked: calls under way, in their order.
        held: frames that an element may have kept, by their calls.
        starved: True once no more frames come.
        ended: True once all frames of its elements were given.
        deaths: how often in a row its process has died.
        restarts: how often it was started again.
        before: the description of the frames that it gets, as far as known, for the elements.
    """

    stage: Stage
    on_error: str
    timeout: float
    answered: Callable[[Post, int, Call, Any], None]
    before: el.FrameInfo | None = None
    waiting: deque[Parcel] = field(default_factory=deque)
    asked: deque[Call] = field(default_factory=deque)
    held: dict[int, Parcel] = field(default_factory=dict)
    starved: bool = False
    ended: bool = False
    deaths: int = 0
    restarts: int = 0
    generation: int = 0
    where: str = ""
    explained: str = ""
    _opened: bool = False
    _calls: int = 0
    _actor: Any = None

    @property
    def actor(self) -> Any:
        """Its actor; None while there is none."""
        return self._actor

    def hire(self) -> None:
        """Ask for an actor."""
        self._actor = hire(self.stage, self.on_error)

    def open(self, before: el.FrameInfo | None) -> el.FrameInfo | None:
        """Wait for the actor and open its elements; return the frames that they will give.

        Raises:
            PlacementTimeoutError: Ray did not start it in time.
            ClusterError: it could not be started.
            ElementError: an element raised.
        """
        self.before = before
        self.where = wait_for(self._actor, self.stage, self.timeout)
        opened: Opened | Failure = ray.get(self._actor.open.remote(before))
        if isinstance(opened, Failure):
            try:
                raise raised(opened, self.where)
            finally:
                del opened  # the error's traceback holds this call
        self.explained = opened.explained
        self._opened = True
        return opened.gives

    def ask(self) -> None:
        """Give the actor more frames, or ask for those that it kept when no more frames come."""
        while self.waiting and len(self.asked) < _AHEAD:
            parcel = self.waiting.popleft()
            self._calls += 1
            answer, planes = self._actor.process.options(num_returns=2).remote(
                self._calls, parcel.planes, parcel.index, parcel.description
            )
            self._await(Call(self._calls, parcel, planes), answer)
        if self.starved and not self.ended and not self.asked:
            answer, planes = self._actor.end.options(num_returns=2).remote()
            self._await(Call(self._calls, None, planes), answer)

    def _await(self, call: Call, answer: Any) -> None:
        self.asked.append(call)
        generation = self.generation
        answer.future().add_done_callback(lambda f: self.answered(self, generation, call, f))

    def replace(self) -> None:
        """Start another process for the frames that the one that died had not answered."""
        self.deaths += 1
        self.restarts += 1
        self.generation += 1
        again = [*self.held.values(), *(c.parcel for c in self.asked if c.parcel is not None)]
        self.held.clear()
        self.asked.clear()
        self.waiting.extendleft(reversed(again))
        self.hire()
        self.open(self.before)
        self.ask()

    def take_answer(self, call: Call) -> tuple[list[Parcel], list[Parcel]]:
        """Take the answer to the oldest call; its frames, and the frames that came out.

        An element may keep a frame, which then belongs to neither.
        """
        assert isinstance(call.answer, list)
        self.deaths = 0
        parcel = call.parcel
        if parcel is None:
            self.ended = True
        elif self.stage.keeps:
            self.held[call.number] = parcel
        made: list[Parcel] = []
        done = [] if parcel is None or self.stage.keeps else [parcel]
        latest = -1
        for given in call.answer:
            origin = self.held.pop(given.call, None) if self.stage.keeps else parcel
            if origin is None:  # several came of one frame
                origin = made[-1] if made else parcel
            elif self.stage.keeps:
                done.append(origin)
            latest = max(latest, given.call)
            if origin is None:
                raise ElementError(
                    self.stage.last,
                    "at the end of the stream it gave a frame that it made from none of "
                    "the frames that it received",
                )
            made.append(_passed_on(origin, call, given))
        # It keeps their order: what is older was dropped, and so is what it has had for too long.
        limit = -1 if call.parcel is None else len(self.held) - KEPT
        for place, number in enumerate(list(self.held)):
            if self.ended or number < latest or place < limit:
                done.append(self.held.pop(number))
        return done, made

    def close(self, *, failed: bool) -> Any:
        """Close the elements, unless they are closed; a reference to their report, if any."""
        if self._actor is None or not self._opened:
            return None
        if not self.ended:
            self._actor.stop.remote(failed)
        return self._actor.report.remote()

    def dismiss(self) -> None:
        """End the process, if it lives."""
        if self._actor is not None:
            dismiss(self._actor)
        self._actor, self._opened = None, False

    def forget(self) -> None:
        """Let go of the frames, and of the receiver of answers that still come."""
        self.answered = _ignored
        self.waiting.clear()
        self.asked.clear()
        self.held.clear()


def _ignored(*_: object) -> None:
    """Take an answer that nothing waits for."""


def _passed_on(origin: Parcel, call: Call, given: Given) -> Parcel:
    planes, index = (origin.planes, origin.index)
    if given.index is not None:
        planes, index = call.planes, given.index
    return Parcel(origin.number, planes, index, given.description, origin.read)


def raised(failure: Failure, where: str) -> ElementError:
    """The error that an element raised in its actor, to be raised here."""
    error = failure.error
    error.add_note(f"In {where}:\n{failure.stack}")
    error.__cause__ = failure.cause
    return error


def now() -> int:
    """Nanoseconds, for `Parcel.read`."""
    return time.perf_counter_ns()
