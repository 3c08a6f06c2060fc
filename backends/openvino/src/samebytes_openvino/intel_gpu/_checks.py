# SPDX-License-Identifier: Apache-2.0
"""Checks of memory before it goes to the GPU plugin, which accepts most invalid memory.

Objects of another cl_context fail at inference, images of another format or size give wrong
pictures, and a pointer to too little memory lets kernels write into other memory.

OpenVINO gives a region of a remote tensor the handle and properties of the whole. The plugin's
inferences and copies use the right bytes, but asking for a handle, or mapping the memory, would
give those of the whole tensor. Python can find out neither the offset nor whether a tensor is a
region; but a region is smaller than its memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from samebytes import Context, Tensor, TensorInfo
from samebytes.errors import NativeError, UnsupportedObjectError
from samebytes.plugins import native_pointer

from .._errors import ForeignMemoryError, PropertyError, RegionError
from .._host._layout import packed_nbytes
from .._remote._lifetimes import pinned
from . import _opencl
from . import _opencl_abi as cl
from ._properties import ALIGNMENT

__all__ = [
    "IMAGES",
    "MAX_AXES",
    "ON_LEVEL_ZERO",
    "USM",
    "ZE",
    "check_buffer",
    "check_image",
    "check_is_image",
    "check_object",
    "check_on_opencl",
    "check_plane",
    "check_usm",
    "check_whole",
    "cl_context_of",
    "cpu_va_size",
    "handle_of",
    "is_image",
    "may_be_region",
    "padded_size",
    "plane_size",
]

MAX_AXES = 8
"""For a tensor with more, the plugin of 2026.4.1 allocates too little memory: 16 bytes for 2**9."""

_TYPES = {
    cl.CL_MEM_OBJECT_BUFFER: "a buffer",
    cl.CL_MEM_OBJECT_IMAGE2D: "a two-dimensional image",
}
# Channels of an NV12 plane, and the image format in which the plugin reads it.
_FORMATS = {1: (cl.CL_R, "CL_R"), 2: (cl.CL_RG, "CL_RG")}


ZE = "ZE"
"""CONTEXT_TYPE of a context of the plugin on Level Zero, whose OCL_CONTEXT is a ze_context
(openvino/runtime/intel_gpu/ze/ze.hpp). The build of the plugin does not decide this: on Level Zero
too, a context is of the type OCL if the driver shares memory with OpenCL."""

ON_LEVEL_ZERO = (
    "OpenVINO's GPU plugin works on Level Zero here, and its context shares no memory with OpenCL: "
    "set OV_GPU_RUNTIME to OCL before the program starts"
)


def check_on_opencl(params: Mapping[str, int | str], key: str) -> None:
    """Raise UnsupportedObjectError if a context of the plugin is on Level Zero.

    Args:
        params: the parameters of a context of the plugin.
        key: the key of the handle that the user passes.
    """
    if params.get("CONTEXT_TYPE") == ZE:
        raise UnsupportedObjectError(f"{ON_LEVEL_ZERO}. Then it takes a {key}")


def check_object(handle: int, property_: str, what: str) -> None:
    """Raise unless an OpenCL object of that kind is at that address.

    The driver is asked only about handles that look like an object, since any other ends the
    process. It still knows a released object whose memory was not used again.
    """
    ask = _ASKS[what.partition(",")[0]]
    try:
        found = _opencl.is_object(handle)
        if found:
            ask(handle)
    except NativeError:
        found = False
    if not found:
        raise PropertyError(
            property_, f"no {what} is at {handle:#x}: it was released, or this is something else"
        )


_ASKS: dict[str, Callable[[int], object]] = {
    "cl_context": _opencl.context_devices,
    "cl_command_queue": _opencl.queue_context,
    "cl_mem": _opencl.mem_type,
}


def is_image(mem: int) -> bool:
    """True if a cl_mem is a two-dimensional image."""
    return _opencl.mem_type(mem) == cl.CL_MEM_OBJECT_IMAGE2D


def check_buffer(mem: int, cl_context: int, info: TensorInfo) -> None:
    """Raise unless a cl_mem is a buffer of this context that holds the tensor."""
    _check_mem(mem, cl_context, cl.CL_MEM_OBJECT_BUFFER)
    size = _opencl.mem_size(mem)
    if size < info.nbytes:
        raise PropertyError(
            "MEM_HANDLE", f"the buffer has {size} bytes, but the tensor has {info.nbytes}"
        )


def check_image(mem: int, cl_context: int, info: TensorInfo) -> None:
    """Raise unless a cl_mem is an image of this context that is the plane `info`."""
    check_is_image(mem, cl_context)
    height, width, channels = plane_size(info, "MEM_HANDLE")
    order, name = _FORMATS[channels]
    if _opencl.image_format(mem) != (order, cl.CL_UNORM_INT8):
        raise PropertyError(
            "MEM_HANDLE",
            f"an image of {channels} channels must have the format {name} / CL_UNORM_INT8, not "
            "order {:#x} / type {:#x}".format(*_opencl.image_format(mem)),
        )
    size = _opencl.image_size(mem)
    if size != (width, height):
        raise PropertyError(
            "MEM_HANDLE",
            f"the image has {size[0]}x{size[1]} pixels, but the tensor has {width}x{height}",
        )


def check_is_image(mem: int, cl_context: int) -> None:
    """Raise unless a cl_mem is a two-dimensional image of this context."""
    _check_mem(mem, cl_context, cl.CL_MEM_OBJECT_IMAGE2D)


def check_usm(pointer: int, cl_context: int, info: TensorInfo) -> _opencl.Allocation:
    """Raise unless a pointer is USM of this context with room for the tensor behind it."""
    found = _opencl.allocation(cl_context, pointer)
    if found.kind == "unknown":
        raise ForeignMemoryError(
            "MEM_HANDLE",
            f"{pointer:#x} is not USM of cl_context {cl_context:#x}: allocate it in this context, "
            "or pass memory of the CPU as VirtualAddressMemory",
        )
    room = found.room(pointer)
    if room < info.nbytes:
        raise PropertyError(
            "MEM_HANDLE",
            f"{room} bytes lie between {pointer:#x} and the end of its allocation, but the tensor "
            f"has {info.nbytes}",
        )
    return found


def cpu_va_size(address: int, room: int | None, size: int, info: TensorInfo) -> int:
    """The CPU_VA_SIZE to pass.

    Args:
        address: the address of the first byte.
        room: the number of bytes that are known to exist there, or None.
        size: the size that the user gave, in bytes; -1 for none.

    Raises:
        PropertyError: it is too small, or its alignment keeps the GPU from working in place.
    """
    if address % ALIGNMENT:
        raise PropertyError(
            "CPU_VA",
            f"{address:#x} is not a multiple of {ALIGNMENT}: the driver would work on a copy. "
            'samebytes.context("cpu").allocate() gives memory on whole pages; begin a slice of it '
            f"at a multiple of {ALIGNMENT} bytes",
        )
    if size < -1 or (size != -1 and size < info.nbytes):
        raise PropertyError("CPU_VA_SIZE", f"{size} bytes, but the tensor has {info.nbytes}")
    if room is not None and room < max(size, info.nbytes):
        raise PropertyError(
            "CPU_VA_SIZE",
            f"{max(size, info.nbytes)} bytes are needed, but the memory has {room}",
        )
    wanted = info.nbytes if size == -1 else size
    padded = padded_size(wanted)
    if padded != wanted and (room is None or room < padded):
        raise PropertyError(
            "CPU_VA_SIZE",
            f"{wanted} bytes are not a multiple of {ALIGNMENT}: the driver would work on a copy. "
            f"Pass memory and a size of at least {padded} bytes",
        )
    if padded == 0:
        raise PropertyError("CPU_VA_SIZE", "the tensor is empty")
    return padded


def check_plane(plane: int, info: TensorInfo) -> None:
    """Raise unless a tensor can be that plane of an NV12 surface."""
    if plane not in (0, 1):
        raise PropertyError("VA_PLANE", f"NV12 has planes 0 (Y) and 1 (UV), not {plane}")
    _, _, channels = plane_size(info, "VA_PLANE")
    if channels != plane + 1:
        raise PropertyError(
            "VA_PLANE", f"plane {plane} of NV12 has {plane + 1} channels, not {channels}"
        )


def padded_size(nbytes: int) -> int:
    """The next whole number of cache lines."""
    return -(-nbytes // ALIGNMENT) * ALIGNMENT


def plane_size(info: TensorInfo, property_: str) -> tuple[int, int, int]:
    """(height, width, channels) of a tensor that is a plane of NV12 or I420.

    Raises:
        PropertyError: it is not uint8 [1, height, width, 1 or 2].
    """
    if (
        str(info.dtype) != "uint8"
        or info.ndim != 4
        or info.shape[0] != 1
        or info.shape[3] not in _FORMATS
    ):
        raise PropertyError(
            property_,
            "the plugin reads images and surfaces as planes uint8 [1, height, width, 1 or 2], not "
            f"{info.dtype} {list(info.shape)}",
        )
    _, height, width, channels = info.shape
    return height, width, channels


def _check_mem(mem: int, cl_context: int, wanted: int) -> None:
    found = _opencl.mem_type(mem)
    if found != wanted:
        raise PropertyError(
            "MEM_HANDLE",
            f"the cl_mem is {_TYPES.get(found, f'of type {found:#x}')}, not {_TYPES[wanted]}",
        )
    context = _opencl.mem_context(mem)
    if context != cl_context:
        raise ForeignMemoryError(
            "MEM_HANDLE",
            f"the cl_mem belongs to cl_context {context:#x}, but this context is of "
            f"{cl_context:#x}: make one from the other with ClContext.from_cl_context",
        )


def handle_of(given: Any, property_: str, what: str, key: str) -> int:
    """A native handle as an int.

    Args:
        given: an int, a `ctypes.c_void_p`, a PyCapsule, an object of pyopencl's (with `int_ptr`),
            or a context or tensor of samebytes.
        property_: the property that will carry it, for errors.
        what: its C type, for errors.
        key: the key of the handle in samebytes objects.

    Raises:
        PropertyError: it is null.
        UnsupportedObjectError: it is none of these.
        UnknownNameError: the samebytes object has no such handle.
    """
    if isinstance(given, Context | Tensor):
        handle = given.handle(key)
    else:
        handle = native_pointer(getattr(given, "int_ptr", given), f"{property_}: a {what}")
    if handle == 0:
        raise PropertyError(property_, f"this {what} is null")
    if not 0 < handle < 1 << 64:
        raise PropertyError(property_, f"{handle:#x} is not an address")
    return handle


IMAGES = ("OCL_IMAGE2D", "VA_SURFACE")
USM = ("USM_USER_BUFFER", "USM_HOST_BUFFER", "USM_DEVICE_BUFFER")


def cl_context_of(context: Context) -> int:
    """The cl_context of a GPU context; 0 if the plugin works on Level Zero and has none."""
    return context.find_handle("cl_context") or 0


def may_be_region(
    native: Any, params: Mapping[str, int | str], info: TensorInfo, cl_context: int
) -> bool:
    """True if an openvino.RemoteTensor can be a region of another one.

    A tensor that samebytes made, or wrapped as a whole, is not a region. Any other can be one if
    its memory is larger than the tensor; Level Zero (a `cl_context` of 0) is not asked for that.
    """
    if pinned(native) is not None:
        return False
    if not cl_context:
        return True
    handle, kind = int(params["MEM_HANDLE"]), params["SHARED_MEM_TYPE"]
    if kind in IMAGES:
        width, height = _opencl.image_size(handle)
        return info.shape[-3:-1] != (height, width)
    nbytes = packed_nbytes(info.dtype, math.prod(info.shape)) if info.dtype.packed else info.nbytes
    if kind in USM:
        found = _opencl.allocation(cl_context, handle)
        return found.kind != "unknown" and found.room(handle) > nbytes
    return _opencl.mem_size(handle) > nbytes


def check_whole(
    native: Any, params: Mapping[str, int | str], info: TensorInfo, cl_context: int
) -> None:
    """Raise RegionError if an openvino.RemoteTensor can be a region of another one."""
    if may_be_region(native, params, info, cl_context):
        raise RegionError(
            "this openvino.RemoteTensor is smaller than its memory, so it may be a region of "
            "another one, and OpenVINO gives a region the handle of the whole: take the part of "
            "the whole tensor's array or buffer, copy with tensor.map('cpu', copy=True), or, if "
            "it is not a region, wrap it with context.wrap_tensor(native, whole=True)"
        )
