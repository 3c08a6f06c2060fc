# SPDX-License-Identifier: Apache-2.0
"""The NPU as OpenVINO sees it. Its plugin knows one."""

from __future__ import annotations

from typing import Any

from samebytes import Device
from samebytes.errors import MissingDependencyError, NativeError

from .._errors import naming

__all__ = ["NPU", "default_native", "device_of", "memory_of"]

NPU = "NPU"

_HINT = (
    "install Intel's NPU driver and see that you may open /dev/accel/accel0 (group render). For "
    "tests without one: samebytes-softdevices run --npu -- COMMAND "
    '(pip install "samebytes-softdevices[npu]")'
)


def default_native(core: Any) -> Any:
    """The plugin's openvino.RemoteContext, which wraps the same ze_context for every Core.

    Raises:
        MissingDependencyError: OpenVINO finds no NPU, with the plugin's own reason.
    """
    try:
        with naming("Core.get_default_context"):
            return core.get_default_context(NPU)
    except NativeError as error:
        raise MissingDependencyError(
            "openvino", f"an NPU that OpenVINO can use ({error})", _HINT
        ) from error


def device_of(core: Any) -> Device:
    """Name, UUID and PCI address of the NPU."""
    pci = core.get_property(NPU, "DEVICE_PCI_INFO")
    return Device(
        NPU,
        name=core.get_property(NPU, "FULL_DEVICE_NAME"),
        uuid=bytes.fromhex(core.get_property(NPU, "DEVICE_UUID")),
        pci=f"{pci.domain:04x}:{pci.bus:02x}:{pci.device:02x}.{pci.function:x}",
    )


def memory_of(core: Any) -> int:
    """The bytes that the NPU can use."""
    return int(core.get_property(NPU, "NPU_DEVICE_TOTAL_MEM_SIZE"))
