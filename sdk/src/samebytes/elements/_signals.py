# SPDX-License-Identifier: Apache-2.0
"""Signals that end running pipelines, as the end of their streams would.

One handler for each signal serves all pipelines that asked for it. It is set while one of them
runs. The first signal restores the previous handler, so that a second signal has its usual
effect. A signal that ends pipelines also ends those that are being started meanwhile. A forked
child runs none of them: signals have the effect there that they had before.
"""

from __future__ import annotations

import signal
import threading
import weakref
from collections.abc import Iterable
from types import FrameType
from typing import Any, Protocol

from .._core.owner.locks import in_forked_child

__all__ = ["Ends", "check_signals", "end_on", "forget", "times_ended"]


class Ends(Protocol):
    """A running pipeline."""

    stopped: bool
    stopped_by: int | None

    def _end(self, number: int) -> None: ...


# By signal: the handler before, and the pipelines that the signal ends.
_asked: dict[int, tuple[Any, weakref.WeakSet[Ends]]] = {}

# By signal: how many times it has ended pipelines.
_times_ended: dict[int, int] = {}


def check_signals(signals: int | Iterable[int]) -> tuple[int, ...]:
    """The signals' numbers.

    Raises:
        ValueError: this is not the main thread, which alone can handle signals; or a signal does
            not exist, or cannot be handled.
    """
    numbers = (signals,) if isinstance(signals, int) else tuple(signals)
    if numbers and threading.current_thread() is not threading.main_thread():
        raise ValueError("stop_on: only the main thread can handle signals: start it there")
    never = {getattr(signal, name, None) for name in ("SIGKILL", "SIGSTOP")}
    for number in numbers:
        if number not in signal.valid_signals() or number in never:
            raise ValueError(f"stop_on={number!r}: a signal that can be handled, such as SIGTERM")
    return numbers


def times_ended(signals: Iterable[int]) -> dict[int, int]:
    """The number of times each signal ended pipelines so far: for `end_on`, after a start."""
    return {number: _times_ended.get(number, 0) for number in signals}


def end_on(before: dict[int, int], running: Ends) -> None:
    """Let any of the signals end the pipeline. Called in the main thread.

    Args:
        before: the result of `times_ended` before the start of the pipeline began.
        running: the pipeline, which ends now if a signal has come since then.
    """
    for number, count in before.items():
        those = _asked[number][1] if number in _asked else weakref.WeakSet[Ends]()
        handler = signal.getsignal(number)
        if _times_ended.get(number, 0) == count:
            those.add(running)
            if handler is not _end_all:  # the program may have put another one in its place
                _asked[number] = handler, those
                signal.signal(number, _end_all)
        # Asked last: one may have come since the line above.
        if _times_ended.get(number, 0) != count and running.stopped_by is None:
            running._end(number)


def forget(running: Ends) -> None:
    """Forget a pipeline that has stopped."""
    here = threading.current_thread() is threading.main_thread()
    for number, (before, those) in _asked.copy().items():
        those.discard(running)
        # Elsewhere nobody can take the handler away: it passes the next signal on.
        if here and not those:
            _asked.pop(number, None)  # the handler may come in between
            _restore(number, before)


def _restore(number: int, before: Any) -> None:
    if signal.getsignal(number) is _end_all:
        signal.signal(number, signal.SIG_DFL if before is None else before)


def _end_all(number: int, _: FrameType | None) -> None:
    if number not in _asked:
        return
    before, those = _asked.pop(number)
    _restore(number, before)
    living = [one for one in those if not one.stopped]
    if living:
        _times_ended[number] = _times_ended.get(number, 0) + 1
    for one in living:
        one._end(number)
    if not living:
        signal.raise_signal(number)


def _in_child() -> None:
    """Put the handlers back: multiprocessing ends children by SIGTERM, which they would ignore."""
    for number, (before, _) in _asked.items():
        _restore(number, before)
    _asked.clear()


in_forked_child(_in_child)
