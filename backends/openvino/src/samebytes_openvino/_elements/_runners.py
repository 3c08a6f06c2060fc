# SPDX-License-Identifier: Apache-2.0
"""Requests that threads share: an idle one takes the next frame, and keeps it until then."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from typing import Any

import samebytes
from samebytes import Frame, Tensor
from samebytes.errors import LayoutError
from samebytes.plugins import Lock

from .._image._request import ImageRequest
from .._request._request import InferRequest

__all__ = ["Request", "Runners", "bound", "new_outputs"]

Request = ImageRequest | InferRequest


class Runners:
    """The requests of one model, made when all others are busy.

    Args:
        make: makes another one for a frame. It is called by one thread at a time.
        most: how many there are at most; None for as many as there are threads.
    """

    def __init__(self, make: Callable[[Frame[Any]], Request], most: int | None) -> None:
        self._make = make
        self._most = most
        self._made = 0
        self._lock = Lock()
        self._idle: SimpleQueue[Request] = SimpleQueue()

    @contextmanager
    def one(self, frame: Frame[Any]) -> Iterator[Request]:
        """A request that nobody else uses meanwhile."""
        request = self._taken(frame)
        try:
            yield request
        finally:
            self._idle.put(request)

    def _taken(self, frame: Frame[Any]) -> Request:
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


def bound(request: Request, frames: Sequence[Frame[Any]], *, copy: bool) -> InferRequest:
    """The request under `request`, with the frames of a batch bound to it, in its first inputs."""
    if isinstance(request, ImageRequest):
        request.set_frames(frames, copy=copy)
        return request.request
    ports = request.input_ports
    planes = [plane for frame in frames for plane in frame.planes]
    if len(frames) == 1 and len(planes) == len(ports):
        request.set_frame(frames[0], copy=copy)
        return request
    each = len(planes) // len(frames)
    if any(len(frame.planes) != each for frame in frames) or not each or len(ports) % each:
        raise LayoutError(
            f"the frames have {', '.join(str(len(f.planes)) for f in frames)} tensors, which "
            f"cannot be divided among the {len(ports)} inputs of the batch"
        )
    for port, plane in zip(ports, planes, strict=False):
        request.set_input_tensor(port.index, plane, copy=copy)
    return request


def new_outputs(request: InferRequest, context: Any, count: int = 1) -> list[dict[str, Tensor]]:
    """Give the request memory of its own for this inference, so that its outputs outlive the next.

    The CPU reads it in place, on a GPU too: that is USM of the host, as of a request's own outputs.

    Args:
        context: of the device; None for the CPU.
        count: how many frames the batch has.

    Returns:
        Of each frame, the tensors by the names of the outputs.

    Raises:
        LayoutError: an output has no fixed shape.
    """
    place = samebytes.context("cpu") if context is None else context
    usm_host = getattr(place, "create_usm_host_tensor", None)  # where plain memory is the device's
    ports = request.output_ports
    each = len(ports) // count
    made: list[dict[str, Tensor]] = [{} for _ in range(count)]
    for port in ports:
        if port.shape is None or port.element is None:
            raise LayoutError(
                f"{port} has no fixed shape and type: give postprocess=, which reads it before the "
                "next inference writes it again"
            )
        name = port.element.name
        tensor = usm_host(name, port.shape) if usm_host else place.allocate(port.shape, name)
        request.set_output_tensor(port.index, tensor)
        name = port.name if count == 1 else port.name.partition("/")[2]
        made[port.index // each][name] = tensor
    return made
