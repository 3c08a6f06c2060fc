# SPDX-License-Identifier: Apache-2.0
"""A check of which cameras this user can open."""

from __future__ import annotations

import sys

from samebytes.errors import MissingDependencyError, SamebytesError
from samebytes.plugins import ProbeResult

__all__ = ["probe"]


def probe() -> ProbeResult:
    """Open each video node, and ask it what it is."""
    if sys.platform != "linux":
        return ProbeResult(
            usable=False,
            reason=f"V4L2 exists only on Linux, and this is {sys.platform}",
            hint="leave samebytes-v4l2 out here",
        )
    from ._device import Device, nodes

    details, hints, usable = {}, [], 0
    for path in nodes():
        try:
            device = Device(path)
        except MissingDependencyError as error:
            details[path] = "no permission"
            hints.append(error.hint)
        except SamebytesError as error:
            details[path] = str(error)
        else:
            details[path] = f"{device.name} ({device.driver})"
            usable += 1
            device.fd.close()
    if usable:
        return ProbeResult(
            usable=True, reason=f"cameras that can be opened: {usable}", details=details
        )
    return ProbeResult(
        usable=False,
        reason="no camera that this user can open" if details else "this machine has no camera",
        hint="; ".join(dict.fromkeys(hints)) or "connect a camera; in a container, pass --device",
        details=details,
    )
