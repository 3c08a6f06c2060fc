# SPDX-License-Identifier: Apache-2.0
"""Whole memory that the NPU plugin knows, and the tensors that lie in it.

The plugin finds ordinary openvino.Tensors, at any offset, inside memory that it allocated or
imported, and passes their pointers on to the device. So planes of an image that lie in one buffer
become tensors of one import, and a tensor need not begin or end with a page.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

from samebytes.plugins import Storage, TensorInfo

from .._layout import carried_tensor
from .._pinned import PinnedTensor
from .._remote._errors import PropertyError
from ._kinds import TensorType

__all__ = ["ImportCache", "Imported", "bytes_of", "holding", "tensor_in"]


class Imported:
    """A piece of memory that the NPU plugin knows for as long as this object lives.

    Attributes:
        native: the openvino.RemoteTensor, or host tensor, that makes it known.
        params: its properties: MEM_TYPE, MEM_HANDLE, TENSOR_TYPE.
        address: of the first byte.
        nbytes: its size.
        source: what must outlive it, or None where the driver holds the memory itself.
    """

    __slots__ = ("__weakref__", "address", "native", "nbytes", "params", "source")

    def __init__(
        self, native: Any, params: dict[str, int | str], nbytes: int, source: object = None
    ) -> None:
        self.native = native
        self.params = params
        self.address = int(params["MEM_HANDLE"])
        self.nbytes = nbytes
        self.source = source

    @property
    def readonly(self) -> bool:
        """The device may not write to it."""
        return self.params["TENSOR_TYPE"] == TensorType.INPUT.name


class ImportCache:
    """What a context imported: memory that comes round again, as in pools, is imported once."""

    __slots__ = ("_buffers", "_lock", "_pages")

    def __init__(self) -> None:
        self._lock = threading.RLock()
        # By the storage that owns the descriptor, and its number: a number alone is soon another
        # file's. The driver holds a DMA-BUF itself, so such an import keeps no source.
        self._buffers: weakref.WeakKeyDictionary[Storage, dict[tuple[int, bool], Imported]] = (
            weakref.WeakKeyDictionary()
        )
        # Weak: pages must outlive their import, which therefore holds them, and a cache that held
        # the import would hold the pages for ever.
        self._pages: weakref.WeakValueDictionary[tuple[int, int], Imported] = (
            weakref.WeakValueDictionary()
        )

    def buffer(
        self, source: Storage, fd: int, readonly: bool, make: Callable[[], Imported]
    ) -> Imported:
        """The import of a descriptor that `source` owns."""
        with self._lock:
            known = self._buffers.setdefault(source, {})
            if (fd, readonly) not in known:
                known[fd, readonly] = make()
            return known[fd, readonly]

    def pages(
        self, address: int, nbytes: int, writes: bool, make: Callable[[], Imported]
    ) -> Imported:
        """The import of pages of the CPU's, or a living one that has all of them.

        Args:
            address, nbytes: of the pages.
            writes: the device may write to what will lie there.
            make: imports them.

        Raises:
            PropertyError: some of them were imported with other ones, or all of them for reading
                alone. The plugin keeps one import of a page: it refuses a range that begins in one
                and ends behind it, and gives the same one again, whatever it was made for.
        """
        with self._lock:
            end = address + nbytes
            for known in list(self._pages.values()):
                first, last = known.address, known.address + known.nbytes
                if first <= address and end <= last:
                    if writes and known.readonly:
                        raise PropertyError(
                            "TENSOR_TYPE",
                            "at the moment the NPU holds these pages as INPUT, of read-only "
                            "memory: drop the tensors that were mapped from that first",
                        )
                    return known
                if first < end and address < last:
                    raise PropertyError(
                        "MEM_HANDLE",
                        "it shares a page with other memory that the NPU holds at the moment: "
                        'give it pages of its own, as samebytes.context("cpu").allocate() does',
                    )
            found = self._pages[address, nbytes] = make()
            return found

    def may_write(self, address: int, nbytes: int) -> bool:
        """Whether no page of the range is held for reading alone."""
        with self._lock:
            return not any(
                known.readonly
                and known.address < address + nbytes
                and address < known.address + known.nbytes
                for known in list(self._pages.values())
            )

    def clear(self) -> None:
        """Forget them. What tensors still use lives on."""
        with self._lock:
            self._buffers.clear()
            self._pages.clear()


def holding(imports: Iterable[Imported], keep: object = None) -> Storage:
    """An owner for one mapping of imported memory.

    One of its own, since an import may outlive the mapping, and must then not hold the source
    that the mapping holds.
    """
    held = tuple(imports)
    address = held[0].address if len(held) == 1 else 0
    nbytes = sum(imported.nbytes for imported in held)
    return Storage(partial(_let_go, held), address=address, nbytes=nbytes, keep=keep)


def _let_go(held: object) -> None:
    """Nothing: a storage holds the imports by holding this function with its argument."""


def bytes_of(imported: Imported, owner: Storage) -> np.ndarray[Any, Any]:
    """All bytes of an import, as an array that holds `owner`."""
    return np.asarray(Storage(address=imported.address, nbytes=imported.nbytes, keep=owner))


def tensor_in(
    imported: Imported, owner: Storage, offset: int, info: TensorInfo, readonly: bool
) -> PinnedTensor:
    """An ordinary tensor, dense as `info` is, `offset` bytes behind the start of an import.

    Raises:
        Refused: OpenVINO has no such elements.
    """
    memory = bytes_of(imported, owner)
    if info.dtype.packed:
        array = memory[offset:]
    else:
        array = np.ndarray(info.shape, info.dtype.carrier, memory, offset, info.strides)
    tensor: PinnedTensor = carried_tensor(array, info.dtype, info.shape, readonly)
    tensor.pin = imported
    return tensor
