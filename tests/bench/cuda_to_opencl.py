# SPDX-License-Identifier: Apache-2.0
"""Show that OpenCL and CUDA see the same bytes of memory that CUDA exports.

    python3 -m tests.bench.cuda_to_opencl

It needs an NVIDIA GPU, pyopencl and torch for CUDA. samebytes has no edge from CUDA to OpenCL: the
descriptors are NVIDIA's own and no DMA-BUFs, and OpenCL only imports them. So the import is made
here, by the functions of cl_khr_external_memory.
"""

from __future__ import annotations

import ctypes
from ctypes import CFUNCTYPE, byref, c_char_p, c_int32, c_size_t, c_uint32, c_uint64, c_void_p
from pathlib import Path
from typing import Any

import numpy as np
import pyopencl as cl
import torch

import samebytes as sb

BYTES = 1 << 21
OPAQUE_FD = 0x2060
"""CL_EXTERNAL_MEMORY_HANDLE_OPAQUE_FD_KHR."""


def loader() -> Any:
    """The OpenCL library that pyopencl has loaded."""
    maps = Path("/proc/self/maps").read_text(encoding="utf-8").split()
    return ctypes.CDLL(next(word for word in maps if "libOpenCL" in word))


def imported(library: Any, context: Any, descriptor: int) -> int:
    """A cl_mem over the memory of a descriptor, which the driver then has."""
    create = library.clCreateBufferWithProperties
    create.restype = c_void_p
    create.argtypes = [c_void_p, c_void_p, c_uint64, c_size_t, c_void_p, c_void_p]
    properties, code = (c_uint64 * 3)(OPAQUE_FD, descriptor, 0), c_int32()
    flags = int(cl.mem_flags.READ_WRITE)
    made = create(context.int_ptr, properties, flags, BYTES, None, byref(code))
    if code.value:
        raise SystemExit(f"clCreateBufferWithProperties: {code.value}")
    return int(made)


def hand(library: Any, queue: Any, memory: int, verb: str) -> None:
    """Acquire or release it."""
    find = library.clGetExtensionFunctionAddressForPlatform
    find.restype, find.argtypes = c_void_p, [c_void_p, c_char_p]
    name = f"clEnqueue{verb}ExternalMemObjectsKHR"
    address = find(queue.device.platform.int_ptr, name.encode())
    kind = CFUNCTYPE(c_int32, c_void_p, c_uint32, c_void_p, c_uint32, c_void_p, c_void_p)
    code = kind(address)(queue.int_ptr, 1, byref(c_void_p(memory)), 0, None, None)
    queue.finish()
    if code:
        raise SystemExit(f"{name}: {code}")


def main() -> None:
    """Write on either side, and read on the other."""
    cuda: Any = sb.context("cuda")
    memory = cuda.allocate((BYTES,), kind="exportable")
    there = torch.from_dlpack(memory)
    platform = next(platform for platform in cl.get_platforms() if "NVIDIA" in platform.name)
    (device, *_) = platform.get_devices()
    print(f"OpenCL: {device.name}, driver {device.driver_version}")
    context = cl.Context([device])
    queue, library = cl.CommandQueue(context), loader()
    handle = imported(library, context, memory.export_fd().detach())
    buffer: Any = cl.Buffer.from_int_ptr(handle, False)

    expected = np.arange(BYTES, dtype=np.uint32).astype(np.uint8)
    there.copy_(torch.from_numpy(expected))
    torch.cuda.synchronize()
    hand(library, queue, handle, "Acquire")
    seen = np.empty_like(expected)
    cl.enqueue_copy(queue, seen, buffer)
    queue.finish()
    print(f"written by CUDA, read by OpenCL: {count(seen, expected)}")

    expected = expected[::-1].copy()
    cl.enqueue_copy(queue, buffer, expected)
    hand(library, queue, handle, "Release")
    found = there.cpu().numpy()
    print(f"written by OpenCL, read by CUDA: {count(found, expected)}")
    if not np.array_equal(found, expected):
        raise SystemExit(1)


def count(seen: Any, expected: Any) -> str:
    """The number of bytes that are as expected, as text."""
    return f"{int((seen == expected).sum())} of {expected.size} bytes are the same"


if __name__ == "__main__":
    main()
