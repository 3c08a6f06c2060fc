# SPDX-License-Identifier: Apache-2.0
"""The common part of both ways to run a pipeline: opening, planning, closing and statistics."""

from __future__ import annotations

from collections.abc import Mapping

from .._core.edges.context import Context
from .._raising import throw, without_frames
from ..errors import ElementError, PoolTimeoutError
from ._channel import Channel, Port, Stopped
from ._element import Element
from ._graph import Graph, Step
from ._journal import Journal
from ._negotiation import Negotiation
from ._plan import Plan
from ._progress import Progress, progress_of
from ._source import Reader
from ._stage import Stage
from ._statistics import Arrivals, Statistics
from ._watch import Watch

__all__ = ["Run"]


class Run:
    """The steps of a pipeline while it runs.

    Args:
        graph: its steps.
        copy, hold: the user's options.
        patience: seconds to wait for frames of a pool while nothing moves.
        on_error: "stop", or "drop" to leave out frames for which an element raised, or "end-stream"
            to end the stream of a source that raised as well.
        threaded: whether several threads run it.

    Attributes:
        ended_early: the errors that ended streams, by the streams' numbers.
        journal: writes the log about it.
        arrivals: the times of frames at the end of the main line; one thread notes them.
    """

    def __init__(
        self,
        graph: Graph,
        *,
        copy: bool,
        hold: int,
        patience: float,
        on_error: str,
        threaded: bool = True,
    ) -> None:
        self.graph = graph
        self.journal = Journal(str(graph))
        self.drops = on_error != "stop"
        self._ends_streams = on_error == "end-stream"
        self.ended_early: dict[int, ElementError] = {}
        negotiation = Negotiation(copy=copy, sources=[step.name for step in graph.sources])
        # It knows what is waited for, and whether that can still come.
        self.watch = Watch(patience)
        self.readers = [
            Reader(step, number, negotiation, self.watch, several=len(graph.sources) > 1)
            for number, step in enumerate(graph.sources)
        ]
        sources = (
            frozenset(one.origin for one in self.readers) if len(graph.sources) > 1 else frozenset()
        )
        self.stages = {
            step: Stage(step, negotiation, hold, sources, drops=self.drops, threaded=threaded)
            for step in graph.steps
        }
        self.watch.meters = [
            *(reader.meter for reader in self.readers),
            *(stage.meter for stage in self.stages.values()),
        ]
        self._after: dict[Step | None, tuple[Stage, ...]] = {}
        self.arrivals = Arrivals()
        self._negotiation = negotiation
        self._touched: list[Step] = []
        # Set when somebody stops it: nothing is read any more.
        self.stopping = False
        self._expected: int | None = None
        self._interrupted: set[Step] = set()
        self._interrupting: ElementError | None = None

    def open(self) -> None:
        """Agree on what is known beforehand, and open every element.

        Raises:
            ElementError: elements cannot agree, or one raised in open(). All are closed again.
        """
        self.graph.take()
        self.journal.opening()
        try:
            self._touched += self.graph
            plan = Plan.made(self.graph, self._negotiation)
            for reader in self.readers:
                reader.origin.info = plan.given[reader.step]
            pools = [info.pool for info in plan.given.values() if info and info.pool]
            for step, stage in self.stages.items():
                stage.links.update(plan.links_of(step))
                stage.hold_at_most(min(pools) - 1 if pools else None)
            for step in self.graph:
                self._open(step, plan.context_of(step))
            counts = [reader.expected() for reader in self.readers]
            self._expected = None if None in counts else sum(filter(None, counts))
        except BaseException as error:
            self.close(failed=True)
            self.journal.failed_to_open(error, asked=self.stopping)
            raise

    def plan(self) -> Plan:
        """The plan as it holds now, with what frames have confirmed."""
        given = {reader.step: reader.info for reader in self.readers}
        links = {
            (step, stream): link
            for step, stage in self.stages.items()
            for stream, link in sorted(stage.links.items())
        }
        return Plan(self.graph, self._negotiation, given, links)

    def _open(self, step: Step, context: Context | None) -> None:
        element = step.element
        element._set_open()
        try:
            element.open(context)
        except Exception as error:
            throw(step.failed(error, "open"))

    def ends_stream(self, reader: Reader, error: BaseException) -> bool:
        """True if the error of a source ends only its stream; the error is then noted.

        False if frames of its pool are missing, since it is the program that keeps them.
        """
        kept = isinstance(error, PoolTimeoutError | Stopped)
        if not isinstance(error, ElementError):
            return False
        if not self._ends_streams or kept:
            self.journal.failed(error, goes_on=False)
            return False
        self.journal.stream_ended(reader.stream, error)
        self.ended_early[reader.stream] = without_frames(error)
        return True

    def interrupt(self, *, again: bool = False) -> None:
        """Ask every element to return soon. close() raises the error of one that raises here.

        Args:
            again: ask those again that were asked already.
        """
        if again:
            self._interrupted.clear()
        for reader in self.readers:
            reader.stop()
        last: BaseException | None = None
        for step in self.graph:
            try:
                self._interrupt(step)
            except BaseException as error:  # Ctrl-C: the others are asked all the same
                last = error
        try:
            if last is not None:
                raise last
        finally:
            del last  # else its traceback would hold it

    def end(self) -> None:
        """End all streams where they are: what was read goes on to its end."""
        for reader in self.readers:
            reader.end()
            self._interrupt(reader.step)

    def interrupt_sources(self) -> None:
        """Ask the sources alone: what was read may go on."""
        for reader in self.readers:
            reader.stop()
            self._interrupt(reader.step)

    def _interrupt(self, step: Step) -> None:
        if step in self._interrupted:
            return
        try:
            step.element.interrupt()
        except Exception as error:
            self._interrupting = self._interrupting or step.failed(error, "interrupt")
        # Not after Ctrl-C: then the next call asks it again.
        self._interrupted.add(step)

    def close(self, *, failed: bool = False, left: frozenset[Element] = frozenset()) -> None:
        """Close every element, last ones first.

        Args:
            failed: whether an exception is on its way already, which errors of close() do not
                replace. Elements find it in their `run_failed`.
            left: elements in which a thread still is; they are left alone.

        Raises:
            ElementError: an element raised in close() or interrupt().
        """
        first, self._interrupting = self._interrupting, None
        last: BaseException | None = None
        for stage in self.stages.values():
            stage.forget()
        while self._touched:
            step = self._touched.pop()
            element = step.element
            if element in left:
                continue
            vars(element)["run_failed"] = failed
            try:
                try:
                    self._end(step)
                finally:
                    element._set_closed()
            except Exception as error:
                first = first or step.failed(error, "close")
            except BaseException as error:  # Ctrl-C: the others are closed all the same
                last = error
        try:
            if last is not None:
                raise last
            if first is not None and not failed:
                raise first
        finally:
            del first, last  # else the traceback of what is raised would hold it

    def _end(self, step: Step) -> None:
        try:
            if step in self.stages:
                self.stages[step].lose_kept()
        finally:
            step.element.close()

    def after(self, step: Step | None) -> tuple[Stage, ...]:
        """The stages that take the frames of a step; None for those of the sources."""
        stages = self._after.get(step)
        if stages is None:
            steps = self.graph.first if step is None else step.after
            stages = self._after[step] = tuple([self.stages[one] for one in steps])
        return stages

    def progress(self) -> Progress:
        """The frames that the sources have given, and those that they will give."""
        return progress_of([reader.meter for reader in self.readers], self._expected)

    def statistics(
        self,
        before: Mapping[Step, Channel] | None = None,
        ends: Mapping[Step, Port] | None = None,
        untaken: int = 0,
    ) -> Statistics:
        """The statistics of each element so far.

        Args:
            before: the queues of the steps.
            ends: the ports where sources put frames for the program.
            untaken: the number of frames that had come out and were not taken when it stopped.
        """
        rows = []
        for reader in self.readers:
            end = (ends or {}).get(reader.step)
            rows.append(reader.meter.read(reader.name, dropped=0 if end is None else end.dropped))
        for step, stage in self.stages.items():
            queue = (before or {}).get(step)
            if queue is None:
                rows.append(stage.meter.read(stage.name))
                continue
            rows.append(
                stage.meter.read(
                    stage.name, dropped=queue.dropped, queue=len(queue), lost=queue.lost
                )
            )
        return Statistics(rows, self.arrivals.read(), untaken)
