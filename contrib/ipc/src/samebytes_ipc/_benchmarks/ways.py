# SPDX-License-Identifier: Apache-2.0
"""Memory that goes through a connection, both ends of which are in one process."""

from __future__ import annotations

import os
import socket
from typing import Any

import samebytes as sb
from samebytes.benchmarks import Ways

from .. import receive, send

__all__ = ["frame_through_socket", "through_socket"]


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
    """A tensor to the same process; to another one, it takes the same and a context switch."""
    tensor = sb.context("dma").allocate((height, width, 3))
    return _through(tensor, tensor.handle("dma_fd"), width * height * 3)


def frame_through_socket(width: int, height: int) -> Ways:
    """A frame with format, size and metadata."""
    frame = sb.context("dma").allocate_frame("NV12", width, height)
    return _through(frame, frame.planes[0].handle("dma_fd"), width * height * 3 // 2)
