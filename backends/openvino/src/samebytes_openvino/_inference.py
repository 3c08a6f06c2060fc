# SPDX-License-Identifier: Apache-2.0
"""Running a request: at once, or in the background and waited for."""

from __future__ import annotations

import atexit
import contextlib
import weakref
from typing import TYPE_CHECKING, Any

from samebytes.errors import ClosedError

from ._busy import BUSY_TOLD

if TYPE_CHECKING:
    from ._remote._shared_queue import Submissions

__all__ = ["Inference"]

_running: weakref.WeakSet[Inference] = weakref.WeakSet()

_LONGEST = 2**31 - 1
"""Milliseconds: wait_for() takes a C int. More than these 24 days is for ever."""


class Inference:
    """The inferences of one openvino.InferRequest, one after another.

    Args:
        submissions: those of the model, if it runs on a queue of the user's.

    Attributes:
        running: one was started in the background, and nobody has seen its end.
    """

    __slots__ = ("__weakref__", "_given_up", "_native", "_submissions", "_why_closed",
                 "running")  # fmt: skip

    def __init__(self, native: Any, submissions: Submissions | None = None) -> None:
        self._native = native
        self._submissions = submissions
        self._given_up = False
        self._why_closed = "this InferRequest was closed"
        self.running = False
        if submissions is not None:
            submissions.add(self)

    @property
    def closed(self) -> bool:
        """Whether close() was called."""
        return self._native is None

    @property
    def native(self) -> Any:
        """The openvino.InferRequest.

        Raises:
            ClosedError: after close().
        """
        if self._native is None:
            raise ClosedError(self._why_closed)
        return self._native

    def run(self) -> None:
        """Run one, and return when it is done."""
        # Held here too: a close() in another thread lets go of it while this one runs.
        native = self.native
        with BUSY_TOLD:
            # Without share_outputs every output is copied to a new array.
            native.infer(share_outputs=True)

    def start(self) -> None:
        """Start one, and return."""
        native = self.native
        try:
            with BUSY_TOLD:
                native.start_async()
        except RuntimeError as error:
            if self._submissions is not None:
                self._submissions.fail(error)
            raise
        self.running = True
        _running.add(self)

    def wait(self, timeout: float | None) -> bool:
        """Whether it has ended, after so many seconds at most. `InferRequest.wait` tells more."""
        milliseconds = _milliseconds(timeout)
        if not self.running:
            return True
        native = self.native
        if milliseconds is not None and not native.wait_for(milliseconds):
            return False
        try:
            native.wait()
        finally:
            self._ended()
        return True

    def cancel(self) -> None:
        """Stop it, and return when it has stopped."""
        if self.running:
            self.native.cancel()
            self.settle()

    def settle(self) -> None:
        """Wait for its end, whatever comes out of it."""
        if self.running:
            # Nobody asks for the result any more, so its failure interests nobody.
            with contextlib.suppress(RuntimeError):
                self._native.wait()
            self._ended()

    def close(self) -> None:
        """Wait for its end, and let go of the request."""
        self.settle()
        self._native = None

    def give_up(self, why: str) -> None:
        """Close it for a reason of the model's: at once, or when its inference has ended."""
        self._why_closed = why
        self._given_up = True
        if not self.running:
            self._native = None

    def _ended(self) -> None:
        self.running = False
        _running.discard(self)
        if self._given_up:
            self._native = None


def _milliseconds(timeout: float | None) -> int | None:
    if timeout is None:
        return None
    if not timeout >= 0:  # which not-a-number is not either
        raise ValueError(
            f"timeout {timeout}: give the seconds to wait, 0 to look without waiting, or None to "
            "wait for as long as it takes"
        )
    return int(timeout * 1000) if timeout * 1000 <= _LONGEST else None


@atexit.register
def _settle_all() -> None:
    # An inference that is still running when OpenVINO's libraries are unloaded ends in a crash.
    for inference in list(_running):
        inference.settle()
