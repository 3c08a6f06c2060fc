# SPDX-License-Identifier: Apache-2.0
"""Memory imported by the NPU plugin and kept alive while tensors lie in it, and host pages.

The plugin finds ordinary openvino.Tensors, at any offset, inside memory that it allocated or
imported, and passes their pointers on to the device. So the planes of an image in one buffer become
tensors of one import, and a tensor need not begin or end at a page.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import weakref
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from samebytes import Storage, Tensor, TensorInfo
from samebytes.errors import UnsupportedObjectError
from samebytes.plugins import ImportCache, array_in, data_address, file_identity

from .._errors import PropertyError
from .._host._layout import carried_tensor, memory_of
from .._host._pinned import PinnedTensor
from ._arguments import FileDescriptor, TensorType

__all__ = [
    "HostMemory",
    "Imported",
    "Pages",
    "holding",
    "host_memory_of",
    "mapped_file",
    "merged",
    "tensor_in",
    "whole_pages",
]


class Imported:
    """A piece of memory that stays registered with the NPU plugin as long as this object exists.

    Attributes:
        native: the openvino.RemoteTensor, or host tensor, that registers it. It may begin at
            another address: see `within_other`.
        params: its properties: MEM_TYPE, MEM_HANDLE, TENSOR_TYPE.
        address: of the first byte.
        nbytes: its size.
        source: the object that must outlive it, or None if the driver holds the memory itself.
    """

    __slots__ = ("__weakref__", "address", "native", "nbytes", "params", "source")

    def __init__(
        self,
        native: Any,
        params: dict[str, int | str],
        nbytes: int,
        source: object = None,
        address: int | None = None,
    ) -> None:
        self.native = native
        self.params = params
        self.address = int(params["MEM_HANDLE"]) if address is None else address
        self.nbytes = nbytes
        self.source = source

    @property
    def within_other(self) -> bool:
        """True if `native` is not over this memory, but over larger memory that contains it.

        For an address (CPU_VA) inside memory that is registered already, the plugin of 2026.4.1
        gives a remote tensor over the beginning of that memory, so an inference would read the
        wrong bytes. Ordinary tensors are found at their own address.
        """
        begin, nbytes = self.params["MEM_HANDLE"], self.native.get_byte_size()
        return (begin, nbytes) != (self.address, self.nbytes)

    def contains(self, address: int, nbytes: int) -> bool:
        """True if the whole range lies in this memory."""
        return self.address <= address and address + nbytes <= self.address + self.nbytes

    @property
    def readonly(self) -> bool:
        """True if the device may not write to it."""
        return self.params["TENSOR_TYPE"] == TensorType.INPUT.name

    def part(self, address: int, nbytes: int) -> Imported:
        """An import of a range of this memory; the object itself if the range is the whole."""
        if (address, nbytes) == (self.address, self.nbytes):
            return self
        return Imported(self.native, self.params, nbytes, self, address)


class Imports(ImportCache[Imported]):
    """The imports of a context, and the buffers that the user made INPUT tensors over."""

    __slots__ = ("_inputs",)

    def __init__(self) -> None:
        super().__init__()
        # The values are the system's identities: descriptors of one buffer differ in number.
        self._inputs: weakref.WeakKeyDictionary[Any, tuple[int, int]] = weakref.WeakKeyDictionary()

    def hold_as_input(self, native: Any, fd: int) -> None:
        """Remember that `native`, an openvino.RemoteTensor, is an INPUT tensor over a buffer."""
        self._inputs[native] = file_identity(fd)

    def check_not_input(self, fd: int) -> None:
        """Raise PropertyError if an INPUT tensor exists over the buffer of a descriptor."""
        if self._inputs:
            self._check_none_is_input({file_identity(fd)})

    def check_pages_not_input(self, address: int, nbytes: int) -> None:
        """Do the same check for CPU memory, where pages of a buffer may be mapped."""
        if self._inputs:
            self._check_none_is_input(_files_mapped(address, nbytes))

    def _check_none_is_input(self, identities: set[tuple[int, int]]) -> None:
        if identities.isdisjoint(list(self._inputs.values())):
            return
        raise PropertyError(
            "TENSOR_TYPE",
            "the NPU may only read this buffer while it is in use as INPUT: drop the tensors that "
            "were made as INPUT over it first, or pass beside_input=True to create_tensor()",
        )


def _files_mapped(address: int, nbytes: int) -> set[tuple[int, int]]:
    """The identities of the files behind a range of addresses (proc_pid_maps(5))."""
    found = set()
    for line in Path("/proc/self/maps").read_text(errors="surrogateescape").splitlines():
        span, _, _, device, inode, *_ = line.split(maxsplit=5)
        begin, end = (int(number, 16) for number in span.split("-"))
        if begin < address + nbytes and address < end:
            major, minor = (int(number, 16) for number in device.split(":"))
            found.add((os.makedev(major, minor), int(inode)))
    return found


def holding(imports: Iterable[Imported], keep: object = None) -> Storage:
    """An owner for one mapping of imported memory.

    Each mapping has an owner of its own, because an import may outlive the mapping, and must not
    keep the mapping's source alive then.
    """
    held = tuple(imports)
    address = held[0].address if len(held) == 1 else 0
    nbytes = sum(imported.nbytes for imported in held)
    return Storage(address=address, nbytes=nbytes, keep=keep, holds=held)


def tensor_in(
    imported: Imported, owner: Storage, offset: int, info: TensorInfo, readonly: bool
) -> PinnedTensor:
    """An ordinary tensor, dense as `info` is, `offset` bytes behind the start of an import.

    Raises:
        Refused: OpenVINO has no such elements.
    """
    memory = Storage(address=imported.address, nbytes=imported.nbytes, keep=owner)
    array = array_in(memory, info, offset)
    tensor: PinnedTensor = carried_tensor(array, info.dtype, info.shape, readonly)
    tensor.pin = imported
    return tensor


Array = np.ndarray[Any, Any]
Pages = tuple[int, int, bool]
"""An address, a length in bytes, and True if the pages may only be read."""


class HostMemory:
    """CPU memory that the caller wants to share.

    Attributes:
        address: of the first byte.
        nbytes: its size; None if only an address was given.
        keep: the object that keeps it alive.
        readonly: True if it may not be written.
    """

    __slots__ = ("address", "keep", "nbytes", "readonly")

    def __init__(self, address: int, nbytes: int | None, keep: object, readonly: bool) -> None:
        self.address = address
        self.nbytes = nbytes
        self.keep = keep
        self.readonly = readonly

    def check_room(self, nbytes: int) -> None:
        """Raise PropertyError if a tensor of that size does not fit."""
        if self.nbytes is not None and self.nbytes < nbytes:
            raise PropertyError(
                "MEM_HANDLE", f"the buffer has {self.nbytes} bytes, but the tensor has {nbytes}"
            )


def host_memory_of(shared: Any) -> HostMemory:
    """The memory behind an address, an array, a tensor or another buffer.

    Raises:
        UnsupportedObjectError: it is none of these.
        PropertyError: it is not contiguous.
        NotHostVisibleError: a tensor that is not in memory of the CPU.
    """
    if isinstance(shared, ctypes.c_void_p):
        shared = shared.value or 0
    if isinstance(shared, int | np.integer) and not isinstance(shared, bool):
        return HostMemory(int(shared), None, None, False)
    array: Array
    if isinstance(shared, np.ndarray):
        array = shared
    elif isinstance(shared, Tensor):
        array = shared.host_array()
    else:
        try:
            array = np.frombuffer(shared, np.uint8)
        except (TypeError, ValueError, BufferError):
            raise UnsupportedObjectError(
                "MEM_HANDLE: CPU memory must be an address, an array, a tensor or another "
                f"buffer, not a {type(shared).__name__}"
            ) from None
    if not array.flags.c_contiguous:
        raise PropertyError(
            "MEM_HANDLE", f"strides {array.strides}: the NPU plugin takes dense tensors only"
        )
    return HostMemory(data_address(array), array.nbytes, array, not array.flags.writeable)


def mapped_file(file: FileDescriptor, nbytes: int) -> Array:
    """The bytes of a file from its offset on, in whole read-only pages, at least `nbytes`.

    Raises:
        PropertyError: the offset cannot be mapped, or the file is too short.
        OSError: the file cannot be opened.
    """
    if file.offset < 0 or file.offset % mmap.ALLOCATIONGRANULARITY:
        raise PropertyError(
            "FILE_DESCRIPTOR",
            f"offset {file.offset} is not a multiple of {mmap.ALLOCATIONGRANULARITY}: map the file "
            "from a page on with import_memory(), and take a tensor at an offset of it",
        )
    with open(file.path, "rb") as opened:  # noqa: PTH123 - any path-like
        size = os.fstat(opened.fileno()).st_size
        if size - file.offset < nbytes:
            raise PropertyError(
                "FILE_DESCRIPTOR",
                f"{os.fspath(file.path)} has {size} bytes: there are no {nbytes} from "
                f"{file.offset} on",
            )
        pages = mmap.mmap(opened.fileno(), nbytes, access=mmap.ACCESS_READ, offset=file.offset)
    # The system maps whole pages, and what follows the end of the file in the last one is zero.
    return np.frombuffer(pages, np.uint8)


def whole_pages(array: Array, *, reading: bool = False) -> Pages | str:
    """The whole pages around a dense array, or why there are none.

    Pages that the device may write must belong to the memory that the array lies in: what else
    lies on them would be at the mercy of the device's caches. For reading, pages that are shared
    with other data of this process will do; decoded frames lie so.
    """
    memory, start = memory_of(array)
    low, high = data_address(memory), data_address(memory) + memory.nbytes
    page = mmap.PAGESIZE
    first, last = -(-low // page) * page, high // page * page
    begin = low + start
    if first <= begin and begin + array.nbytes <= last:
        # The memory's flag, not the array's: the plugin keeps one import of each page, and a
        # read-only import would serve later writable mappings of the same memory too.
        return first, last - first, not memory.flags.writeable
    if reading:
        first = begin // page * page
        last = -(-(begin + array.nbytes) // page) * page
        return first, last - first, not memory.flags.writeable
    return (
        f"its memory, {high - low} bytes at {low:#x}, does not consist of whole pages of {page} "
        'bytes, and the NPU writes to nothing else: samebytes.context("cpu").allocate() gives '
        "memory on its own pages; pad the address and size of your own arrays (of a slice: of the "
        "array that it was cut from) to whole pages"
    )


def merged(ranges: Iterable[Pages]) -> list[Pages]:
    """Ranges of pages, joined where they share pages, since the plugin takes no page twice.

    A joined range is read-only if one of its parts is: the driver would refuse it as writable.
    """
    found: list[Pages] = []
    for address, nbytes, readonly in sorted(ranges):
        if found and address < found[-1][0] + found[-1][1]:
            first, before, also = found[-1]
            found[-1] = (first, max(before, address + nbytes - first), also or readonly)
        else:
            found.append((address, nbytes, readonly))
    return found
