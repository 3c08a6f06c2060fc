# SPDX-License-Identifier: Apache-2.0
"""The element v4l2.source: a camera at the beginning of a pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal

import samebytes.elements as el
from samebytes import Context
from samebytes.errors import LayoutError, PoolTimeoutError, UnsupportedObjectError

from ._camera import Camera
from ._errors import CameraTimeoutError
from ._formats import FOURCCS
from ._stream import timeout_error

__all__ = ["SourceElement", "chosen"]

_USUAL = Fraction(1, 25)
"""The seconds of a frame of a camera that does not report its rate."""


def chosen(asked: str, wanted: Sequence[str], there: Sequence[str], current: str | None) -> str:
    """The format that a camera is to give.

    Args:
        asked: the format that the user asked for; "" for none.
        wanted: the formats that the next elements take, best first.
        there: the formats that the camera has and that have a layout here.
        current: the current format of the camera, if it has a layout here.

    Raises:
        UnsupportedObjectError: it has none.
    """
    found = asked or next((name for name in wanted if name in there), current) or ""
    found = found or next(iter(there), "")
    if not found:
        raise UnsupportedObjectError(
            "the camera has no format of pictures in rows, only compressed or raw ones: "
            "gstreamer.source and ffmpeg.source decode those"
        )
    return found


@dataclass(frozen=True)
class _Offered(el.Media):
    """Pictures in memory of "dma", of every format that a camera may have."""

    memory: str = "dma"

    def offers(self, like: el.FrameInfo | None) -> list[el.FrameInfo]:
        """One of each format."""
        return [el.FrameInfo("image", "dma", format=name) for name in FOURCCS]


class SourceElement(el.Source):
    """The frames of a camera, as `Camera` reads them: its buffers, in place.

        el.Pipeline(el.create("v4l2.source", "/dev/video0", width=1280, height=720), ...)

    It gives the first of the camera's formats that the next elements take, unless `format` names
    one. Parameters that are None leave the camera's settings as they are. The camera is opened when
    the pipeline negotiates, and captures once it starts.

    It has `buffers` frames, and no more can be under way: a model that is slower than the camera
    makes the camera drop frames, which `metadata["v4l2"]["dropped"]` counts. Times begin at 0 with
    the first frame, and always rise, by `el.Timeline`.
    """

    name = "v4l2.source"
    gives: ClassVar[Any] = _Offered()
    live = True

    device: Annotated[str, el.Doc("the camera's node")] = "/dev/video0"
    width: Annotated[int | None, el.Range(1), el.Doc("in pixels")] = None
    height: Annotated[int | None, el.Range(1), el.Doc("in pixels")] = None
    format: Annotated[str, el.Doc("the pixel format; empty: what the next elements take")] = ""
    rate: Annotated[
        float | None, el.Range(0), el.Doc("frames a second; the camera takes the nearest it has")
    ] = None
    buffers: Annotated[int, el.Range(1, 32), el.Doc("how many frames can be under way")] = 4
    io: Annotated[
        Literal["mmap", "dmabuf", "userptr"],
        el.Doc("whose memory: the driver's, DMA-BUFs that it imports, or pages of a memfd"),
    ] = "mmap"
    frames: Annotated[int | None, el.Range(1), el.Doc("how many at most; None for all")] = None
    timeout: Annotated[
        float, el.Range(0), el.Doc("seconds to wait for a frame, or for a buffer that comes back")
    ] = 10.0

    _camera: Camera | None = None
    _pool: int | None = None
    _timeline = el.Timeline(live=True)
    _length = _USUAL
    _first: int | None = None
    _given = 0

    @property
    def pool_size(self) -> int | None:  # type: ignore[override]  # the driver decides
        """The number of buffers; None before the camera captures."""
        return self._pool

    def negotiate(self, wanted: el.FrameInfo | None) -> el.FrameInfo:
        """Open the camera and set its format.

        Raises:
            MissingDependencyError, BusyError, UnsupportedObjectError, LayoutError: as for `Camera`.
        """
        self.close()
        camera = self._camera = Camera(self.device)
        there = [one.format for one in camera.formats() if one.format is not None]
        best = self.wanted_formats or ([wanted.format] if wanted and wanted.format else [])
        try:
            current = camera.image.format.name
        except (UnsupportedObjectError, LayoutError):  # which set_format() may cure
            current = None
        image = camera.set_format(
            chosen(self.format, best, there, current), self.width, self.height, rate=self.rate
        )
        rate = camera.rate
        self._length = 1 / rate if rate else _USUAL
        return el.FrameInfo(
            "image", "dma", format=image.format.name, width=image.width, height=image.height,
            rate=rate,
        )  # fmt: skip

    def frames_expected(self) -> int | None:
        """The number of frames, if `frames` is set."""
        return self.frames

    def open(self, context: Context | None) -> None:
        """Begin to capture."""
        camera = self._camera
        assert camera is not None
        camera.start(self.buffers, io=self.io)
        self._pool = camera.statistics.buffers
        self._timeline = el.Timeline(live=True)
        self._first, self._given = None, 0

    def read(self) -> Any:
        """The next frame; None after `frames` of them, and after interrupt().

        Raises:
            PoolTimeoutError: all buffers are held, and none came back in time.
            CameraTimeoutError: the camera gave nothing in time.
            CameraGoneError: it was unplugged.
        """
        camera = self._camera
        assert camera is not None
        if self._given == self.frames:
            return None
        clock = el.Clock(self.timeout)
        while True:
            try:
                frame = camera.read(clock.look_after)
                break
            except PoolTimeoutError:
                if clock.is_over():
                    raise clock.pool_error(self.name, camera.statistics.buffers) from None
            except CameraTimeoutError:
                if clock.is_over():
                    raise timeout_error(self.device, self.timeout, camera.statistics) from None
        if frame is None:
            return None
        self._given += 1
        meta = frame.meta
        assert meta.pts is not None
        if self._first is None:
            self._first = meta.pts
        meta.pts, meta.time_base = self._timeline.place(
            meta.pts - self._first, meta.time_base, self._length
        )
        return frame

    def interrupt(self) -> None:
        """End a waiting read."""
        camera = self._camera
        if camera is not None:
            camera.interrupt()

    def close(self) -> None:
        """Stop capturing, and close the camera. Frames stay valid."""
        camera, self._camera = self._camera, None
        self._pool = None
        if camera is not None:
            camera.close()
