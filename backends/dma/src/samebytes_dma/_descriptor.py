# SPDX-License-Identifier: Apache-2.0
"""What lies behind a file descriptor: a DMA-BUF, a file that can stand in for one, or neither."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from pathlib import Path
from typing import Literal, NamedTuple

from samebytes.errors import AccessError, LayoutError
from samebytes.plugins import Fd

from ._abi.dma_buf import DMA_BUF_IOCTL_SYNC, dma_buf_sync
from ._abi.seals import F_SEAL_FUTURE_WRITE

__all__ = ["Descriptor", "Kind", "examine", "exporter_of", "is_dma_buf", "kind_of", "link_of",
           "name_of", "seals_of"]  # fmt: skip

Kind = Literal["dma_heap", "udmabuf", "dma_buf", "memfd", "file"]
"""What memory behind a descriptor is.

"dma_heap" and "udmabuf" are DMA-BUFs of these exporters, "dma_buf" is one of any other. "memfd"
and "file" are no DMA-BUFs: the CPU maps them in the same way, devices cannot.
"""

HEAPS = Path("/dev/dma_heap")

# No kernel knows this flag of DMA_BUF_IOCTL_SYNC.
_UNKNOWN_FLAG = 1 << 63
_WRITE_SEALS = fcntl.F_SEAL_WRITE | F_SEAL_FUTURE_WRITE
_UNMAPPABLE = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFDIR: "a directory",
    stat.S_IFCHR: "a character device",
    stat.S_IFBLK: "a block device",
    stat.S_IFLNK: "a symbolic link",
}


class Descriptor(NamedTuple):
    """What was found out about a descriptor.

    Attributes:
        size: bytes that can be mapped.
        readonly: it was opened for reading alone, or is sealed against writes.
        dma_buf: it is a DMA-BUF.
    """

    size: int
    readonly: bool
    dma_buf: bool


def is_dma_buf(fd: int | Fd) -> bool:
    """Whether an open descriptor is a DMA-BUF; nothing happens to it.

    A DMA-BUF answers EINVAL to a SYNC with a flag that no kernel knows; everything else answers
    ENOTTY, for it does not know the call.

    Raises:
        LayoutError: `fd` is not an open descriptor.
    """
    number = fd.fileno() if isinstance(fd, Fd) else fd
    if stat.S_IFMT(_fstat(number).st_mode) in _UNMAPPABLE:
        return False  # a device might take the number for a call of its own
    try:
        fcntl.ioctl(number, DMA_BUF_IOCTL_SYNC, dma_buf_sync(_UNKNOWN_FLAG))
    except OSError as error:
        return error.errno == errno.EINVAL
    return True


def examine(fd: int) -> Descriptor:
    """Look at a descriptor whose memory is to be used.

    Raises:
        LayoutError: it is not open, has no bytes, or is nothing that can be mapped: a pipe, a
            socket, a directory, a device.
        AccessError: it was opened for writing alone, or as a path: nobody could map it.
    """
    status = _fstat(fd)
    mode = fcntl.fcntl(fd, fcntl.F_GETFL)
    regular = stat.S_ISREG(status.st_mode)
    if mode & os.O_PATH:
        raise AccessError(f"descriptor {fd} was opened with O_PATH: open it with O_RDWR")
    dma_buf = is_dma_buf(fd)
    if not (dma_buf or regular):
        what = _UNMAPPABLE.get(stat.S_IFMT(status.st_mode), f"{link_of(fd) or 'of unknown kind'}")
        raise LayoutError(
            f"descriptor {fd} is {what}: memory is shared by a DMA-BUF, a memfd or a file"
        )
    if mode & os.O_ACCMODE == os.O_WRONLY:
        raise AccessError(f"descriptor {fd} is open for writing alone: open it with O_RDWR")
    # A DMA-BUF has no size in fstat(); on a file, lseek() would move the user's position.
    size = _end_of(fd) if dma_buf else status.st_size
    if size <= 0:
        raise LayoutError(f"descriptor {fd} has no bytes: give it a size, as by os.ftruncate()")
    readonly = mode & os.O_ACCMODE == os.O_RDONLY or bool(regular and seals_of(fd) & _WRITE_SEALS)
    return Descriptor(size, readonly, dma_buf)


def kind_of(fd: int, dma_buf: bool) -> Kind:
    """What the memory behind an examined descriptor is."""
    if not dma_buf:
        return "memfd" if link_of(fd).startswith("/memfd:") else "file"
    exporter = exporter_of(fd)
    if exporter == "udmabuf":
        return "udmabuf"
    # Heaps give their own name as that of the exporter.
    return "dma_heap" if exporter and (HEAPS / exporter).exists() else "dma_buf"


def exporter_of(fd: int) -> str:
    """The driver that made a DMA-BUF ("system", "udmabuf", "i915"); "" where it is not told."""
    return _fdinfo(fd, "exp_name")


def name_of(fd: int) -> str:
    """The name that somebody gave a DMA-BUF by DMA_BUF_SET_NAME; "" without one."""
    return _fdinfo(fd, "name")


def seals_of(fd: int) -> int:
    """What is forbidden to do to a file in memory, F_SEAL_SHRINK and so on; 0 of other files."""
    try:
        return fcntl.fcntl(fd, fcntl.F_GET_SEALS)
    except OSError:
        return 0


def link_of(fd: int) -> str:
    """What the kernel calls an open file: its path, "/memfd:NAME", "pipe:[NUMBER]"."""
    try:
        return str(Path(f"/proc/self/fd/{fd}").readlink())
    except OSError:
        return ""  # no /proc


def _fstat(fd: int) -> os.stat_result:
    try:
        return os.fstat(fd)
    except (OSError, OverflowError) as error:
        raise LayoutError(f"{fd} is not an open file descriptor") from error


def _end_of(fd: int) -> int:
    try:
        return os.lseek(fd, 0, os.SEEK_END)
    except OSError as error:
        # A seccomp notifier and a KVM vCPU answer EINVAL to all calls that they do not know.
        raise LayoutError(f"descriptor {fd} is {link_of(fd)}, which is no DMA-BUF") from error


def _fdinfo(fd: int, field: str) -> str:
    # Linux, Documentation/filesystems/proc.rst: "DMA Buffer files".
    try:
        lines = Path(f"/proc/self/fdinfo/{fd}").read_text(errors="replace").splitlines()
    except OSError:
        return ""
    found = (line.partition(":") for line in lines)
    return next((value.strip() for key, _, value in found if key == field), "")
