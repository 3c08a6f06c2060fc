# SPDX-License-Identifier: Apache-2.0
"""The pipeline on one memory, with samebytes.

The decoder's planes are OpenVINO's input tensors, on the CPU, a GPU or an NPU; the output tensor
is OpenCV's mask, OpenCV draws into the decoder's planes, and the encoder reads them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import av
import numpy as np

import samebytes as sb
import samebytes.elements as el
import samebytes_openvino as sbo
from samebytes import Frame, Tensor
from samebytes.errors import CopyRequiredError, ElementError
from samebytes_ffmpeg import FFmpegFrame

from ._boxes import Array, Box, draw_boxes
from ._detector import Detector
from ._loop import STAGES, Result, Way, still_in_use
from ._reader import Picture, Reader
from ._stopwatch import Stopwatch
from ._writer import Writer

__all__ = ["Held", "SamebytesWay", "run_pipeline"]


@dataclass(slots=True)
class Held:
    """A frame, its planes for OpenVINO by their numbers, and the mappings.

    Attributes:
        address: the address of the first plane at that time.
    """

    frame: FFmpegFrame
    tensors: dict[int, Tensor]
    source: Frame | Tensor
    address: int


class SamebytesWay(Way[Held]):
    """The way that maps where others copy."""

    name = "samebytes"

    def __init__(self, detector: Detector, picture: Picture, *, allow_copy: bool) -> None:
        super().__init__(detector, picture, allow_copy=allow_copy)
        # A device gets its tensors in the context on which the model was compiled.
        self._memory = detector.compiled.context or "openvino"
        # An NPU imports each page only once: planes that the model does not read are left out.
        context = detector.compiled.context
        on_npu = context is not None and context.node == "openvino:NPU"
        self._by_plane = picture.padded or on_npu
        self._read = sorted({entry.plane for entry in detector.inputs})
        self.request = sbo.InferRequest(detector.compiled)
        self._copied_before = sb.stats().copied_bytes
        # Plugins are found and routes are compiled once, on first use: here, like the model.
        blank = self.take(picture.blank())
        self.routes = (
            sb.route(blank.source, self._memory),
            sb.route(self.request.get_output_tensor(detector.output), detector.read_in),
            sb.route(blank.frame, "opencv", access="rw"),
        )
        with blank.frame.map("opencv", "rw") as mapped:
            self.paint(blank, [plane.native for plane in mapped], ())

    def take(self, frame: av.VideoFrame) -> Held:
        """Wrap and map the frame, in two calls: this is what samebytes is for."""
        wrapped = sb.frame(frame)
        assert isinstance(wrapped, FFmpegFrame)
        return self.map(wrapped)

    def map(self, frame: FFmpegFrame) -> Held:
        """Hand a frame to OpenVINO. Padded rows are taken whole."""
        native: Any = frame.native  # an av.VideoFrame
        address = native.planes[0].buffer_ptr
        if self._by_plane:
            rows = {number: self._whole_rows(native, number) for number in self._read}
            tensors = {number: row.map(self._memory) for number, row in rows.items()}
            return Held(frame, tensors, rows[self._read[0]], address)
        tensors = dict(enumerate(frame.map(self._memory).planes))
        return Held(frame, tensors, frame, address)

    def infer(self, now: Held, before: Held) -> Array:
        """Run the model. The planes are bound, not copied; the mask is the output's own memory."""
        for entry in self.detector.inputs:
            held = before if entry.age else now
            self.request.set_tensor(entry.name, held.tensors[entry.plane])
        self.request.infer()
        output = self.request.get_output_tensor(self.detector.output)
        mask: Array = output.map(self.detector.read_in).native
        return mask

    def paint(self, held: Held, mats: Sequence[Array], boxes: Sequence[Box]) -> None:
        """Draw into OpenCV's arrays over the planes."""
        draw_boxes(mats, self.image, boxes)

    def copied(self) -> int:
        """The bytes copied so far, as samebytes counted them."""
        return sb.stats().copied_bytes - self._copied_before

    def finish(self) -> None:
        """Close the request."""
        self.request.close()

    def _whole_rows(self, frame: av.VideoFrame, number: int) -> Tensor:
        plane: Any = frame.planes[number]  # PyAV's stubs do not declare that it is a buffer
        channels = self.image.format.planes[number].channels
        return sb.tensor(np.frombuffer(plane, np.uint8).reshape(1, plane.height, -1, channels))


