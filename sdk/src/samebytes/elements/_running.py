# SPDX-License-Identifier: Apache-2.0
"""Running: a pipeline that runs, and gives frames until it ends or is stopped."""

from __future__ import annotations

import asyncio
import atexit
import os
import sys
import threading
import weakref
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, NoReturn

from .._core.memory.frame import Frame
from .._core.owner.locks import Lock, in_forked_child
from .._core.owner.storage import Uncopyable
from .._numbers import counted
from .._seen.text import Explanation
from ..errors import ElementError
from ._asynchronous import in_a_thread
from ._current import CURRENT
from ._element import Element
from ._in_this_thread import frames_in_this_thread
from ._progress import Progress
from ._run import Run
from ._signals import forget
from ._statistics import Statistics
from ._threads import Threads

if TYPE_CHECKING:
    from typing import Self

__all__ = ["Running"]


class Running(Uncopyable):
    """A pipeline that runs. Iterating gives the frames of the main line's last element.

    It stops at the end of the block, at the end of all streams, and when an element raises: frames
    that had passed that element come out before the error. Then no thread, frame or descriptor of
    it is left. `async for` and `async with` wait without blocking the event loop.

    Attributes:
        stopped: it has stopped.
        stopped_by: the number of the signal that ended it (`start(stop_on=)`), or None.
    """

    _instead = "start another pipeline, with elements of its own"

    def __init__(self, run: Run, workers: Threads | None) -> None:
        self._run = run
        self._workers = workers
        self._frames = frames_in_this_thread(run) if workers is None else workers.frames()
        self._process = os.getpid()
        self._ending = Lock()
        self._finishing = False
        self.stopped = False
        self.stopped_by: int | None = None
        _stop_at_exit(self)

    def __iter__(self) -> Iterator[Frame]:
        return self

    def __next__(self) -> Frame:
        if self._process != os.getpid():
            self._refuse_child()
        before, CURRENT.run = CURRENT.run, self._run
        try:
            frame = next(self._frames)
        except StopIteration:
            self._finish(failed=False)
            raise
        except ValueError:  # "generator already executing"
            if self._frames_run():
                raise ElementError(
                    self._run.graph.sources[0].name,
                    "another thread takes its frames already: let one thread take them, and hand "
                    "them to others by a queue.Queue",
                ) from None
            self._finish(failed=True)
            raise
        except BaseException:  # Ctrl-C too: there need not be a `with`
            self._finish(failed=True)
            raise
        finally:
            CURRENT.run = before
        return frame

    def _refuse_child(self) -> NoReturn:
        """Raise ElementError in a forked child, which has neither the threads nor the decoders'."""
        raise ElementError(
            self._run.graph.sources[0].name,
            "it runs in the process that started it, not in this fork() of it: start a "
            "pipeline here, with elements of its own",
        )

    def _frames_run(self) -> bool:
        return bool(self._frames.gi_running)  # type: ignore[attr-defined]  # a generator

    def __aiter__(self) -> AsyncIterator[Frame]:
        if self._workers is None:
            name = self._run.graph.sources[0].name
            raise ElementError(name, "`async for` needs threads: start(threads=1)")
        return self

    async def __anext__(self) -> Frame:
        if self._process != os.getpid():
            self._refuse_child()
        workers = self._workers
        assert workers is not None
        try:
            while workers.remaining:
                await workers.output.wait(asyncio.get_running_loop())
                frame = workers.take()
                if frame is not None:
                    return frame
            failed = workers.failed
        except asyncio.CancelledError:  # of this wait alone, as by asyncio.wait_for()
            raise
        except BaseException:  # Ctrl-C: there need not be a `with`
            self._finish(failed=True)
            raise
        # Elements may take their time to close: not in the event loop.
        await in_a_thread(partial(self._finish, failed=failed))
        workers.raise_error()
        raise StopAsyncIteration

    async def __aenter__(self) -> Self:
        try:
            self.__aiter__()
        except ElementError as error:  # no block begins, whose end would close the elements
            await self.__aexit__(type(error), error, None)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        # Elements may take their time to return and to close.
        await in_a_thread(partial(self.__exit__, kind, error, trace))

    @property
    def ended_early(self) -> dict[int, ElementError]:
        """The errors of sources that ended their streams, by stream: `on_error="end-stream"`."""
        return dict(self._run.ended_early)

    def progress(self) -> Progress:
        """The frames read so far and, if the sources know them, the total and the time left."""
        return self._run.progress()

    @property
    def seconds_still(self) -> float:
        """The seconds since an element took a frame; before the first one, since it was opened.

        It is for health checks: it grows while a source has no connection, or an element hangs.
        """
        return self._run.watch.seconds_still()

    def explain(self) -> str:
        """A description of each link, as by `Pipeline.explain`, with what frames have confirmed."""
        return Explanation("\n".join(self._run.plan().lines()))

    def statistics(self) -> Statistics:
        """The statistics of each element so far."""
        workers = self._workers
        if workers is None:
            return self._run.statistics()
        return self._run.statistics(workers.inputs, workers.ends, workers.output.lost)

    def stop(self) -> None:
        """Stop now. Any thread may call this. Frames that are under way are dropped, and counted.

        Raises:
            ElementError: an element raised in interrupt() or close(), or does not return from a
                call.
        """
        self._stop(failed=False)

    def _stop(self, *, failed: bool) -> None:
        if self._process != os.getpid():
            return  # a forked child has neither the threads nor the right to close what they use
        self._run.stopping = True
        try:
            self._frames.close()  # type: ignore[attr-defined]  # both are generators
        except ValueError:  # another thread is in it
            if self._workers is None:
                # That thread closes the elements, once the one that it is in has returned.
                self._run.interrupt()
                return
        self._finish(failed=failed)

    def _end(self, number: int) -> None:
        self.stopped_by = number
        self._run.end()

    def left(self) -> bool:
        """True if a thread of an element has not ended, although it was asked to."""
        return self._workers is not None and bool(self._workers.left())

    def _finish(self, *, failed: bool) -> None:
        workers = self._workers
        if workers is not None and workers.owns(threading.current_thread()):
            workers.ask_to_stop()  # an element stops its own pipeline: others wait for it
            return
        if not self._ending.acquire(blocking=False):
            # Another thread is stopping it. What that one waits for, as in close(), is cut short.
            self._run.interrupt()
            self._ending.acquire()
        try:  # whoever comes second finds everything closed
            left = self._close_all(workers, failed=failed)
        finally:
            self._ending.release()
        if left and not failed:
            names = [step.name for step in self._run.graph if step.element in left]
            raise ElementError(
                names[0], "it does not return, so its thread runs on: let interrupt() end the call"
            )

    def _close_all(self, workers: Threads | None, *, failed: bool) -> frozenset[Element]:
        """End the threads and close the elements, once.

        Returns:
            The elements that did not return.
        """
        left: frozenset[Element] = frozenset()
        if self.stopped or self._finishing:
            return left
        self._finishing = True
        how = "failed" if failed else "was stopped" if self._run.stopping else "ended"
        try:
            if workers is not None:
                try:
                    left = workers.stop()
                except BaseException:  # Ctrl-C: do the rest, unless it comes again
                    failed = True
                    try:
                        left = workers.stop()
                    except BaseException:
                        left = workers.left()
                        raise
                    raise
        finally:
            self.stopped = True
            forget(self)
            try:
                self._run.close(failed=failed, left=left)
            finally:
                self._run.journal.ended(self._run.watch, self.statistics(), how, self.stopped_by)
        return left

    def __repr__(self) -> str:
        state = "stopped" if self.stopped else "runs"
        read = counted(self.progress().frames_read, "frame")
        return f"<Running {self._run.graph}: {state}, {read} read>"

    def _repr_svg_(self) -> str:
        """The steps as boxes, with the frames of each source and where each step takes them."""
        from .._seen.chain import chain_svg

        return chain_svg(self._run.graph, self._run.plan().notes())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        # An error that ended it may not have been raised yet.
        workers = self._workers
        failed = workers is not None and workers.failed
        if kind is None and not failed:
            self.stop()
        else:
            with suppress(ElementError):  # the error that is on its way is what counts
                self._stop(failed=True)
        if workers is not None and kind is not None:
            workers.forget_error()
        elif workers is not None and failed:
            workers.raise_error()

    def __del__(self) -> None:
        if hasattr(self, "stopped"):
            with suppress(Exception):
                self.stop()
            if self._workers is not None:
                self._workers.forget_error()  # nobody can ask for it any more


_living: weakref.WeakSet[Running] = weakref.WeakSet()
_modules = 0


def _stop_living() -> None:
    """Stop what the program leaves running when it ends.

    A thread that is in a framework's call when the interpreter is gone ends the process by a
    signal, and nobody would close the elements.
    """
    for running in list(_living):
        try:
            running.stop()
        except Exception:  # the program has ended: nobody else can report it
            sys.excepthook(*sys.exc_info())


def _stop_at_exit(running: Running) -> None:
    global _modules  # noqa: PLW0603 - when it was registered last
    _living.add(running)
    # Functions that were registered last are called first. This one must come before those of the
    # elements' frameworks, which may register when they are imported. But not registered each time:
    # an unregistered function leaves an empty entry.
    if len(sys.modules) != _modules:
        _modules = len(sys.modules)
        atexit.unregister(_stop_living)
        atexit.register(_stop_living)


def _leave_to_the_parent() -> list[Running]:
    """Return what runs in the parent, which a forked child must not end.

    A decoder, a GStreamer pipeline or an inference waits at its end for threads, which a child does
    not have.
    """
    running = [one for one in _living if not one.stopped]
    _living.clear()
    return running


in_forked_child(_leave_to_the_parent)
