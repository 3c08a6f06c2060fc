# SPDX-License-Identifier: Apache-2.0
"""A check of whether memory can go to other processes here."""

from __future__ import annotations

import os
import sys

from samebytes.plugins import ProbeResult

__all__ = ["probe"]

_CALLS = {
    "memfd_create": "memory with a descriptor",
    "eventfd": "waiting in one process for several others",
    "pidfd_open": "noticing the end of a process whose socket somebody else holds",
}


def probe() -> ProbeResult:
    """Look for the calls of Linux that rings and sockets need."""
    if sys.platform != "linux":
        return ProbeResult(
            usable=False,
            reason=f"descriptors go only through sockets of Linux, and this is {sys.platform}",
            hint="leave samebytes-ipc out here",
        )
    details = {
        name: "usable" if hasattr(os, name) else f"missing: {use}" for name, use in _CALLS.items()
    }
    if not hasattr(os, "memfd_create") or not hasattr(os, "eventfd"):
        return ProbeResult(
            usable=False,
            reason="this Python was built without memfd_create() or eventfd()",
            hint="use a Python that was built with glibc 2.27 or later",
            details=details,
        )
    return ProbeResult(usable=True, reason="descriptors go through sockets", details=details)
