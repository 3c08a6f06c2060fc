# SPDX-License-Identifier: Apache-2.0
"""Inferences under way in one thread: batches are filled and started, and end in their order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from samebytes import Frame, Tensor

from .._request._request import InferRequest
from ._runners import Request

__all__ = ["Batch", "Batches"]

_OBEYED = ("color_range", "color_matrix", "rotation", "mirrored")


@dataclass(slots=True)
class Batch:
    """A batch whose inference was started. It holds the frames, and the request their memory.

    Attributes:
        results: of each frame, its own outputs; None where those of the request are read.
    """

    frames: list[Frame[Any]]
    request: Request
    inferring: InferRequest
    results: list[dict[str, Tensor]] | None


class Batches:
    """The inferences of one thread.

    A batch is started when it is full, when a frame of another layout or meaning comes, and when a
    stream ends. Its frames go on when its inference has ended and those of all batches before it.

    Args:
        make: makes a request for frames like one.
        begin: binds frames to a request and starts it.
        finish: reads the results of a batch into its frames.
        requests: how many run at a time, at most.
        batch: how many frames one takes.
    """

    def __init__(
        self,
        make: Callable[[Frame[Any]], Request],
        begin: Callable[[Request, list[Frame[Any]]], Batch],
        finish: Callable[[Batch], None],
        requests: int,
        batch: int,
    ) -> None:
        self._make = make
        self._begin = begin
        self._finish = finish
        self._requests = requests
        self._batch = batch
        self._filling: list[Frame[Any]] = []
        self._under_way: deque[Batch] = deque()
        self._idle: dict[bool, list[Request]] = {True: [], False: []}
        self._made = 0
        # Of an inference that has ended: whoever takes them may stop in the middle.
        self._giving: deque[Frame[Any]] = deque()

    def __len__(self) -> int:
        """The number of frames that have come in and not gone on yet."""
        under_way = sum(len(batch.frames) for batch in self._under_way)
        return len(self._filling) + under_way + len(self._giving)

    def put(self, frame: Frame[Any]) -> Iterator[Frame[Any]]:
        """Take a frame; gives those whose inferences have ended."""
        first = self._filling[0] if self._filling else frame
        other = first.context is not frame.context or first.meta.info != frame.meta.info
        other = other or (self._batch > 1 and _seen_as(first) != _seen_as(frame))
        # It is full already if another batch failed when this one was about to start.
        if other or len(self._filling) == self._batch:
            yield from self._start()
        self._filling.append(frame)
        if len(self._filling) == self._batch:
            yield from self._start()
        while self._under_way and self._under_way[0].inferring.idle:
            yield from self._end_first()

    def end(self) -> Iterator[Frame[Any]]:
        """Start what is left, and give all frames. What failed is raised at the end."""
        failure: Exception | None = None
        while self._filling or self._under_way:
            try:
                yield from self._start() if self._filling else self._end_first()
            except Exception as error:
                failure = failure or error
        if failure is not None:
            try:
                raise failure
            finally:
                del failure  # its traceback holds this call

    def close(self) -> None:
        """Release all requests, and the frames that they hold. Waits for those that run."""
        self._filling.clear()
        self._giving.clear()
        requests = [batch.request for batch in self._under_way]
        self._under_way.clear()
        for idle in self._idle.values():
            requests += idle
            idle.clear()
        for request in requests:
            request.close()

    def _start(self) -> Iterator[Frame[Any]]:
        if not self._filling:
            return
        image = _is_image(self._filling[0])
        while not self._idle[image] and self._made == self._requests and self._under_way:
            yield from self._end_first()
        frames, self._filling = self._filling, []
        request = self._idle_or_new(frames[0])
        try:
            self._under_way.append(self._begin(request, frames))
        except BaseException:
            self._idle[image].append(request)
            raise

    def _idle_or_new(self, frame: Frame[Any]) -> Request:
        image = _is_image(frame)
        if self._idle[image]:
            return self._idle[image].pop()
        if self._made == self._requests:  # all are for frames of the other kind
            self._idle[not image].pop().close()
            self._made -= 1
        request = self._make(frame)
        self._made += 1
        return request

    def _end_first(self) -> Iterator[Frame[Any]]:
        batch = self._under_way.popleft()
        try:
            self._finish(batch)
        finally:
            self._idle[_is_image(batch.frames[0])].append(batch.request)
        self._giving.extend(batch.frames)
        batch.frames.clear()
        while self._giving:
            yield self._giving.popleft()


def _seen_as(frame: Frame[Any]) -> tuple[Any, ...]:
    """The metadata that image models obey: frames that differ in them need separate models."""
    return tuple(frame.metadata.get(key) for key in _OBEYED)


def _is_image(frame: Frame[Any]) -> bool:
    return frame.meta.info is not None
