# SPDX-License-Identifier: Apache-2.0
"""The part of OpenCL that is needed to look at handles: constants and prototypes.

Sources: CL/cl.h, and CL/cl_ext.h for the names that end with _INTEL
(cl_intel_unified_shared_memory).
"""

from __future__ import annotations

from ctypes import (
    CFUNCTYPE,
    POINTER,
    Structure,
    c_char_p,
    c_int32,
    c_size_t,
    c_uint32,
    c_void_p,
)
from typing import Any

CL_SUCCESS = 0
CL_INVALID_CONTEXT = -34
CL_INVALID_COMMAND_QUEUE = -36
CL_INVALID_MEM_OBJECT = -38

CL_DEVICE_PLATFORM = 0x1031
CL_DEVICE_HOST_UNIFIED_MEMORY = 0x1035
CL_DEVICE_PARTITION_MAX_SUB_DEVICES = 0x1043
CL_CONTEXT_DEVICES = 0x1081
CL_QUEUE_CONTEXT = 0x1090
CL_QUEUE_DEVICE = 0x1091
CL_QUEUE_REFERENCE_COUNT = 0x1092

CL_MEM_TYPE = 0x1100
CL_MEM_FLAGS = 0x1101
CL_MEM_SIZE = 0x1102
CL_MEM_CONTEXT = 0x1106
CL_MEM_OBJECT_BUFFER = 0x10F0
CL_MEM_OBJECT_IMAGE2D = 0x10F1
CL_MEM_READ_ONLY = 1 << 2

CL_IMAGE_FORMAT = 0x1110
CL_IMAGE_ROW_PITCH = 0x1112
CL_IMAGE_WIDTH = 0x1114
CL_IMAGE_HEIGHT = 0x1115
CL_R = 0x10B0
CL_RG = 0x10B2
CL_UNORM_INT8 = 0x10D2

CL_MEM_ALLOC_TYPE_INTEL = 0x419A
CL_MEM_ALLOC_BASE_PTR_INTEL = 0x419B
CL_MEM_ALLOC_SIZE_INTEL = 0x419C
CL_MEM_TYPE_UNKNOWN_INTEL = 0x4196
CL_MEM_TYPE_HOST_INTEL = 0x4197
CL_MEM_TYPE_DEVICE_INTEL = 0x4198
CL_MEM_TYPE_SHARED_INTEL = 0x4199


class cl_image_format(Structure):
    """The storage format of an image's pixels."""

    _fields_ = [
        ("image_channel_order", c_uint32),
        ("image_channel_data_type", c_uint32),
    ]


# cl_int clGet...Info(handle, cl_uint name, size_t size, void *value, size_t *size_ret)
_GET_INFO = [c_void_p, c_uint32, c_size_t, c_void_p, POINTER(c_size_t)]

PROTOTYPES: dict[str, tuple[Any, list[Any]]] = {
    "clGetPlatformIDs": (c_int32, [c_uint32, POINTER(c_void_p), POINTER(c_uint32)]),
    "clGetDeviceInfo": (c_int32, _GET_INFO),
    "clGetContextInfo": (c_int32, _GET_INFO),
    "clGetCommandQueueInfo": (c_int32, _GET_INFO),
    "clGetMemObjectInfo": (c_int32, _GET_INFO),
    "clGetImageInfo": (c_int32, _GET_INFO),
    "clRetainCommandQueue": (c_int32, [c_void_p]),
    "clReleaseCommandQueue": (c_int32, [c_void_p]),
    "clFinish": (c_int32, [c_void_p]),
    "clGetExtensionFunctionAddressForPlatform": (c_void_p, [c_void_p, c_char_p]),
}

# cl_int clGetMemAllocInfoINTEL(cl_context, const void *ptr, cl_mem_info_intel name,
#                               size_t size, void *value, size_t *size_ret)
clGetMemAllocInfoINTEL = CFUNCTYPE(
    c_int32, c_void_p, c_void_p, c_uint32, c_size_t, c_void_p, POINTER(c_size_t)
)
