# SPDX-License-Identifier: Apache-2.0
"""The end by Ctrl-C and SIGTERM, without temporary files and with the status that shells expect."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["Ended", "Ending", "ends_by_signals"]


class Ended(KeyboardInterrupt):
    """A signal asked the program to end. Code that does not catch Ctrl-C does not catch this."""


class Ending:
    """The signal that asked the program to end.

    Native libraries call Python and drop or replace its exceptions, and so does Python itself in
    destructors. So the signal is remembered, and checked between frames and at the end.

    Attributes:
        signal: the number of the signal; None if there was none.
    """

    def __init__(self) -> None:
        self.signal: int | None = None

    def check(self) -> None:
        """Raise Ended if a signal came, even if an earlier Ended was dropped."""
        if self.signal is not None:
            raise Ended

    @property
    def status(self) -> int:
        """The exit status that a shell reports after this signal; 0 if there was none."""
        return 0 if self.signal is None else 128 + self.signal

    def handle(self, number: int, _: FrameType | None) -> None:
        """Handle a signal. A second one has no further effect."""
        if self.signal is None:
            self.signal = number
            raise Ended


@contextmanager
def ends_by_signals() -> Iterator[Ending]:
    """A block in which SIGINT and SIGTERM raise Ended.

    A signal that is ignored, or has another handler of the program, is left alone; so are both
    signals outside the main thread, where Python sets no handlers.
    """
    ending = Ending()
    before = {}
    if threading.current_thread() is threading.main_thread():
        usual = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
        before = {s: handler for s, handler in usual.items() if signal.getsignal(s) is handler}
    try:
        for number in before:
            signal.signal(number, ending.handle)
        yield ending
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
