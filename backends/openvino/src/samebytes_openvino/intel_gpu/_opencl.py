# SPDX-License-Identifier: Apache-2.0
"""Queries to OpenCL about handles that the user passes.

Handles belong to the driver, whichever loader they came from. So libOpenCL.so.1, which OpenVINO's
GPU plugin needs anyway, can also answer for handles from pyopencl's bundled loader.
"""

from __future__ import annotations

import ctypes
import sys
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from samebytes import Storage
from samebytes.errors import MissingDependencyError, NativeError
from samebytes.plugins import bind, bytes_at

from . import _opencl_abi as cl

__all__ = [
    "LIBRARY",
    "Allocation",
    "allocation",
    "context_devices",
    "finish",
    "has_unified_memory",
    "hold_queue",
    "image_format",
    "image_row_pitch",
    "image_size",
    "is_object",
    "library",
    "mem_context",
    "mem_flags",
    "mem_size",
    "mem_type",
    "queue_context",
    "queue_device",
    "tiles",
]

LIBRARY = "OpenCL.dll" if sys.platform == "win32" else "libOpenCL.so.1"
_WORD = ctypes.sizeof(ctypes.c_void_p)


@dataclass(frozen=True, slots=True)
class Allocation:
    """The allocation of a USM pointer, as OpenCL knows it.

    Attributes:
        kind: "host", "device", "shared", or "unknown" if it is not USM of that context.
        base: the address at which the allocation begins.
        size: the size of the whole allocation in bytes.
    """

    kind: str
    base: int = 0
    size: int = 0

    def room(self, pointer: int) -> int:
        """Bytes from `pointer` to the end of the allocation."""
        return self.base + self.size - pointer


@cache
def library() -> ctypes.CDLL:
    """libOpenCL, with the prototypes of the functions that are used.

    Raises:
        MissingDependencyError: it is not installed, or lacks one of them.
    """
    hint = "apt install ocl-icd-libopencl1, and the OpenCL driver of the GPU"
    try:
        found = ctypes.CDLL(LIBRARY)
    except OSError as error:
        raise MissingDependencyError("openvino", LIBRARY, hint) from error
    bind(found, cl.PROTOTYPES, plugin="openvino", library=LIBRARY, hint=hint)
    return found


def is_object(handle: int) -> bool:
    """True if an OpenCL object seems to be at this address.

    A wrong or released handle would end the process inside the driver. The first word of each
    living object points to the driver's dispatch table (cl_khr_icd), as does the first word of its
    platform. A released object whose memory was not used again can still look alive.
    """
    tables = _dispatch_tables()
    return tables is None or _word_at(handle) in tables


