# SPDX-License-Identifier: Apache-2.0
"""Find out what a file descriptor is: a DMA-BUF, a file that can replace one, or neither."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import Literal, NamedTuple

from samebytes import Fd, plugins
from samebytes.errors import AccessError
from samebytes.plugins import file_behind as link_of
from samebytes.plugins import memory_size

from ._abi import F_SEAL_FUTURE_WRITE

__all__ = ["Descriptor", "Kind", "examine", "exporter_of", "is_dma_buf", "kind_of", "link_of",
           "name_of", "seals_of"]  # fmt: skip

Kind = Literal["dma_heap", "udmabuf", "dma_buf", "memfd", "file"]
"""The kinds of memory behind a descriptor.

"dma_heap" and "udmabuf" are DMA-BUFs of these exporters, "dma_buf" is one of any other. "memfd"
and "file" are not DMA-BUFs: the CPU maps them in the same way, devices cannot.
"""

HEAPS = Path("/dev/dma_heap")

_WRITE_SEALS = fcntl.F_SEAL_WRITE | F_SEAL_FUTURE_WRITE


class Descriptor(NamedTuple):
    """The properties found for a descriptor.

    Attributes:
        size: bytes that can be mapped.
        readonly: True if it was opened for reading only, or is sealed against writes.
        dma_buf: True if it is a DMA-BUF.
    """

    size: int
    readonly: bool
    dma_buf: bool


def is_dma_buf(fd: int | Fd) -> bool:
    """True if an open descriptor is a DMA-BUF; it is only examined.

    Args:
        fd: an open descriptor, which stays the caller's.

    Raises:
        LayoutError: `fd` is not an open descriptor.
    """
    return plugins.is_dma_buf(fd.fileno() if isinstance(fd, Fd) else fd)


def examine(fd: int) -> Descriptor:
    """Look at a descriptor whose memory is to be used.

    Raises:
        LayoutError: it is not open, has no bytes, or cannot be mapped: a pipe, a socket, a
            directory, a device.
        AccessError: it was opened for writing only, or as a path, and so cannot be mapped.
    """
    dma_buf = plugins.is_dma_buf(fd)
    mode = fcntl.fcntl(fd, fcntl.F_GETFL)
    if mode & os.O_PATH:
        raise AccessError(f"descriptor {fd} was opened with O_PATH: open it with O_RDWR")
    size = memory_size(fd)
    if mode & os.O_ACCMODE == os.O_WRONLY:
        raise AccessError(f"descriptor {fd} is open for writing only: open it with O_RDWR")
    sealed = bool(seals_of(fd) & _WRITE_SEALS)
    readonly = mode & os.O_ACCMODE == os.O_RDONLY or sealed
    return Descriptor(size, readonly, dma_buf)


def kind_of(fd: int, dma_buf: bool) -> Kind:
    """Return the kind of memory behind an examined descriptor."""
    if not dma_buf:
        return "memfd" if link_of(fd).startswith("/memfd:") else "file"
    exporter = exporter_of(fd)
    if exporter == "udmabuf":
        return "udmabuf"
    # The exporter's name is that of the heap.
    return "dma_heap" if exporter and (HEAPS / exporter).exists() else "dma_buf"


def exporter_of(fd: int) -> str:
    """The driver that made a DMA-BUF ("system", "udmabuf", "i915"); "" where it is unknown.

    The kernel alone answers, so this may be asked of a descriptor that came from anywhere.

    Args:
        fd: an open descriptor, which stays the caller's.
    """
    return _fdinfo(fd, "exp_name")


def name_of(fd: int) -> str:
    """The name that a DMA-BUF was given by DMA_BUF_SET_NAME; "" without one."""
    return _fdinfo(fd, "name")


def seals_of(fd: int) -> int:
    """Return the seals of a file in memory (F_SEAL_SHRINK and so on); 0 for other files.

    The kernel alone answers, so this may be asked of a descriptor that came from anywhere.

    Args:
        fd: an open descriptor, which stays the caller's.
    """
    try:
        return fcntl.fcntl(fd, fcntl.F_GET_SEALS)
    except OSError:
        return 0


def _fdinfo(fd: int, field: str) -> str:
    # Linux, Documentation/filesystems/proc.rst: "DMA Buffer files".
    try:
        lines = Path(f"/proc/self/fdinfo/{fd}").read_text(errors="replace").splitlines()
    except OSError:
        return ""
    found = (line.partition(":") for line in lines)
    return next((value.strip() for key, _, value in found if key == field), "")
