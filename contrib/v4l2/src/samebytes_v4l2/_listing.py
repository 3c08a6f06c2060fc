# SPDX-License-Identifier: Apache-2.0
"""The cameras of this machine."""

from __future__ import annotations

from dataclasses import dataclass

from samebytes.errors import SamebytesError

from ._device import Device, nodes

__all__ = ["CameraInfo", "cameras"]


@dataclass(frozen=True, slots=True)
class CameraInfo:
    """A camera of this machine.

    Attributes:
        path: the path of its node, such as "/dev/video0".
        name: the driver's name for the device.
        driver: the name of the driver.
    """

    path: str
    name: str
    driver: str


def cameras() -> list[CameraInfo]:
    """The cameras that can be opened, by the numbers of their nodes.

    Nodes are left out that are not cameras, that samebytes-v4l2 does not use, or that this user may
    not open: the error of `Camera(path)` gives the reason.
    """
    found = []
    for path in nodes():
        try:
            device = Device(path)
        except SamebytesError:
            continue
        found.append(CameraInfo(path, device.name, device.driver))
        device.fd.close()
    return found
