# SPDX-License-Identifier: Apache-2.0
"""DMA-BUFs, or memfds if this machine makes no DMA-BUFs."""

from __future__ import annotations

import mmap
import os
from contextlib import suppress

import numpy as np

import samebytes as sb
from samebytes.benchmarks import Ways, along

from .._abi import DMA_BUF_IOCTL_SYNC, DMA_BUF_SYNC_READ, DMA_BUF_SYNC_START, dma_buf_sync, ioctl

__all__ = ["frame_to_cpu", "to_cpu"]

_END = 1 << 2
"""linux/dma-buf.h: DMA_BUF_SYNC_END."""


def _by_hand(fd: int, nbytes: int) -> None:
    """Begin, map, read, unmap, end. On either side, a memfd refuses to begin and to end."""
    with suppress(OSError):
        ioctl(fd, DMA_BUF_IOCTL_SYNC, dma_buf_sync(DMA_BUF_SYNC_START | DMA_BUF_SYNC_READ))
    memory = mmap.mmap(fd, nbytes, prot=mmap.PROT_READ)
    array = np.frombuffer(memory, np.uint8)
    del array
    memory.close()
    with suppress(OSError):
        ioctl(fd, DMA_BUF_IOCTL_SYNC, dma_buf_sync(_END | DMA_BUF_SYNC_READ))


def to_cpu(width: int, height: int) -> Ways:
    """A tensor to the CPU."""
    tensor, cpu = sb.context("dma").allocate((height, width, 3)), sb.context("cpu")
    go = along("dma -> cpu tensor map", tensor, cpu)
    fd, nbytes = tensor.handle("dma_fd"), width * height * 3
    return Ways(
        ours=lambda: go(tensor).close(),
        by_hand=lambda: _by_hand(fd, nbytes),
        copying=lambda: os.pread(fd, nbytes, 0),
    )


def frame_to_cpu(width: int, height: int) -> Ways:
    """A frame with both planes in one buffer to the CPU."""
    frame, cpu = sb.context("dma").allocate_frame("NV12", width, height), sb.context("cpu")
    go = along("dma -> cpu frame map", frame, cpu)
    fd, nbytes = frame.planes[0].handle("dma_fd"), width * height * 3 // 2
    return Ways(
        ours=lambda: go(frame).close(),
        by_hand=lambda: _by_hand(fd, nbytes),
        copying=lambda: os.pread(fd, nbytes, 0),
    )
