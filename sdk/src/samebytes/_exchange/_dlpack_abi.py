# SPDX-License-Identifier: Apache-2.0
"""The structures and constants of dlpack.h v1.1, under their own names."""

from __future__ import annotations

import ctypes
from typing import ClassVar

__all__ = [
    "DEVICE_CPU",
    "DEVICE_CUDA_HOST",
    "DEVICE_NAMES",
    "DEVICE_ROCM_HOST",
    "FLAG_IS_COPIED",
    "FLAG_IS_SUBBYTE_TYPE_PADDED",
    "FLAG_READ_ONLY",
    "LEGACY_NAME",
    "MAJOR_VERSION",
    "TYPE_UINT",
    "VERSIONED_NAME",
    "DLDataType",
    "DLDevice",
    "DLManagedTensor",
    "DLManagedTensorVersioned",
    "DLPackVersion",
    "DLTensor",
]

# DLPACK_MAJOR_VERSION: another major version has another memory layout.
MAJOR_VERSION = 1

# Capsule names, from DLPack's Python specification.
LEGACY_NAME = b"dltensor"
VERSIONED_NAME = b"dltensor_versioned"

# DLPACK_FLAG_BITMASK_*
FLAG_READ_ONLY = 1 << 0
FLAG_IS_COPIED = 1 << 1
FLAG_IS_SUBBYTE_TYPE_PADDED = 1 << 2

# DLDeviceType: kDLCPU, kDLCUDAHost, kDLROCMHost
DEVICE_CPU = 1
DEVICE_CUDA_HOST = 3
DEVICE_ROCM_HOST = 11

# DLDataTypeCode: kDLUInt. All the others are in the table of dtypes.
TYPE_UINT = 1

# Every DLDeviceType by its code.
DEVICE_NAMES = {
    1: "CPU",
    2: "CUDA",
    3: "CUDA host",
    4: "OpenCL",
    7: "Vulkan",
    8: "Metal",
    9: "VPI",
    10: "ROCm",
    11: "ROCm host",
    12: "extension device",
    13: "CUDA managed",
    14: "oneAPI",
    15: "WebGPU",
    16: "Hexagon",
    17: "MAIA",
}


class DLDevice(ctypes.Structure):
    """DLDevice."""

    _fields_: ClassVar = [("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32)]

    device_type: int
    device_id: int


class DLDataType(ctypes.Structure):
    """DLDataType."""

    _fields_: ClassVar = [
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
    ]

    code: int
    bits: int
    lanes: int


class DLTensor(ctypes.Structure):
    """DLTensor. strides count elements; before v1.2 they may be NULL for row-major memory."""

    _fields_: ClassVar = [
        ("data", ctypes.c_void_p),
        ("device", DLDevice),
        ("ndim", ctypes.c_int32),
        ("dtype", DLDataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]

    data: int | None
    device: DLDevice
    ndim: int
    dtype: DLDataType
    shape: ctypes._Pointer[ctypes.c_int64]
    strides: ctypes._Pointer[ctypes.c_int64]
    byte_offset: int


class DLManagedTensor(ctypes.Structure):
    """DLManagedTensor, in capsules named `dltensor`."""

    _fields_: ClassVar = [
        ("dl_tensor", DLTensor),
        ("manager_ctx", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    ]

    dl_tensor: DLTensor


class DLPackVersion(ctypes.Structure):
    """DLPackVersion."""

    _fields_: ClassVar = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32)]

    major: int
    minor: int


class DLManagedTensorVersioned(ctypes.Structure):
    """DLManagedTensorVersioned, in capsules named `dltensor_versioned`."""

    _fields_: ClassVar = [
        ("version", DLPackVersion),
        ("manager_ctx", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("dl_tensor", DLTensor),
    ]

    version: DLPackVersion
    flags: int
    dl_tensor: DLTensor
