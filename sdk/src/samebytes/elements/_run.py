# SPDX-License-Identifier: Apache-2.0
"""What both ways of running a pipeline share: opening, planning, closing, and the table."""

from __future__ import annotations

from collections.abc import Iterator

from .._core.context import Context
from ..errors import ElementError
from ._element import Element
from ._graph import Graph, Step
from ._negotiation import Negotiation
from ._plan import Plan
from ._source import Reader
from ._stage import Stage
from ._statistics import Statistics

__all__ = ["Run"]


class Run:
    """The steps of a pipeline while it runs.

    Args:
        graph: its steps.
        copy, hold: as the user said.
        patience: seconds to wait for frames of a pool.
        on_error: "stop", or "drop" to leave out frames for which an element raised.
    """

    def __init__(
        self, graph: Graph, *, copy: bool, hold: int, patience: float, on_error: str
    ) -> None:
        self.graph = graph
        self.drops = on_error == "drop"
        negotiation = Negotiation(copy=copy)
        self.readers = [
            Reader(step, number, negotiation, patience, identify=len(graph.sources) > 1)
            for number, step in enumerate(graph.sources)
        ]
        several = len(graph.sources) > 1
        self.stages = {
            step: Stage(step, negotiation, hold, identify=several) for step in graph.steps
        }
        self._negotiation = negotiation
        self._touched: list[Element] = []
        # Set when somebody stops it: nothing is read any more.
        self.stopping = False
        self._interrupting: ElementError | None = None

    def open(self) -> None:
        """Agree on what is known beforehand, and open every element.

        Raises:
            ElementError: elements cannot agree, or one raised in open(). All are closed again.
        """
        self.graph.take()
        try:
            self._touched += [step.element for step in self.graph]
            plan = Plan.made(self.graph, self._negotiation)
            for reader in self.readers:
                reader.info = plan.given[reader.step]
            pools = [info.pool for info in plan.given.values() if info and info.pool]
            for step, stage in self.stages.items():
                stage.links.update(plan.links_of(step))
                stage.hold_at_most(min(pools) - 1 if pools else None)
            for step in self.graph:
                self._open(step, plan.context_of(step))
        except BaseException:
            self.close(failed=True)
            raise

    def plan(self) -> Plan:
        """What holds now, with what frames have confirmed."""
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
        except ElementError:
            raise
        except Exception as error:
            raise ElementError(
                step.name, f"open() raised {type(error).__name__}: {error}",
                parameters=element.parameters,
            ) from error  # fmt: skip

    def interrupt(self) -> None:
        """Ask every element to return soon. What one raises is raised by close()."""
        for reader in self.readers:
            reader.stop()
        for step in self.graph:
            try:
                step.element.interrupt()
            except Exception as error:
                message = f"interrupt() raised {type(error).__name__}: {error}"
                self._interrupting = self._interrupting or ElementError(step.name, message)
                self._interrupting.__cause__ = self._interrupting.__cause__ or error

    def close(self, *, failed: bool = False, left: frozenset[Element] = frozenset()) -> None:
        """Close every element, last ones first.

        Args:
            failed: an exception is on its way already: those of close() do not replace it.
            left: elements that a thread is still in, which are left alone.

        Raises:
            ElementError: an element raised in close() or interrupt().
        """
        first, self._interrupting = self._interrupting, None
        last: BaseException | None = None
        for stage in self.stages.values():
            stage.forget()
        while self._touched:
            element = self._touched.pop()
            if element in left:
                continue
            try:
                try:
                    element.close()
                finally:
                    element._set_closed()
                    element._in_use = False
            except Exception as error:
                if first is None:
                    message = f"close() raised {type(error).__name__}: {error}"
                    first = ElementError(element.name, message)
                    first.__cause__ = error
            except BaseException as error:  # Ctrl-C: the others are closed all the same
                last = error
        if last is not None:
            raise last
        if first is not None and not failed:
            raise first

    def after(self, step: Step | None) -> Iterator[Stage]:
        """The stages that take the frames of a step; None for those of the sources."""
        steps = self.graph.first if step is None else step.after
        return (self.stages[one] for one in steps)

    def statistics(self, dropped: dict[Step, int], queued: dict[Step, int]) -> Statistics:
        """What each element did so far."""
        rows = [reader.meter.read(reader.name) for reader in self.readers]
        rows += [
            stage.meter.read(stage.name, dropped=dropped.get(step, 0), queue=queued.get(step, 0))
            for step, stage in self.stages.items()
        ]
        return Statistics(rows)
