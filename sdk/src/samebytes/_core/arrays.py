# SPDX-License-Identifier: Apache-2.0
"""Arrays over memory that has an owner: numpy's, and those of backends that have only pointers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..errors import LayoutError, NotHostVisibleError
from .info import TensorInfo
from .storage import Storage

if TYPE_CHECKING:
    from typing import Self

    from .context import Context

__all__ = ["PointerArray", "array_in", "arrays_in", "pinned_array"]


_NO_BYTES = np.empty(0, np.uint8)


class _Pinned:
    """An address range as numpy sees it, and the object that keeps it valid."""

    __slots__ = ("__array_interface__", "owner")

    def __init__(self, interface: dict[str, Any], owner: object) -> None:
        self.__array_interface__ = interface
        self.owner = owner


def pinned_array(interface: dict[str, Any], owner: object) -> np.ndarray[Any, Any]:
    """The array that `interface` describes; it, and whatever is made from it, holds `owner`."""
    return np.asarray(_Pinned(interface, owner))


def array_in(storage: Storage, info: TensorInfo, offset: int = 0) -> np.ndarray[Any, Any]:
    """The array of a layout in the bytes of a storage, which it holds.

    Args:
        storage: owner of memory that the CPU can use.
        info: the layout. An array of elements below 8 bits is their bytes, in one row.
        offset: bytes from the start of the storage to the first element.

    Raises:
        ValueError: the array would reach outside of the storage.
    """
    return _placed(np.asarray(storage) if storage.address else _NO_BYTES, info, offset)


def arrays_in(
    storage: Storage, places: Iterable[tuple[TensorInfo, int]]
) -> tuple[np.ndarray[Any, Any], ...]:
    """The arrays of several layouts in the bytes of one storage, such as the planes of a frame.

    Args:
        storage: as for `array_in`.
        places: the layout of each, and its offset in bytes.

    Raises:
        ValueError: one of them would reach outside of the storage.
    """
    memory = np.asarray(storage) if storage.address else _NO_BYTES
    return tuple([_placed(memory, info, offset) for info, offset in places])


def _placed(memory: np.ndarray[Any, Any], info: TensorInfo, offset: int) -> np.ndarray[Any, Any]:
    if info.dtype.packed:
        if info.nbytes and not 0 <= offset <= memory.size - info.nbytes:  # a slice would be short
            raise ValueError(_outside(info, offset, (0, info.nbytes), memory))
        return memory[offset : offset + info.nbytes]
    if not info.size:  # numpy checks the offset of an array without elements too
        return np.ndarray(info.shape, info.dtype.carrier, memory)
    if not memory.size:  # numpy takes a buffer of 0 bytes for one that is large enough
        raise ValueError(_outside(info, offset, info.extent, memory))
    try:
        return np.ndarray(info.shape, info.dtype.carrier, memory, offset, info.strides)
    except ValueError as error:  # numpy's names neither size; to look first would slow mappings
        raise ValueError(_outside(info, offset, info.extent, memory)) from error


def _outside(
    info: TensorInfo, offset: int, extent: tuple[int, int], memory: np.ndarray[Any, Any]
) -> str:
    first, end = (offset + at for at in extent)
    return (
        f"{info} at offset {offset} needs bytes {first} to {end} of its storage, which has "
        f"{memory.size} bytes that the CPU can use"
    )


class PointerArray:
    """The native object of a backend whose framework has pointers, and no arrays.

    It says where an array starts, what its layout is, and holds what keeps it. A subclass adds the
    protocols by which the framework's libraries take it, such as `__cuda_array_interface__`.

    Attributes:
        context: the context in which the pointer is valid.
        address: of the first element.
        info: dtype, shape and strides in bytes.
        kind: what kind of memory it is, in the framework's words.
        pin: the owner of the memory. Holding the array holds the memory.
        readonly: it may not be written through. Few frameworks have read-only memory of devices:
            for the others this flag is all there is.

    Class attributes:
        host_kinds: the kinds of memory that the CPU can use where they are.
        not_host_visible: what `array()` says of other kinds.
    """

    __slots__ = ("__weakref__", "address", "context", "info", "kind", "pin", "readonly")

    host_kinds: ClassVar[frozenset[str]] = frozenset()
    not_host_visible: ClassVar[str] = (
        'the CPU cannot read this memory in place: pass copy=True to map("cpu")'
    )

    context: Context
    pin: Storage

    def __init__(
        self,
        context: Any,
        address: int,
        info: TensorInfo,
        kind: str,
        pin: Any,
        readonly: bool = False,
    ) -> None:
        self.context = context
        self.address = address
        self.info = info
        self.kind = kind
        self.pin = pin
        self.readonly = readonly

    @property
    def host_visible(self) -> bool:
        """True if the CPU can read the memory in place."""
        return self.kind in self.host_kinds

    def array(self) -> np.ndarray[Any, Any]:
        """The elements in place, as a numpy array that keeps them alive. It waits for nothing.

        Raises:
            NotHostVisibleError: the CPU cannot read memory of this kind.
        """
        if not self.host_visible:
            raise NotHostVisibleError(self.not_host_visible)
        array = array_in(self.pin, self.info, self.address - self.pin.address)
        if self.readonly:
            array.setflags(False)  # type: ignore[call-arg]  # a third of the cost by place
        return array

    def addressed(self) -> np.ndarray[Any, Any]:
        """A numpy array with this address and layout, for `dlpack_capsule`.

        Nobody may read it through numpy: the CPU may not be able to.
        """
        info = self.info
        interface = {
            "shape": info.shape,
            "strides": info.strides,
            "typestr": info.dtype.carrier.str,
            "data": (self.address, self.readonly),
            "version": 3,
        }
        return pinned_array(interface, self)

    def part(self, info: TensorInfo, offset: int) -> Self:
        """A part of the array's memory.

        Args:
            info: the layout of the part.
            offset: bytes from this array's first element to that of the part.

        Raises:
            LayoutError: it would reach outside of the array.
        """
        low, high = self.info.extent
        first, last = info.extent
        if offset + first < low or offset + last > high:
            raise LayoutError(
                f"{info} at offset {offset} needs bytes {offset + first} to {offset + last} of "
                f"{low} to {high}"
            )
        address = self.address + offset
        return type(self)(self.context, address, info, self.kind, self.pin, self.readonly)

    def described(
        self,
        shape: Sequence[int] | None = None,
        dtype: Any = None,
        *,
        offset: int = 0,
        strides: Sequence[int] | None = None,
    ) -> Self:
        """A part of the memory, by the arguments that users pass to wrap theirs.

        Args:
            shape: elements along each axis; by default one axis, up to the end of the array.
            dtype: the element type; by default the array's.
            offset: bytes from this array's first element to that of the part.
            strides: in bytes; dense by default.

        Raises:
            LayoutError: it would reach outside of the array.
        """
        element = TensorInfo(dtype if dtype is not None else self.info.dtype, ())
        if shape is None:
            shape = ((self.info.extent[1] - offset) // max(element.nbytes, 1),)
        return self.part(TensorInfo(element.dtype, tuple(shape), strides), offset)

    def as_readonly(self) -> Self:
        """The same array, marked read-only."""
        return type(self)(self.context, self.address, self.info, self.kind, self.pin, True)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.kind} {self.address:#x}, {self.info}>"
