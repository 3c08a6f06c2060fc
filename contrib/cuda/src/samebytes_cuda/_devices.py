# SPDX-License-Identifier: Apache-2.0
"""The CUDA devices of this machine."""

from __future__ import annotations

from functools import cache

from samebytes import Device
from samebytes.errors import UnknownNameError

from ._driver import call, driver, initialize

__all__ = ["describe", "names", "ordinal_of"]


def names() -> tuple[str, ...]:
    """The devices as `samebytes.context("cuda:...")` takes them: their ordinals."""
    initialize()
    return tuple(str(n) for n in range(call(driver.cuDeviceGetCount)))


def ordinal_of(name: str | None) -> int:
    """The ordinal that follows the colon in a name; without one, 0.

    Raises:
        UnknownNameError: CUDA has no such device.
    """
    known = names()
    if name is None:
        return 0
    if name not in known:
        raise UnknownNameError("CUDA device", name, known)
    return int(name)


@cache
def describe(ordinal: int) -> Device:
    """The kind, name, UUID and PCI address of a device."""
    name = call(driver.cuDeviceGetName, 128, ordinal).split(b"\0", 1)[0].decode()
    uuid = bytes(call(driver.cuDeviceGetUuid, ordinal).bytes)
    pci = call(driver.cuDeviceGetPCIBusId, 32, ordinal).split(b"\0", 1)[0].decode().lower()
    return Device("GPU", name, uuid=uuid, pci=pci)
