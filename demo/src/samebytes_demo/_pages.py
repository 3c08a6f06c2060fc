# SPDX-License-Identifier: Apache-2.0
"""Pages of their own for the planes of frames that FFmpeg will allocate.

An NPU imports whole pages, and each page once. FFmpeg takes a plane from malloc(), which puts
large blocks on pages of their own (mmap) and smaller ones side by side.
"""

from __future__ import annotations

import ctypes

__all__ = ["give_planes_pages_of_their_own"]

_M_MMAP_THRESHOLD = -3
"""malloc.h of glibc, mallopt(3)."""
_SMALLEST_PLANE = 16 * 1024


def give_planes_pages_of_their_own() -> None:
    """Have malloc() put blocks of 16 KiB and more on pages of their own, from now on.

    Where there is no mallopt(), planes lie as they lie, and some cannot be mapped to an NPU.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, _SMALLEST_PLANE)
