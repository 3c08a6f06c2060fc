# SPDX-License-Identifier: Apache-2.0
"""The GPUs that OpenVINO lists, and what it reports about each."""

from __future__ import annotations

from functools import cache
from typing import Any

from samebytes import Device
from samebytes.errors import MissingDependencyError, UnknownNameError

from .._core import default_core

__all__ = ["check_name", "device_of", "names"]


@cache
def names() -> tuple[str, ...]:
    """The GPUs by OpenVINO's names: ("GPU",), or ("GPU.0", "GPU.1") where there are several."""
    # It asks each plugin, which takes some hundredths of a second.
    devices = default_core().available_devices
    return tuple(name for name in devices if name.partition(".")[0] == "GPU")


def check_name(name: str) -> None:
    """Raise unless OpenVINO has a GPU of that name; "GPU" is the first one.

    Raises:
        MissingDependencyError: it has none at all.
        UnknownNameError: it has others.
    """
    known = names()
    if not known:
        raise MissingDependencyError(
            "openvino",
            "a GPU that OpenVINO can use",
            "apt install ocl-icd-libopencl1 intel-opencl-icd; clinfo must list the GPU. For tests "
            "without one: samebytes-softdevices run --gpu -- COMMAND "
            '(pip install "samebytes-softdevices[gpu]")',
        )
    if name not in known and name != "GPU" and not (name == "GPU.0" and known == ("GPU",)):
        raise UnknownNameError("device of openvino:GPU", name, known)


@cache
def device_of(name: str) -> Device:
    """The device that OpenVINO calls `name`, with its UUID and PCI address if it has them."""
    core = default_core()
    return Device(
        "GPU",
        core.get_property(name, "FULL_DEVICE_NAME"),
        uuid=_bytes(core.get_property(name, "DEVICE_UUID")),
        pci=_pci(core.get_property(name, "DEVICE_PCI_INFO")),
        luid=_bytes(core.get_property(name, "DEVICE_LUID")),
    )


def _bytes(text: str) -> bytes | None:
    """Hexadecimal digits as bytes; OpenVINO writes zeros for what the driver does not report."""
    value = bytes.fromhex(text)
    return value if any(value) else None


def _pci(info: Any) -> str | None:
    """A PCI address; that of all zeros, which is never a GPU's, stands for none."""
    if not (info.domain or info.bus or info.device or info.function):
        return None
    return f"{info.domain:04x}:{info.bus:02x}:{info.device:02x}.{info.function:x}"
