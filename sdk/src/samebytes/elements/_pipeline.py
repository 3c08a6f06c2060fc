# SPDX-License-Identifier: Apache-2.0
"""Pipeline: a list of elements, what they agree on, and its start."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from operator import index
from typing import Any

from .._core.owner.interrupts import deferred
from .._seen.text import Explanation
from ..errors import ElementError, UnknownNameError
from ._asynchronous import opened
from ._channel import WHEN_FULL
from ._graph import Graph
from ._negotiation import Negotiation
from ._plan import Plan
from ._run import Run
from ._running import Running
from ._signals import check_signals, end_on, times_ended
from ._statistics import Statistics
from ._threads import Threads

__all__ = ["Pipeline"]

ON_ERROR = ("stop", "drop", "end-stream")


class Pipeline:
    """Elements, one after another.

        pipe = el.Pipeline(el.create("ffmpeg.source", url), blur(radius=7), Detect(model=path))
        print(pipe.explain())
        with pipe.start() as out:
            for frame in out: ...

    Args:
        items: first a source, an iterable of frames, or a list of these, whose streams go through
            the same elements; then elements and functions of a frame. A list among them is a
            branch: it gets the frames of the element before it, and so does the item that follows
            the list. Frames that are shared in this way may only be read.
        copy: let routes copy if there is no other way, and copy frames that are still read
            elsewhere before an element writes into them. Copies are counted.
        hold: how many frames of a stream may wait before an element that writes into them, until a
            decoder has released them.

    Raises:
        UnsupportedObjectError: an item is not an element, stands there twice, or is at the wrong
            place.
    """

    def __init__(self, *items: Any, copy: bool = False, hold: int = 32) -> None:
        if hold < 0:
            raise ValueError(f"hold={hold}: a number of frames, or 0 if none may wait")
        self._graph = Graph(items)
        self._copy = copy
        self._hold = hold
        # Weak: a run that nobody holds any more stops.
        self._running: Callable[[], Running | None] = lambda: None

    @property
    def elements(self) -> dict[str, Any]:
        """The elements by their names in this pipeline, sources first."""
        return {step.name: step.element for step in self._graph}

    def explain(self) -> str:
        """A description of each link: the frames agreed on, and their route; nothing is opened.

        Lines with "not confirmed" assume memory of the best layout. The first frame of each stream
        confirms them, as `Running.explain` then shows.

        While the pipeline runs, this is the explanation of the run.

        Raises:
            NegotiationError: two elements cannot agree; the error shows both sides.
        """
        running = self._running()
        if running is not None and not running.stopped:
            return running.explain()
        self._graph.take()
        try:
            names = [step.name for step in self._graph.sources]
            negotiation = Negotiation(copy=self._copy, sources=names)
            return Explanation("\n".join(Plan.made(self._graph, negotiation).lines()))
        finally:
            for step in self._graph:
                step.element._leave_pipeline()
                step.element.close()

    def start(
        self,
        *,
        threads: int = 1,
        queue: int = 4,
        when_full: str = "wait",
        on_error: str = "stop",
        pool_timeout: float = 10.0,
        stop_on: int | Iterable[int] = (),
    ) -> Running:
        """Open the elements and start.

        Args:
            threads: 1 runs each element in a thread of its own; more do so for elements that are
                `concurrent`, and frames keep their order. 0 runs everything in the thread that
                asks for frames, as a plain loop would.
            queue: how many frames may wait before each element.
            when_full: the policy of each source while the queue behind it is full: "wait", or leave
                out its oldest waiting frame ("drop-oldest") or the new one ("drop-newest"). Frames
                are left out nowhere else.
            on_error: "stop", or "drop" to leave out a frame for which an element raised. A source
                that raises stops the pipeline in both cases; with "end-stream", which is otherwise
                like "drop", it only ends its own stream (`Running.ended_early`).
            pool_timeout: seconds to wait for a frame of a pool while no frame moves.
            stop_on: one signal or several, such as `signal.SIGTERM`, that end the streams: nothing
                more is read, the frames that were read come out, and the loop over the frames ends
                (`Running.stopped_by`). A second signal has the effect that it had before the start.

        Returns:
            The running pipeline, which gives the frames; a context manager, which stops it at the
            end of the block.

        Raises:
            ElementError: the pipeline runs already, elements cannot agree, or one cannot open.
            UnknownNameError: no such `when_full` or `on_error`.
            ValueError: `threads` or `pool_timeout` is negative, or `queue` is below 1; or there is
                no such signal, or `stop_on` is used outside the main thread.
        """
        run, signals = self._run(threads, queue, when_full, on_error, pool_timeout, stop_on)
        run.open()
        return self._started(run, signals, threads, queue, when_full)

    async def start_async(
        self,
        *,
        threads: int = 1,
        queue: int = 4,
        when_full: str = "wait",
        on_error: str = "stop",
        pool_timeout: float = 10.0,
        stop_on: int | Iterable[int] = (),
    ) -> Running:
        """Open the elements in a thread, and start: for coroutines.

            async with await pipe.start_async() as out:
                async for frame in out: ...

        The event loop goes on meanwhile. When the task is cancelled, as on Ctrl-C, elements that
        are still connecting are interrupted, and all of them are closed.

        Args:
            threads: as for `start`, and at least 1.
            queue, when_full, on_error, pool_timeout, stop_on: as for `start`.

        Returns:
            The running pipeline, which gives the frames.

        Raises:
            ElementError, UnknownNameError, ValueError: as from `start`.
        """
        run, signals = self._run(threads, queue, when_full, on_error, pool_timeout, stop_on)
        if not threads:
            raise ElementError(
                self._graph.sources[0].name, "`async for` needs threads: start_async(threads=1)"
            )
        await opened(run)
        return self._started(run, signals, threads, queue, when_full)

    def _run(
        self, threads: int, queue: int, when_full: str, on_error: str, pool_timeout: float,
        stop_on: int | Iterable[int],
    ) -> tuple[Run, Any]:  # fmt: skip
        """Check the arguments of a start; return the run to be opened, and the signals."""
        for name, given, known in (
            ("on_error", on_error, ON_ERROR),
            ("when_full", when_full, WHEN_FULL),
        ):
            if given not in known:
                raise UnknownNameError(name, given, known)
        if index(threads) < 0 or index(queue) < 1 or not float(pool_timeout) >= 0:
            raise ValueError(
                f"threads={threads}, queue={queue}, pool_timeout={pool_timeout}: threads and "
                "pool_timeout are not below 0, queue not below 1"
            )
        signals = times_ended(check_signals(stop_on))
        before = self._running()
        if before is not None and (not before.stopped or before.left()):
            name = self._graph.sources[0].name
            raise ElementError(name, "the pipeline runs already: stop it first")
        run = Run(
            self._graph, copy=self._copy, hold=self._hold, patience=pool_timeout,
            on_error=on_error, threaded=threads > 0,
        )  # fmt: skip
        return run, signals

    def _started(self, run: Run, signals: Any, threads: int, queue: int, when_full: str) -> Running:
        workers = running = None
        try:
            if threads:
                workers = Threads(run, threads=threads, queue=queue, when_full=when_full)
            running = Running(run, workers)
            end_on(signals, running)  # before an element can send one of them
            if workers is not None:
                with deferred():
                    workers.start()
            self._running = weakref.ref(running)
            run.journal.runs()
        except BaseException:
            if running is not None:
                with suppress(ElementError):  # the error that is on its way is what counts
                    running._stop(failed=True)
                raise
            if workers is not None:
                workers.stop()
            run.close(failed=True)
            raise
        return running

    def run(self, **options: Any) -> Statistics:
        """Start, take the frames that come out until all streams have ended, and stop.

        Args:
            options: as for `start`.

        Returns:
            The statistics of each element.
        """
        with self.start(**options) as running:
            deque(running, maxlen=0)  # a variable would keep each frame until the next one comes
            return running.statistics()

    def __repr__(self) -> str:
        return f"<Pipeline {' -> '.join(step.name for step in self._graph)}>"

    def _repr_svg_(self) -> str:
        """The steps as boxes, drawn without opening anything."""
        from .._seen.chain import chain_svg

        return chain_svg(self._graph, {})
