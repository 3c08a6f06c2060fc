# SPDX-License-Identifier: Apache-2.0
"""Requests that threads share: an idle one takes the next frame, and keeps it until then."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from typing import Any

import samebytes
from samebytes import Frame, Tensor
from samebytes.errors import LayoutError
from samebytes.plugins import Lock

from .._image._request import ImageRequest
from .._request import InferRequest

__all__ = ["Runners", "bound", "new_outputs"]

_Request = ImageRequest | InferRequest


class Runners:
    """The requests of one model, made when all others are busy.

    Args:
        make: makes another one for a frame. It is called by one thread at a time.
        most: how many there are at most; None for as many as there are threads.
    """

    def __init__(self, make: Callable[[Frame[Any]], _Request], most: int | None) -> None:
        self._make = make
        self._most = most
        self._made = 0
        self._lock = Lock()
        self._idle: SimpleQueue[_Request] = SimpleQueue()

    @contextmanager
    def one(self, frame: Frame[Any]) -> Iterator[_Request]:
        """A request that nobody else uses meanwhile."""
        request = self._taken(frame)
        try:
            yield request
        finally:
            self._idle.put(request)

    def _taken(self, frame: Frame[Any]) -> _Request:
        with suppress(Empty):
            return self._idle.get_nowait()
        with self._lock:
            if self._most is None or self._made < self._most:
                request = self._make(frame)
                self._made += 1
                return request
        return self._idle.get()  # whoever has one gives it back, whatever happens

    def close(self) -> None:
        """Release all requests, and the frames that they hold."""
        while True:
            try:
                self._idle.get_nowait().close()
            except Empty:
                return


def bound(request: _Request, frame: Frame[Any], *, copy: bool) -> InferRequest:
    """The request under `request`, with the frame bound to it."""
    request.set_frame(frame, copy=copy)
    return request.request if isinstance(request, ImageRequest) else request


def new_outputs(request: InferRequest, context: Any) -> dict[str, Tensor]:
    """Give the request memory of its own for this inference, so that its outputs outlive the next.

    Args:
        context: of the device; None for the CPU.

    Returns:
        The tensors by the names of the outputs.

    Raises:
        LayoutError: an output has no fixed shape.
    """
    place = samebytes.context("cpu") if context is None else context
    made: dict[str, Tensor] = {}
    for port in request.output_ports:
        if port.shape is None or port.element is None:
            raise LayoutError(
                f"{port} has no fixed shape and type: give postprocess=, which reads it before the "
                "next inference writes it again"
            )
        tensor = place.allocate(port.shape, port.element.name)
        request.set_output_tensor(port.index, tensor)
        made[port.name] = tensor
    return made
