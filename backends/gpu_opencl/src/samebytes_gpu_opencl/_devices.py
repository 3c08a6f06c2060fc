# SPDX-License-Identifier: Apache-2.0
"""The OpenCL devices of this machine, their names in samebytes, and their identities."""

from __future__ import annotations

import ctypes
from collections import Counter
from ctypes import byref, c_char, c_uint32, sizeof
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pyopencl

from samebytes import Device
from samebytes.errors import (
    AmbiguousTargetError,
    DeviceMismatchError,
    MissingDependencyError,
    NativeError,
    UnknownNameError,
)

from ._abi import core
from ._library import call, in_our_words

if TYPE_CHECKING:
    from samebytes import Context

__all__ = [
    "OnDevice",
    "describe",
    "device_info",
    "device_names",
    "devices",
    "find_device",
    "has_extension",
    "same_device",
]


class OnDevice(Protocol):
    """An OpenCLContext, as the modules below it know it."""

    native: pyopencl.Context
    native_device: pyopencl.Device

    @property
    def queue(self) -> pyopencl.CommandQueue: ...
    def handle(self, key: str) -> int: ...


# Linux, Documentation/filesystems/sysfs-pci.rst; the folder drm names the nodes of a GPU.
_PCI_DEVICES = Path("/sys/bus/pci/devices")

HINT = "install the OpenCL driver of your device; what is missing: samebytes doctor opencl"

_KINDS = (
    (pyopencl.device_type.GPU, "GPU"),
    (pyopencl.device_type.CPU, "CPU"),
    (pyopencl.device_type.ACCELERATOR, "ACCELERATOR"),
)


def devices() -> dict[str, pyopencl.Device]:
    """All devices by name: "GPU", or "GPU.0", "GPU.1" if there are several of a kind."""
    try:
        platforms = pyopencl.get_platforms()
    except pyopencl.Error:  # the loader's, if it finds no driver
        return {}
    found = [device for platform in platforms for device in _of_platform(platform)]
    counts = Counter(_kind(device) for device in found)
    numbers: Counter[str] = Counter()
    names = {}
    for device in found:
        kind = _kind(device)
        names[f"{kind}.{numbers[kind]}" if counts[kind] > 1 else kind] = device
        numbers[kind] += 1
    return names


def _of_platform(platform: pyopencl.Platform) -> list[pyopencl.Device]:
    try:
        return list(platform.get_devices())
    except pyopencl.Error:  # a driver without its device says DEVICE_NOT_FOUND
        return []


def device_names() -> tuple[str, ...]:
    """The names, for messages that ask for a choice."""
    return tuple(devices())


def find_device(name: str | None) -> pyopencl.Device:
    """The device of that name; None means the only one there is.

    Raises:
        MissingDependencyError: there is none at all.
        UnknownNameError: there is none of that name.
        AmbiguousTargetError: there are several; the message lists them.
    """
    found = devices()
    if not found:
        raise MissingDependencyError("opencl", "an OpenCL driver with a device", HINT)
    if name is None:
        if len(found) > 1:
            raise AmbiguousTargetError("anywhere", "opencl", [f"opencl:{n}" for n in found])
        return next(iter(found.values()))
    if name in found:
        return found[name]
    if name.endswith(".0") and name[:-2] in found:
        return found[name[:-2]]
    same = [f"opencl:{n}" for n in found if n.startswith(f"{name}.")]
    if same:
        raise AmbiguousTargetError("anywhere", f"opencl:{name}", same)
    raise UnknownNameError("device of opencl", name, found)


def same_device(other: Context) -> pyopencl.Device:
    """The device that is the GPU of a context of another API.

    That is the device that reports the same identity; else the only one that reports none.

    Raises:
        MissingDependencyError: there is no device at all.
        AmbiguousTargetError: several report no identity, or all are other hardware. The message
            lists the devices, of which one can be named.
    """
    found = devices()
    if not found:
        raise MissingDependencyError("opencl", "an OpenCL driver with a device", HINT)
    answers = {name: describe(device).same(other.device) for name, device in found.items()}
    # Two drivers of one GPU are one device: the first one's will do.
    sure = [name for name, same in answers.items() if same]
    unknown = [name for name, same in answers.items() if same is None]
    if sure or len(unknown) == 1:
        return found[(sure or unknown)[0]]
    choices = [f"opencl:{name}" for name in unknown or found]
    reason = DeviceMismatchError(
        f"no OpenCL device reports being {other.device} ({other.device.pci or 'no PCI address'})"
    )
    raise AmbiguousTargetError(other.node, "opencl", choices) from reason


@in_our_words
def has_extension(device: pyopencl.Device, name: str) -> bool:
    """True if the device has an extension."""
    return name in device.extensions.split()


def device_info(device: pyopencl.Device, key: int, value: Any) -> Any:
    """`value`, a ctypes object, filled with one cl_device_info; None if the device lacks it."""
    try:
        call("clGetDeviceInfo", device.int_ptr, key, sizeof(value), byref(value), None)
    except NativeError:
        return None
    return value


@in_our_words
def describe(device: pyopencl.Device) -> Device:
    """Return the properties that identify a device, as far as its driver reports them."""
    uuid = luid = pci = None
    if has_extension(device, "cl_khr_device_uuid"):
        uuid = _raw(device, core.CL_DEVICE_UUID_KHR, core.CL_UUID_SIZE_KHR)
        valid = device_info(device, core.CL_DEVICE_LUID_VALID_KHR, c_uint32())
        if valid is not None and valid.value:
            luid = _raw(device, core.CL_DEVICE_LUID_KHR, core.CL_LUID_SIZE_KHR)
    if has_extension(device, "cl_khr_pci_bus_info"):
        place = device_info(
            device, core.CL_DEVICE_PCI_BUS_INFO_KHR, core.cl_device_pci_bus_info_khr()
        )
        if place is not None:
            pci = (
                f"{place.pci_domain:04x}:{place.pci_bus:02x}:"
                f"{place.pci_device:02x}.{place.pci_function:x}"
            )
    return Device(_kind(device), device.name.strip(), uuid, pci, _drm_node(pci), luid)


def _drm_node(pci: str | None) -> str | None:
    """The render node of the device at a PCI address, by which other APIs know it."""
    if pci is None:
        return None
    nodes = sorted((_PCI_DEVICES / pci / "drm").glob("renderD*"))
    return f"/dev/dri/{nodes[0].name}" if nodes else None


def _raw(device: pyopencl.Device, key: int, size: int) -> bytes | None:
    value = device_info(device, key, (c_char * size)())
    return None if value is None else ctypes.string_at(value, size)


@in_our_words
def _kind(device: pyopencl.Device) -> str:
    return next((kind for bit, kind in _KINDS if device.type & bit), "CUSTOM")
