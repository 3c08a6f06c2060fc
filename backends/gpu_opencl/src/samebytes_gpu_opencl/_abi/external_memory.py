# SPDX-License-Identifier: Apache-2.0
"""cl_khr_external_memory and its handle types, as the specification and CL/cl_ext.h have them."""

from __future__ import annotations

from ctypes import POINTER, c_int32, c_size_t, c_uint32, c_uint64, c_void_p

__all__ = [
    "CL_EXTERNAL_MEMORY_HANDLE_DMA_BUF_KHR",
    "CL_EXTERNAL_MEMORY_HANDLE_OPAQUE_WIN32_KHR",
    "CL_MEM_ALLOCATION_HANDLE_INTEL",
    "DMA_BUF_EXTENSION",
    "FUNCTIONS",
    "WIN32_EXTENSION",
]

DMA_BUF_EXTENSION = "cl_khr_external_memory_dma_buf"
WIN32_EXTENSION = "cl_khr_external_memory_win32"

CL_EXTERNAL_MEMORY_HANDLE_OPAQUE_WIN32_KHR = 0x2061
CL_EXTERNAL_MEMORY_HANDLE_DMA_BUF_KHR = 0x2067

CL_MEM_ALLOCATION_HANDLE_INTEL = 0x10050
"""No Khronos extension exports memory. Intel's driver for its GPUs (compute-runtime) answers this
cl_mem_info with a DMA-BUF descriptor, an int in a uint64_t; see its cl_ext_private.h."""

_ON_EXTERNAL = (c_int32, c_void_p, c_uint32, c_void_p, c_uint32, c_void_p, c_void_p)

FUNCTIONS = {
    "clCreateBufferWithProperties": (
        c_void_p, c_void_p, c_void_p, c_uint64, c_size_t, c_void_p, POINTER(c_int32),
    ),
    "clEnqueueAcquireExternalMemObjectsKHR": _ON_EXTERNAL,
    "clEnqueueReleaseExternalMemObjectsKHR": _ON_EXTERNAL,
}  # fmt: skip
"""Result type, then argument types."""
