# SPDX-License-Identifier: Apache-2.0
"""The software devices by name."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module

from samebytes_softdevices._plan import Plan, SoftDeviceError, combine

__all__ = ["DEVICES", "plan_for", "plan_of"]

# Each module has plan() -> Plan, which raises SoftDeviceError.
DEVICES = {
    "gpu": "samebytes_softdevices._gpu",
    "npu": "samebytes_softdevices._npu",
    "vaapi": "samebytes_softdevices._va",
}


def plan_of(name: str) -> Plan:
    """Plan one device.

    Raises:
        SoftDeviceError: there is no such device, or it cannot be used here.
    """
    if name not in DEVICES:
        raise SoftDeviceError(
            f"there is no software device {name!r}; there are {', '.join(sorted(DEVICES))}"
        )
    plan: Plan = import_module(DEVICES[name]).plan()
    return plan


def plan_for(names: Iterable[str]) -> Plan:
    """Plan several devices together.

    Raises:
        SoftDeviceError: as plan_of.
    """
    return combine(plan_of(name) for name in dict.fromkeys(names))
