# SPDX-License-Identifier: Apache-2.0
"""Frames of a device, and their planes, as samebytes objects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from av import VideoFrame

from samebytes import Frame, FrameMeta, Tensor, TensorInfo
from samebytes.errors import UnknownNameError, UnsupportedObjectError
from samebytes.plugins import read_slot

from .._meaning import colors_and_aspect
from .._meta import FFmpegMeta
from .._plane import ADVICE
from .._pyav import fraction
from .._reference import shared_at, writable_at
from .cuda_planes import cuda_planes_of
from .described import Described, describe
from .drm_descriptor import DRMPlane, planes_of
from .frame import HardwareFrame, place_of

if TYPE_CHECKING:
    from typing import Self

__all__ = ["FFmpegHardwareFrame", "FFmpegHardwarePlane", "HardwarePlane", "described"]

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


def described(native: VideoFrame | HardwareFrame) -> Described:
    """Return the description of a device's frame as it is now.

    Raises:
        LayoutError: it was given back meanwhile, or is not a frame of a device.
    """
    return describe(*place_of(native))


def _is_writable(native: VideoFrame | HardwareFrame) -> bool:
    """True if nobody else would notice a write.

    FFmpeg marks the buffers of new surfaces as read-only (AV_BUFFER_FLAG_READONLY, in
    libavutil/hwcontext_vaapi.c): that is about the number of the surface, not about its pixels.
    """
    library, address = place_of(native)
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
        if not isinstance(native, VideoFrame | HardwareFrame):
            raise UnsupportedObjectError(f"{native!r} is not a frame of a device")
        from .device import HardwareDevice

        library, _ = place_of(native)
        found = described(native)
        if found.kind == "drm":
            planes_of(found)  # a forged descriptor is found out here, where the error helps most
        elif found.kind == "cuda":
            cuda_planes_of(found)
        meta: FrameMeta
        if isinstance(native, VideoFrame):
            meta = FFmpegMeta(native)
            meta.info = found.image
        else:
            fields = library.AVFrame.from_address(native.pointer)
            says = colors_and_aspect(fields)
            meta = FrameMeta(found.image, native.pts, fraction(native.time_base), says)
        return cls.borrowed(native, HardwareDevice.over(library, found.device_ref), meta)

    @property
    def readonly(self) -> bool:  # evaluated each time
        return bool(read_slot(_frame_slot, self)) or not _is_writable(self.native)

    @readonly.setter
    def readonly(self, value: bool) -> None:
        _frame_slot.__set__(self, value)

    @property
    def may_become_writable(self) -> bool:  # type: ignore[override]  # not what is mapped to read
        """True if a decoder may yet release it; False if it was mapped or marked read-only."""
        return not read_slot(_frame_slot, self)

    def download(self) -> Frame:
        """A copy of the frame in memory, as an "ffmpeg" frame; it is counted in stats().

        To map it without a copy, where that can be, is what map("cpu") and map("ffmpeg") do.

        Raises:
            NoRouteError: FFmpeg cannot copy it; the message says why.
        """
        from .transfer import download

        return download(self)

    def _make_planes(self) -> tuple[Tensor, ...]:
        native, planes = self.native, range(len(self.image.format.planes))
        return self._planes_over([HardwarePlane(native, index) for index in planes])

    def _handle(self, key: str) -> int:
        if key != "av_frame":
            raise UnknownNameError(f"handle of a {type(self).__name__}", key, ("av_frame",))
        return place_of(self.native)[1]


class FFmpegHardwarePlane(Tensor):
    """One plane of a frame on a device. `native` is a HardwarePlane.

    handle(): "plane_index"; "va_surface" of VA-API; "dma_fd", "offset", "pitch" and
    "drm_modifier" of DRM; "cuda_ptr" and "pitch" of CUDA.
    """

    __slots__ = ()

    native: HardwarePlane
    readonly_advice = ADVICE

    @property
    def readonly(self) -> bool:  # evaluated each time
        return bool(read_slot(_plane_slot, self)) or not _is_writable(self.native.frame)

    @readonly.setter
    def readonly(self, value: bool) -> None:
        _plane_slot.__set__(self, value)

    def _describe(self) -> TensorInfo:
        found = described(self.native.frame)
        if found.kind == "drm":
            return planes_of(found)[self.native.index].info
        if found.kind == "cuda":
            return cuda_planes_of(found)[self.native.index][1]
        layout = found.image.plane_layouts()[self.native.index]
        return TensorInfo(layout.dtype, layout.shape, opaque=True)

    def _handle(self, key: str) -> int:
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
            address, pitch = found.places[self.native.index]
            known = {"cuda_ptr": address, "pitch": pitch}
        if key in known:
            return known[key]
        if key == "data":
            return super()._handle(key)  # says how to get there
        raise UnknownNameError(f"handle of {self.context.node}", key, (*known, "plane_index"))
