# SPDX-License-Identifier: Apache-2.0
"""Memory imported by the NPU plugin, and the tensors in it.

The plugin finds ordinary openvino.Tensors, at any offset, inside memory that it allocated or
imported, and passes their pointers on to the device. So planes of an image that lie in one buffer
become tensors of one import, and a tensor need not begin or end with a page.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from samebytes import Storage, TensorInfo
from samebytes.plugins import ImportCache, array_in, file_identity

from .._errors import PropertyError
from .._host._layout import carried_tensor
from .._host._pinned import PinnedTensor
from ._remote_properties import TensorType

__all__ = ["Imported", "holding", "tensor_in"]


class Imported:
    """A piece of memory that the NPU plugin knows for as long as this object lives.

    Attributes:
        native: the openvino.RemoteTensor, or host tensor, that makes it known. It may begin at
            another address: see `within_other`.
        params: its properties: MEM_TYPE, MEM_HANDLE, TENSOR_TYPE.
        address: of the first byte.
        nbytes: its size.
        source: what must outlive it, or None where the driver holds the memory itself.
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
        """`native` is not this memory, but begins where larger memory does that contains it.

        For an address (CPU_VA) inside memory that it knows already, the plugin of 2026.4.1 gives a
        remote tensor over the beginning of that memory, so an inference would read the wrong
        bytes. Ordinary tensors are found at their own address.
        """
        begin, nbytes = self.params["MEM_HANDLE"], self.native.get_byte_size()
        return (begin, nbytes) != (self.address, self.nbytes)

    def contains(self, address: int, nbytes: int) -> bool:
        """True if the whole range lies in this memory."""
        return self.address <= address and address + nbytes <= self.address + self.nbytes

    @property
    def readonly(self) -> bool:
        """The device may not write to it."""
        return self.params["TENSOR_TYPE"] == TensorType.INPUT.name

    def part(self, address: int, nbytes: int) -> Imported:
        """An import of that range of it, or itself if the range is all of it."""
        if (address, nbytes) == (self.address, self.nbytes):
            return self
        return Imported(self.native, self.params, nbytes, self, address)


class Imports(ImportCache[Imported]):
    """The imports of a context, and the buffers that the user made INPUT tensors over."""

    __slots__ = ("_inputs",)

    def __init__(self) -> None:
        super().__init__()
        # By what the system calls the buffers: other descriptors of one have other numbers.
        self._inputs: weakref.WeakKeyDictionary[Any, tuple[int, int]] = weakref.WeakKeyDictionary()

    def hold_as_input(self, native: Any, fd: int) -> None:
        """Remember that `native`, an openvino.RemoteTensor, is INPUT over that buffer."""
        self._inputs[native] = file_identity(fd)

    def check_not_input(self, fd: int) -> None:
        """Raise PropertyError if a living INPUT tensor lies over the buffer of a descriptor."""
        if self._inputs:
            self._check_none_is_input({file_identity(fd)})

    def check_pages_not_input(self, address: int, nbytes: int) -> None:
        """The same for memory of the CPU: a buffer's pages may be mapped there."""
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

    One of its own, since an import may outlive the mapping, and must then not hold the source
    that the mapping holds.
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
