# SPDX-License-Identifier: Apache-2.0
"""Structures of level_zero/ze_api.h and loader/ze_loader.h. One that is made knows its `stype`."""

from __future__ import annotations

import ctypes
from ctypes import c_char, c_int, c_int32, c_int64, c_size_t, c_uint8, c_uint32, c_uint64, c_void_p
from typing import Any, ClassVar

from .constants import (
    ZE_MAX_DEVICE_NAME,
    ZE_MAX_DEVICE_UUID_SIZE,
    ZE_MAX_DRIVER_UUID_SIZE,
    ZE_MAX_EXTENSION_NAME,
    ZEL_COMPONENT_STRING_SIZE,
    StructureType,
)

__all__ = [
    "Typed",
    "ze_command_queue_desc_t",
    "ze_command_queue_group_properties_t",
    "ze_context_desc_t",
    "ze_device_external_memory_properties_t",
    "ze_device_mem_alloc_desc_t",
    "ze_device_memory_properties_t",
    "ze_device_properties_t",
    "ze_driver_extension_properties_t",
    "ze_driver_properties_t",
    "ze_external_memmap_sysmem_ext_desc_t",
    "ze_external_memory_export_desc_t",
    "ze_external_memory_export_fd_t",
    "ze_external_memory_export_win32_handle_t",
    "ze_external_memory_import_fd_t",
    "ze_external_memory_import_win32_handle_t",
    "ze_host_mem_alloc_desc_t",
    "ze_memory_allocation_properties_t",
    "ze_pci_address_ext_t",
    "ze_pci_ext_properties_t",
    "ze_pci_speed_ext_t",
    "zel_component_version_t",
    "zel_version_t",
]


class Typed(ctypes.Structure):
    """A structure that begins with its type and a pointer to the next one of a chain."""

    STYPE: ClassVar[StructureType]

    def __init__(self, **fields: Any) -> None:
        super().__init__(stype=self.STYPE, **fields)


class ze_driver_properties_t(Typed):
    """ze_driver_properties_t."""

    STYPE = StructureType.DRIVER_PROPERTIES
    _fields_ = [
        ("stype", c_uint32),
        ("pNext", c_void_p),
        ("uuid", c_uint8 * ZE_MAX_DRIVER_UUID_SIZE),
        ("driverVersion", c_uint32),
    ]


class ze_driver_extension_properties_t(ctypes.Structure):
    """ze_driver_extension_properties_t, which has no `stype`."""

    _fields_ = [("name", c_char * ZE_MAX_EXTENSION_NAME), ("version", c_uint32)]


class ze_device_properties_t(Typed):
    """ze_device_properties_t."""

    STYPE = StructureType.DEVICE_PROPERTIES
    _fields_ = [
        ("stype", c_uint32),
        ("pNext", c_void_p),
        ("type", c_uint32),
        ("vendorId", c_uint32),
        ("deviceId", c_uint32),
        ("flags", c_uint32),
        ("subdeviceId", c_uint32),
        ("coreClockRate", c_uint32),
        ("maxMemAllocSize", c_uint64),
        ("maxHardwareContexts", c_uint32),
        ("maxCommandQueuePriority", c_uint32),
        ("numThreadsPerEU", c_uint32),
        ("physicalEUSimdWidth", c_uint32),
        ("numEUsPerSubslice", c_uint32),
        ("numSubslicesPerSlice", c_uint32),
        ("numSlices", c_uint32),
        ("timerResolution", c_uint64),
        ("timestampValidBits", c_uint32),
        ("kernelTimestampValidBits", c_uint32),
        ("uuid", c_uint8 * ZE_MAX_DEVICE_UUID_SIZE),
        ("name", c_char * ZE_MAX_DEVICE_NAME),
    ]


class ze_pci_address_ext_t(ctypes.Structure):
    """ze_pci_address_ext_t."""

    _fields_ = [
        ("domain", c_uint32),
        ("bus", c_uint32),
        ("device", c_uint32),
        ("function", c_uint32),
    ]


class ze_pci_speed_ext_t(ctypes.Structure):
    """ze_pci_speed_ext_t."""

    _fields_ = [("genVersion", c_int32), ("width", c_int32), ("maxBandwidth", c_int64)]


class ze_pci_ext_properties_t(Typed):
    """ze_pci_ext_properties_t."""

    STYPE = StructureType.PCI_EXT_PROPERTIES
    _fields_ = [
        ("stype", c_uint32),
        ("pNext", c_void_p),
        ("address", ze_pci_address_ext_t),
        ("maxSpeed", ze_pci_speed_ext_t),
    ]


class ze_device_memory_properties_t(Typed):
    """ze_device_memory_properties_t."""

    STYPE = StructureType.DEVICE_MEMORY_PROPERTIES
    _fields_ = [
        ("stype", c_uint32),
        ("pNext", c_void_p),
        ("flags", c_uint32),
        ("maxClockRate", c_uint32),
        ("maxBusWidth", c_uint32),
        ("totalSize", c_uint64),
        ("name", c_char * ZE_MAX_DEVICE_NAME),
    ]


