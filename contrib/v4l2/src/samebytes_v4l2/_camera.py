# SPDX-License-Identifier: Apache-2.0
"""Camera: the frames of a V4L2 device, in place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from ctypes import c_int
from fractions import Fraction
from typing import TYPE_CHECKING

import samebytes
from samebytes import Frame, ImageFormat, ImageInfo
from samebytes.errors import (
    BusyError,
    ClosedError,
    LayoutError,
    SamebytesError,
    UnknownNameError,
    UnsupportedObjectError,
)
from samebytes_dma import DMABuffer, DMAContext, DMATensor

from . import _abi
from ._buffers import IO, MEMORY, exported, imported, pointed, release
from ._device import Device
from ._formats import CameraFormat, Layout, offered, rates_of
from ._settings import code_of, current_layout, current_rate, set_format, set_rate
from ._stream import CameraStatistics, Stream

if TYPE_CHECKING:
    from typing import Self

__all__ = ["Camera"]

_MOST = 32  # VIDEO_MAX_FRAME
_FINEST = 1_000_000
"""The largest denominator for the fraction of a float: 29.97 is 2997/100."""


class Camera:
    """A camera of V4L2, whose frames are memory of "dma": nothing is copied.

        with samebytes_v4l2.Camera("/dev/video0") as camera:
            camera.set_format("NV12", 1280, 720, rate=30)
            for frame in camera.start():
                y, uv = frame.map("cpu").native

    A frame is one of the camera's few buffers. The buffer goes back with its last holder (the
    frame, a mapping, an array or another process that uses it through a ring); then the camera
    fills it again. A program that holds all buffers gets a PoolTimeoutError. Frames stay valid
    after stop(), close(), and after the camera was unplugged.

    One thread uses a camera at a time, except for interrupt(); frames may be used and dropped
    anywhere. A forked process does not take part: its frames are the parent's, and the camera
    raises a ClosedError there; only close() works, and closes the process' own copy.

    Args:
        path: the path of its node; "/dev/v4l/by-id/..." names one camera wherever it is plugged in.

    Attributes:
        path: the path of its node.
        name: the driver's name for the device.
        driver: the name of the driver.
        bus: the place where it is connected, such as "usb-0000:00:14.0-1".

    Raises:
        MissingDependencyError: there is no such node, or no permission to open it.
        BusyError: another program has it, and the driver only allows one.
        CameraGoneError: the node is there, but the camera is not.
        UnsupportedObjectError: it is not a camera, or of a kind that is not used here:
            multi-planar, or memory-to-memory (M2M).
    """

    def __init__(self, path: str = "/dev/video0") -> None:
        self._device: Device | None = None
        self._stream: Stream | None = None
        self.path = path
        device = self._device = Device(path)
        self.name, self.driver, self.bus = device.name, device.driver, device.bus

    def formats(self) -> list[CameraFormat]:
        """All pixel formats that the camera has, with their sizes, in the driver's order.

        Raises:
            ClosedError: the camera was closed.
            CameraGoneError: it is gone.
        """
        return offered(self._opened())

    def rates(self, format: str, width: int, height: int) -> tuple[Fraction, ...]:
        """The rates that it can give, in frames a second, the highest first; both ends of a range.

        Args:
            format: the pixel format, in any spelling, or V4L2's code of four characters.
            width, height: in pixels.

        Raises:
            ClosedError: the camera was closed.
            CameraGoneError: it is gone.
            UnsupportedObjectError: it does not have that format.
        """
        device = self._opened()
        return rates_of(device, code_of(device, format), width, height)

    def set_format(
        self,
        format: str | ImageFormat | None = None,
        width: int | None = None,
        height: int | None = None,
        *,
        rate: Fraction | float | None = None,
    ) -> ImageInfo:
        """Choose the frames that the camera gives. Arguments that are None change nothing.

        Args:
            format: the pixel format, in any spelling.
            width, height: in pixels.
            rate: frames a second; the camera takes the nearest that it has, which is in the
                attribute `rate` then.

        Returns:
            The format and size.

        Raises:
            ClosedError: the camera was closed.
            BusyError: it streams, here or elsewhere.
            CameraGoneError: it is gone.
            UnsupportedObjectError: it does not have that format, its current one is not a picture
                in rows, or it has no rates.
            LayoutError: it does not have that size; single fields.
            UnknownNameError: there is no such format.
        """
        device = self._opened()
        if self._stream is not None:
            raise BusyError(f"the camera at {self.path} streams: stop() it to set its format")
        layout = set_format(device, None if format is None else str(format), width, height)
        if rate is not None:
            set_rate(device, Fraction(rate).limit_denominator(_FINEST))
        return layout.image

    @property
    def image(self) -> ImageInfo:
        """The format and size that it gives.

        Raises:
            ClosedError: the camera was closed.
            CameraGoneError: it is gone.
            UnsupportedObjectError: its format is not a picture in rows.
            LayoutError: single fields.
        """
        return self._layout().image

    @property
    def pitches(self) -> tuple[int, ...]:
        """Bytes from row to row, of each plane.

        Raises:
            ClosedError, CameraGoneError, UnsupportedObjectError, LayoutError: as for `image`.
        """
        return tuple(plane.pitch for plane in self._layout().planes)

    @property
    def rate(self) -> Fraction | None:
        """The frames a second that it was set to; None if its driver does not report them.

        Raises:
            ClosedError: the camera was closed.
            CameraGoneError: it is gone.
        """
        return current_rate(self._opened())

    @property
    def statistics(self) -> CameraStatistics:
        """The counts since start().

        Raises:
            ClosedError: it does not stream.
        """
        return self._running().statistics

    def start(
        self,
        buffers: int | Sequence[DMABuffer] = 4,
        *,
        io: IO = "mmap",
        memory: DMAContext | None = None,
    ) -> Self:
        """Begin to capture.

        Args:
            buffers: how many frames can be under way; the driver may make more or fewer. Or, with
                io="dmabuf", DMA-BUFs of yours, each once, which the camera fills: keep them, and
                use them only through the frames.
            io: the memory: "mmap", the driver's own, which is exported; "dmabuf", new DMA-BUFs or
                yours, which the driver imports; "userptr", pages of a memfd.
            memory: with io="dmabuf": the context that allocates new ones, such as
                `samebytes.context("dma:heap")`; by default `samebytes.context("dma")`.

        Returns:
            The camera, which can be iterated.

        Raises:
            ClosedError: the camera was closed.
            BusyError: it streams, here or elsewhere.
            CameraGoneError: it is gone.
            UnsupportedObjectError: the driver has no such io; its format is not a picture in rows.
            LayoutError: less than one buffer or more than 32; DMA-BUFs that are too small, or one
                that is given twice.
            AccessError: DMA-BUFs whose descriptors are read-only.
            NativeError: the driver refuses.
            UnknownNameError: no such io.
        """
        device = self._opened()
        if self._stream is not None:
            raise BusyError(f"the camera at {self.path} streams already: stop() it first")
        if io not in MEMORY:
            raise UnknownNameError("io of a camera", str(io), MEMORY)
        count = buffers if isinstance(buffers, int) else len(buffers)
        if not 1 <= count <= _MOST:
            raise LayoutError(f"a camera has 1 to {_MOST} buffers, not {count}")
        if io != "dmabuf" and not (isinstance(buffers, int) and memory is None):
            raise UnsupportedObjectError(f'io={io!r} cannot fill your own memory; io="dmabuf" can')
        layout = self._layout()
        with ExitStack() as undo:
            undo.callback(_let_go, device, MEMORY[io])
            if io == "mmap":
                made = exported(device, layout, count)
            elif io == "userptr":
                made = pointed(device, layout, _dma("dma:memfd"), count)
            elif isinstance(buffers, int):
                made = imported(device, layout, memory or _dma("dma"), count)
            else:
                made = imported(device, layout, buffers, count)
            self._stream = Stream(device, made, layout, self.rate)
            undo.pop_all()
        return self

    def read(self, timeout: float = 10.0) -> Frame[DMATensor] | None:
        """The next frame; None after interrupt().

        `pts` is the time at which it was taken, in microseconds of CLOCK_MONOTONIC if
        `metadata["v4l2"]["clock"]` is "monotonic", as with nearly all drivers. In
        `metadata["v4l2"]`, "sequence" is its number, and "dropped" the number of frames that the
        camera lost just before it.

        Args:
            timeout: how long to wait, in seconds.

        Raises:
            PoolTimeoutError: all buffers were held, and none came back in time.
            CameraTimeoutError: the camera gave nothing in time. Reading can be tried again.
            CameraGoneError: it was unplugged.
            NativeError: its driver failed.
            ClosedError: it does not stream, or belongs to another process.
        """
        return self._running().read(timeout)

    def __iter__(self) -> Iterator[Frame[DMATensor]]:
        """Frame after frame, until interrupt(); errors as from `read`."""
        while (frame := self.read()) is not None:
            yield frame
            del frame  # it must not be held during the wait for the next one

    def interrupt(self) -> None:
        """Make a waiting read() return None, and all later ones until start(). From any thread."""
        stream = self._stream
        if stream is not None:
            stream.interrupt()

    def stop(self) -> None:
        """End capturing; start() begins again. Frames that are held stay valid.

        Raises:
            NativeError: the driver refuses.
        """
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.stop()

    def close(self) -> None:
        """Stop, and close the device. Frames that are held stay valid.

        Raises:
            NativeError: the driver refuses to stop.
        """
        device, self._device = self._device, None
        try:
            self.stop()
        finally:
            if device is not None:
                device.fd.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self._device is None else "streams" if self._stream else "open"
        return f"<Camera {self.path}, {self.name}, {state}>"

    def _opened(self) -> Device:
        if self._device is None:
            raise ClosedError(f"the camera at {self.path} was closed")
        if not self._device.is_of_this_process:
            raise ClosedError(
                f"the camera at {self.path} belongs to the process that forked this one: make "
                "another Camera here"
            )
        return self._device

    def _running(self) -> Stream:
        self._opened()
        if self._stream is None:
            raise ClosedError(f"the camera at {self.path} does not stream: start() it")
        return self._stream

    def _layout(self) -> Layout:
        return current_layout(self._opened())


def _let_go(device: Device, memory: int) -> None:
    """Undo a start that failed half-way."""
    with suppress(SamebytesError):  # the error of the start says more
        device.has("VIDIOC_STREAMOFF", c_int(_abi.V4L2_BUF_TYPE_VIDEO_CAPTURE))
        release(device, memory)


def _dma(name: str) -> DMAContext:
    found = samebytes.context(name)
    assert isinstance(found, DMAContext)
    return found
