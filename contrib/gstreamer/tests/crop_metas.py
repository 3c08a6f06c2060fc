# SPDX-License-Identifier: Apache-2.0
"""The part of a picture that a buffer shows."""

from __future__ import annotations

from ctypes import c_uint
from typing import Any

from gi.repository import GstVideo


def add_crop_meta(buffer: Any, x: int, y: int, width: int, height: int) -> None:
    """Add a GstVideoCropMeta, whose fields PyGObject cannot set."""
    meta = buffer.add_meta(GstVideo.VideoCropMeta.get_info(), None)
    # A GstMeta, which is flags and a pointer, and then the four numbers.
    (c_uint * 4).from_address(hash(meta) + 16)[:] = [x, y, width, height]