class ze_device_external_memory_properties_t(Typed):
    """ze_device_external_memory_properties_t."""

    STYPE = StructureType.DEVICE_EXTERNAL_MEMORY_PROPERTIES
    _fields_ = [
        ("stype", c_uint32),
        ("pNext", c_void_p),
        ("memoryAllocationImportTypes", c_uint32),
        ("memoryAllocationExportTypes", c_uint32),
        ("imageImportTypes", c_uint32),
        ("imageExportTypes", c_uint32),
    ]


class ze_command_queue_group_properties_t(Typed):
    """ze_command_queue_group_properties_t."""

    STYPE = StructureType.COMMAND_QUEUE_GROUP_PROPERTIES
    _fields_ = [
        ("stype", c_uint32),
        ("pNext", c_void_p),
        ("flags", c_uint32),
        ("maxMemoryFillPatternSize", c_size_t),
        ("numQueues", c_uint32),
    ]


class ze_context_desc_t(Typed):
    """ze_context_desc_t."""

    STYPE = StructureType.CONTEXT_DESC
    _fields_ = [("stype", c_uint32), ("pNext", c_void_p), ("flags", c_uint32)]


class ze_host_mem_alloc_desc_t(Typed):
    """ze_host_mem_alloc_desc_t."""

    STYPE = StructureType.HOST_MEM_ALLOC_DESC
    _fields_ = [("stype", c_uint32), ("pNext", c_void_p), ("flags", c_uint32)]


class ze_device_mem_alloc_desc_t(Typed):
    """ze_device_mem_alloc_desc_t."""

    STYPE = StructureType.DEVICE_MEM_ALLOC_DESC
    _fields_ = [
        ("stype", c_uint32),
        ("pNext", c_void_p),
        ("flags", c_uint32),
        ("ordinal", c_uint32),
    ]


class ze_memory_allocation_properties_t(Typed):
    """ze_memory_allocation_properties_t."""

    STYPE = StructureType.MEMORY_ALLOCATION_PROPERTIES
    _fields_ = [
        ("stype", c_uint32),
        ("pNext", c_void_p),
        ("type", c_uint32),
        ("id", c_uint64),
        ("pageSize", c_uint64),
    ]


class ze_external_memory_export_desc_t(Typed):
    """ze_external_memory_export_desc_t."""

    STYPE = StructureType.EXTERNAL_MEMORY_EXPORT_DESC
    _fields_ = [("stype", c_uint32), ("pNext", c_void_p), ("flags", c_uint32)]


class ze_external_memory_import_fd_t(Typed):
    """ze_external_memory_import_fd_t."""

    STYPE = StructureType.EXTERNAL_MEMORY_IMPORT_FD
    _fields_ = [("stype", c_uint32), ("pNext", c_void_p), ("flags", c_uint32), ("fd", c_int)]


class ze_external_memory_export_fd_t(Typed):
    """ze_external_memory_export_fd_t."""

    STYPE = StructureType.EXTERNAL_MEMORY_EXPORT_FD
    _fields_ = [("stype", c_uint32), ("pNext", c_void_p), ("flags", c_uint32), ("fd", c_int)]


class ze_external_memory_import_win32_handle_t(Typed):
    """ze_external_memory_import_win32_handle_t."""

    STYPE = StructureType.EXTERNAL_MEMORY_IMPORT_WIN32
    _fields_ = [
        ("stype", c_uint32),
        ("pNext", c_void_p),
        ("flags", c_uint32),
        ("handle", c_void_p),
        ("name", c_void_p),
    ]


class ze_external_memory_export_win32_handle_t(Typed):
    """ze_external_memory_export_win32_handle_t."""

    STYPE = StructureType.EXTERNAL_MEMORY_EXPORT_WIN32
    _fields_ = [
        ("stype", c_uint32),
        ("pNext", c_void_p),
        ("flags", c_uint32),
        ("handle", c_void_p),
    ]


class ze_external_memmap_sysmem_ext_desc_t(Typed):
    """ze_external_memmap_sysmem_ext_desc_t, newer than Level Zero 1.8."""

    STYPE = StructureType.EXTERNAL_MEMMAP_SYSMEM_EXT_DESC
    _fields_ = [
        ("stype", c_uint32),
        ("pNext", c_void_p),
        ("pSystemMemory", c_void_p),
        ("size", c_uint64),
    ]


class ze_command_queue_desc_t(Typed):
    """ze_command_queue_desc_t."""

    STYPE = StructureType.COMMAND_QUEUE_DESC
    _fields_ = [
        ("stype", c_uint32),
        ("pNext", c_void_p),
        ("ordinal", c_uint32),
        ("index", c_uint32),
        ("flags", c_uint32),
        ("mode", c_uint32),
        ("priority", c_uint32),
    ]


class zel_version_t(ctypes.Structure):
    """zel_version_t of loader/ze_loader.h."""

    _fields_ = [("major", c_int), ("minor", c_int), ("patch", c_int)]


class zel_component_version_t(ctypes.Structure):
    """zel_component_version_t of loader/ze_loader.h."""

    _fields_ = [
        ("component_name", c_char * ZEL_COMPONENT_STRING_SIZE),
        ("spec_version", c_uint32),
        ("component_lib_version", zel_version_t),
    ]
