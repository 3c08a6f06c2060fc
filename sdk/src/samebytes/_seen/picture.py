# SPDX-License-Identifier: Apache-2.0
"""A small picture of a frame, as a notebook shows it: PNG, without another library."""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import SamebytesError

if TYPE_CHECKING:
    from .._core.memory.frame import Frame

__all__ = ["LONGEST", "png", "thumbnail"]

LONGEST = 480
"""Pixels of the longer side of a thumbnail, at most: 700 kB of PNG where nothing can be packed."""


def thumbnail(frame: Frame[Any]) -> bytes | None:
    """A PNG of an image, scaled down; None where that needs a copy, a converter or an image.

    The frame is read where it lies, and `Frame.convert` writes the small picture alone, which
    `samebytes.stats()` counts.

    Args:
        frame: any frame, which may be closed.
    """
    try:
        info = frame.image
        scale = min(1.0, LONGEST / max(info.width, info.height))
        width, height = (max(round(side * scale), 1) for side in (info.width, info.height))
        small = frame.convert("RGB24", width, height, method="area" if scale < 1 else "linear")
        pixels = small.planes[0].host_array().reshape(height, width, 3)
    except (SamebytesError, AttributeError):  # of sound and lists of tensors there is no picture
        return None
    return png(pixels)


def png(pixels: np.ndarray[Any, Any]) -> bytes:
    """A PNG file.

    Args:
        pixels: height x width x 3 bytes: red, green, blue.
    """
    height, width, _ = pixels.shape
    rows = np.zeros((height, 1 + width * 3), np.uint8)  # each begins with its filter: 0, none
    rows[:, 1:] = pixels.reshape(height, -1)
    header = struct.pack(">2I5B", width, height, 8, 2, 0, 0, 0)  # 8 bits each, RGB
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes())), (b"IEND", b""))
    made = [b"\x89PNG\r\n\x1a\n"]
    for kind, data in parts:
        made.append(struct.pack(">I", len(data)) + kind + data)
        made.append(struct.pack(">I", zlib.crc32(kind + data)))
    return b"".join(made)
