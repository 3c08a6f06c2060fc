# SPDX-License-Identifier: Apache-2.0
"""Running a request: at once, or in the background, waited for or called back.

OpenVINO reports the end of an inference from one of its threads (`_callbacks`).
"""

from __future__ import annotations

import atexit
import contextlib
import threading
import time
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import openvino

from samebytes.errors import BusyError, ClosedError
from samebytes.plugins import Lock, in_forked_child

from .._errors import REPORTING_BUSY, OpenVINOError, check_busy, last_line
from ._callbacks import CALLBACKS, calling_back, disarm, report, retire, trampoline

if TYPE_CHECKING:
    from .._remote._shared_queue import Submissions

__all__ = ["Inference"]

_running: weakref.WeakSet[Inference] = weakref.WeakSet()
_armed: weakref.WeakSet[Inference] = weakref.WeakSet()
# Those whose callback is still to come. Until then they live even if nobody else holds them.
_awaited: set[Inference] = set()
_exiting = False

# OpenVINO's methods, below those in Python that look for inputs among their arguments.
_start = super(openvino.InferRequest, openvino.InferRequest).start_async
_infer = super(openvino.InferRequest, openvino.InferRequest).infer

_LONGEST = 2**31 - 1
"""Milliseconds: wait_for() takes a C int. A timeout above these 24 days means no limit."""


