# SPDX-License-Identifier: Apache-2.0
"""InferQueue: requests of one model; an idle one takes the next inference."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any
from weakref import ref

from samebytes.errors import BusyError, ClosedError, LayoutError, UnsupportedObjectError
from samebytes.plugins import Lock

from ._callbacks import CALLBACKS
from ._ports import as_index
from ._request import InferRequest

if TYPE_CHECKING:
    from typing import Self

__all__ = ["InferQueue"]

_LOOK = 0.05
"""Seconds between two checks for failed requests, for which OpenVINO does not call back."""


def _ended(alive: ref[InferQueue], number: int) -> None:
    """Act on the end of an inference that was started on the request itself."""
    queue = alive()
    if queue is not None:
        queue._ended(number)


class _Turn:
    """The turn of one call of start_async(), which has taken a request or will."""

    __slots__ = ("__weakref__",)


class InferQueue:
    """Requests of one model that run at the same time, each when its turn comes.

    It does what openvino.AsyncInferQueue does, and keeps the inputs and outputs of each inference
    alive until the request gets others. When it is dropped, what was started runs to its end, and
    the callback is called.

    Args:
        model: as for `InferRequest`: what `compile_model` gave, or an openvino.CompiledModel.
        jobs: how many requests; 0 for OPTIMAL_NUMBER_OF_INFER_REQUESTS of the model.

    Attributes:
        userdata: what each request was started with last.

    Raises:
        LayoutError: `jobs` is negative, or not a whole number.
        UnsupportedObjectError: `model` is not a compiled model.
    """

    def __init__(self, model: Any, jobs: int = 0) -> None:
        if not hasattr(model, "create_infer_request"):
            raise UnsupportedObjectError(
                f"{type(model).__name__} is not an openvino.CompiledModel: compile the model "
                "first, samebytes_openvino.compile_model(model, device)"
            )
        wanted = as_index(jobs)
        if wanted is None or wanted < 0:
            raise LayoutError(
                f"jobs must be a number of requests, or 0 for the optimal number, not {jobs!r}"
            )
        count = wanted or int(model.get_property("OPTIMAL_NUMBER_OF_INFER_REQUESTS"))
        self._requests = tuple(InferRequest(model) for _ in range(count))
        self._callback: Callable[[InferRequest, Any], object] | None = None
        self._errors: list[Exception] = []
        self._closed = False
        self._lock = Lock()
        # It gets an item when a request may be idle, for one waiting thread. Not a Condition: an
        # exception of a signal handler inside its wait() leaves the lock released.
        self._news: SimpleQueue[None] = SimpleQueue()
        self._idle = deque(range(count))
        self._turns: list[ref[_Turn] | None] = [None] * count
        self.userdata: list[Any] = [None] * count
        for number in range(count):
            self._hold_while_running(number, False)

    def start_async(self, inputs: Any = None, userdata: Any = None, *, copy: bool = False) -> None:
        """Start an inference on an idle request; without one, wait until there is.

        Args:
            inputs: as for `InferRequest.infer`. They live until the request gets others.
            userdata: what the callback is called with.
            copy: as for `InferRequest.set_tensor`.

        Raises:
            BusyError: no request is idle, and this is a callback, which cannot wait for one.
            ClosedError: the queue was closed.
            And what `InferRequest.start_async` raises. Then the request is idle again.
        """
        turn: Any = _Turn()
        try:
            number = self._take(ref(turn))
            self.userdata[number] = userdata
            self._hold_while_running(number, True)
            self._requests[number].start_async(inputs, copy=copy)
            turn = None  # tracebacks may hold this frame
        except BaseException:
            turn = None
            with self._lock:
                self._find_free()
            raise

    def set_callback(self, callback: Callable[[InferRequest, Any], object] | None) -> None:
        """Let `callback(request, userdata)` be called at the end of each inference that succeeds.

        What it can do, and what becomes of its errors, is the same as for
        `InferRequest.set_callback`. A request that it starts again is not idle. After the callback
        the outputs may be overwritten.

        Args:
            callback: `callback(request, userdata)`; None takes it away.

        Raises:
            UnsupportedObjectError: it is not callable.
        """
        if callback is not None and not callable(callback):
            raise UnsupportedObjectError(f"a callback must be callable, not {callback!r}")
        self._callback = callback

    def is_ready(self) -> bool:
        """True if a request is idle."""
        with self._lock:
            self._find_free()
            return bool(self._idle)

    def wait_all(self) -> None:
        """Wait until no inference is running, and no callback.

        Raises:
            BusyError: this is a callback.
            RuntimeError: OpenVINO's, of the first inference that failed since the last call; the
                others are in its `__notes__`. All have ended by then.
        """
        if CALLBACKS.depth:
            raise BusyError("wait_all() inside a callback would wait for this callback")
        for number in range(len(self)):
            self._settle(number, None)
        with self._lock:
            errors, self._errors = self._errors, []
        if errors:
            first, *others = errors
            for other in others:
                first.add_note(f"another inference failed too: {other}")
            try:
                raise first
            finally:
                del first, errors  # its traceback holds this call

    def close(self) -> None:
        """Wait for what is running and for its callbacks, and release everything that was set.

        From then on only a callback can start its own request again, which is waited for too.
        Inside a callback, close() waits for inferences alone, and their callbacks are not called.
        Errors are dropped.
        """
        self._closed = True
        self._tell()
        try:
            if not CALLBACKS.depth:
                for number in range(len(self)):
                    self._settle(number, None)
        finally:
            for request in self._requests:
                request.close()
            self._errors.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            if kind is None:
                self.wait_all()
        finally:
            self.close()

    def __len__(self) -> int:
        return len(self._requests)

    def __iter__(self) -> Iterator[InferRequest]:
        return iter(self._requests)

    def __getitem__(self, number: int) -> InferRequest:
        return self._requests[number]

    def __repr__(self) -> str:
        state = "closed" if self._closed else f"{len(self._idle)} of {len(self)} idle"
        return f"<InferQueue, {state}>"

    def _take(self, turn: ref[_Turn]) -> int:
        while True:
            with self._lock:
                if self._closed:
                    self._tell()
                    raise ClosedError("this InferQueue was closed")
                if not self._idle:
                    self._find_free()
                if self._idle:
                    number = self._idle[0]
                    self._turns[number] = turn  # before it is taken: see _find_free()
                    self._idle.popleft()
                    if self._idle:
                        self._tell()
                    return number
                if CALLBACKS.depth:
                    raise BusyError(
                        "no request of the InferQueue is idle, and a callback cannot wait for one: "
                        "start the callback's own request again, or make the queue longer"
                    )
            with contextlib.suppress(Empty):
                self._news.get(timeout=_LOOK)

    def _tell(self) -> None:
        """Wake one waiting thread, which wakes the next if there is something for that one too."""
        if self._news.empty():
            self._news.put(None)

    def _give_back(self, number: int) -> None:
        with self._lock:
            if number not in self._idle:
                self._hold_while_running(number, False)
                self._idle.append(number)
                self._tell()

    def _hold_while_running(self, number: int, running: bool) -> None:
        """Let a request refer to this queue: strongly while it runs, so that it calls back."""
        ended = partial(self._ended, number) if running else partial(_ended, ref(self), number)
        self._requests[number].on_end(ended)

    def _ended(self, number: int) -> None:
        """OpenVINO's callback."""
        request, callback = self._requests[number], self._callback
        try:
            if callback is not None:
                callback(request, self.userdata[number])
        finally:
            if not request.outstanding:
                self._give_back(number)

    def _find_free(self) -> None:
        """Make those requests idle again for which no callback comes.

        Their inference failed or was cancelled; or it never began, because of an exception, which a
        signal handler may raise before any instruction.
        """
        for number, request in enumerate(self._requests):
            turn = self._turns[number]
            if number in self._idle or (turn is not None and turn() is not None):
                continue
            if request.failed:
                self._settle(number, 0)
            elif not request.pending:
                self._give_back(number)

    def _settle(self, number: int, timeout: float | None) -> None:
        try:
            self._requests[number].wait(timeout)
        except RuntimeError as error:
            with self._lock:
                self._errors.append(error)
            self._give_back(number)
