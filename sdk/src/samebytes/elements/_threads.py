# SPDX-License-Identifier: Apache-2.0
"""Running a pipeline with a thread for each element, and bounded queues between them.

When an element raises, nothing more is read, and the frames that it had not reached are counted as
lost. Those that had passed it go on to the end, as they would in a plain loop; then the error is
raised.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from .._core.memory.frame import Frame
from .._core.owner.interrupts import deferred
from .._core.owner.locks import Lock
from ..errors import ElementError
from ._channel import END, FAILED, STOP, Channel, Mark, Port, Stopped
from ._current import CURRENT, blocked
from ._element import Element
from ._graph import Step
from ._run import Run
from ._source import Reader
from ._stage import Stage
from ._watch import Worker

__all__ = ["Threads"]

_SLICE = 0.05
_PATIENCE = 10.0
"""Seconds that an element may take to return when the pipeline stops, and that frames may take to
reach the end after an element has raised."""


class Threads:
    """The threads of a running pipeline.

    Args:
        run: what they run.
        threads: how many there are for each element that is `concurrent`; others have one.
        queue: how many frames may wait before each element.
        when_full: what a source does with a frame for which there is no room.

    Attributes:
        output: where the frames that come out wait for the program.
        inputs: where frames wait for each step.
        ends: where sources put frames that come out as they are.
    """

    def __init__(self, run: Run, *, threads: int, queue: int, when_full: str) -> None:
        self._run = run
        self.output = Channel()
        self.inputs = {step: Channel() for step in run.stages}
        self._ports: dict[Step, list[Port]] = {}
        self._marks: dict[Step, Port] = {}
        self.ends: dict[Step, Port] = {}
        # The error that ended the run, if it was not the end of the streams.
        self._error: BaseException | None = None
        self._stopping = False
        # stop() was called: if Ctrl-C came in an element's interrupt(), that is called once more
        # before anybody waits for the element.
        self._asked = False
        self._failing = Lock()
        self._unfinished: threading.Timer | None = None
        self._ended: set[Reader] = set()
        self._orders: list[_InOrder] = []
        self._threads: list[tuple[threading.Thread, Element]] = []
        run.watch.inputs = {step.name: channel for step, channel in self.inputs.items()}
        run.watch.output = self.output
        for reader in run.readers:
            self._ports[reader.step] = self._ports_after(run.graph.first, queue, when_full)
            if run.graph.last is None:
                self.ends[reader.step] = self.output.port(queue, when_full)
                self._ports[reader.step].append(self.ends[reader.step])
        # How many ends each stream has: its own if nothing follows the sources in the main line,
        # and that of each step from which frames do not go on.
        self._ends = int(run.graph.last is None)
        for step in run.graph.steps:
            self._ports[step] = self._ports_after(step.after, queue, "wait")
            if step is run.graph.last:
                self._ports[step].append(self.output.port(queue))
            if not step.after and step is not run.graph.last:
                # A branch whose frames nobody takes: only its end is waited for.
                self._marks[step] = self.output.port(1)
            self._ends += not step.after or step is run.graph.last
        # Ends of streams that have not come out yet.
        self.remaining = len(run.readers) * self._ends
        for step, stage in run.stages.items():
            count = threads if step.element.concurrent and not _writes(stage) else 1
            order = _InOrder(stage, self._emitter(step), self._fail, threads=count)
            self._orders.append(order)
            for _ in range(count):
                self._add(step, self._serve, stage, order)
        for reader in run.readers:
            self._add(reader.step, self._read, reader)

    def start(self) -> None:
        """Start them all. No signal handler may come in between."""
        for thread, _ in self._threads:
            thread.start()

    def stop(self) -> frozenset[Element]:
        """End them all. If an exception comes, another call goes on from there.

        Returns:
            The elements that did not return in time; their threads are left.
        """
        with self._failing:
            # If all have ended, no element is in a call that must be cut short. And the work of
            # close(), such as sending what waits, must not be cut short either.
            ended = not self.remaining and not self._stopping
            again, self._stopping = self._asked, True
            self._asked = True
        if self._unfinished is not None:
            self._unfinished.cancel()
        self._run.stopping = True
        until = time.monotonic() + _PATIENCE
        try:
            try:
                if not ended:
                    self._run.interrupt()
            finally:
                self.ask_to_stop()
                if again:
                    self._join(until)
            self._join(until)
        finally:
            self.ask_to_stop()  # what was put meanwhile
            for order in self._orders:
                order.forget()
            if not self.left():
                self._orders.clear()  # they call this object's methods
        return self.left()

    def _join(self, until: float) -> None:
        """Wait for the threads; at most until then, by time.monotonic()."""
        if self._unfinished is not None:
            self._unfinished.join()
            self._unfinished = None  # it refers to this object
        for thread, _ in self._threads:
            while not _ends(thread, until - time.monotonic()) and time.monotonic() < until:
                pass

    def left(self) -> frozenset[Element]:
        """The elements whose threads have not ended."""
        return frozenset(element for thread, element in self._threads if not _ends(thread, 0))

    def owns(self, thread: threading.Thread) -> bool:
        """True if that thread runs an element."""
        return any(own is thread for own, _ in self._threads)

    def ask_to_stop(self) -> None:
        """Let them end, without waiting."""
        self._stopping = True
        for channel in (*self.inputs.values(), self.output):
            channel.stop()
        for order in self._orders:
            order.stop()

    def frames(self) -> Iterator[Frame]:
        """The frames that come out, until all streams have ended."""
        while self.remaining:
            frame = self.take()
            if frame is not None:
                yield frame
                del frame
        self.raise_error()

    def take(self) -> Frame | None:
        """The next item, if it is a frame; `remaining` is above 0 while more may come."""
        item = self.output.get()
        if item is STOP:
            self.remaining = 0
        elif isinstance(item[1], Mark):
            self.remaining -= 1
        else:
            frame: Frame = item[1]
            return frame
        return None

    @property
    def failed(self) -> bool:
        """True if an error ended the run and was not raised yet."""
        return self._error is not None

    def raise_error(self) -> None:
        """Raise what ended the run, once: its traceback holds frames."""
        error, self._error = self._error, None
        try:
            if error is not None:
                raise error
        finally:
            del error  # its traceback holds this call

    def forget_error(self) -> None:
        """Raise nothing for what ended the run: another exception is on its way."""
        self._error = None

    def _ports_after(self, steps: list[Step], queue: int, when_full: str) -> list[Port]:
        return [self.inputs[step].port(queue, when_full) for step in steps]

    def _emitter(self, step: Step) -> Callable[[int, Any], None]:
        ports = self._ports[step]
        to_mark = [*ports, *([self._marks[step]] if step in self._marks else [])]
        arrivals = self._run.arrivals if step is self._run.graph.last else None

        def emit(stream: int, frame: Any) -> None:
            if isinstance(frame, Mark):
                for port in to_mark:
                    port.put_mark((stream, frame))
                return
            if arrivals is not None:
                arrivals.add(frame._origin[1])
            for number, port in enumerate(ports):
                try:
                    port.put((stream, frame))
                except Stopped:
                    for other in ports[number + 1 :]:
                        other.lose()
                    raise

        return emit

    def _add(self, step: Step, work: Callable[..., None], *arguments: Any) -> None:
        thread = threading.Thread(
            target=self._guarded,
            args=(work, *arguments),
            name=f"samebytes {step.name}",
            daemon=True,
        )
        self._threads.append((thread, step.element))

    def _guarded(self, work: Callable[..., None], *arguments: Any) -> None:
        CURRENT.run = self._run
        try:
            work(*arguments)
        except Stopped:
            pass
        except BaseException as error:  # not an element's: those are handled closer to it
            self._fail(error)
            self.ask_to_stop()

    def _fail(self, error: BaseException) -> None:
        """Read no more, and let what was read come to its end; then the error is raised."""
        with self._failing:
            if self._stopping:
                return
            self._stopping = True
            self._error = error
            # An element may never return: after this time, what is under way is given up.
            timer = threading.Timer(_PATIENCE, self.ask_to_stop)
            timer.daemon = True
            with suppress(RuntimeError):  # the system may give this process no more threads
                timer.start()
                self._unfinished = timer
        self._run.interrupt_sources()
        if timer.ident is None:
            self.ask_to_stop()  # at once
            return
        for reader in self._run.readers:  # which may take their time to return
            self._end(reader, FAILED)

    def _end(self, reader: Reader, mark: Mark) -> None:
        with self._failing:
            if reader in self._ended:
                return
            self._ended.add(reader)
        self._emitter(reader.step)(reader.stream, mark)

    def _read(self, reader: Reader) -> None:
        emit = self._emitter(reader.step)
        while not self._stopping:
            try:
                frame = reader.read()
            except Stopped:
                raise
            except BaseException as error:
                if not self._run.ends_stream(reader, error):
                    self._fail(error)
                    return
                frame = None
            if frame is None:
                self._end(reader, END)
                return
            if self._stopping:
                reader.meter.lose(1)
                return
            emit(reader.stream, frame)
            del frame

    def _serve(self, stage: Stage, order: _InOrder) -> None:
        channel = self.inputs[stage.step]
        worker = CURRENT.worker = Worker(channel)
        self._run.watch.workers.append(worker)
        while True:
            worker.busy = False
            number, item = order.take(worker)
            if item is STOP:
                worker.waits = True  # for good
                return
            stream, frame = item
            del item
            given: Any = []
            raised = False
            try:
                if isinstance(frame, Mark):
                    given = frame
                elif order.broken or stream in order.ended:
                    stage.meter.lose(1)
                elif order.alone:
                    for of, one in stage.feed(frame, stream):
                        order.emit(of, one)
                        del one
                else:
                    for pair in stage.feed(frame, stream):
                        given.append(pair)
                        del pair
            except Stopped:
                raise
            except BaseException as error:
                # What the element gave before it raised goes on.
                raised = not (self._run.drops and isinstance(error, ElementError))
                if raised:
                    self._fail(error)
            finally:
                del frame
            order.give(number, stream, given, raised)
            del given


def _ends(thread: threading.Thread, seconds: float) -> bool:
    """True if a thread was not started, or ends within that time, of which it waits only a slice.

    If a signal handler raises in join() or is_alive(), CPython 3.11 and 3.12 believe from then on
    that the thread has ended; so signals are deferred.
    """
    with deferred():
        if thread.ident is not None:
            thread.join(min(max(seconds, 0), _SLICE))
        return not thread.is_alive()


class _InOrder:
    """Lets several threads serve one element, and emits in the order in which frames came.

    Args:
        stage: the element at work.
        emit: passes on a frame, or a mark, of a stream.
        failed: gets the error that the element raises at the end of a stream.
        threads: how many serve it. Together they are ahead of the slowest frame, such as one for
            which a model is compiled, by at most twice as many frames, whose results wait.

    Attributes:
        alone: only one thread serves it, and emits at once.
        broken: the element has raised, and nothing goes on any more.
        ended: the streams that have ended.
    """

    def __init__(
        self,
        stage: Stage,
        emit: Callable[[int, Any], None],
        failed: Callable[[BaseException], None],
        *,
        threads: int,
    ) -> None:
        self._stage = stage
        self.emit = emit
        self._failed = failed
        self.alone = threads == 1
        self._taking, self._giving = Lock(), Lock()
        self._most = 2 * threads
        self._taken = self._next = 0
        self._moved = threading.Condition(Lock())
        self._stopped = False
        self._done: dict[int, tuple[int, Any, bool]] = {}
        self.ended: set[int] = set()
        self.broken = False

    def take(self, worker: Worker) -> tuple[int, Any]:
        """The next item for a worker, which is busy from then on, and its number."""
        if self.alone:
            return 0, worker.channel.get(worker)
        with self._taking:
            with self._moved:
                self._moved.wait_for(self._may_take)
            number, self._taken = self._taken, self._taken + 1
            return number, worker.channel.get(worker)

    def _may_take(self) -> bool:
        return self._taken - self._next < self._most or self._stopped

    def stop(self) -> None:
        """Wake all that wait, since the channel has stopped."""
        with self._moved:
            self._stopped = True
            self._moved.notify_all()

    def give(self, number: int, stream: int, given: Any, raised: bool) -> None:
        """Emit the results of an item, once those of all items before it were emitted.

        Args:
            given: a list of frames with their streams, or a mark.
            raised: whether the element raised after that, so that nothing goes on any more.
        """
        if self.alone:
            self._emit(stream, given, raised)
            return
        if not self._giving.acquire(blocking=False):
            with blocked():
                self._giving.acquire()
        try:
            self._done[number] = (stream, given, raised)
            while self._next in self._done:
                one = self._done.pop(self._next)
                with self._moved:
                    self._next += 1
                    self._moved.notify_all()
                self._emit(*one)
        finally:
            self._giving.release()

    def forget(self) -> None:
        """Let go of results that never had their turn."""
        while self._done:
            given = self._done.popitem()[1][1]
            if isinstance(given, list):
                self._stage.meter.lose(len(given))

    def _emit(self, stream: int, given: Any, raised: bool) -> None:
        if isinstance(given, Mark):
            if stream not in self.ended:
                try:
                    self._end(stream, given)
                except Stopped:
                    raise
                except BaseException as error:  # of end_of_stream()
                    self._failed(error)  # first: whoever gets the mark asks for the error
                    self.broken = True
                    self.ended.add(stream)
                    self.emit(stream, FAILED)
        elif self.broken or stream in self.ended:
            self._stage.meter.lose(len(given))
        else:
            for number, (of, frame) in enumerate(given):
                try:
                    self.emit(of, frame)
                except Stopped:
                    self._stage.meter.lose(len(given) - number - 1)
                    raise
        self.broken = self.broken or raised

    def _end(self, stream: int, mark: Mark) -> None:
        if mark is FAILED or self.broken:
            mark = FAILED
            self._stage.abandon(stream)
        else:
            for of, frame in self._stage.end(stream):
                self.emit(of, frame)
        self.ended.add(stream)
        self.emit(stream, mark)


def _writes(stage: Stage) -> bool:
    """True if the stage may write into frames, which then wait in order."""
    return any(taken.access != "r" for taken in stage.step.element._takes)
