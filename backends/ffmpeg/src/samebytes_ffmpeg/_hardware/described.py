# SPDX-License-Identifier: Apache-2.0
"""The description of a device's AVFrame, read each time, since it may change.

Structures at addresses that others passed are read by the system: a wrong address must not end the
process.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any, NamedTuple, TypeVar

from samebytes import TensorInfo
from samebytes.errors import LayoutError, UnknownNameError
from samebytes.formats import ImageFormat, ImageInfo
from samebytes.plugins import bytes_at

from .._avframe_abi import device_fields
from .._avutil_abi import AVBufferRef
from .._libavutil import Libavutil
from .._pixel_formats import image_format_named
from .cuda_planes import cuda_planes
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
        planes: for CUDA, the address and the layout of each plane, with FFmpeg's pitch.
    """

    kind: str
    image: ImageInfo
    device_ref: int
    data: int
    planes: tuple[tuple[int, TensorInfo], ...] = ()


def describe(library: Libavutil, address: int) -> Described:
    """Return the description of the frame of a device at an AVFrame*.

    Raises:
        LayoutError: it is not a frame of a known kind of device, it was given back, or its planes
            are not where and what they must be.
    """
    (at, unpack), (surfaces_at, unpack_surfaces) = _readers(library)
    # All at once, as reading one field by ctypes takes as long.
    *fields, buffer, context, top, left = unpack(at(address))
    # As buffer_data() does, without a call for each frame.
    data = _pointer_at(context + _BUFFER_DATA).value or 0 if context else 0
    surfaces = unpack_surfaces(surfaces_at(data)) if data else None
    # The result depends on these numbers alone, and is looked up: a pool gives the same memory
    # again, and a frame is described when it is wrapped and when it is mapped.
    return _described(library, tuple(fields), bool(buffer), surfaces, top, left)


_pointer_at = ctypes.c_void_p.from_address
_BUFFER_DATA = AVBufferRef.data.offset

# Gives the bytes at an address, and unpacks them.
_Reader = tuple[Callable[[int], Any], Callable[[Any], tuple[int, ...]]]


@cache
def _readers(library: Libavutil) -> tuple[_Reader, _Reader]:
    """Readers of an AVFrame, and of device_ref, format, sw_format and size of its surfaces."""
    frames = FRAMES_CONTEXTS[library.major]
    between = frames.format.offset - frames.device_ref.offset - 8
    surfaces = struct.Struct(f"@{frames.device_ref.offset}xQ{between}x4i")
    return _reader(device_fields(library.AVFrame)), _reader(surfaces)


def _reader(fields: struct.Struct) -> _Reader:
    return (ctypes.c_ubyte * fields.size).from_address, fields.unpack


@lru_cache(maxsize=256)
def _described(
    library: Libavutil,
    fields: tuple[int, ...],
    has_buffer: bool,
    surfaces: tuple[int, ...] | None,
    top: int,
    left: int,
) -> Described:
    """The description that follows from what was read."""
    *places, width, height, format_ = fields
    kind = device_kind(library, format_)
    if kind is None:
        if format_ == AV_PIX_FMT_NONE:
            raise LayoutError(
                "the frame was returned to its pool: FFmpeg has taken its buffers out"
            )
        name = library.pixel_format_name(format_)
        raise LayoutError(f"samebytes knows no device whose frames have pixel format {name}")
    if not has_buffer:
        raise LayoutError(f"the {kind} frame has no buffer that FFmpeg counts references to")
    if surfaces is None:
        raise LayoutError(
            f"the {kind} frame has no hw_frames_ctx, which holds its device and its pixel format: "
            "FFmpeg's decoders and av_hwframe_get_buffer() set it"
        )
    if left or top:
        raise LayoutError(
            f"the picture begins at pixel ({left}, {top}) of its surface, "
            "which other frameworks would not know: use the filter hwdownload,crop"
        )
    device, format_of_surfaces, sw_format, *size = surfaces
    image = ImageInfo.of(_format(library, sw_format), width, height)
    if width > size[0] or height > size[1]:
        raise LayoutError(
            f"a frame of {width}x{height} does not fit its surface of {size[0]}x{size[1]}"
        )
    if device_kind(library, format_of_surfaces) != kind or not device:
        raise LayoutError(f"the hw_frames_ctx of the {kind} frame is not an AVHWFramesContext")
    if kind == "vaapi":
        # A VASurfaceID of 32 bits in place of a pointer.
        return Described(kind, image, device, places[3] & 0xFFFFFFFF)
    planes = cuda_planes(image, places[:4], places[4:]) if kind == "cuda" else ()
    return Described(kind, image, device, places[0], planes)


@lru_cache(maxsize=64)
def device_kind(library: Libavutil, pixel_format: int) -> str | None:
    """The type of device that frames of a pixel format belong to; None if it is not known here."""
    return KINDS.get(library.pixel_format_name(pixel_format))


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
