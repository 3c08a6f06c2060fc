# SPDX-License-Identifier: Apache-2.0
"""Frames of a device, their planes, and pools of frames (AVHWFramesContext)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from ctypes import byref, c_void_p, sizeof
from dataclasses import dataclass
from functools import cache
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from av import VideoFrame

from samebytes import Frame, FrameMeta, Tensor, TensorInfo
from samebytes.errors import LayoutError, UnsupportedObjectError
from samebytes.formats import ImageInfo
from samebytes.plugins import OwnedPointer, read_slot

from .._avutil import PYAV
from .._loans import lend, put
from .._meaning import colors_and_aspect
from .._meta import FFmpegMeta
from .._owned import acquired, buffer_data
from .._pixel_formats import pixel_format_name
from .._pyav import FRAME_POINTER, fraction, frame_address, pointer_at
from .._reference import ADVICE, shared_at, writable_at
from .described import describe
from .drm_descriptor import DRMPlane, planes_of
from .frame import HardwareFrame, carry_meta, described, place_of
from .hwcontext_abi import AV_PIX_FMT_NONE, FRAMES_CONTEXTS, AVHWFramesConstraints

if TYPE_CHECKING:
    from typing import Self

    from .._libavutil import Libavutil
    from .device import HardwareDevice

__all__ = [
    "FFmpegHardwareFrame",
    "FFmpegHardwarePlane",
    "HardwareFramePool",
    "HardwarePlane",
    "check_supported",
    "empty_frame",
    "is_writable",
]

_new = object.__new__
# The slots of the base classes, which the properties of the same name stand before.
_frame_slot: Any = Frame.readonly
_plane_slot: Any = Tensor.readonly  # type: ignore[misc]  # the slot itself


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class HardwarePlane:
    """One plane of a frame of a device; it keeps the frame alive.

    Attributes:
        frame: the av.VideoFrame or HardwareFrame.
        index: which plane it is.
    """

    frame: VideoFrame | HardwareFrame
    index: int


def is_writable(native: VideoFrame | HardwareFrame) -> bool:
    """True if nobody else would notice a write.

    FFmpeg marks the buffers of new surfaces as read-only (AV_BUFFER_FLAG_READONLY, in
    libavutil/hwcontext_vaapi.c): that is about the number of the surface, not about its pixels.
    """
    library, address = place_of(native)
    if library.frame_is_writable(address):  # of VA-API it never is
        return True
    found = described(native)
    if found.kind == "vaapi":
        return not shared_at(library, address, found.data)
    return writable_at(library, address, found.data)


class FFmpegHardwareFrame(Frame):
    """A frame on a device: AV_PIX_FMT_VAAPI, AV_PIX_FMT_DRM_PRIME or AV_PIX_FMT_CUDA.

    `native` is an av.VideoFrame, or a HardwareFrame of another libavutil than PyAV's.

    Attributes:
        readonly: True if somebody else would notice a write; evaluated each time, since a
            decoder releases a frame later.
    """

    __slots__ = ()

    native: VideoFrame | HardwareFrame
    readonly_advice = ADVICE

    @classmethod
    def wrap(cls, native: Any) -> Self:
        """A frame over an av.VideoFrame or HardwareFrame on a device.

        Raises:
            LayoutError: it was given back, has no hw_frames_ctx, or a format that samebytes lacks.
            UnsupportedObjectError: it is neither.
        """
        is_of_pyav = isinstance(native, VideoFrame)
        if is_of_pyav:  # as place_of() does, without a call for each frame
            library, address = PYAV, pointer_at(id(native) + FRAME_POINTER).value or 0
        elif isinstance(native, HardwareFrame):
            library, address = place_of(native)
        else:
            raise UnsupportedObjectError(f"{native!r} is not a frame of a device")
        found = describe(library, address)
        if found.kind == "drm":
            planes_of(found)  # a forged descriptor is noticed here, where the error helps most
        meta: FrameMeta
        if is_of_pyav:
            meta = _new(FFmpegMeta)
            meta.native, meta.info = native, found.image
        else:
            fields = library.AVFrame.from_address(native.pointer)
            says = colors_and_aspect(fields)
            meta = FrameMeta(found.image, native.pts, fraction(native.time_base), says)
        # By position and without a call between: this wraps every decoded frame.
        return cls(native, _device_over()(library, found.device_ref), native, None, False, meta)

    def _is_readonly(self) -> bool:  # evaluated each time
        return bool(read_slot(_frame_slot, self)) or not is_writable(self.native)

    # The setter is that of the slot, and not a function of Python, which each frame would call.
    readonly = property(_is_readonly, _frame_slot.__set__)

    @property
    def may_become_writable(self) -> bool:  # type: ignore[override]  # not what is mapped to read
        """True if a decoder may yet release it; False if it was mapped or marked read-only."""
        return not read_slot(_frame_slot, self)

    def download(self) -> Frame:
        """A copy of the frame in memory, as an "ffmpeg" frame; it is counted in stats().

        map("cpu") and map("ffmpeg") map it without a copy where that is possible.

        Raises:
            NoRouteError: FFmpeg cannot copy it; the message says why.
        """
        from .transfer import download

        return download(self)

    def _make_planes(self) -> tuple[Tensor, ...]:
        native, image = self.native, self.meta.info
        assert isinstance(image, ImageInfo), "frames of devices are images"
        planes = range(len(image.format.planes))
        return self._planes_over([HardwarePlane(native, index) for index in planes])

    def _handle(self, key: str) -> int | None:
        return place_of(self.native)[1] if key == "av_frame" else None


@cache
def _device_over() -> Callable[[Libavutil, int], HardwareDevice]:
    """HardwareDevice.over, of a module that imports this one."""
    from .device import HardwareDevice

    return HardwareDevice.over


class FFmpegHardwarePlane(Tensor):
    """One plane of a frame on a device. `native` is a HardwarePlane.

    handle(): "plane_index"; "va_surface" of VA-API; "dma_fd", "offset", "pitch" and
    "drm_modifier" of DRM; "cuda_ptr" and "pitch" of CUDA.
    """

    __slots__ = ()

    native: HardwarePlane
    readonly_advice = ADVICE

    def _is_readonly(self) -> bool:  # evaluated each time
        return bool(read_slot(_plane_slot, self)) or not is_writable(self.native.frame)

    readonly = property(_is_readonly, _plane_slot.__set__)

    def _describe(self) -> TensorInfo:
        found = described(self.native.frame)
        if found.kind == "drm":
            return planes_of(found)[self.native.index].info
        if found.kind == "cuda":
            return found.planes[self.native.index][1]
        layout = found.image.plane_layouts()[self.native.index]
        return TensorInfo(layout.dtype, layout.shape, opaque=True)

    def _handle(self, key: str) -> int | None:
        if key == "plane_index":
            return self.native.index
        found = described(self.native.frame)
        known: dict[str, int] = {"va_surface": found.data}
        if found.kind == "drm":
            plane: DRMPlane = planes_of(found)[self.native.index]
            known = {
                "dma_fd": plane.fd,
                "offset": plane.offset,
                "pitch": plane.pitch,
                "drm_modifier": plane.modifier,
            }
        elif found.kind == "cuda":
            address, info = found.planes[self.native.index]
            assert info.strides is not None, "they lie in rows"
            known = {"cuda_ptr": address, "pitch": info.strides[0]}
        return known[key] if key in known else super()._handle(key)


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
            places: for each plane, the address in the device's memory, the bytes from row to row,
                and the bytes from the first row to the end of the last one.
            held: what keeps the memory; dropped when FFmpeg has released the frame.
            meta: that of the frame.
            readonly: whether FFmpeg must copy before it writes.
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

    FFmpeg itself would refuse with no more than a number.

    Args:
        device: the device of the frames.
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
