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
    """The records of one run. Errors, slow calls and drops are logged at most every ten seconds.

    It has no thread: a thread that has served a frame calls `look` when it is time.

    Args:
        name: the name of the pipeline.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._seldom = Seldom()
        self._looking = Lock()
        self._began = self._looked = time.perf_counter_ns()
        self._dropped: dict[str, int] = {}
        self._busy: dict[str, int] = {}

    def opening(self) -> None:
        """Log that the elements are about to be opened."""
        self._began = time.perf_counter_ns()
        _log.info("%s: opens", self._name)

    def runs(self) -> None:
        """Log that the run has started."""
        now = time.perf_counter_ns()
        _log.info("%s: runs; to open it took %.1f s", self._name, (now - self._began) / 1e9)
        self._began = self._looked = now

    def failed_to_open(self, error: BaseException, *, asked: bool) -> None:
        """Log that an exception ended the start.

        Args:
            error: the exception.
            asked: True if the end had been asked for, and the error is that of an element then.
        """
        # As text: a handler that keeps records would keep the error, and its traceback's frames.
        if isinstance(error, ElementError) and not asked:
            _log.error("%s: did not start: %s", self._name, str(error))
        elif isinstance(error, SystemExit | KeyboardInterrupt):
            _log.info("%s: ended while it started", self._name)
        else:
            _log.info("%s: did not start: %s", self._name, type(error).__name__)

    def ended(
        self, watch: Watch, statistics: Statistics, how: str, signal_number: int | None
    ) -> None:
        """Log that the run has stopped.

        Args:
            watch: the watch of the run.
            statistics: those of the whole run.
            how: a word for the way in which it ended.
            signal_number: the number of the signal that ended its streams, or None.
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
        """Log that an element raised.

        Args:
            error: the error that says so.
            goes_on: True if only the frame is left out.
        """
        if not goes_on:
            _log.error("%s", str(error))
        elif (more := self._seldom.may(("error", error.element))) is not None:
            _log.warning("%s: its frame is left out%s", str(error), more)

    def stream_ended(self, stream: int, error: ElementError) -> None:
        """Log that a source raised, and that the others go on."""
        _log.error("stream %d ends early: %s", stream, str(error))

    def took_long(self, meter: Meter, nanoseconds: int) -> None:
        """Log that a call of an element took longer than `_statistics.SLOW`."""
        seconds = nanoseconds / 1e9
        if meter.frames_in == 1:
            _log.info("%s: its first frame took %.1f s", meter.name, seconds)
        elif (more := self._seldom.may(("slow", meter.name))) is not None:
            _log.warning("%s: one call took %.1f s%s", meter.name, seconds, more)

    def look(self, watch: Watch, *, last: bool = False) -> None:
        """Log the frames left out since the last look, and the slowest element.

        Args:
            watch: the watch of the run.
            last: True when the run has stopped.
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
