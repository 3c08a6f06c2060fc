# SPDX-License-Identifier: Apache-2.0
"""HardwareFramePool: frames of one format and size on a device (AVHWFramesContext)."""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import byref, c_void_p, sizeof
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from av import VideoFrame

from samebytes import FrameMeta
from samebytes.errors import LayoutError, UnsupportedObjectError
from samebytes.formats import ImageInfo
from samebytes.plugins import OwnedPointer

from .._avutil import PYAV
from .._loans import lend, put
from .._owned import acquired, buffer_data
from .._pixel_formats import pixel_format_name
from .._pyav import frame_address
from .frame import HardwareFrame, carry_meta
from .hwcontext_abi import AV_PIX_FMT_NONE, FRAMES_CONTEXTS, AVHWFramesConstraints
from .objects import FFmpegHardwareFrame

if TYPE_CHECKING:
    from .._libavutil import Libavutil
    from .device import HardwareDevice

__all__ = ["HardwareFramePool", "check_supported", "empty_frame"]


class HardwareFramePool:
    """Frames of one format and size. Their surfaces are used again when frames are gone.

    Args:
        device: where they lie.
        image: what they hold.
        size: how many surfaces there are at all times; 0 for as many as are wanted.

    Attributes:
        image: as given.
        reference: the AVBufferRef* of the AVHWFramesContext; it stays the pool's.

    Raises:
        LayoutError: the device has no such frames.
        NativeError: it has no memory for them.
    """

    __slots__ = ("__weakref__", "_kind", "_library", "_pixel_format", "image", "reference")

    def __init__(self, device: HardwareDevice, image: ImageInfo, size: int = 0) -> None:
        library = device.library
        sw_format = check_supported(device, image)
        self.reference: OwnedPointer = acquired(
            library.owned.hwframe_ctx_alloc(device.reference), "av_hwframe_ctx_alloc"
        )
        frames = FRAMES_CONTEXTS[library.major].from_address(buffer_data(self.reference.address))
        frames.format = library.pixel_format(device.pixel_format)
        frames.sw_format = sw_format
        frames.width, frames.height = image.width, image.height
        frames.initial_pool_size = size
        library.checked("av_hwframe_ctx_init", library.hwframe_ctx_init(self.reference))
        self.image = image
        self._library = library
        self._kind = device.kind
        self._pixel_format = device.pixel_format

    def get(self) -> VideoFrame | HardwareFrame:
        """A frame of the pool: PyAV's, if the device belongs to PyAV's libavutil.

        Raises:
            NativeError: all surfaces are in use, or the device has no memory.
            UnsupportedObjectError: FFmpeg cannot allocate memory of this type.
        """
        if self._kind == "drm":
            raise UnsupportedObjectError(
                'ffmpeg:DRM cannot allocate frames: allocate from "dma" and map to "ffmpeg:DRM"'
            )
        library = self._library
        native, address = empty_frame(library, self._pixel_format)
        library.checked(
            "av_hwframe_get_buffer",
            library.hwframe_get_buffer(self.reference, address, 0),
        )
        return native

    def allocate(self) -> FFmpegHardwareFrame:
        """The same as a samebytes frame; its contents are undefined."""
        return FFmpegHardwareFrame.wrap(self.get())

    def over(
        self,
        places: Sequence[tuple[int, int, int]],
        held: object,
        meta: FrameMeta,
        *,
        readonly: bool,
    ) -> VideoFrame | HardwareFrame:
        """A frame like those of the pool, over memory of others.

        Args:
            places: of each plane the address in the device's memory, the bytes from row to row, and
                those from the first to the end of the last row.
            held: what keeps the memory; dropped when FFmpeg has released the frame.
            meta: what the frame says.
            readonly: FFmpeg copies before it writes.
        """
        library = self._library
        native, address = empty_frame(library, self._pixel_format)
        frame = library.AVFrame.from_address(address)
        pieces = [(start, nbytes) for start, _, nbytes in places]
        first = address + library.AVFrame.buf.offset
        for number, buffer in enumerate(lend(pieces, held, readonly, library)):
            put(buffer, first + number * sizeof(c_void_p), library)
            frame.data[number], frame.linesize[number], _ = places[number]
        frame.width, frame.height = self.image.width, self.image.height
        put(self.reference, address + library.AVFrame.hw_frames_ctx.offset, library)
        carry_meta(native, meta)
        return native

    def __repr__(self) -> str:
        return f"<HardwareFramePool {self._kind} {self.image}>"


def empty_frame(library: Libavutil, pixel_format: str) -> tuple[VideoFrame | HardwareFrame, int]:
    """A frame without buffers, and its AVFrame*."""
    if library is PYAV:
        # PyAV looks the format up once, when the frame is made. A size would make it allocate.
        native = VideoFrame(0, 0, pixel_format)
        return native, frame_address(native)
    frame: OwnedPointer = acquired(library.owned.frame_alloc(), "av_frame_alloc")
    library.AVFrame.from_address(frame.address).format = library.pixel_format(pixel_format)
    return HardwareFrame(frame, library), frame.address


def _sw_format(library: Libavutil, image: ImageInfo) -> int:
    name = pixel_format_name(image.format)
    number = library.pixel_format(name)
    if number < 0:
        raise LayoutError(f"{library.path} has no pixel format {name}")
    return number


def check_supported(device: HardwareDevice, image: ImageInfo) -> int:
    """The number of the pixel format that frames of a device have for an image.

    FFmpeg's own refusal is a number.

    Args:
        device: whose frames they are.
        image: format and size.

    Raises:
        LayoutError: the device has no such frames.
    """
    library = device.library
    sw_format = _sw_format(library, image)
    pointer = c_void_p(library.hwdevice_get_hwframe_constraints(device.reference, None))
    if not pointer:
        return sw_format  # the type has none, as DRM
    try:
        found = AVHWFramesConstraints.from_address(pointer.value or 0)
        names = _names(library, found.valid_sw_formats)
        if names is not None and library.pixel_format_name(sw_format) not in names:
            raise LayoutError(
                f"{device} does not support frames of {image.format}: it supports "
                f"{', '.join(names)}"
            )
        least, most = (found.min_width, found.min_height), (found.max_width, found.max_height)
        size = image.width, image.height
        if any(not a <= b <= c for a, b, c in zip(least, size, most, strict=True)):
            raise LayoutError(
                f"{device} supports frames from {least} to {most} pixels, not of {size}"
            )
    finally:
        library.hwframe_constraints_free(byref(pointer))
    return sw_format


def _names(library: Libavutil, numbers: Any) -> list[str] | None:
    if not numbers:
        return None
    listed = takewhile(lambda number: number != AV_PIX_FMT_NONE, numbers)
    return [library.pixel_format_name(number) for number in listed]
