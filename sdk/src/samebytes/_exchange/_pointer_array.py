# SPDX-License-Identifier: Apache-2.0
"""PointerArray: an array of a backend that has only pointers, for the protocols here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .._core.memory.info import TensorInfo
from .._core.native.arrays import array_in, pinned_array
from .._core.native.pointers import get_pointer
from ..errors import LayoutError, NotHostVisibleError
from ._capsule_contents import VERSIONED_DEVICE_AT, as_one, number_at
from ._dlpack_abi import VERSIONED_NAME
from ._to_dlpack import dlpack_capsule, plainness

if TYPE_CHECKING:
    from typing import Self

__all__ = ["PointerArray"]


@dataclass(slots=True, weakref_slot=True, eq=False, repr=False)
class PointerArray:
    """The native object of a backend whose framework has pointers, and no arrays.

    A subclass adds the protocols by which the framework's libraries take it, such as
    `__cuda_array_interface__`.

    Attributes:
        context: the context in which the pointer is valid.
        address: the address of the first element.
        info: dtype, shape and strides in bytes.
        kind: the kind of memory, in the framework's words.
        pin: the owner of the memory. Holding the array holds the memory.
        readonly: True if it may not be written through; on most devices only this flag says so.

    Class attributes:
        host_kinds: the kinds of memory that the CPU can use in place.
        not_host_visible: the message of `array()` for other kinds.
    """

    context: Any
    address: int
    info: TensorInfo
    kind: str
    pin: Any
    readonly: bool = False

    host_kinds: ClassVar[frozenset[str]] = frozenset()
    not_host_visible: ClassVar[str] = (
        'the CPU cannot read this memory in place: pass copy=True to map("cpu")'
    )

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

    def dlpack_capsule(
        self,
        device: tuple[int, int],
        *,
        max_version: tuple[int, int] | None = None,
        readonly: bool = False,
    ) -> object:
        """A DLPack capsule over the memory, in place, which it holds.

        Args:
            device: (DLDeviceType, id) of dlpack.h.
            max_version: as in `__dlpack__`: versioned if it is at least (1, 0).
            readonly: mark the capsule as read-only; it is so anyway if the array is.

        Raises:
            ExportError: DLPack cannot express the layout, dtype or read-only state.
        """
        info = self.info
        known, strides = info.dtype.numpy, info.strides
        versioned = max_version is not None and max_version[0] >= 1
        plain = (
            known is not None
            and strides is not None
            and plainness(info.shape, strides, known.itemsize) == (True, True)
        )
        if plain and versioned:
            # As nearly always. Where each frame of a video is exported, the functions that other
            # arrays need would take most of the time.
            addressed = self._addressed(readonly)
            capsule: object = addressed.__dlpack__(max_version=(1, 0), copy=False)
            number_at(get_pointer(capsule, VERSIONED_NAME) + VERSIONED_DEVICE_AT).value = as_one(
                device
            )
            return capsule
        return dlpack_capsule(
            self._addressed(),
            info.dtype,
            max_version=max_version,
            readonly=readonly,
            device=device,
        )

    def _addressed(self, readonly: bool = False) -> np.ndarray[Any, Any]:
        """A numpy array with this address and layout, which nobody may read through numpy."""
        info = self.info
        interface = {
            "shape": info.shape,
            "strides": info.strides,
            "typestr": info.dtype.carrier.str,
            "data": (self.address, readonly or self.readonly),
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
