# SPDX-License-Identifier: Apache-2.0
"""Properties of a device's memory, and the external handles that it imports and exports."""

from __future__ import annotations

from ctypes import byref
from dataclasses import dataclass
from functools import lru_cache

from ._abi.constants import ZE_EXTERNAL_MEMORY_MAPPING_EXT_NAME, ExternalMemoryType
from ._abi.structures import (
    ze_device_external_memory_properties_t,
    ze_device_memory_properties_t,
    ze_driver_extension_properties_t,
    ze_driver_properties_t,
)
from ._loader import Library

__all__ = ["DeviceMemory", "device_memory", "driver_version", "external_types", "maps_pages"]

_KNOWN_TYPES = sum(ExternalMemoryType)


@dataclass(frozen=True, slots=True)
class DeviceMemory:
    """One memory of a device (ze_device_memory_properties_t).

    Attributes:
        name: as the driver calls it.
        nbytes: its size.
    """

    name: str
    nbytes: int


def device_memory(library: Library, device: int) -> tuple[DeviceMemory, ...]:
    """The memories of a device; integrated ones share the host's."""
    found = library.properties("zeDeviceGetMemoryProperties", device, ze_device_memory_properties_t)
    return tuple(DeviceMemory(m.name.decode(errors="replace"), m.totalSize) for m in found)


def external_types(library: Library, device: int) -> tuple[ExternalMemoryType, ExternalMemoryType]:
    """The kinds of handle that a device imports as memory, and those that it exports."""
    found = ze_device_external_memory_properties_t()
    library.call("zeDeviceGetExternalMemoryProperties", device, byref(found))
    return (
        ExternalMemoryType(found.memoryAllocationImportTypes & _KNOWN_TYPES),
        ExternalMemoryType(found.memoryAllocationExportTypes & _KNOWN_TYPES),
    )


def driver_version(library: Library, driver: int) -> int:
    """The number of a driver's version (ze_driver_properties_t); each driver counts its own way."""
    found = ze_driver_properties_t()
    library.call("zeDriverGetProperties", driver, byref(found))
    return int(found.driverVersion)


@lru_cache(maxsize=16)
def maps_pages(library: Library, driver: int) -> bool:
    """True if a driver can import pages of the application's own memory."""
    extensions = library.properties(
        "zeDriverGetExtensionProperties", driver, ze_driver_extension_properties_t
    )
    wanted = ZE_EXTERNAL_MEMORY_MAPPING_EXT_NAME.encode()
    return any(extension.name == wanted for extension in extensions)
