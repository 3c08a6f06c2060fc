# SPDX-License-Identifier: Apache-2.0
"""SecondStage: a model that runs on regions of frames, as many at once as its batch has items."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import Any

from samebytes import Frame, Region, Tensor
from samebytes.metadata import AffineTransform
from samebytes.plugins import Lock

from .._image._model import PartsRequest
from .._models._detections import Box
from .._request._outputs import outputs_of_item
from .._request._request import InferRequest
from ._requests import Runners
from ._results import Results

__all__ = ["SecondStage", "Wanted"]

Wanted = bool | str | tuple[str, ...]
"""A label, several of them, or True for all regions."""


@dataclass(slots=True)
class _Flight:
    """An inference that was started."""

    request: PartsRequest
    seen: Sequence[tuple[Region, Box]]
    transforms: list[AffineTransform]
    tensors: list[dict[str, Tensor]] | None


class SecondStage:
    """Runs a model on regions of each frame.

    Args:
        wanted: on which.
        runners: the requests.
        each: how many of them one frame may have at a time.
        batch: how many regions one inference takes.
        copy: copy what the device cannot use in place.
        results: adds what came of it.
        new_tensors: memory for results that outlive the next inference.
    """

    def __init__(
        self,
        wanted: Wanted,
        runners: Runners,
        each: int,
        batch: int,
        copy: bool,
        results: Results,
        new_tensors: Callable[[InferRequest], list[dict[str, Tensor]]],
    ) -> None:
        self._labels = _labels(wanted)
        self._runners = runners
        self._each = each
        self._batch = batch
        self._copy = copy
        self._results = results
        self._new_tensors = new_tensors
        self._lock = Lock()
        self._frames = self._of_frames = self._regions = self._outside = 0

    def run(self, frame: Frame[Any]) -> None:
        """Run on the regions of a frame, and add to them what came of it."""
        wanted = [
            region
            for region in frame.regions
            if self._labels is None or region.label in self._labels
        ]
        boxes = [(region, _inside(region, frame)) for region in wanted]
        seen = [(region, box) for region, box in boxes if box is not None]
        with self._lock:
            self._frames += 1
            self._of_frames += bool(seen)
            self._regions += len(seen)
            self._outside += len(wanted) - len(seen)
        chunks = deque(seen[n : n + self._batch] for n in range(0, len(seen), self._batch))
        with ExitStack() as stack:
            count = min(self._each, len(chunks))
            idle: list[Any] = [stack.enter_context(self._runners.one(frame)) for _ in range(count)]
            under_way: deque[_Flight] = deque()
            try:
                while chunks or under_way:
                    if chunks and idle:
                        under_way.append(self._begin(idle.pop(), frame, chunks.popleft()))
                    else:
                        flight = under_way.popleft()
                        self._finish(frame, flight)
                        idle.append(flight.request)
            finally:
                for flight in under_way:
                    with suppress(RuntimeError):
                        flight.request.wait()

    def explain(self) -> str:
        """The regions that were seen so far, and those that were not."""
        which = "of every label" if self._labels is None else f"of {', '.join(self._labels)}"
        with self._lock:
            text = f"regions {which}: {self._regions} in {self._of_frames} of {self._frames} frames"
            left_out = f", {self._outside} without a pixel of the picture left out"
            return text + (left_out if self._outside else "")

    def _begin(
        self, request: PartsRequest, frame: Frame[Any], seen: Sequence[tuple[Region, Box]]
    ) -> _Flight:
        transforms = request.set_parts(frame, [box for _, box in seen], copy=self._copy)
        tensors = self._new_tensors(request.request) if self._results.outlive else None
        request.request.start_async()
        return _Flight(request, seen, transforms, tensors)

    def _finish(self, frame: Frame[Any], flight: _Flight) -> None:
        request, batch = flight.request.request, self._batch
        request.wait()
        request.release_inputs()
        for number, (region, box) in enumerate(flight.seen):
            outputs = request.outputs() if batch == 1 else outputs_of_item(request, number, batch)
            tensors = None if flight.tensors is None else flight.tensors[number]
            transform = flight.transforms[number]
            self._results.of_region(frame, region, box, tensors, outputs, transform)


def _labels(wanted: Wanted) -> tuple[str, ...] | None:
    if isinstance(wanted, bool):
        return None
    return (wanted,) if isinstance(wanted, str) else wanted


def _inside(region: Region, frame: Frame[Any]) -> Box | None:
    """x, y, width and height of what lies in the picture; None if that is not one pixel."""
    left, top = max(region.x, 0), max(region.y, 0)
    right = min(region.x + region.width, frame.width)
    bottom = min(region.y + region.height, frame.height)
    return (left, top, right - left, bottom - top) if right > left and bottom > top else None
