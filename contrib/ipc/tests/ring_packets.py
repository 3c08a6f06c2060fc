# SPDX-License-Identifier: Apache-2.0
"""Packets of rings, for tests that write them by hand."""

from __future__ import annotations

import fcntl
import gc
import json
import os
import struct
from typing import Any

GREETING = struct.Struct("<c4sHH")
NUMBER = struct.Struct("<cH")
FRAME = struct.Struct("<cHHQBqII")
DONE = struct.Struct("<cHQ")

PLANE: dict[str, Any] = {
    "buffer": 0, "dtype": "uint8", "shape": [16, 64], "strides": [64, 1], "offset": 0,
    "pitch": None, "modifier": 0,
}  # fmt: skip
META: dict[str, Any] = {"regions": [], "metadata": {}, "entries": []}


def layout(**changes: Any) -> bytes:
    """The description of a gray picture of 64 x 16."""
    frame = {
        "planes": [{**PLANE, **changes}],
        "image": {"format": "GRAY8", "width": 64, "height": 16},
        "pts": None, "time_base": None, **META,
    }  # fmt: skip
    return json.dumps({"readonly": True, "frame": frame}).encode()


def memfd(size: int = 4096, seals: int = fcntl.F_SEAL_SHRINK) -> int:
    """A memfd of zeros, sealed as a friend does it."""
    number = os.memfd_create("forged", os.MFD_ALLOW_SEALING | os.MFD_CLOEXEC)
    os.ftruncate(number, size)
    fcntl.fcntl(number, fcntl.F_ADD_SEALS, seals)
    return number


def descriptors() -> int:
    """How many descriptors are open here, without those of what is garbage."""
    gc.collect()
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - a count
