# SPDX-License-Identifier: Apache-2.0
"""The worker in an actor: a thread runs a pipeline of its elements, one frame at a time."""

from __future__ import annotations

import os
import socket
import threading
import traceback
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from queue import SimpleQueue
from typing import Any

import ray.cloudpickle

import samebytes as sb
import samebytes.elements as el
from samebytes.errors import ElementError
from samebytes.plugins import without_secrets_in

from ._frames import described, frame_of, planes_of

__all__ = ["KEPT", "Failure", "Given", "Inlet", "Opened", "Outlet", "Report", "Worker"]

KEPT = 64
"""The number of latest calls whose frames are recognized when an element gives them back."""


@dataclass(frozen=True)
class Opened:
    """The answer of an actor whose elements are open.

    Attributes:
        gives: the frames that they will give, as far as known before the first one.
        where: the process and its node.
        explained: the agreements of the elements.
    """

    gives: el.FrameInfo | None
    where: str
    explained: str


@dataclass(frozen=True)
class Given:
    """One frame that came out.

    Attributes:
        call: the number of the call that brought the frame which this one is, or was made of.
        index: the index of its planes in the result of the call; None if they are those that came.
        description: its pickled description.
    """

    call: int
    index: int | None
    description: bytes


@dataclass(frozen=True)
class Failure:
    """The answer of an actor in which an element raised.

    Attributes:
        error: the error of the pipeline in the actor.
        cause: the error of the element, if it can be pickled.
        stack: its traceback, as printed there.
    """

    error: ElementError
    cause: BaseException | None
    stack: str


@dataclass(frozen=True)
class Report:
    """The statistics of the elements, and the copies of this process, by edge."""

    rows: Sequence[el.ElementStatistics] = ()
    copies: Mapping[str, tuple[int, int]] = field(default_factory=dict)


class Inlet(el.Source):
    """Gives the frames that it is handed, and reports between two of them that it waits."""

    name = "the object store"

    def __init__(self, says: SimpleQueue[Any], known: el.FrameInfo | None) -> None:
        super().__init__()
        self._says = says
        self._known = known
        self._frames: SimpleQueue[sb.Frame | Exception | None] = SimpleQueue()

    def hand(self, frame: sb.Frame | Exception | None) -> None:
        """Hand it the next frame; None at the end; or an exception that read() is to raise."""
        self._frames.put(frame)

    def negotiate(self, wanted: el.FrameInfo | None) -> el.FrameInfo | None:
        """The properties of the frames from the elements in the process before, as far as known."""
        return self._known

    def read(self) -> Any:
        """The next frame."""
        self._says.put(None)
        frame = self._frames.get()
        if isinstance(frame, Exception):
            raise frame
        return frame

    def interrupt(self) -> None:
        """End a waiting read."""
        self._frames.put(None)


class Outlet(el.Transform):
    """Collects the frames that the last element gives."""

    name = "to the object store"

    def __init__(self) -> None:
        super().__init__()
        self.info: el.FrameInfo | None = None

    def negotiate(self, given: el.FrameInfo) -> el.FrameInfo:
        """Keep the description of the frames; they will lie in memory of the CPU."""
        self.info = replace(given, memory="cpu", pool=None)
        return given

    def process(self, frame: sb.Frame) -> sb.Frame:
        """Pass it on."""
        return frame


class _GivenUpError(Exception):
    """Raised where frames are read, so that the elements know that the run has failed."""


