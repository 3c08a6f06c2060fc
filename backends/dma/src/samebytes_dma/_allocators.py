# SPDX-License-Identifier: Apache-2.0
"""The sources of new DMA-BUFs on this machine, and a stand-in for machines without any."""

from __future__ import annotations

import errno
import fcntl
import os
import sys
from abc import ABC, abstractmethod
from fcntl import ioctl
from functools import partial
from mmap import PAGESIZE
from pathlib import Path

from samebytes import Fd
from samebytes.errors import LayoutError, MissingDependencyError, NativeError, UnknownNameError
from samebytes.plugins import advice_to_open

from . import _abi
from ._descriptor import HEAPS

__all__ = ["ALLOCATORS", "Allocator", "Heap", "Memfd", "Udmabuf", "find_allocator"]

UDMABUF = Path("/dev/udmabuf")


class Allocator(ABC):
    """One source of memory behind descriptors.

    Attributes:
        name: as in `samebytes.context("dma:NAME")`.
    """

    name: str

    @abstractmethod
    def lack(self) -> tuple[str, str] | None:
        """None if it can be used, else the missing thing and a remedy."""

    @abstractmethod
    def allocate(self, nbytes: int) -> Fd:
        """At least `nbytes` zeroed bytes, in whole pages and at least one.

        Raises:
            NativeError: the system has no memory for it.
            LayoutError: more bytes than there are addresses.
        """

    def check(self) -> None:
        """Raise MissingDependencyError if it cannot be used."""
        lack = self.lack()
        if lack is not None:
            raise MissingDependencyError("dma", *lack)


class Heap(Allocator):
    """A heap of the kernel: DMA-BUFs from /dev/dma_heap. "system" is plain memory."""

    def __init__(self, heap: str = "system") -> None:
        self.name = f"heap.{heap}"
        self._device = HEAPS / heap

    def lack(self) -> tuple[str, str] | None:
        """None if the heap's device is there and may be opened."""
        hint = "use a kernel with CONFIG_DMABUF_HEAPS_SYSTEM=y (Linux 5.11 or later)"
        if self._device.name != "system":
            hint = f"name a heap that is in {HEAPS}"
        return _device_lack(self._device, hint)

    def allocate(self, nbytes: int) -> Fd:
        """By DMA_HEAP_IOCTL_ALLOC."""
        request = _abi.dma_heap_allocation_data(
            len=_whole_pages(nbytes), fd_flags=os.O_RDWR | os.O_CLOEXEC
        )
        try:
            with _opened(self._device) as device:
                ask = partial(ioctl, device.fileno(), _abi.DMA_HEAP_IOCTL_ALLOC, request)
                _abi.until_answered(ask)
                return Fd(request.fd)
        except OSError as error:
            raise _failed("DMA_HEAP_IOCTL_ALLOC", error, nbytes) from error


class Memfd(Allocator):
    """A memfd: no DMA-BUF, a stand-in where the kernel makes none. Its size is sealed."""

    name = "memfd"

    def lack(self) -> tuple[str, str] | None:
        """None, since every Linux has it."""
        return None

    def allocate(self, nbytes: int) -> Fd:
        """By memfd_create()."""
        try:
            fd = Fd(os.memfd_create("samebytes", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING))
            os.ftruncate(fd.fileno(), _whole_pages(nbytes))
            # Nobody can cut it short under a mapping. udmabuf requires the seal on shrinking, too.
            fcntl.fcntl(fd.fileno(), fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
        except OSError as error:
            raise _failed("memfd_create", error, nbytes) from error
        return fd


class Udmabuf(Allocator):
    """DMA-BUFs over the pages of a memfd, by /dev/udmabuf."""

    name = "udmabuf"

    def lack(self) -> tuple[str, str] | None:
        """None if the device is there and may be opened."""
        return _device_lack(UDMABUF, "sudo modprobe udmabuf")

    def allocate(self, nbytes: int) -> Fd:
        """By UDMABUF_CREATE; the DMA-BUF keeps the pages, so the memfd is closed."""
        with Memfd().allocate(nbytes) as memfd:
            request = _abi.udmabuf_create(
                memfd=memfd.fileno(), flags=_abi.UDMABUF_FLAGS_CLOEXEC, offset=0,
                size=_whole_pages(nbytes),
            )  # fmt: skip
            try:
                with _opened(UDMABUF) as device:
                    ask = partial(ioctl, device.fileno(), _abi.UDMABUF_CREATE, request)
                    return Fd(_abi.until_answered(ask))
            except OSError as error:
                raise _failed("UDMABUF_CREATE", error, nbytes) from error


class FirstUsable(Allocator):
    """The default: the system heap, else udmabuf, else the stand-in."""

    name = ""

    def lack(self) -> tuple[str, str] | None:
        """None, since the last choice is always there."""
        return None

    def allocate(self, nbytes: int) -> Fd:
        """By the first allocator that lacks nothing."""
        return next(a for a in ALLOCATORS if a.lack() is None).allocate(nbytes)


ALLOCATORS: tuple[Allocator, ...] = (Heap(), Udmabuf(), Memfd())
"""The allocators, in the order of preference."""

_NAMED: dict[str, Allocator] = {
    "heap": ALLOCATORS[0],
    "system": ALLOCATORS[0],
    "udmabuf": ALLOCATORS[1],
    "memfd": ALLOCATORS[2],
}


def find_allocator(name: str | None) -> Allocator:
    """The allocator of that name: "memfd", "udmabuf", "heap" (or "system"), "heap.NAME".

    Raises:
        UnknownNameError: there is none of that name.
        MissingDependencyError: this machine does not have it, or may not open it.
    """
    if name is None:
        return FirstUsable()
    found = _NAMED.get(name)
    kind, _, heap = name.partition(".")
    if found is None and kind == "heap" and heap and "/" not in heap and heap != "..":
        found = Heap(heap)
    if found is None:
        raise UnknownNameError("device of dma", name, [*_NAMED, *_other_heaps()])
    found.check()
    return found


def _other_heaps() -> list[str]:
    return [f"heap.{p.name}" for p in HEAPS.iterdir()] if HEAPS.is_dir() else []


def _whole_pages(nbytes: int) -> int:
    if nbytes > sys.maxsize - PAGESIZE:
        raise LayoutError(f"{nbytes} bytes exceed the address space")
    return max(-(-nbytes // PAGESIZE), 1) * PAGESIZE


def _opened(device: Path) -> Fd:
    return Fd(os.open(device, os.O_RDWR | os.O_CLOEXEC))


def _device_lack(device: Path, remedy: str) -> tuple[str, str] | None:
    if not device.exists():
        return str(device), remedy
    if os.access(device, os.R_OK | os.W_OK):
        return None
    return f"permission to open {device}", advice_to_open(device)


def _failed(call: str, error: OSError, nbytes: int) -> NativeError:
    meaning = f"{error.strerror}, for {nbytes} bytes"
    if call == "UDMABUF_CREATE" and error.errno == errno.EINVAL:
        meaning += (
            "; the kernel sets a limit: see /sys/module/udmabuf/parameters/size_limit_mb, or use "
            '"dma:heap"'
        )
    return NativeError(call, error.errno or 0, meaning)
