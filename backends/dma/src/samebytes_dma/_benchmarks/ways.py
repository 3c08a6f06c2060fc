# SPDX-License-Identifier: Apache-2.0
"""DMA-BUFs, or memfds where nothing here makes those."""

from __future__ import annotations

import mmap
import os
import socket
from contextlib import suppress
from typing import Any

import numpy as np

import samebytes as sb
from samebytes.benchmarks import Ways, along

from .. import receive, send
from .._abi import DMA_BUF_IOCTL_SYNC, DMA_BUF_SYNC_READ, DMA_BUF_SYNC_START, dma_buf_sync, ioctl

__all__ = ["frame_through_socket", "frame_to_cpu", "through_socket", "to_cpu"]

_END = 1 << 2
"""linux/dma-buf.h: DMA_BUF_SYNC_END."""


def _by_hand(fd: int, nbytes: int) -> None:
    """Begin, map, look, unmap, end. A memfd refuses to begin and to end, here as there."""
    with suppress(OSError):
        ioctl(fd, DMA_BUF_IOCTL_SYNC, dma_buf_sync(DMA_BUF_SYNC_START | DMA_BUF_SYNC_READ))
    memory = mmap.mmap(fd, nbytes, prot=mmap.PROT_READ)
    array = np.frombuffer(memory, np.uint8)
    del array
    memory.close()
    with suppress(OSError):
        ioctl(fd, DMA_BUF_IOCTL_SYNC, dma_buf_sync(_END | DMA_BUF_SYNC_READ))


def to_cpu(width: int, height: int) -> Ways:
    """One tensor."""
    tensor, cpu = sb.context("dma").allocate((height, width, 3)), sb.context("cpu")
    go = along("dma -> cpu tensor map", tensor, cpu)
    fd, nbytes = tensor.handle("dma_fd"), width * height * 3
    return Ways(
        ours=lambda: go(tensor).close(),
        by_hand=lambda: _by_hand(fd, nbytes),
        copying=lambda: os.pread(fd, nbytes, 0),
    )


def frame_to_cpu(width: int, height: int) -> Ways:
    """Both planes of one buffer."""
    frame, cpu = sb.context("dma").allocate_frame("NV12", width, height), sb.context("cpu")
    go = along("dma -> cpu frame map", frame, cpu)
    fd, nbytes = frame.planes[0].handle("dma_fd"), width * height * 3 // 2
    return Ways(
        ours=lambda: go(frame).close(),
        by_hand=lambda: _by_hand(fd, nbytes),
        copying=lambda: os.pread(fd, nbytes, 0),
    )


def _through(item: Any, fd: int, nbytes: int) -> Ways:
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    memory = bytes(nbytes)
    there = bytearray(nbytes)

    def ours() -> object:
        send(one, item)
        return receive(other)

    def by_hand() -> None:
        socket.send_fds(one, [b"header"], [fd])
        _, fds, _, _ = socket.recv_fds(other, 64, 4)
        for number in fds:
            os.close(number)

    def copying() -> None:
        begin, room = 0, memoryview(there)
        while begin < nbytes:
            end = begin + one.send(memory[begin : begin + 65536])
            while begin < end:
                begin += other.recv_into(room[begin:end])

    def close() -> None:
        one.close()
        other.close()

    return Ways(ours=ours, by_hand=by_hand, copying=copying, close=close)


def through_socket(width: int, height: int) -> Ways:
    """To the same process; another one takes as long, and a switch of context."""
    tensor = sb.context("dma").allocate((height, width, 3))
    return _through(tensor, tensor.handle("dma_fd"), width * height * 3)


def frame_through_socket(width: int, height: int) -> Ways:
    """With format, size and metadata."""
    frame = sb.context("dma").allocate_frame("NV12", width, height)
    return _through(frame, frame.planes[0].handle("dma_fd"), width * height * 3 // 2)
