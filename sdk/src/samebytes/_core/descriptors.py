# SPDX-License-Identifier: Apache-2.0
"""The memory behind a file descriptor: which it is, whether a DMA-BUF, and how large."""

from __future__ import annotations

import errno
import os
import stat
import sys
from pathlib import Path

from ..errors import LayoutError

if sys.platform != "win32":
    import fcntl

__all__ = ["file_behind", "file_identity", "is_dma_buf", "memory_size"]

# linux/dma-buf.h: _IOW('b', 0, struct dma_buf_sync), of which `flags`, a __u64, is all.
_DMA_BUF_IOCTL_SYNC = 0x4008_6200
# No kernel knows this flag of it.
_UNKNOWN_FLAG = (1 << 63).to_bytes(8, sys.byteorder)
_OTHERS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFDIR: "a directory",
    stat.S_IFCHR: "a character device",
    stat.S_IFBLK: "a block device",
    stat.S_IFLNK: "a symbolic link",
}


def is_dma_buf(fd: int) -> bool:
    """True if an open descriptor is a DMA-BUF; the check changes nothing.

    A DMA-BUF answers EINVAL to a SYNC with a flag that no kernel knows; everything else answers
    ENOTTY, for it does not know the call.

    Args:
        fd: an open descriptor, which stays the caller's.

    Raises:
        LayoutError: `fd` is not an open descriptor.
    """
    if stat.S_IFMT(_status(fd).st_mode) in _OTHERS or sys.platform == "win32":
        return False  # a device might take the number for a call of its own
    try:
        fcntl.ioctl(fd, _DMA_BUF_IOCTL_SYNC, _UNKNOWN_FLAG)
    except OSError as error:
        return error.errno == errno.EINVAL
    return True


def memory_size(fd: int) -> int:
    """The bytes of the memory behind a descriptor: a DMA-BUF, or a file that stands in for one.

    Args:
        fd: an open descriptor, which stays the caller's.

    Raises:
        LayoutError: it is not open, has no bytes, or is nothing that can be mapped: a pipe, a
            socket, a directory, a device.
    """
    kind = stat.S_IFMT(_status(fd).st_mode)
    if kind == stat.S_IFREG:
        # lseek() would move the position in a file of the user's.
        size = os.fstat(fd).st_size
    elif is_dma_buf(fd):
        # Before Linux 5.3, only lseek() reports the size of a DMA-BUF, which has no position that
        # this would move (Documentation/driver-api/dma-buf.rst).
        try:
            size = os.lseek(fd, 0, os.SEEK_END)
        except OSError as error:
            # A seccomp notifier and a KVM vCPU answer EINVAL to all calls that they do not know.
            raise LayoutError(
                f"descriptor {fd} is {file_behind(fd)}, which is not a DMA-BUF"
            ) from error
    else:
        what = _OTHERS.get(kind) or file_behind(fd) or "of unknown kind"
        raise LayoutError(f"descriptor {fd} is {what}: pass that of a DMA-BUF, a memfd or a file")
    if size <= 0:
        raise LayoutError(f"descriptor {fd} has no bytes: give it a size, as by os.ftruncate()")
    return size


def file_identity(fd: int) -> tuple[int, int]:
    """The identity of an open file: the same for all its descriptors, and for no other file.

    Since Linux 5.3 each DMA-BUF has its own identity; before, all had the same. When a file is
    gone, another one may get its identity, just as the number of a descriptor may be reused.

    Args:
        fd: an open descriptor, which stays the caller's.

    Returns:
        The device and the inode.

    Raises:
        LayoutError: `fd` is not an open descriptor.
    """
    status = _status(fd)
    return status.st_dev, status.st_ino


def file_behind(fd: int) -> str:
    """The kernel's name for an open file: its path, "/memfd:NAME", "pipe:[NUMBER]"; else "".

    Args:
        fd: an open descriptor, which stays the caller's.
    """
    try:
        return str(Path(f"/proc/self/fd/{fd}").readlink())
    except OSError:
        return ""  # no /proc


def _status(fd: int) -> os.stat_result:
    try:
        return os.fstat(fd)
    except (OSError, OverflowError) as error:  # the latter of what no C int can hold
        raise LayoutError(f"{fd} is not an open file descriptor") from error
