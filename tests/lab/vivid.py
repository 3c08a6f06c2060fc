# SPDX-License-Identifier: Apache-2.0
"""vivid, the kernel's virtual camera: its nodes, simulated faults, and marks in its pictures."""

from __future__ import annotations

import fcntl
import os
import struct
from typing import Any

__all__ = ["CAMERA", "DAMAGE", "DISCONNECT", "HEIGHT", "MARK", "OUTPUT", "WIDTH", "mark", "press"]

CAMERA, OUTPUT = "/dev/video0", "/dev/video1"
WIDTH, HEIGHT = 320, 180
# linux/videodev2.h, and drivers/media/test-drivers/vivid/vivid-ctrls.c for the control.
_S_CTRL = 0xC008561C
DISCONNECT = (0x00F00000 | 0xF000) + 65
DAMAGE = DISCONNECT + 1

MARK = bytes((11, 222, 33, 244))


def mark(frame: Any) -> None:
    """Write values into the picture that no test picture has."""
    with frame.map("cpu", "rw") as view:
        luma = view.native[0]
        luma[1, 2:6] = (11, 222, 33, 244)
        del luma


def press(control: int) -> None:
    """Make vivid simulate a fault; an unplugged camera is back once all have closed it."""
    other = os.open(CAMERA, os.O_RDWR | os.O_CLOEXEC)
    fcntl.ioctl(other, _S_CTRL, struct.pack("<Ii", control, 1))
    os.close(other)
