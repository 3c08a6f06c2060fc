# SPDX-License-Identifier: Apache-2.0
"""linux/udmabuf.h: DMA-BUFs over the pages of a memfd."""

from __future__ import annotations

import ctypes

from .ioctl import _IOW

__all__ = ["UDMABUF_CREATE", "UDMABUF_FLAGS_CLOEXEC", "udmabuf_create"]

UDMABUF_FLAGS_CLOEXEC = 0x01


class udmabuf_create(ctypes.Structure):
    """Which pages of which memfd; the ioctl returns the descriptor."""

    _fields_ = [
        ("memfd", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
        ("offset", ctypes.c_uint64),
        ("size", ctypes.c_uint64),
    ]


UDMABUF_CREATE = _IOW("u", 0x42, udmabuf_create)
