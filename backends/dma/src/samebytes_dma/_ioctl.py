# SPDX-License-Identifier: Apache-2.0
"""ioctl() of DMA-BUFs, asked again when a signal came between."""

from __future__ import annotations

import ctypes
import fcntl

__all__ = ["ioctl"]


def ioctl(fd: int, request: int, argument: ctypes.Structure | ctypes.Array[ctypes.c_char]) -> int:
    """Call ioctl(); the kernel may fill in `argument`.

    The documentation of DMA_BUF_IOCTL_SYNC wants EINTR and EAGAIN to be asked again, and
    fcntl.ioctl() does not.

    Raises:
        OSError: what the call answered.
    """
    while True:
        try:
            answer: int = fcntl.ioctl(fd, request, argument)
        except (InterruptedError, BlockingIOError):
            continue
        return answer
