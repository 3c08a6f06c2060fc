# SPDX-License-Identifier: Apache-2.0
"""linux/dma-heap.h: DMA-BUFs from the heaps in /dev/dma_heap."""

from __future__ import annotations

import ctypes

from .ioctl import _IOWR

__all__ = ["DMA_HEAP_IOCTL_ALLOC", "dma_heap_allocation_data"]

DMA_HEAP_IOC_MAGIC = "H"


class dma_heap_allocation_data(ctypes.Structure):
    """How much to allocate; the kernel sets `fd`."""

    _fields_ = [
        ("len", ctypes.c_uint64),
        ("fd", ctypes.c_uint32),
        ("fd_flags", ctypes.c_uint32),
        ("heap_flags", ctypes.c_uint64),
    ]


DMA_HEAP_IOCTL_ALLOC = _IOWR(DMA_HEAP_IOC_MAGIC, 0x0, dma_heap_allocation_data)
