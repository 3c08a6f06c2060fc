# SPDX-License-Identifier: Apache-2.0
"""The edges from CPU memory to CUDA."""

from __future__ import annotations

import mmap
import weakref
from contextlib import suppress
from functools import partial
from typing import Any, cast

import numpy as np

from samebytes import Access, MemoryMapper, Storage, Tensor, TensorInfo
from samebytes.errors import LayoutError, NativeError
from samebytes.plugins import (
    KeyLocks,
    Refused,
    data_address,
    deferred,
    is_mapped,
    ordering_queue,
)

from ._array import CudaArray
from ._context import CudaContext
from ._driver import LEGACY_STREAM, Current, Pending, acquire, call, driver
from ._pointers import look_up, look_up_all
from ._streams import handle_of, precede
from ._use import CudaStorage, owner

__all__ = ["CopyToCuda", "KnownToCuda", "PagesToCuda"]

_PORTABLE, _READ_ONLY = 1, 8
"""CU_MEMHOSTREGISTER_PORTABLE and CU_MEMHOSTREGISTER_READ_ONLY."""

# A plane of chroma is a sixth of its frame.
_MOST_PARTS = 8


class KnownToCuda(MemoryMapper):
    """cpu -> cuda: an array in memory that the device uses already."""

    __slots__ = ()

    def connect(
        self, item: Tensor, access: Access
    ) -> tuple[Any, TensorInfo | None, Storage | None]:
        """The pointer that it is."""
        target = cast(CudaContext, self.target)
        info, address, (low, high) = item.info, data_address(item.native), item.info.extent
        if not info.size:
            raise Refused("an empty array has no address")
        first, whole = look_up_all(address + low, high - low)
        registered: object = None
        if first is None or first.kind == "device" or not whole:
            if not target.supports("PAGEABLE_MEMORY_ACCESS"):
                if first is not None:
                    raise Refused("it extends beyond the CUDA allocation that it begins in")
                raise Refused(
                    "the device does not use pageable memory: pass memory of "
                    'samebytes.context("cuda").allocate(..., kind="pinned"), mapped to "cpu"'
                )
            kind = "pinned"
        else:
            kind = first.kind
            registered = registrations.at(address + low)
            if registered is None and registrations.has_lost(range(address + low, address + high)):
                raise Refused("its pages are registered for memory that was there before")
            if kind == "managed" and first.ordinal != target.ordinal:
                raise Refused(f"it is managed memory of CUDA device {first.ordinal}")
        there = _pointer_for(target, address, low)
        if there is None:
            raise Refused("the device uses this memory at another address, or cannot use it")
        keep = (item.storage, registered)
        return _array_at(target, address, info, kind, keep, access == "r")


class PagesToCuda(MemoryMapper):
    """cpu -> cuda: whole pages of the application, registered with the driver meanwhile."""

    __slots__ = ()

    def connect(
        self, item: Tensor, access: Access
    ) -> tuple[Any, TensorInfo | None, Storage | None]:
        """The same address, which the device then uses."""
        target = cast(CudaContext, self.target)
        if not target.supports("HOST_REGISTER_SUPPORTED"):
            raise Refused("the device cannot use registered memory of the host")
        address = data_address(item.native)
        own, whole = _pages(item, address)
        registered = registrations.add(target, own, whole, item.storage)
        if _pointer_for(target, address, 0) is None:
            raise Refused("the device uses registered memory at another address than the CPU")
        keep = (item.storage, registered)
        return _array_at(target, address, item.info, "pinned", keep, access == "r")


class CopyToCuda(MemoryMapper):
    """cpu -> cuda: an upload into new device memory, dense."""

    __slots__ = ()

    def connect(
        self, item: Tensor, access: Access
    ) -> tuple[Any, TensorInfo | None, Storage | None]:
        """New memory; the source can be changed when this returns."""
        target = cast(CudaContext, self.target)
        dense = TensorInfo(item.info.dtype, item.info.shape)
        if dense.dtype.packed and not item.info.is_contiguous:
            raise LayoutError(f"{item.info} shares bytes between elements and is not dense")
        source = np.ascontiguousarray(item.host_array())
        made = target.allocate(dense.shape, dense.dtype)
        native: CudaArray = made.native
        queue = ordering_queue()
        stream = LEGACY_STREAM if queue is None else handle_of(queue)
        if dense.nbytes:
            with Current(target.native):
                handle = driver.CUstream(stream)
                call(
                    driver.cuMemcpyHtoDAsync,
                    native.address,
                    data_address(source),
                    dense.nbytes,
                    handle,
                )
                if queue is None or look_up(data_address(source)) is not None:
                    # Pinned memory is read later, and is the caller's to change.
                    call(driver.cuStreamSynchronize, handle)
            precede(target, stream)
        return native.as_readonly(), dense, native.pin


