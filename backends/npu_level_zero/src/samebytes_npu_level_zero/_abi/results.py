# SPDX-License-Identifier: Apache-2.0
"""ze_result_t of level_zero/ze_api.h: the names of the codes, and what the header says of them."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["MEANINGS", "Result"]


class Result(IntEnum):
    """ze_result_t."""

    SUCCESS = 0
    NOT_READY = 1
    ERROR_DEVICE_LOST = 0x70000001
    ERROR_OUT_OF_HOST_MEMORY = 0x70000002
    ERROR_OUT_OF_DEVICE_MEMORY = 0x70000003
    ERROR_MODULE_BUILD_FAILURE = 0x70000004
    ERROR_MODULE_LINK_FAILURE = 0x70000005
    ERROR_DEVICE_REQUIRES_RESET = 0x70000006
    ERROR_DEVICE_IN_LOW_POWER_STATE = 0x70000007
    ERROR_INSUFFICIENT_PERMISSIONS = 0x70010000
    ERROR_NOT_AVAILABLE = 0x70010001
    ERROR_DEPENDENCY_UNAVAILABLE = 0x70020000
    WARNING_DROPPED_DATA = 0x70020001
    ERROR_UNINITIALIZED = 0x78000001
    ERROR_UNSUPPORTED_VERSION = 0x78000002
    ERROR_UNSUPPORTED_FEATURE = 0x78000003
    ERROR_INVALID_ARGUMENT = 0x78000004
    ERROR_INVALID_NULL_HANDLE = 0x78000005
    ERROR_HANDLE_OBJECT_IN_USE = 0x78000006
    ERROR_INVALID_NULL_POINTER = 0x78000007
    ERROR_INVALID_SIZE = 0x78000008
    ERROR_UNSUPPORTED_SIZE = 0x78000009
    ERROR_UNSUPPORTED_ALIGNMENT = 0x7800000A
    ERROR_INVALID_SYNCHRONIZATION_OBJECT = 0x7800000B
    ERROR_INVALID_ENUMERATION = 0x7800000C
    ERROR_UNSUPPORTED_ENUMERATION = 0x7800000D
    ERROR_UNSUPPORTED_IMAGE_FORMAT = 0x7800000E
    ERROR_INVALID_NATIVE_BINARY = 0x7800000F
    ERROR_INVALID_GLOBAL_NAME = 0x78000010
    ERROR_INVALID_KERNEL_NAME = 0x78000011
    ERROR_INVALID_FUNCTION_NAME = 0x78000012
    ERROR_INVALID_GROUP_SIZE_DIMENSION = 0x78000013
    ERROR_INVALID_GLOBAL_WIDTH_DIMENSION = 0x78000014
    ERROR_INVALID_KERNEL_ARGUMENT_INDEX = 0x78000015
    ERROR_INVALID_KERNEL_ARGUMENT_SIZE = 0x78000016
    ERROR_INVALID_KERNEL_ATTRIBUTE_VALUE = 0x78000017
    ERROR_INVALID_MODULE_UNLINKED = 0x78000018
    ERROR_INVALID_COMMAND_LIST_TYPE = 0x78000019
    ERROR_OVERLAPPING_REGIONS = 0x7800001A
    WARNING_ACTION_REQUIRED = 0x7800001B
    ERROR_UNKNOWN = 0x7FFFFFFE


MEANINGS: dict[Result, str] = {
    Result.NOT_READY: "what is waited for is not done",
    Result.ERROR_DEVICE_LOST: "the device hung, was reset or removed, or its driver was updated",
    Result.ERROR_OUT_OF_HOST_MEMORY: "not enough host memory",
    Result.ERROR_OUT_OF_DEVICE_MEMORY: "not enough device memory, or the import failed",
    Result.ERROR_DEVICE_REQUIRES_RESET: "the device must be reset",
    Result.ERROR_DEVICE_IN_LOW_POWER_STATE: "the device is in a low-power state",
    Result.ERROR_INSUFFICIENT_PERMISSIONS: "permission denied",
    Result.ERROR_NOT_AVAILABLE: "the driver has no such thing for this memory or context",
    Result.ERROR_DEPENDENCY_UNAVAILABLE: "a library that the driver needs is missing",
    Result.ERROR_UNINITIALIZED: "no driver is initialised",
    Result.ERROR_UNSUPPORTED_VERSION: "the version is not supported",
    Result.ERROR_UNSUPPORTED_FEATURE: "the driver does not support this",
    Result.ERROR_INVALID_ARGUMENT: "an argument is not valid",
    Result.ERROR_INVALID_NULL_HANDLE: "a handle is null",
    Result.ERROR_HANDLE_OBJECT_IN_USE: "the device still uses the object",
    Result.ERROR_INVALID_NULL_POINTER: "a pointer is null",
    Result.ERROR_INVALID_SIZE: "a size is not valid",
    Result.ERROR_UNSUPPORTED_SIZE: "the size is not supported, for instance too large",
    Result.ERROR_UNSUPPORTED_ALIGNMENT: "the alignment is not supported",
    Result.ERROR_INVALID_SYNCHRONIZATION_OBJECT: "an event or fence is in a wrong state",
    Result.ERROR_INVALID_ENUMERATION: "an enumerator or flag is not valid",
    Result.ERROR_UNSUPPORTED_ENUMERATION: "the device does not support this enumerator",
    Result.ERROR_INVALID_COMMAND_LIST_TYPE: "command list and queue are of different types",
    Result.ERROR_OVERLAPPING_REGIONS: "the two regions of memory overlap",
    Result.ERROR_UNKNOWN: "an error inside the driver",
}
