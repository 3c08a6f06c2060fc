# SPDX-License-Identifier: Apache-2.0
"""Memory behind a file descriptor, and at an address, as the system knows it.

An address that is mapped now may not be a moment later: the answer helps to find mistakes, but does
not make an address safe to use.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from bisect import bisect_right
from pathlib import Path

from ._core.owner.handles import Fd
from .errors import LayoutError

if sys.platform != "win32":
    import fcntl

__all__ = ["bytes_at", "file_behind", "file_identity", "is_dma_buf", "is_mapped", "memory_size"]

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

    A DMA-BUF answers EINVAL to a SYNC with a flag that no kernel knows; all else answers ENOTTY.

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
    """The size in bytes of the memory behind a descriptor: a DMA-BUF, or a file in place of one.

    Args:
        fd: an open descriptor, which stays the caller's.

    Raises:
        LayoutError: it is not open, has no bytes, or cannot be mapped: a pipe, a socket, a
            directory, a device.
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
            what = file_behind(fd)
            raise LayoutError(f"descriptor {fd} is {what}, which is not a DMA-BUF") from error
    else:
        what = _OTHERS.get(kind) or file_behind(fd) or "of unknown kind"
        raise LayoutError(f"descriptor {fd} is {what}: pass that of a DMA-BUF, a memfd or a file")
    if size <= 0:
        raise LayoutError(f"descriptor {fd} has no bytes: give it a size, as by os.ftruncate()")
    return size


def file_identity(fd: int) -> tuple[int, int]:
    """The identity of an open file: the same for all its descriptors, and for no other file.

    Before Linux 5.3 all DMA-BUFs had the same one. When a file is gone, another one may get its
    identity, just as the number of a descriptor may be reused.

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
    except (OSError, OverflowError) as error:  # the latter if no C int can hold it
        raise LayoutError(f"{fd} is not an open file descriptor") from error


_MAPS = Path("/proc/self/maps")
_MEMORY = "/proc/self/mem"


def is_mapped(address: int, nbytes: int, *, writable: bool = False) -> bool:
    """True if a range of this process' memory can be read, and written if `writable`.

    Also True if the system does not tell: on systems without /proc/self/maps.

    Args:
        address: where the memory begins.
        nbytes: its size in bytes.
        writable: whether it must be possible to write there.
    """
    end = address + max(nbytes, 1)
    needed = "rw" if writable else "r"
    try:
        lines = _MAPS.read_text(errors="replace").splitlines()
    except OSError:
        return True
    # Each is "start-end perms ...", by rising address: proc_pid_maps(5). There may be thousands:
    # the search begins at the last one whose start is not above the address.
    first_line = bisect_right(lines, address, key=lambda line: int(line.partition("-")[0], 16)) - 1
    for line in lines[max(first_line, 0) :]:
        bounds, permissions = line.split(maxsplit=2)[:2]
        first, _, last = bounds.partition("-")
        if not int(first, 16) <= address < int(last, 16) or not permissions.startswith(needed):
            return False
        address = int(last, 16)
        if address >= end:
            return True
    return False


def bytes_at(address: int, nbytes: int) -> bytes | None:
    """The bytes at an address, or None if there is no memory.

    Pages that are protected from reading are read as well.

    Args:
        address: where the memory begins.
        nbytes: how many.

    Raises:
        OSError: the system has no /proc/self/mem, or it cannot be opened.
    """
    # Not by ctypes: a read of unmapped memory must fail, not end the process.
    with Fd(os.open(_MEMORY, os.O_RDONLY | os.O_CLOEXEC)) as memory:
        try:
            data = os.pread(memory.fileno(), nbytes, address)
        except (OSError, OverflowError, ValueError):
            return None
    return data if len(data) == nbytes else None
