# SPDX-License-Identifier: Apache-2.0
"""cl_intel_unified_shared_memory, as its specification and CL/cl_ext.h have it."""

from __future__ import annotations

from ctypes import POINTER, c_int32, c_size_t, c_uint32, c_void_p

__all__ = [
    "CL_MEM_ALLOC_BASE_PTR_INTEL",
    "CL_MEM_ALLOC_SIZE_INTEL",
    "CL_MEM_ALLOC_TYPE_INTEL",
    "CL_MEM_TYPE_DEVICE_INTEL",
    "CL_MEM_TYPE_HOST_INTEL",
    "CL_MEM_TYPE_SHARED_INTEL",
    "CL_MEM_TYPE_UNKNOWN_INTEL",
    "EXTENSION",
    "FUNCTIONS",
]

EXTENSION = "cl_intel_unified_shared_memory"

CL_MEM_ALLOC_TYPE_INTEL = 0x419A
CL_MEM_ALLOC_BASE_PTR_INTEL = 0x419B
CL_MEM_ALLOC_SIZE_INTEL = 0x419C

CL_MEM_TYPE_UNKNOWN_INTEL = 0x4196
CL_MEM_TYPE_HOST_INTEL = 0x4197
CL_MEM_TYPE_DEVICE_INTEL = 0x4198
CL_MEM_TYPE_SHARED_INTEL = 0x4199

FUNCTIONS = {
    "clHostMemAllocINTEL": (
        c_void_p, c_void_p, c_void_p, c_size_t, c_uint32, POINTER(c_int32),
    ),
    "clDeviceMemAllocINTEL": (
        c_void_p, c_void_p, c_void_p, c_void_p, c_size_t, c_uint32, POINTER(c_int32),
    ),
    "clSharedMemAllocINTEL": (
        c_void_p, c_void_p, c_void_p, c_void_p, c_size_t, c_uint32, POINTER(c_int32),
    ),
    "clMemFreeINTEL": (c_int32, c_void_p, c_void_p),
    "clMemBlockingFreeINTEL": (c_int32, c_void_p, c_void_p),
    "clGetMemAllocInfoINTEL": (
        c_int32, c_void_p, c_void_p, c_uint32, c_size_t, c_void_p, POINTER(c_size_t),
    ),
    "clSetKernelArgMemPointerINTEL": (c_int32, c_void_p, c_uint32, c_void_p),
    "clEnqueueMemcpyINTEL": (
        c_int32, c_void_p, c_uint32, c_void_p, c_void_p, c_size_t, c_uint32, c_void_p, c_void_p,
    ),
}  # fmt: skip
"""Result type, then argument types."""
