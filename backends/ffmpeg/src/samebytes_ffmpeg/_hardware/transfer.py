# SPDX-License-Identifier: Apache-2.0
"""Copies by the driver (av_hwframe_transfer_data): ffmpeg <-> ffmpeg:VAAPI, ffmpeg <-> ffmpeg:CUDA
and ffmpeg:DRM -> ffmpeg.

The device may belong to another libavutil than PyAV. It is then given an AVFrame of its own over
the planes of PyAV's frame, which copies nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from av import VideoFrame

from samebytes import Access, Context, Frame, MemoryMapper, Storage, context
from samebytes.errors import LayoutError, NativeError
from samebytes.formats import ImageInfo
from samebytes.plugins import OwnedPointer, Refused, memory_size

from .._avutil import PYAV
from .._loans import put
from .._owned import made
from .._pixel_formats import pixel_format_name
from .._pyav import frame_address
from .drm_descriptor import planes_of
from .frame import carry_meta, described, place_of

if TYPE_CHECKING:
    from .._libavutil import Libavutil

__all__ = ["Download", "Upload", "download", "upload"]


class Upload(MemoryMapper):
    """ffmpeg -> ffmpeg:VAAPI or ffmpeg:CUDA: into a frame of the device's pool."""

    __slots__ = ()

    def connect(self, item: Frame, access: Access) -> tuple[Any, None, Storage | None]:
        """The new frame, which owns its surface."""
        device: Any = self.target  # a HardwareDevice
        image = item.meta.info
        if not isinstance(image, ImageInfo):
            raise Refused("frames of a device are images")
        library = device.library
        try:
            native = device.pool_of(image).get()
            source = _over_planes(library, item.native)
            _transfer(library, place_of(native)[1], source.address)
            device.finish_upload()
        except (LayoutError, NativeError) as error:
            raise Refused(str(error)) from error
        carry_meta(native, item.meta)
        return native, None, None


class Download(MemoryMapper):
    """From a device to ffmpeg: into a new av.VideoFrame."""

    __slots__ = ()

    def accepts(self, item: Frame) -> str | None:
        """Refuse what FFmpeg would misread: tiled memory as rows, bytes past the end of a file."""
        found = described(item.native)
        if found.kind != "drm":
            return None
        for number, plane in enumerate(planes_of(found)):
            if plane.info.strides is None:
                return f"plane {number} is tiled (DRM modifier {plane.modifier:#x})"
            if plane.size > (real := memory_size(plane.fd)):
                return f"plane {number} is in a buffer of {real} bytes, not {plane.size}"
        return None

    def connect(self, item: Frame, access: Access) -> tuple[Any, None, Storage | None]:
        """The new frame, which owns its memory.

        Raises:
            LayoutError: the frame was given back meanwhile.
            Refused: FFmpeg cannot copy it.
        """
        library, address = place_of(item.native)
        image = described(item.native).image
        try:
            native = VideoFrame(image.width, image.height, pixel_format_name(image.format))
            # Named, so that it lives until the transfer is done.
            target = _over_planes(library, native)
            _transfer(library, target.address, address)
        except (LayoutError, NativeError) as error:
            raise Refused(str(error)) from error
        carry_meta(native, item.meta)
        return native, None, None


def upload(frame: Frame, device: Context) -> Frame:
    """A copy of a frame of FFmpeg's in a device's own memory."""
    copy: Frame = _edge(frame.context, device).map(frame, copy=True)
    copy.readonly = False  # nobody else has that memory
    return copy


def download(frame: Frame) -> Frame:
    """A copy of a device's frame in memory, where a route may find a way to map it."""
    copy: Frame = _edge(frame.context, context("ffmpeg")).map(frame, copy=True)
    copy.readonly = False
    return copy


def _edge(source: Context, target: Context) -> MemoryMapper:
    from .._plugin import samebytes_mappers

    ends = source.node, target.node
    spec = next(s for s in samebytes_mappers() if (s.source, s.target) == ends)
    return (Upload if spec.mapper.endswith("Upload") else Download)(spec, source, target)


def _transfer(library: Libavutil, target: int, source: int) -> None:
    library.checked("av_hwframe_transfer_data", library.hwframe_transfer_data(target, source, 0))


def _over_planes(library: Libavutil, native: VideoFrame) -> OwnedPointer:
    """An AVFrame of a library over the memory of an av frame, which must outlive it."""
    theirs = PYAV.AVFrame.from_address(frame_address(native))
    name = PYAV.pixel_format_name(theirs.format)
    number = library.pixel_format(name)
    if number < 0:
        raise LayoutError(f"{library.path} has no pixel format {name}")
    frame: OwnedPointer = made(library.owned.frame_alloc(), "av_frame_alloc")
    ours = library.AVFrame.from_address(frame.address)
    ours.width, ours.height, ours.format = theirs.width, theirs.height, number
    ours.data[:] = theirs.data[:]
    ours.linesize[:] = theirs.linesize[:]
    # av_hwframe_transfer_data allocates for a frame without a buffer. This one owns nothing:
    # av_buffer_unref(NULL) does nothing.
    unref = library.unref_address
    nothing: OwnedPointer = library.owned.buffer_create(theirs.data[0], 1, unref, None, 0)
    put(nothing, frame.address + library.AVFrame.buf.offset, library)
    return frame