class Inference:
    """The inferences of one openvino.InferRequest, one after another.

    Args:
        submissions: those of the model, if it runs on a queue of the user's.
        publish: called once at the end of each inference that was started in the background.

    Attributes:
        running: one was started in the background, and nobody has seen its end.
        after: called at the end of each, after the user's callback.
    """

    __slots__ = ("__weakref__", "_callback", "_called", "_calling", "_given_up", "_lock", "_native",
                 "_outstanding", "_publish", "_published", "_starting", "_starts",
                 "_submissions", "_userdata", "_why_closed", "after", "running")  # fmt: skip

    def __init__(
        self,
        native: Any,
        submissions: Submissions | None = None,
        publish: Callable[[], None] | None = None,
    ) -> None:
        self._native = native
        self._submissions = submissions
        self._publish = publish
        self._given_up = False
        self._why_closed = "this InferRequest was closed"
        self.running = False
        self.after: Callable[[], None] | None = None
        self._callback: Callable[[Any], object] | None = None
        self._userdata: Any = None
        # What OpenVINO calls, from the first time that anybody wants to be called.
        self._called: weakref.ref[Any] | None = None
        self._calling: int | None = None
        self._lock = Lock()
        # How many were started, whether the last one has not begun yet, and how many results were
        # published. One thread may wait while another one starts the next.
        self._starts = 0
        self._starting = False
        self._published = 0
        self._outstanding = 0
        if submissions is not None:
            submissions.add(self)

    @property
    def closed(self) -> bool:
        """True if the request was closed or given up."""
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

    def call(self, callback: Callable[[Any], object] | None, userdata: Any) -> None:
        """Call `callback(userdata)` at the end of each inference that is started from now on."""
        if callback is not None:
            self.arm()
        self._callback, self._userdata = callback, userdata

    def arm(self) -> None:
        """Let OpenVINO call back."""
        if self._called is None:
            function = trampoline(self)
            with REPORTING_BUSY:
                self.native.set_callback(function, None)
            self._called = weakref.ref(function)
            _armed.add(self)

    def run(self) -> None:
        """Run one, and return when it is done."""
        # Held here too: a close() in another thread drops it while this one runs.
        native = self._native or self.native
        try:  # REPORTING_BUSY, spelled out: it runs for every frame
            # Without share_outputs every output is copied to a new array.
            _infer(native, {}, share_outputs=True, decode_strings=False)
        except RuntimeError as error:
            check_busy(error)
            raise

    def start(self) -> None:
        """Start one, and return."""
        native = self.native
        if _exiting:
            raise ClosedError("Python is exiting: no new inference can be started")
        before = self.running, self._published, self._outstanding
        begun: list[None] = []
        try:
            # Noted first, since it may have ended before start_async() returns.
            self._starting = self.running = True
            self._starts += 1
            self._outstanding += 1
            _running.add(self)
            if self._called is not None:
                _awaited.add(self)
            with REPORTING_BUSY:
                # No signal handler comes between the start and the note that it has begun.
                begun += map(_start, (native,), ({},), (None,))
        except BaseException as error:
            if begun:  # a signal handler's, and the inference is running
                raise
            self.running, published, self._outstanding = before
            self._published = self._starts - (published < self._starts - 1)
            self._forget()
            if self._submissions is not None and isinstance(error, RuntimeError):
                self._submissions.fail(error)
            raise
        finally:
            self._starting = False

    def completed(self) -> None:
        """OpenVINO's callback: an inference has succeeded. wait() raises if it failed."""
        # The NPU plugin calls back for the next inference while this callback is running.
        with calling_back(), self._lock:
            outer, self._calling = self._calling, threading.get_ident()
            self._outstanding = max(self._outstanding - 1, 0)
            try:
                self._report_errors_of(self.publish)
                callback = self._callback
                if callback is not None:
                    self._report_errors_of(callback, self._userdata)
                del callback
                if self.after is not None:
                    self._report_errors_of(self.after)
            finally:
                if not self._outstanding:
                    # It may be the last that holds this object, whose request is dropped with it.
                    _awaited.discard(self)
                self._calling = outer

    def publish(self, starts: int | None = None) -> None:
        """Publish what the last inference wrote, or the one with that number of starts, once."""
        starts = self._starts if starts is None else starts
        if self._published < starts:
            self._published = starts
            if self._publish is not None:
                self._publish()

    @property
    def is_ready(self) -> bool:
        """True if the request is open, with no inference left to be waited for or published."""
        return not (self.running or self._published < self._starts or self._native is None)

    def is_idle(self) -> bool:
        """True if no inference is running. The callback of the last one may not have returned yet.

        It has begun, though: between the end of an inference and its callback, which the NPU
        plugin delays until the callback before it has returned, the request is not idle.
        """
        if not self.running or (self._called is not None and not self._outstanding):
            return True
        if _has_returned(self.native):
            return True
        return self._called is None and not self._is_busy()

    def has_failed(self) -> bool:
        """True if an inference has ended without the callback that was to follow."""
        waited_for = self._called is not None and self.running and self._outstanding
        if not waited_for or self._native is None:
            return False
        return _has_returned(self._native) and bool(self._outstanding)

    @property
    def outstanding(self) -> bool:
        """True if an inference was started that has neither called back nor been waited for."""
        return bool(self._outstanding)

    @property
    def pending(self) -> bool:
        """True if an inference is outstanding, or its callback is running."""
        return bool(self._outstanding) or self._calling is not None

    def wait(self, timeout: float | None) -> bool:
        """Wait so many seconds at most; return whether it has ended. See `InferRequest.wait`."""
        _milliseconds(timeout)
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            starts, began = self._starts, not self._starting
            if not self.running:
                break
            if self._calling == threading.get_ident() and not self._outstanding:
                return True
            native = self.native
            if CALLBACKS.depth and _milliseconds(timeout) is None:
                raise BusyError(
                    "wait() inside a callback would wait for itself: the inference that it waits "
                    "for counts as ended when its callback has returned"
                )
            left = None if deadline is None else max(deadline - time.monotonic(), 0)
            milliseconds = _milliseconds(left)
            try:
                if milliseconds is None:
                    native.wait()
                elif not native.wait_for(milliseconds):
                    began = False
                    return False
            finally:
                # Otherwise the callback or another thread has started the next one.
                if began and starts == self._starts:
                    self._ended()
        self.publish(starts)
        return True

    def cancel(self) -> None:
        """Stop it, and return when it has stopped.

        Raises:
            OpenVINOError: the plugin cannot. Then it runs on.
        """
        if self.running:
            try:
                self.native.cancel()
            except RuntimeError as error:
                raise OpenVINOError(
                    "InferRequest.cancel",
                    f"{last_line(error)}. The inference runs on: wait() for its end, or close() "
                    "the request, which waits too",
                ) from error
            self.wait_for_end()

    def release(self) -> None:
        """Wait for its end before the request is dropped; in a callback, a thread does it."""
        native, called = self._native, self._called
        if native is None:
            return
        if CALLBACKS.depth:
            if self.running or called is not None:
                retire(native, self._publish, called)
                self._ended()
            return
        self.wait_for_end()
        if called is not None:
            disarm(native, called)

    def wait_for_end(self) -> None:
        """Wait for its end, whatever comes out of it."""
        while self.running:
            native, starts, began = self._native, self._starts, not self._starting
            # Nobody asks for the result any more, so a failure does not matter.
            with contextlib.suppress(RuntimeError):
                native.wait()
            if began and starts == self._starts:
                self._ended()

    def close(self) -> None:
        """Wait for its end, and release the request."""
        self._callback = self.after = None
        self.release()
        self._native = self._publish = None

    def give_up(self, why: str) -> None:
        """Close it for a reason of the model's: at once, or when its inference has ended."""
        self._why_closed = why
        self._given_up = True
        if not self.running:
            self._native = None

    def _is_busy(self) -> bool:
        """True if OpenVINO reports a running inference, which it does not during a callback."""
        native = self.native
        try:
            with REPORTING_BUSY:
                native.get_input_tensor(0)
        except BusyError:
            return True
        except RuntimeError:
            pass  # no input, or none with its own memory; but not busy
        return False

    def _report_errors_of(self, function: Callable[..., object], *arguments: Any) -> None:
        try:
            function(*arguments)
        except BaseException as error:
            if not _exiting:
                report(error)

    def _ended(self) -> None:
        self.running = False
        self._outstanding = 0
        self._forget()
        if self._given_up:
            self._native = None

    def _forget(self) -> None:
        if not self.running:
            _running.discard(self)
        if not self._outstanding:
            _awaited.discard(self)


def _has_returned(native: Any) -> bool:
    """True if an inference has ended, well or not, and its callback has returned."""
    try:
        return bool(native.wait_for(0))
    except RuntimeError:  # what it failed with
        return True


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
    global _exiting  # noqa: PLW0603 - there is one end of the process
    _exiting = True
    for inference in [*_running, *_awaited, *_armed]:
        inference.release()
    _awaited.clear()


def _leave_to_the_parent() -> list[object]:
    awaited = list[object](_awaited)
    for those in (_running, _awaited, _armed):
        those.clear()
    return awaited


in_forked_child(_leave_to_the_parent)
