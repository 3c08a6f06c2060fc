# SPDX-License-Identifier: Apache-2.0
"""The devices of all drivers: their names here, and their properties."""

from __future__ import annotations

from collections import Counter
from ctypes import byref
from dataclasses import dataclass

from samebytes import Device
from samebytes.errors import AmbiguousTargetError, MissingDependencyError, UnknownNameError

from ._abi.constants import DeviceType
from ._abi.structures import ze_device_properties_t, ze_pci_ext_properties_t
from ._diagnosis import explain_no_device
from ._errors import LevelZeroError
from ._loader import Library, load

__all__ = ["DeviceEntry", "choose", "devices", "entries", "entry_of"]

_KINDS = {DeviceType.VPU: "NPU", DeviceType.GPU: "GPU", DeviceType.CPU: "CPU"}


@dataclass(frozen=True, slots=True)
class DeviceEntry:
    """One device of one driver.

    Attributes:
        name: its name here: its kind, "NPU", if there is one of them, else "NPU.1".
        driver, handle: ze_driver_handle_t and ze_device_handle_t.
        device: kind, name, UUID and PCI address.
        max_allocation: the largest size of one allocation, in bytes.
    """

    name: str
    driver: int
    handle: int
    device: Device
    max_allocation: int


def entries(library: Library) -> list[DeviceEntry]:
    """All devices, in the order of the drivers."""
    found = [
        (driver, handle, *_describe(library, handle))
        for driver in library.handles("zeDriverGet")
        for handle in library.handles("zeDeviceGet", driver)
    ]
    total = Counter(device.kind for _, _, device, _ in found)
    seen: Counter[str] = Counter()
    named = []
    for driver, handle, device, limit in found:
        kind = device.kind
        name = kind if total[kind] == 1 else f"{kind}.{seen[kind]}"
        seen[kind] += 1
        named.append(DeviceEntry(name, driver, handle, device, limit))
    return named


def devices() -> tuple[str, ...]:
    """The names of the devices: ("NPU",), ("NPU", "GPU.0", "GPU.1") ...

    Raises:
        MissingDependencyError: there is no loader or no driver.
    """
    return tuple(entry.name for entry in entries(load()))


def choose(found: list[DeviceEntry], name: str | None) -> DeviceEntry:
    """The device of that name; "NPU.0" is found where there is one NPU, too.

    Raises:
        MissingDependencyError: there is no device at all.
        UnknownNameError: there is none of that name; the message gives the reason, if it is known.
        AmbiguousTargetError: several devices answer to the name.
    """
    if not found:
        raise MissingDependencyError("level_zero", *explain_no_device())
    fitting = [e for e in found if name is None or name in _names(e)]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        choices = [f"level_zero:{e.name}" for e in fitting]
        asked = "level_zero" if name is None else f"level_zero:{name}"
        raise AmbiguousTargetError("anywhere", asked, choices)
    kind = str(name).partition(".")[0]
    why = ""
    if kind in ("NPU", "GPU") and not any(e.device.kind == kind for e in found):
        why = "({}: {})".format(*explain_no_device(kind))
    raise UnknownNameError("device of level_zero", str(name), (e.name for e in found), why)


def _names(entry: DeviceEntry) -> tuple[str, ...]:
    kind = entry.device.kind
    alone = entry.name == kind
    return (kind, f"{kind}.0") if alone else (kind, entry.name)


def entry_of(library: Library, handle: int) -> DeviceEntry | None:
    """The entry of a ze_device_handle_t, which may be a sub-device; None for no device's handle."""
    for entry in entries(library):
        if entry.handle == handle:
            return entry
        try:
            parts = library.handles("zeDeviceGetSubDevices", entry.handle)
        except LevelZeroError:
            continue
        if handle in parts:
            device, limit = _describe(library, handle)
            return DeviceEntry(entry.name, entry.driver, handle, device, limit)
    return None


def _describe(library: Library, handle: int) -> tuple[Device, int]:
    properties = ze_device_properties_t()
    library.call("zeDeviceGetProperties", handle, byref(properties))
    try:
        kind = _KINDS.get(DeviceType(properties.type)) or DeviceType(properties.type).name
    except ValueError:
        kind = f"TYPE{properties.type}"
    device = Device(
        kind,
        name=properties.name.decode(errors="replace"),
        uuid=bytes(properties.uuid),
        pci=_pci_address(library, handle),
    )
    return device, properties.maxMemAllocSize


def _pci_address(library: Library, handle: int) -> str | None:
    properties = ze_pci_ext_properties_t()
    try:
        library.call("zeDevicePciGetPropertiesExt", handle, byref(properties))
    except LevelZeroError:
        return None  # an extension, which a driver need not have
    at = properties.address
    return f"{at.domain:04x}:{at.bus:02x}:{at.device:02x}.{at.function:x}"
