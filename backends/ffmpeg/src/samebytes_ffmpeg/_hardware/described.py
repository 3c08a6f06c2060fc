# SPDX-License-Identifier: Apache-2.0
"""The description of a device's AVFrame, read each time, since it may change.

The system reads structures at addresses that others passed: a wrong address must not end the
process.
"""

from __future__ import annotations

import ctypes
from functools import lru_cache
from typing import NamedTuple, TypeVar

from samebytes.errors import LayoutError, UnknownNameError
from samebytes.formats import ImageFormat, ImageInfo
from samebytes.plugins import bytes_at

from .._libavutil import Libavutil
from .._owned import buffer_data
from .._pixel_formats import image_format_named
from .hwcontext_abi import AV_PIX_FMT_NONE, FRAMES_CONTEXTS

__all__ = ["KINDS", "Described", "describe", "device_kind", "snapshot"]

_S = TypeVar("_S", bound=ctypes.Structure)

KINDS = {"vaapi": "vaapi", "drm_prime": "drm", "cuda": "cuda"}
"""FFmpeg's pixel formats of devices that are known here -> its types of device."""


class Described(NamedTuple):
    """A frame of a device.

    Attributes:
        kind: FFmpeg's type of the device: "vaapi", "drm" or "cuda".
        image: what the frame would be in memory (AVHWFramesContext.sw_format, and its size).
        device_ref: AVBufferRef* of the device, which stays the frame's.
        data: the VASurfaceID (data[3]), the AVDRMFrameDescriptor* (data[0]), or the CUdeviceptr of
            the first plane.
        places: of CUDA the address of each plane and the bytes from row to row.
    """

    kind: str
    image: ImageInfo
    device_ref: int
    data: int
    places: tuple[tuple[int, int], ...] = ()


def describe(library: Libavutil, address: int) -> Described:
    """Return the description of the frame of a device at an AVFrame*.

    Raises:
        LayoutError: it is not a frame of a known kind of device, or it was given back.
    """
    head = library.frame_head
    # In one go, as each field of ctypes takes as long as all of them.
    *places, _, width, height, _, format_, first_buffer = head.unpack(
        (ctypes.c_ubyte * head.size).from_address(address)
    )
    kind = device_kind(library, format_)
    if kind is None:
        if format_ == AV_PIX_FMT_NONE:
            raise LayoutError(
                "the frame was returned to its pool: FFmpeg has taken its buffers out"
            )
        name = library.pixel_format_name(format_)
        raise LayoutError(f"samebytes knows no device whose frames have pixel format {name}")
    frame = library.AVFrame.from_address(address)
    if not first_buffer:
        raise LayoutError(f"the {kind} frame has no buffer that FFmpeg counts references to")
    context = frame.hw_frames_ctx
    if not context:
        raise LayoutError(
            f"the {kind} frame has no hw_frames_ctx, which holds its device and its pixel format: "
            "FFmpeg's decoders and av_hwframe_get_buffer() set it"
        )
    if frame.crop_left or frame.crop_top:
        raise LayoutError(
            f"the picture begins at pixel ({frame.crop_left}, {frame.crop_top}) of its surface, "
            "which other frameworks would not know: use the filter hwdownload,crop"
        )
    frames = FRAMES_CONTEXTS[library.major].from_address(buffer_data(context))
    image = _image(library, frames.sw_format, width, height)
    if width > frames.width or height > frames.height:
        raise LayoutError(
            f"a frame of {width}x{height} does not fit its surface of "
            f"{frames.width}x{frames.height}"
        )
    device = frames.device_ref
    if device_kind(library, frames.format) != kind or not device:
        raise LayoutError(f"the hw_frames_ctx of the {kind} frame is not an AVHWFramesContext")
    if kind == "vaapi":
        # A VASurfaceID of 32 bits in place of a pointer.
        return Described(kind, image, device, places[3] & 0xFFFFFFFF)
    if kind == "cuda":
        count = len(image.format.planes)
        planes = tuple(zip(places[:count], places[4 : 4 + count], strict=True))
        return Described(kind, image, device, places[0], planes)
    return Described(kind, image, device, places[0])


@lru_cache(maxsize=64)
def device_kind(library: Libavutil, pixel_format: int) -> str | None:
    """The type of device that frames of a pixel format belong to; None if it is not known here."""
    return KINDS.get(library.pixel_format_name(pixel_format))


@lru_cache(maxsize=256)
def _image(library: Libavutil, sw_format: int, width: int, height: int) -> ImageInfo:
    return ImageInfo.of(_format(library, sw_format), width, height)


@lru_cache(maxsize=256)
def _format(library: Libavutil, sw_format: int) -> ImageFormat:
    name = library.pixel_format_name(sw_format)
    try:
        return image_format_named(name)
    except UnknownNameError as error:
        raise LayoutError(f"samebytes has no image format for FFmpeg's {name}") from error


def snapshot(structure: type[_S], address: int, what: str) -> _S:
    """A copy of the structure that lies at an address.

    Where the system cannot be asked (not Linux, a sandbox), the address is taken as it is.

    Raises:
        LayoutError: the address is NULL, not aligned, or not mapped.
    """
    if not 0 < address < 1 << 64 or address % ctypes.alignment(structure):
        raise LayoutError(f"{address:#x} is not the address of {what}")
    size = ctypes.sizeof(structure)
    try:
        data = bytes_at(address, size)
    except OSError:
        data = ctypes.string_at(address, size)
    if data is None:
        raise LayoutError(f"{address:#x} is not mapped, so it is not the address of {what}")
    return structure.from_buffer_copy(data)
