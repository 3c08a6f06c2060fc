# SPDX-License-Identifier: Apache-2.0
"""linux/dma-buf.h: CPU access to a DMA-BUF, and its fences."""

from __future__ import annotations

import ctypes

from .ioctl import _IOW, _IOWR

__all__ = [
    "DMA_BUF_IOCTL_EXPORT_SYNC_FILE",
    "DMA_BUF_IOCTL_IMPORT_SYNC_FILE",
    "DMA_BUF_IOCTL_SYNC",
    "DMA_BUF_NAME_LEN",
    "DMA_BUF_SET_NAME",
    "DMA_BUF_SYNC_END",
    "DMA_BUF_SYNC_READ",
    "DMA_BUF_SYNC_RW",
    "DMA_BUF_SYNC_START",
    "DMA_BUF_SYNC_WRITE",
    "SyncFileArgument",
    "dma_buf_export_sync_file",
    "dma_buf_import_sync_file",
    "dma_buf_sync",
]

DMA_BUF_BASE = "b"

DMA_BUF_NAME_LEN = 32
"""With the zero byte at the end."""

DMA_BUF_SYNC_READ = 1 << 0
DMA_BUF_SYNC_WRITE = 2 << 0
DMA_BUF_SYNC_RW = DMA_BUF_SYNC_READ | DMA_BUF_SYNC_WRITE
DMA_BUF_SYNC_START = 0 << 2
DMA_BUF_SYNC_END = 1 << 2


class dma_buf_sync(ctypes.Structure):
    """Begin or end an access by the CPU."""

    _fields_ = [("flags", ctypes.c_uint64)]


class dma_buf_export_sync_file(ctypes.Structure):
    """Ask for the fences of a buffer; the kernel sets `fd`."""

    _fields_ = [("flags", ctypes.c_uint32), ("fd", ctypes.c_int32)]


class dma_buf_import_sync_file(ctypes.Structure):
    """Add a fence to a buffer."""

    _fields_ = [("flags", ctypes.c_uint32), ("fd", ctypes.c_int32)]


DMA_BUF_IOCTL_SYNC = _IOW(DMA_BUF_BASE, 0, dma_buf_sync)
DMA_BUF_SET_NAME = _IOW(DMA_BUF_BASE, 1, ctypes.c_char_p)
# Since Linux 6.0.
DMA_BUF_IOCTL_EXPORT_SYNC_FILE = _IOWR(DMA_BUF_BASE, 2, dma_buf_export_sync_file)
DMA_BUF_IOCTL_IMPORT_SYNC_FILE = _IOW(DMA_BUF_BASE, 3, dma_buf_import_sync_file)

SyncFileArgument = dma_buf_export_sync_file | dma_buf_import_sync_file
