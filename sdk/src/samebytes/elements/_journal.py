# SPDX-License-Identifier: Apache-2.0
"""The log of a run: its states, errors, drops and slow elements."""

from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING

from .._core.owner.locks import Lock
from .._log import logger
from .._numbers import counted
from .._seldom import Seldom
from ..errors import ElementError
from ._statistics import LOOK_AFTER

if TYPE_CHECKING:
    from ._statistics import Meter, Statistics
    from ._watch import Watch

__all__ = ["Journal"]

_log = logger()


class Journal:
    """The records of one run. Errors, slow calls and drops are said at most every ten seconds.

    It has no thread: whoever has served a frame looks, when the time has come.

    Args:
        name: of the pipeline.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._seldom = Seldom()
        self._looking = Lock()
        self._began = self._looked = time.perf_counter_ns()
        self._dropped: dict[str, int] = {}
        self._busy: dict[str, int] = {}

    def opening(self) -> None:
        """Its elements are about to be opened."""
        self._began = time.perf_counter_ns()
        _log.info("%s: opens", self._name)

    def runs(self) -> None:
        """It has started."""
        now = time.perf_counter_ns()
        _log.info("%s: runs; to open it took %.1f s", self._name, (now - self._began) / 1e9)
        self._began = self._looked = now

    def failed_to_open(self, error: BaseException, *, asked: bool) -> None:
        """An exception ended the start.

        Args:
            error: the exception.
            asked: somebody had asked for the end, and it is what elements raise then.
        """
        # As text: who keeps a record would keep the error, and the frames of its traceback.
        if isinstance(error, ElementError) and not asked:
            _log.error("%s: did not start: %s", self._name, str(error))
        elif isinstance(error, SystemExit | KeyboardInterrupt):
            _log.info("%s: ended while it started", self._name)
        else:
            _log.info("%s: did not start: %s", self._name, type(error).__name__)

    def ended(
        self, watch: Watch, statistics: Statistics, how: str, signal_number: int | None
    ) -> None:
        """It has stopped.

        Args:
            watch: of the run.
            statistics: of all of it.
            how: a word.
            signal_number: of the signal that ended its streams, or None.
        """
        self.look(watch, last=True)
        if signal_number is not None:
            how = f"{how} by {signal.Signals(signal_number).name}"
        seconds = (time.perf_counter_ns() - self._began) / 1e9
        dropped = sum(row.dropped for row in statistics)
        _log.info(
            "%s: %s after %.1f s: %s came out, %d left out, %d under way",
            self._name, how, seconds, counted(statistics.latency.frames, "frame"), dropped,
            statistics.lost,
        )  # fmt: skip

    def failed(self, error: ElementError, *, goes_on: bool) -> None:
        """An element raised.

        Args:
            error: what it raised.
            goes_on: only the frame is left out.
        """
        if not goes_on:
            _log.error("%s", str(error))
        elif (more := self._seldom.may(("error", error.element))) is not None:
            _log.warning("%s: its frame is left out%s", str(error), more)

    def stream_ended(self, stream: int, error: ElementError) -> None:
        """A source raised, and the others go on."""
        _log.error("stream %d ends early: %s", stream, str(error))

    def took_long(self, meter: Meter, nanoseconds: int) -> None:
        """A call of an element took more than `_statistics.SLOW`."""
        seconds = nanoseconds / 1e9
        if meter.frames_in == 1:
            _log.info("%s: its first frame took %.1f s", meter.name, seconds)
        elif (more := self._seldom.may(("slow", meter.name))) is not None:
            _log.warning("%s: one call took %.1f s%s", meter.name, seconds, more)

    def look(self, watch: Watch, *, last: bool = False) -> None:
        """Say what was left out since the last look, and which element is the slowest.

        Args:
            watch: of the run.
            last: it has stopped.
        """
        with self._looking:
            now = time.perf_counter_ns()
            past = now - self._looked
            if past < LOOK_AFTER and not last:
                return  # another thread has looked
            self._looked = now
            dropped = {name: queue.dropped for name, queue in watch.inputs.items()}
            if watch.output is not None:
                dropped["the program"] = watch.output.dropped
            busy = {meter.name: meter.busy for meter in watch.meters if not meter.waits}
            new = {name: count - self._dropped.get(name, 0) for name, count in dropped.items()}
            shares = {name: time_ - self._busy.get(name, 0) for name, time_ in busy.items()}
            self._dropped, self._busy = dropped, busy
        seconds = max(past, 1) / 1e9
        slowest = max(shares, key=lambda name: shares[name], default=None)
        for name, count in new.items():
            frames = counted(count, "frame")
            if count and slowest is None:
                _log.warning("%s left out before %s in %.1f s", frames, name, seconds)
            elif count:
                assert slowest is not None
                _log.warning(
                    "%s left out before %s in %.1f s: the slowest element is %s, "
                    "busy for %.0f %% of the time",
                    frames, name, seconds, slowest, shares[slowest] / seconds / 1e7,
                )  # fmt: skip
