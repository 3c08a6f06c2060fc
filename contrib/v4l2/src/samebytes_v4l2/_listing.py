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
        path: of its node, such as "/dev/video0".
        name: of the device, by its driver.
        driver: the name of that.
    """

    path: str
    name: str
    driver: str


def cameras() -> list[CameraInfo]:
    """The cameras that can be opened, by the numbers of their nodes.

    A node is left out that is not a camera, that samebytes-v4l2 does not use, or that this user may
    not open: `Camera(path)` says which it is.
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
