# SPDX-License-Identifier: Apache-2.0
"""Which descriptors of a stranger may be used.

Memory that somebody can cut short under a mapping ends the process that reads it (SIGBUS). A
DMA-BUF keeps its size, and so does a memfd that is sealed against shrinking. Huge pages are not
taken: their pool is small, and who punches a hole into such a memfd gives a page back to it.
"""

from __future__ import annotations

import fcntl
import mmap
import os
from typing import TYPE_CHECKING

from samebytes.errors import LayoutError

from .._descriptor import exporter_of, link_of, seals_of
from .errors import shown

if TYPE_CHECKING:
    from samebytes import Fd

__all__ = ["check_stranger"]


def check_stranger(fd: Fd) -> None:
    """Refuse memory whose pages somebody can take away.

    The kernel alone answers what is asked here. A descriptor of a file system that the stranger
    runs (FUSE) could let other calls wait for ever, fstat() for one.

    Raises:
        LayoutError: neither a DMA-BUF nor a sealed memfd, or one of huge pages.
    """
    number = fd.fileno()
    seals = seals_of(number)
    # Only a memfd can be sealed so: files that others open by a name have F_SEAL_SEAL from the
    # beginning, and most file systems know no seals.
    if seals & fcntl.F_SEAL_SHRINK:
        _check_pages(number)
        return
    if exporter_of(number):
        return
    link = link_of(number)
    if link.startswith("/memfd:"):
        raise LayoutError(
            "is a memfd that its sender can still cut short, which would end this process: the "
            "sender must seal it, fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK), or "
            "this side trust it, receive(sock, trusted=True)"
        )
    what = shown(link) if link else "of unknown kind"
    raise LayoutError(
        f"is {what}, neither a DMA-BUF nor a memfd that is sealed against shrinking; files are "
        "taken by receive(sock, trusted=True)"
    )


def _check_pages(number: int) -> None:
    # Linux, fs/hugetlbfs/inode.c: hugetlbfs_statfs() tells the size of its pages.
    size = os.fstatvfs(number).f_bsize
    if size != mmap.PAGESIZE:
        raise LayoutError(
            f"is a memfd of huge pages ({size} bytes each), which its sender can take away, and "
            "that would end this process: the sender must make it without MFD_HUGETLB, or this "
            "side trust it, receive(sock, trusted=True)"
        )