def _array_at(
    target: CudaContext, address: int, info: TensorInfo, kind: str, keep: Any, readonly: bool
) -> tuple[CudaArray, TensorInfo, CudaStorage]:
    low, high = info.extent
    pin = owner(target, None, address=address + low, nbytes=high - low, keep=keep)
    # The CPU must not change it, nor may it end, while a stream uses it.
    pin.hand_out()
    queue = ordering_queue()
    if queue is not None:
        precede(target, handle_of(queue))
    return CudaArray(target, address, info, kind, pin, readonly), info, pin


def _pointer_for(target: CudaContext, address: int, low: int) -> int | None:
    """The address, if the device uses the same."""
    with Current(target.native):
        code, found = driver.cuMemHostGetDevicePointer(address + low, 0)
    if code:
        pointer = look_up(address + low)
        return address if pointer is not None and pointer.kind == "managed" else None
    return address if int(found) == address + low else None


def _pages(item: Tensor, address: int) -> tuple[range, range]:
    """The addresses of the whole pages that hold the array, and of those to register with them."""
    page, (low, high) = mmap.PAGESIZE, item.info.extent
    start, end = address + low, address + high
    own = range(start // page * page, -(-end // page) * page)
    if start == end:
        raise Refused("an empty array has no pages to register")
    storage = item.storage
    # Of memory that begins or ends within a page, that page is partly somebody else's.
    owned = range(
        -(-storage.address // page) * page, (storage.address + storage.nbytes) // page * page
    )
    exact = (own.start, own.stop) == (start, end)
    if storage.address and owned.start <= own.start and own.stop <= owned.stop:
        # What has pages to itself needs no others, and a small part of much memory pins little.
        return own, own if exact or len(owned) > _MOST_PARTS * len(own) else owned
    # The rest of the pages may be somebody else's memory, unless the array's owner owns it too.
    if not exact:
        raise Refused(
            f"{end - start} bytes at {start:#x} are not whole pages of {page}: use memory of "
            'samebytes.context("cpu").allocate()'
        )
    return own, own


class _Registrations:
    """The pages that this backend registered, each once for as long as they are used."""

    def __init__(self) -> None:
        self._living: weakref.WeakValueDictionary[int, Storage] = weakref.WeakValueDictionary()
        # The sizes of those that are not given back, by address. One whose owner ended without
        # giving it back, where a signal handler raised, is for pages that may be gone: the device
        # uses these, whatever memory is at their address now.
        self._unreturned: dict[int, int] = {}
        # Threads that map planes of one frame, which would be refused each other's pages.
        self._making = KeyLocks()

    def at(self, address: int, nbytes: int = 1) -> Storage | None:
        """The registration that holds these bytes, all of them."""
        # Not items(): the collector, or another thread, may add or remove some meanwhile.
        for reference in self._living.valuerefs():
            storage = reference()
            if storage is None or storage.ending:
                continue
            if reference.key <= address and address + nbytes <= reference.key + storage.nbytes:
                return storage
        return None

    def has_lost(self, wanted: range) -> bool:
        """True if some of these addresses are registered by an owner that no longer exists."""
        return any(
            first < wanted.stop and wanted.start < first + nbytes and self.at(first) is None
            for first, nbytes in self._unreturned.copy().items()
        )

    def add(self, context: CudaContext, own: range, whole: range, keep: object) -> Storage:
        """Register pages, or find the registration that they have.

        The driver registers no page twice, and planes of a frame have pages in common. So all
        pages of their owner are registered with the first plane, or all from that plane on if
        those before it are registered already.

        Args:
            context: the context of the device.
            own: addresses of the pages that the array lies on.
            whole: addresses of the pages of its owner, including these; equal to `own` if no others
                are wanted.
            keep: the owner.

        Raises:
            Refused: the driver does not take them.
        """
        with self._making.of(whole.start):
            known = self.at(own.start, len(own))
            if known is not None:
                return known
            writable = is_mapped(own.start, len(own), writable=True)
            for pages in (whole, range(own.start, whole.stop)):
                if pages != own and is_mapped(pages.start, len(pages), writable=writable):
                    with suppress(Refused):  # some of them are registered, or there are too many
                        return self._register(context, pages, writable, keep)
            return self._register(context, own, writable, keep)

    def _register(
        self, context: CudaContext, pages: range, writable: bool, keep: object
    ) -> Storage:
        first, nbytes = pages.start, len(pages)
        flags = _PORTABLE
        if not writable:
            if not context.supports("READ_ONLY_HOST_REGISTER_SUPPORTED"):
                raise Refused("the device cannot use memory that is mapped read-only")
            flags |= _READ_ONLY
        pending: Pending = []
        storage = owner(context, pending, nbytes=nbytes, keep=keep)
        free = partial(self._unregister, first)
        try:
            # Registered pages without an owner would be no mere leak: see `_unreturned`.
            with Current(context.native), deferred():
                acquire(pending, free, driver.cuMemHostRegister, first, nbytes, flags)
                self._unreturned[first] = nbytes
        except NativeError as error:  # another thread or the application may have been faster
            raise Refused(str(error)) from error
        self._living[first] = storage
        return storage

    def _unregister(self, first: int) -> Any:
        result = driver.cuMemHostUnregister(first)
        self._unreturned.pop(first, None)
        return result


registrations = _Registrations()
