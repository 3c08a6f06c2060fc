# SPDX-License-Identifier: Apache-2.0
"""The software devices by name."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module

from samebytes_softdevices._plan import Plan, SoftDeviceError, combine

__all__ = ["DEVICES", "plan_for", "plan_of", "usable"]

# Each module has plan() -> Plan, which raises SoftDeviceError.
DEVICES = {
    "gpu": "samebytes_softdevices._gpu",
    "npu": "samebytes_softdevices._npu",
    "vaapi": "samebytes_softdevices._va",
    "cuda": "samebytes_softdevices._cuda",
}


def plan_of(name: str) -> Plan:
    """Return the plan of one device.

    Raises:
        SoftDeviceError: there is no such device, or it cannot be used here.
    """
    if name not in DEVICES:
        raise SoftDeviceError(
            f"unknown software device {name!r}; known: {', '.join(sorted(DEVICES))}"
        )
    plan: Plan = import_module(DEVICES[name]).plan()
    return plan


def plan_for(names: Iterable[str]) -> Plan:
    """Return one plan for several devices.

    Raises:
        SoftDeviceError: as for plan_of.
    """
    return combine(plan_of(name) for name in dict.fromkeys(names))


def usable(names: Iterable[str]) -> tuple[list[str], dict[str, str]]:
    """Return the devices of `names` that can be used here, and why each of the others cannot.

    Raises:
        SoftDeviceError: there is no device of such a name.
    """
    found: list[str] = []
    missing: dict[str, str] = {}
    for name in dict.fromkeys(names):
        try:
            plan_of(name)
        except SoftDeviceError as error:
            if name not in DEVICES:
                raise
            missing[name] = str(error)
        else:
            found.append(name)
    return found, missing
