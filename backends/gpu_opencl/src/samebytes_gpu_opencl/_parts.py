# SPDX-License-Identifier: Apache-2.0
"""Natives over parts of others: sub-buffers, USM further on, images over buffers."""

from __future__ import annotations

from ctypes import byref, c_uint32, c_void_p
from typing import TYPE_CHECKING, Any

import pyopencl

from samebytes import Storage, TensorInfo
from samebytes.errors import LayoutError, UnsupportedObjectError

from ._abi import core
from ._devices import OnDevice, device_info
from ._handles import mem_info, release_mem
from ._images import image_maker
from ._library import in_our_words, making
from ._natives import pinned_buffer, pinned_image
from ._usm import USMAllocation

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["alignment_of", "check_extent", "image_over", "part_of", "room_after", "sub_buffer"]

_BUFFER_CREATE_TYPE_REGION = 0x1220
"""CL/cl.h: CL_BUFFER_CREATE_TYPE_REGION."""


@in_our_words
def alignment_of(context: OnDevice) -> int:
    """CL_DEVICE_MEM_BASE_ADDR_ALIGN in bytes (OpenCL gives bits): where sub-buffers may begin."""
    return max(context.native_device.mem_base_addr_align // 8, 1)


def check_extent(info: TensorInfo, room: int, what: str) -> int:
    """Check that a layout lies within so many bytes; return the number that it needs.

    Raises:
        LayoutError: it does not.
    """
    low, high = info.extent
    if low < 0:
        raise LayoutError(
            f"strides {info.strides} address bytes before the first element, where OpenCL memory "
            "begins"
        )
    if high > room:
        raise LayoutError(
            f"{info.dtype}{list(info.shape)} needs {high} bytes, and {what} has {room}"
        )
    return high


def room_after(native: Any, kind: str, offset: int) -> int:
    """Return the bytes from `offset` to the end of memory of a tensor's kind.

    Raises:
        LayoutError: the offset is negative, or after the end.
        UnsupportedObjectError: memory of this kind has no parts.
    """
    if not isinstance(native, pyopencl.Buffer | USMAllocation):
        raise UnsupportedObjectError(
            f"memory of kind {kind} cannot be divided by offsets: use a buffer or USM"
        )
    size = native.nbytes if isinstance(native, USMAllocation) else native.size
    if not 0 <= offset < max(size, 1):
        raise LayoutError(f"offset {offset} is outside the {size} bytes of the {kind}")
    return size - offset


def part_of(
    context: OnDevice, native: Any, kind: str, offset: int, info: TensorInfo, keep: Storage
) -> tuple[Any, Storage]:
    """Return a native over the bytes from `offset` on, and its owner, which holds `keep`."""
    room = room_after(native, kind, offset)
    nbytes = check_extent(info, room, f"the {kind} after byte {offset}")
    if isinstance(native, USMAllocation):
        pin = Storage(keep=keep)
        part = USMAllocation(
            native.pointer + offset, nbytes, native.kind, native.context, pin, info
        )
        return part, pin
    storage = sub_buffer(context, native.int_ptr, offset, nbytes, keep)
    return pinned_buffer(storage.handle, storage, info), storage


class MemStorage(Storage):
    """The owner of one reference to a cl_mem. It is there before the cl_mem is made.

    Args:
        make: stores a new cl_mem in a cell: see `making`.

    Attributes:
        handle: the cl_mem.
    """

    __slots__ = ("handle",)

    def __init__(
        self,
        context: OnDevice,
        make: Callable[[c_void_p], None],
        nbytes: int,
        keep: object = None,
    ) -> None:
        cell = c_void_p()
        release = release_mem(cell, context.native)
        super().__init__(release, nbytes=nbytes, keep=keep, at_exit=True)
        make(cell)
        self.handle = cell.value or 0


def sub_buffer(
    context: OnDevice, buffer: int, offset: int, nbytes: int, keep: object
) -> MemStorage:
    """A sub-buffer, owned by the storage.

    Args:
        buffer: a cl_mem; for a sub-buffer its own buffer is used, since OpenCL has one level.
        offset: in bytes.
        keep: the owner of the memory that the buffer lies in.

    Raises:
        LayoutError: the offset is not a multiple of the device's alignment.
    """
    root = mem_info(buffer, pyopencl.mem_info.ASSOCIATED_MEMOBJECT, c_void_p)
    origin = offset
    if root:
        origin += mem_info(buffer, pyopencl.mem_info.OFFSET)
    alignment = alignment_of(context)
    if origin % alignment:
        raise LayoutError(
            f"offset {origin} is not a multiple of {alignment} bytes, where sub-buffers of "
            f"{context.native_device.name.strip()} may begin (CL_DEVICE_MEM_BASE_ADDR_ALIGN): "
            f"place it at {-(-origin // alignment) * alignment}"
        )
    region = core.cl_buffer_region(origin, max(nbytes, 1))
    make = making("clCreateSubBuffer", root or buffer, 0, _BUFFER_CREATE_TYPE_REGION, byref(region))
    return MemStorage(context, make, nbytes, keep)


def image_over(
    context: OnDevice, native: Any, kind: str, info: TensorInfo, keep: Storage
) -> tuple[Any, Storage]:
    """Return an image over the rows of a buffer, and its owner, which holds `keep`."""
    if not isinstance(native, pyopencl.Buffer):
        raise UnsupportedObjectError(f"an image can be made over a buffer, not over {kind} memory")
    pixel = info.dtype.itemsize or 0
    if len(info.shape) == 3:
        pixel *= info.shape[2]
    strides = info.strides or ()
    dense = TensorInfo(info.dtype, info.shape[1:]).strides if info.shape else ()
    if strides[1:] != dense:
        raise LayoutError(f"the pixels of a row must be contiguous, strides are {strides}")
    pitch_alignment, base_alignment = _image_alignments(context)
    if not pitch_alignment:
        raise LayoutError(
            f"{context.native_device.name.strip()} does not support images over buffers "
            "(cl_khr_image2d_from_buffer)"
        )
    pitch = strides[0] if strides else 0
    if pixel and pitch % (pitch_alignment * pixel):
        raise LayoutError(
            f"rows are {pitch} bytes apart: for an image over a buffer that must be a multiple of "
            f"{pitch_alignment * pixel} ({pitch_alignment} pixels, CL_DEVICE_IMAGE_PITCH_ALIGNMENT)"
        )
    origin = mem_info(native.int_ptr, pyopencl.mem_info.OFFSET)
    if pixel and base_alignment and origin % (base_alignment * pixel):
        raise LayoutError(
            f"the buffer begins at offset {origin}: for an image over it that must be a multiple "
            f"of {base_alignment * pixel} ({base_alignment} pixels, "
            "CL_DEVICE_IMAGE_BASE_ADDRESS_ALIGNMENT)"
        )
    buffer, keep = _with_whole_rows(context, native, info.shape[0] * pitch, keep)
    make = image_maker(context, info, over=buffer, row_pitch=pitch)
    storage = MemStorage(context, make, native.size, keep)
    return pinned_image(storage.handle, storage), storage


def _with_whole_rows(
    context: OnDevice, native: pyopencl.Buffer, nbytes: int, keep: Storage
) -> tuple[int, Storage]:
    """A buffer in which the last row is padded like the others, as an image wants it."""
    if native.size >= nbytes:
        return native.int_ptr, keep
    root = mem_info(native.int_ptr, pyopencl.mem_info.ASSOCIATED_MEMOBJECT, c_void_p)
    origin = mem_info(native.int_ptr, pyopencl.mem_info.OFFSET)
    room = mem_info(root, pyopencl.mem_info.SIZE) - origin if root else native.size
    if room < nbytes:
        raise LayoutError(
            f"an image needs {nbytes} bytes of the buffer, with padding after the last row too, "
            f"but there are {room}: make the last row of the buffer as long as the others"
        )
    wider = sub_buffer(context, root, origin, nbytes, keep)
    return wider.handle, wider


def _image_alignments(context: OnDevice) -> tuple[int, int]:
    keys = core.CL_DEVICE_IMAGE_PITCH_ALIGNMENT, core.CL_DEVICE_IMAGE_BASE_ADDRESS_ALIGNMENT
    values = [device_info(context.native_device, key, c_uint32()) for key in keys]
    pitch, base = (0 if value is None else int(value.value) for value in values)
    return pitch, base
