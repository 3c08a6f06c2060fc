# SPDX-License-Identifier: Apache-2.0
"""2-D images: channel orders and types as shapes and dtypes."""

from __future__ import annotations

from ctypes import byref, c_size_t, c_void_p
from typing import TYPE_CHECKING, Any

import pyopencl
from pyopencl import channel_order, channel_type

from samebytes import TensorInfo
from samebytes.errors import LayoutError

from ._abi.core import cl_image_desc, cl_image_format
from ._library import in_our_words, making

if TYPE_CHECKING:
    from collections.abc import Callable

    from ._devices import OnDevice

__all__ = ["IMAGE2D", "image_format", "image_maker", "layout_of_image", "region_of"]

IMAGE2D = int(pyopencl.mem_object_type.IMAGE2D)

_CHANNELS: dict[int, int] = {
    channel_order.R: 1,
    channel_order.A: 1,
    channel_order.INTENSITY: 1,
    channel_order.LUMINANCE: 1,
    channel_order.RG: 2,
    channel_order.RA: 2,
    channel_order.RGBA: 4,
    channel_order.BGRA: 4,
}
# Three channels are for packed types only, whose elements are not numbers of ours.
_DTYPES: dict[int, str] = {
    channel_type.UNORM_INT8: "uint8",
    channel_type.UNSIGNED_INT8: "uint8",
    channel_type.SNORM_INT8: "int8",
    channel_type.SIGNED_INT8: "int8",
    channel_type.UNORM_INT16: "uint16",
    channel_type.UNSIGNED_INT16: "uint16",
    channel_type.SNORM_INT16: "int16",
    channel_type.SIGNED_INT16: "int16",
    channel_type.UNSIGNED_INT32: "uint32",
    channel_type.SIGNED_INT32: "int32",
    channel_type.HALF_FLOAT: "float16",
    channel_type.FLOAT: "float32",
}
_ORDERS = {1: channel_order.R, 2: channel_order.RG, 4: channel_order.RGBA}
_TYPES = {
    "uint8": channel_type.UNORM_INT8,
    "int8": channel_type.SNORM_INT8,
    "uint16": channel_type.UNORM_INT16,
    "int16": channel_type.SNORM_INT16,
    "uint32": channel_type.UNSIGNED_INT32,
    "int32": channel_type.SIGNED_INT32,
    "float16": channel_type.HALF_FLOAT,
    "float32": channel_type.FLOAT,
}


@in_our_words
def layout_of_image(native: pyopencl.Image) -> TensorInfo:
    """(rows, columns) or (rows, columns, channels), without strides.

    Raises:
        LayoutError: not a 2-D image, or elements of packed bits.
    """
    if native.type != IMAGE2D:
        raise LayoutError(
            f"an image of cl_mem_object_type {native.type:#x} cannot be a tensor: "
            "only 2-D images can"
        )
    format_ = native.format
    channels = _CHANNELS.get(format_.channel_order)
    dtype = _DTYPES.get(format_.channel_data_type)
    if channels is None or dtype is None:
        raise LayoutError(f"an image of {format_} cannot be a tensor: its elements are packed bits")
    shape: tuple[int, ...] = (native.height, native.width)
    return TensorInfo(dtype, shape if channels == 1 else (*shape, channels), opaque=True)


@in_our_words
def image_format(context: OnDevice, info: TensorInfo) -> pyopencl.ImageFormat:
    """The image format for a layout.

    Raises:
        LayoutError: no image has that shape or dtype, or this device has no such image.
    """
    channels = info.shape[2] if len(info.shape) == 3 else 1
    order, type_ = _ORDERS.get(channels), _TYPES.get(info.dtype.name)
    if len(info.shape) not in (2, 3) or order is None or type_ is None or 0 in info.shape:
        raise LayoutError(
            f"{info.dtype}{list(info.shape)} is not a 2-D image: it has (rows, columns) or (rows, "
            f"columns, 2 or 4) of {', '.join(_TYPES)}"
        )
    wanted = pyopencl.ImageFormat(order, type_)
    flags = pyopencl.mem_flags.READ_WRITE
    offered = pyopencl.get_supported_image_formats(
        context.native, flags, pyopencl.mem_object_type.IMAGE2D
    )
    if not any((f.channel_order, f.channel_data_type) == (order, type_) for f in offered):
        raise LayoutError(
            f"{context.native_device.name.strip()} does not support images of {wanted}"
        )
    return wanted


def image_maker(
    context: OnDevice, info: TensorInfo, *, over: int | None = None, row_pitch: int = 0
) -> Callable[[c_void_p], None]:
    """Return a function that makes a cl_mem: an image of its own, or one over a buffer's rows.

    pyopencl refuses pitches together with a buffer, so clCreateImage is called here.

    Args:
        info: rows, columns and channels.
        over: the cl_mem of the buffer.
        row_pitch: bytes from row to row in that buffer.

    Raises:
        LayoutError: no image has that shape or dtype, or this device has no such image.
        NativeError: the driver refuses.
    """
    format_ = image_format(context, info)
    native_format = cl_image_format(int(format_.channel_order), int(format_.channel_data_type))
    desc = cl_image_desc(
        image_type=IMAGE2D,
        image_width=info.shape[1],
        image_height=info.shape[0],
        image_row_pitch=row_pitch,
        mem_object=over,
    )
    flags = int(pyopencl.mem_flags.READ_WRITE)
    return making(
        "clCreateImage", context.native.int_ptr, flags, byref(native_format), byref(desc), None
    )


def region_of(info: TensorInfo) -> tuple[Any, Any]:
    """(origin, region) of a whole 2-D image, for ctypes."""
    return (c_size_t * 3)(0, 0, 0), (c_size_t * 3)(info.shape[1], info.shape[0], 1)
