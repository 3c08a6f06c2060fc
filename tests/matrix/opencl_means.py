# SPDX-License-Identifier: Apache-2.0
"""OpenCL memory by pyopencl's own means, on queues that samebytes does not know."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pyopencl as cl

from samebytes import Tensor
from samebytes_gpu_opencl import USMAllocation

from .places import Place

__all__ = ["place", "place_of_mem", "read_bytes", "read_image", "write_bytes", "write_image"]

Array = np.ndarray[Any, Any]
# By cl_context, for the whole run: nothing of them is left over by a test.
_queues: dict[int, cl.CommandQueue] = {}


def read_bytes(part: Tensor) -> Array:
    """All bytes of a buffer, of SVM, or of USM."""
    native: Any = part.native
    queue, values = _queue(part), np.empty(_size(native), np.uint8)
    if isinstance(native, USMAllocation):
        _copy_usm(queue, values.ctypes.data, native.pointer, values.nbytes)
    else:
        cl.enqueue_copy(queue, values, native)
    queue.finish()
    return values


def write_bytes(part: Tensor, values: Array) -> None:
    """Set all bytes."""
    native: Any = part.native
    queue = _queue(part)
    if isinstance(native, USMAllocation):
        _copy_usm(queue, native.pointer, values.ctypes.data, values.nbytes)
    else:
        cl.enqueue_copy(queue, native, values)
    queue.finish()


def read_image(part: Tensor) -> Array:
    """The pixels of an image."""
    image: Any = part.native
    values = np.empty(part.info.shape, part.info.dtype.carrier)
    cl.enqueue_copy(_queue(part), values, image, origin=(0, 0), region=(image.width, image.height))
    return values


def write_image(part: Tensor, values: Array) -> None:
    """Set the pixels of an image."""
    image: Any = part.native
    new = np.ascontiguousarray(values)
    cl.enqueue_copy(_queue(part), image, new, origin=(0, 0), region=(image.width, image.height))


def place(part: Tensor) -> Place:
    """The place where an object of pyopencl's, or USM, begins."""
    native: Any = part.native
    if isinstance(native, USMAllocation):
        return {"address": native.pointer}
    if isinstance(native, cl.SVM):
        return {"address": native.svm_ptr}
    return place_of_mem(part, native.int_ptr)


def place_of_mem(part: Tensor, handle: int) -> Place:
    """The place where a cl_mem begins: it may be part of another; the driver reports an address."""
    native: Any = cl.Buffer.from_int_ptr(handle, retain=True)
    if native.type != cl.mem_object_type.BUFFER:
        return {"cl_mem": (handle, 0)}
    offset, whole = int(native.offset), native.associated_memobject
    queue = _queue(part)
    mapped: Any = cl.enqueue_map_buffer(
        queue, native, cl.map_flags.READ, 0, (native.size,), np.dtype(np.uint8)
    )
    address = mapped[0].__array_interface__["data"][0]
    mapped[0].base.release(queue)
    queue.finish()
    return {"cl_mem": ((whole or native).int_ptr, offset), "address": address}


def _queue(part: Tensor) -> cl.CommandQueue:
    handle = part.context.handle("cl_context")
    if handle not in _queues:
        _queues[handle] = cl.CommandQueue(cl.Context.from_int_ptr(handle, retain=True))
    return _queues[handle]


def _size(native: Any) -> int:
    return int(native.nbytes if isinstance(native, USMAllocation) else native.size)


def _copy_usm(queue: cl.CommandQueue, to: int, from_: int, nbytes: int) -> None:
    """clEnqueueMemcpyINTEL (cl_intel_unified_shared_memory), which pyopencl lacks."""
    library = ctypes.CDLL(cl._cl.__file__)  # its own OpenCL library, whatever its name
    find = library.clGetExtensionFunctionAddressForPlatform
    find.restype, find.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_char_p]
    pointer, size, number = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint32
    kind = ctypes.CFUNCTYPE(
        ctypes.c_int32, pointer, number, pointer, pointer, size, number, pointer, pointer
    )
    copy = kind(find(queue.device.platform.int_ptr, b"clEnqueueMemcpyINTEL"))
    assert copy(queue.int_ptr, 1, to, from_, nbytes, 0, None, None) == 0
