# SPDX-License-Identifier: Apache-2.0
"""Device: which piece of hardware a context is on, so that two APIs can be compared."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CPU_DEVICE", "Device"]


@dataclass(frozen=True, slots=True)
class Device:
    """A processor as one API sees it. Fields that an API does not report are None.

    Attributes:
        kind: "CPU", "GPU", "NPU" or the framework's own word.
        name: for people.
        uuid: 16 bytes, as OpenCL (cl_khr_device_uuid), Level Zero and OpenVINO give them.
        pci: address "dddd:bb:dd.f" (cl_khr_pci_bus_info, zeDevicePciGetPropertiesExt).
        drm_node: for instance "/dev/dri/renderD128".
        luid: 8 bytes, on Windows.
    """

    kind: str
    name: str = ""
    uuid: bytes | None = None
    pci: str | None = None
    drm_node: str | None = None
    luid: bytes | None = None

    def same(self, other: Device) -> bool | None:
        """True if both are the same hardware, False if not; None where that cannot be known.

        Args:
            other: another device, of any API.
        """
        if self == other:
            return True
        if self.kind != other.kind:
            return False
        for field in ("pci", "uuid", "luid", "drm_node"):
            mine, theirs = getattr(self, field), getattr(other, field)
            if mine is not None and theirs is not None:
                return bool(mine == theirs)
        return None

    def __str__(self) -> str:
        return f"{self.kind} ({self.name})" if self.name else self.kind


CPU_DEVICE = Device("CPU")
"""The processor, where memory of the host is."""