class _Detect(el.Transform):
    """Finds boxes. A frame is passed on when the next one, with which it is compared, arrives."""

    name = "detect"
    run: _Run
    takes = el.Image(memory="ffmpeg")

    def process(self, frame: Frame[Any]) -> Frame[Any] | None:
        assert isinstance(frame, FFmpegFrame)
        before = self.run.detect(frame)
        return None if before is None else before.frame

    def end_of_stream(self, stream: int) -> Iterator[Frame[Any]]:
        if self.run.before is not None:
            yield self.run.before.frame


class _Run:
    """The state that the elements of one run share.

    Attributes:
        before: the frame that came last.
        found: the frames into which nothing was drawn yet, with their boxes.
    """

    def __init__(
        self, way: SamebytesWay, writer: Writer, on_frame: Callable[[int], None] | None
    ) -> None:
        self.way = way
        self.writer = writer
        self.on_frame = on_frame
        self.watch = Stopwatch(STAGES, way.copied)
        self.result = Result(way.name, self.watch.timing, encoder=writer.codec)
        self.before: Held | None = None
        self.found: deque[tuple[Held, list[Box]]] = deque()

    def decoded(self, reader: Reader, frames: int | None) -> Iterator[av.VideoFrame]:
        for frame in reader.frames(frames):
            self.watch.lap("decode")
            yield frame
        reader.let_go()

    def detect(self, frame: FFmpegFrame) -> Held | None:
        """Find the boxes of a frame, and return the previous frame."""
        way, boxes = self.way, self.result.boxes
        now, before = way.map(frame), self.before
        self.watch.lap("hand over")
        boxes.append(way.detector.boxes(way.infer(now, now if before is None else before)))
        self.watch.lap("infer")
        self.before = now
        self.found.append((now, boxes[-1]))
        if self.on_frame is not None:
            self.on_frame(len(boxes))
        return before

    def draw(self, picture: Frame[Any]) -> None:
        """Draw into a frame that is mapped to OpenCV."""
        waited = len(self.found) - 1
        self.result.longest_wait = max(self.result.longest_wait, waited)
        held, boxes = self.found.popleft()
        if held.frame.native.planes[0].buffer_ptr != held.address:
            # The frame was copied, so it is no longer in the memory of the tensors.
            held.tensors, held.source = {}, held.frame
        self.way.paint(held, [plane.native for plane in picture], boxes)
        self.watch.lap("draw")

    def encode(self, frame: Frame[Any]) -> None:
        self.writer.write(frame.native)
        self.watch.lap("encode")


def run_pipeline(
    reader: Reader,
    writer: Writer,
    way: SamebytesWay,
    *,
    frames: int | None = None,
    wait: int,
    on_frame: Callable[[int], None] | None = None,
) -> Result:
    """Send a video through a pipeline of elements, as `run_loop` does for the other ways.

    Frames wait before "draw" until the decoder has released them; the newest one waits in "detect".
    """
    run = _Run(way, writer, on_frame)
    pipe = el.Pipeline(
        run.decoded(reader, frames),
        _Detect(run),
        el.inplace(takes=el.Image(memory="opencv", access="rw"))(run.draw)(),
        el.sink(takes=el.Image(memory="ffmpeg"))(run.encode)(),
        hold=wait - 1,
        copy=way.allow_copy,
    )
    try:
        pipe.run(threads=0)
    except ElementError as error:
        # The demo's own errors, and those of the frameworks, are clear by themselves.
        cause = error.__cause__
        if isinstance(cause, CopyRequiredError) and error.element == "draw":
            raise still_in_use() from None
        raise cause or error from None
    writer.finish()
    run.watch.lap("encode")
    way.finish()
    result = run.result
    result.frames = run.watch.timing.frames = writer.frames
    result.copied_bytes = way.copied()
    result.equal_addresses, result.writes_seen = way.equal_addresses, way.writes_seen
    result.routes = way.routes
    return result