class Worker:
    """The class of the actors.

    Args:
        pickled: the elements.
        copy: True if they may copy.
        on_error: as for `Pipeline.start`.
        name: the name of the last element, for errors.
    """

    def __init__(self, pickled: bytes, copy: bool, on_error: str, name: str) -> None:
        self._pickled = pickled
        self._copy = copy
        self._on_error = on_error
        self._name = name
        # From the thread: None when it waits, a frame, an error, or True at its end.
        self._says: SimpleQueue[Any] = SimpleQueue()
        self._inlet = Inlet(self._says, None)
        self._outlet = Outlet()
        self._running: el.Running | None = None
        self._thread: threading.Thread | None = None
        self._rows: tuple[el.ElementStatistics, ...] = ()
        self._known: dict[int, tuple[weakref.ref[sb.Frame], sb.FrameMeta]] = {}

    def ready(self) -> str:
        """Answer once the process runs."""
        return f"process {os.getpid()} on {socket.gethostname()}"

    def open(self, known: el.FrameInfo | None) -> Opened | Failure:
        """Open the elements.

        Args:
            known: the description of the frames that will come, if it is known.
        """
        self._inlet = Inlet(self._says, known)
        self._thread = threading.Thread(target=self._run, name="elements", daemon=True)
        self._thread.start()
        said = self._says.get()
        if isinstance(said, Exception):
            return self._failure(said)
        assert self._running is not None
        return Opened(self._outlet.info, self.ready(), self._running.explain())

    def process(
        self, call: int, planes: list[list[sb.Tensor]], index: int, description: bytes
    ) -> tuple[list[Given] | Failure, list[list[Any]] | None]:
        """Put one frame through the elements.

        Args:
            call: the number of the call.
            planes: the planes in the object store of this frame, and of those made with it.
            index: the index of this frame's planes.
            description: its pickled description.

        Returns:
            The frames that came out, and the new planes among them.
        """
        frame = frame_of(planes[index], description)
        self._known[call] = (weakref.ref(frame), frame.meta)
        if len(self._known) > KEPT:
            del self._known[next(iter(self._known))]
        self._inlet.hand(frame)
        del frame, planes
        return self._came(call)

    def end(self) -> tuple[list[Given] | Failure, list[list[Any]] | None]:
        """Get the frames that elements have kept, after the last one has come, and close them."""
        self._inlet.hand(None)
        return self._came(max(self._known, default=-1))

    def stop(self, failed: bool) -> None:
        """Close the elements; frames that they have kept are lost."""
        if failed:
            self._inlet.hand(_GivenUpError())
        elif self._running is not None:
            self._running.stop()
        if self._thread is not None:
            self._thread.join()

    def report(self) -> Report:
        """A report on the work so far."""
        rows = self._rows
        if not rows and self._running is not None:
            rows = tuple(self._running.statistics())
        copies = {edge: (n.copies, n.nbytes) for edge, n in sb.stats().by_edge.items()}
        return Report(rows[1:-1], copies)

    def _came(self, call: int) -> tuple[list[Given] | Failure, list[list[Any]] | None]:
        """The frames until the thread waits or ends, and their new planes; or a Failure."""
        given: list[Given] = []
        new: list[list[Any]] = []
        while isinstance(said := self._says.get(), sb.Frame):
            try:
                given.append(self._given(said, call, new))
            except ElementError as error:
                return self._failure(error), None
        del call
        if isinstance(said, BaseException):
            self._says.put(said)  # nothing else answers the calls that were on their way
            return self._failure(said), None
        return given, new or None

    def _given(self, frame: sb.Frame, call: int, new: list[list[Any]]) -> Given:
        description = described(frame, self._name)
        for number, (came, meta) in self._known.items():
            if came() is frame:
                return Given(number, None, description)
            if meta is frame.meta:
                call = number
        new.append(planes_of(frame, self._name))
        return Given(call, len(new) - 1, description)

    def _run(self) -> None:
        """The thread of the elements."""
        try:
            items = ray.cloudpickle.loads(self._pickled)
            pipe = el.Pipeline(self._inlet, *items, self._outlet, copy=self._copy)
            with pipe.start(threads=0, on_error=self._on_error) as running:
                self._running = running
                while (frame := next(running, None)) is not None:
                    self._says.put(frame)
                    del frame  # the queue alone has it
            self._rows = tuple(running.statistics())
        except BaseException as error:
            self._says.put(error)
        else:
            self._says.put(True)

    def _failure(self, error: BaseException) -> Failure:
        without_secrets_in(error)
        cause = error.__cause__
        stack = "".join(traceback.format_exception(cause or error))
        if not isinstance(error, ElementError):
            error, cause = ElementError(self._name, f"{type(error).__name__}: {error}"), error
        try:
            ray.cloudpickle.loads(ray.cloudpickle.dumps(cause))
        except Exception:
            cause = None
        return Failure(error, cause, stack)
