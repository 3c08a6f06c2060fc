# SPDX-License-Identifier: Apache-2.0
"""Enumerations and limits of level_zero/ze_api.h. Members are called as there, less the prefix."""

from __future__ import annotations

from enum import IntEnum, IntFlag

__all__ = [
    "CommandQueueGroupPropertyFlag",
    "CommandQueueMode",
    "DeviceType",
    "ExternalMemoryType",
    "MemoryType",
    "StructureType",
]

ZE_MAX_DEVICE_NAME = 256
ZE_MAX_DEVICE_UUID_SIZE = 16
ZE_MAX_DRIVER_UUID_SIZE = 16
ZE_MAX_EXTENSION_NAME = 256
ZEL_COMPONENT_STRING_SIZE = 64
"""Of level_zero/loader/ze_loader.h."""

ZE_EXTERNAL_MEMORY_MAPPING_EXT_NAME = "ZE_extension_external_memmap_sysmem"
"""The driver maps memory of the application into a host allocation. Newer than Level Zero 1.8."""


class StructureType(IntEnum):
    """ze_structure_type_t."""

    DRIVER_PROPERTIES = 0x1
    DEVICE_PROPERTIES = 0x3
    COMMAND_QUEUE_GROUP_PROPERTIES = 0x6
    DEVICE_MEMORY_PROPERTIES = 0x7
    DEVICE_EXTERNAL_MEMORY_PROPERTIES = 0xC
    CONTEXT_DESC = 0xD
    COMMAND_QUEUE_DESC = 0xE
    DEVICE_MEM_ALLOC_DESC = 0x15
    HOST_MEM_ALLOC_DESC = 0x16
    MEMORY_ALLOCATION_PROPERTIES = 0x17
    EXTERNAL_MEMORY_EXPORT_DESC = 0x18
    EXTERNAL_MEMORY_IMPORT_FD = 0x19
    EXTERNAL_MEMORY_EXPORT_FD = 0x1A
    EXTERNAL_MEMORY_IMPORT_WIN32 = 0x22
    EXTERNAL_MEMORY_EXPORT_WIN32 = 0x23
    PCI_EXT_PROPERTIES = 0x10008
    EXTERNAL_MEMMAP_SYSMEM_EXT_DESC = 0x20037


class DeviceType(IntEnum):
    """ze_device_type_t."""

    GPU = 1
    CPU = 2
    FPGA = 3
    MCA = 4
    VPU = 5


class MemoryType(IntEnum):
    """ze_memory_type_t: the kinds of unified shared memory (USM)."""

    UNKNOWN = 0
    HOST = 1
    DEVICE = 2
    SHARED = 3


class ExternalMemoryType(IntFlag):
    """ze_external_memory_type_flag_t."""

    OPAQUE_FD = 1 << 0
    DMA_BUF = 1 << 1
    OPAQUE_WIN32 = 1 << 2
    OPAQUE_WIN32_KMT = 1 << 3
    D3D11_TEXTURE = 1 << 4
    D3D11_TEXTURE_KMT = 1 << 5
    D3D12_HEAP = 1 << 6
    D3D12_RESOURCE = 1 << 7


class CommandQueueGroupPropertyFlag(IntFlag):
    """ze_command_queue_group_property_flag_t."""

    COMPUTE = 1 << 0
    COPY = 1 << 1


class CommandQueueMode(IntEnum):
    """ze_command_queue_mode_t."""

    DEFAULT = 0
    SYNCHRONOUS = 1
    ASYNCHRONOUS = 2
