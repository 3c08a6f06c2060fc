# SPDX-License-Identifier: Apache-2.0
"""Separate pages for the planes of frames that FFmpeg allocates.

An NPU imports whole pages, and each page once. FFmpeg takes a plane from malloc(), which puts
large blocks on pages of their own (mmap) and smaller ones side by side.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["planes_on_pages_of_their_own"]

# malloc.h of glibc, mallopt(3).
_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3
_SMALLEST_PLANE = 16 * 1024
_MOST = 32 * 1024 * 1024
"""DEFAULT_MMAP_THRESHOLD_MAX: how far glibc raises the threshold by itself, on 64 bits."""


@contextmanager
def planes_on_pages_of_their_own() -> Iterator[None]:
    """A block in which malloc() puts allocations of 16 KiB and more on their own pages.

    Afterwards large allocations are reused, as in a process that did nothing: glibc raises both
    thresholds when the first such allocation is freed, but not after a mallopt(). Otherwise later
    code would pay for new pages with each array.

    Without mallopt(), planes stay where they are, and some cannot be mapped to an NPU.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        yield
        return
    mallopt(_M_MMAP_THRESHOLD, _SMALLEST_PLANE)
    try:
        yield
    finally:
        mallopt(_M_MMAP_THRESHOLD, _MOST)
        mallopt(_M_TRIM_THRESHOLD, 2 * _MOST)