def context_devices(context: int) -> tuple[int, ...]:
    """The cl_device_ids of a cl_context, in its order."""
    call = library().clGetContextInfo
    size = ctypes.c_size_t()
    _check("clGetContextInfo", call(context, cl.CL_CONTEXT_DEVICES, 0, None, size))
    devices = (ctypes.c_void_p * (size.value // _WORD))()
    _check("clGetContextInfo", call(context, cl.CL_CONTEXT_DEVICES, size.value, devices, None))
    return tuple(d or 0 for d in devices)


def queue_context(queue: int) -> int:
    """The cl_context of a cl_command_queue."""
    return _handle("clGetCommandQueueInfo", queue, cl.CL_QUEUE_CONTEXT)


def queue_device(queue: int) -> int:
    """The cl_device_id of a cl_command_queue."""
    return _handle("clGetCommandQueueInfo", queue, cl.CL_QUEUE_DEVICE)


def hold_queue(queue: int) -> Storage:
    """The owner of one reference to a cl_command_queue."""
    cell = ctypes.c_void_p()
    owner = Storage(partial(_release_queue, cell), at_exit=True)
    _check("clRetainCommandQueue", library().clRetainCommandQueue(queue))
    cell.value = queue
    return owner


def _release_queue(cell: ctypes.c_void_p) -> None:
    queue, cell.value = cell.value, None
    if queue:
        _check("clReleaseCommandQueue", library().clReleaseCommandQueue(queue))


def finish(queue: int) -> None:
    """Return when everything that was enqueued is done."""
    _check("clFinish", library().clFinish(queue))


def mem_type(mem: int) -> int:
    """CL_MEM_OBJECT_BUFFER, CL_MEM_OBJECT_IMAGE2D ..."""
    return _answer("clGetMemObjectInfo", mem, cl.CL_MEM_TYPE, ctypes.c_uint32())


def mem_flags(mem: int) -> int:
    """The flags that a cl_mem was made with."""
    return _answer("clGetMemObjectInfo", mem, cl.CL_MEM_FLAGS, ctypes.c_uint64())


def mem_size(mem: int) -> int:
    """Bytes of a cl_mem."""
    return _answer("clGetMemObjectInfo", mem, cl.CL_MEM_SIZE, ctypes.c_size_t())


def mem_context(mem: int) -> int:
    """The cl_context of a cl_mem."""
    return _handle("clGetMemObjectInfo", mem, cl.CL_MEM_CONTEXT)


def image_format(image: int) -> tuple[int, int]:
    """(channel order, channel type) of an image."""
    found = cl.cl_image_format()
    call = library().clGetImageInfo
    size = ctypes.sizeof(found)
    _check("clGetImageInfo", call(image, cl.CL_IMAGE_FORMAT, size, ctypes.byref(found), None))
    return found.image_channel_order, found.image_channel_data_type


def image_row_pitch(image: int) -> int:
    """Bytes from one row of an image to the next."""
    return _answer("clGetImageInfo", image, cl.CL_IMAGE_ROW_PITCH, ctypes.c_size_t())


def image_size(image: int) -> tuple[int, int]:
    """(width, height) of an image in pixels."""
    width = _answer("clGetImageInfo", image, cl.CL_IMAGE_WIDTH, ctypes.c_size_t())
    return width, _answer("clGetImageInfo", image, cl.CL_IMAGE_HEIGHT, ctypes.c_size_t())


@cache
def has_unified_memory(device: int) -> bool:
    """True if a cl_device_id works in the memory of the CPU, as integrated GPUs do."""
    unified = ctypes.c_uint32()
    return bool(_answer("clGetDeviceInfo", device, cl.CL_DEVICE_HOST_UNIFIED_MEMORY, unified))


@cache
def tiles(device: int) -> int:
    """The number of sub-devices of a cl_device_id (tiles, in Intel's drivers); 1 if it has none.

    It is also 1 if the driver does not know the query.
    """
    count = ctypes.c_uint32()
    try:
        found = _answer("clGetDeviceInfo", device, cl.CL_DEVICE_PARTITION_MAX_SUB_DEVICES, count)
    except NativeError:
        return 1
    return max(1, int(found))


def allocation(context: int, pointer: int) -> Allocation:
    """The allocation of a pointer, as a cl_context knows it.

    It is "unknown" with drivers that lack cl_intel_unified_shared_memory.
    """
    get = _alloc_info(_handle("clGetDeviceInfo", context_devices(context)[0],
                              cl.CL_DEVICE_PLATFORM))  # fmt: skip
    if get is None:
        return Allocation("unknown")

    def ask(name: int, value: Any) -> int:
        size = ctypes.sizeof(value)
        code = get(context, pointer, name, size, ctypes.byref(value), None)
        _check("clGetMemAllocInfoINTEL", code)
        return value.value or 0

    kind = _USM_KINDS.get(ask(cl.CL_MEM_ALLOC_TYPE_INTEL, ctypes.c_uint32()), "unknown")
    if kind == "unknown":
        return Allocation(kind)
    base = ask(cl.CL_MEM_ALLOC_BASE_PTR_INTEL, ctypes.c_void_p())
    return Allocation(kind, base, ask(cl.CL_MEM_ALLOC_SIZE_INTEL, ctypes.c_size_t()))


_USM_KINDS = {
    cl.CL_MEM_TYPE_HOST_INTEL: "host",
    cl.CL_MEM_TYPE_DEVICE_INTEL: "device",
    cl.CL_MEM_TYPE_SHARED_INTEL: "shared",
}


@cache
def _alloc_info(platform: int) -> Any:
    find = library().clGetExtensionFunctionAddressForPlatform
    address = find(platform, b"clGetMemAllocInfoINTEL")
    return cl.clGetMemAllocInfoINTEL(address) if address else None


@cache
def _dispatch_tables() -> frozenset[int] | None:
    """The first words of the platforms, or None on systems where reading memory is not safe."""
    if not Path("/proc/self/mem").exists():
        return None
    count = ctypes.c_uint32()
    get = library().clGetPlatformIDs
    if get(0, None, count) != cl.CL_SUCCESS or not count.value:
        return frozenset()
    platforms = (ctypes.c_void_p * count.value)()
    _check("clGetPlatformIDs", get(count.value, platforms, None))
    words = (_word_at(platform or 0) for platform in platforms)
    return frozenset(word for word in words if word is not None)


def _word_at(address: int) -> int | None:
    """The pointer at an address, or None if there is no memory."""
    data = bytes_at(address, _WORD)
    return None if data is None else int.from_bytes(data, sys.byteorder)


def _handle(call: str, handle: int, name: int) -> int:
    return _answer(call, handle, name, ctypes.c_void_p())


def _answer(call: str, handle: int, name: int, value: Any) -> int:
    code = getattr(library(), call)(handle, name, ctypes.sizeof(value), ctypes.byref(value), None)
    _check(call, code)
    return value.value or 0


_MEANINGS = {
    cl.CL_INVALID_CONTEXT: "CL_INVALID_CONTEXT: this is not a cl_context, or it was released",
    cl.CL_INVALID_COMMAND_QUEUE: "CL_INVALID_COMMAND_QUEUE: this is not a cl_command_queue, or it "
    "was released",
    cl.CL_INVALID_MEM_OBJECT: "CL_INVALID_MEM_OBJECT: this is not a cl_mem of that kind, or it was "
    "released",
}


def _check(call: str, code: int) -> None:
    if code != cl.CL_SUCCESS:
        raise NativeError(call, code, _MEANINGS.get(code, ""))
