# SPDX-License-Identifier: Apache-2.0
"""The native object of this backend: a USM pointer that keeps its memory alive."""

from __future__ import annotations

from operator import index
from typing import Any, SupportsIndex

import numpy as np

from samebytes import Context, Storage, TensorInfo
from samebytes.errors import LayoutError, NotHostVisibleError, UnsupportedObjectError
from samebytes.plugins import array_in

from ._allocation import Allocation
from ._usm import Kind, kind_name

__all__ = ["USMPointer", "check_fits", "whole"]


class USMPointer:
    """An array in unified shared memory: its address, its layout, and the owner that keeps it.

    Level Zero's own pointers are plain numbers. They become one of these by
    `LevelZeroContext.wrap_pointer`, `import_fd` or `allocate`.

    Attributes:
        context: the LevelZeroContext in which the pointer is valid.
        allocation: the piece of USM that it points into.
        address: of the first element, as Level Zero and OpenVINO take it.
        info: dtype, shape and strides in bytes.
        pin: the owner of the memory. Holding the pointer holds the memory.
        readonly: True if it may not be written through. Level Zero has no read-only memory: nothing
            but this flag forbids it.
    """

    __slots__ = ("__weakref__", "address", "allocation", "context", "info", "pin", "readonly")

    def __init__(
        self,
        context: Context,
        allocation: Allocation,
        address: int,
        info: TensorInfo,
        pin: Storage,
        readonly: bool = False,
    ) -> None:
        self.context: Any = context  # a LevelZeroContext
        self.allocation = allocation
        self.address = address
        self.info = info
        self.pin = pin
        self.readonly = readonly

    @property
    def kind(self) -> Kind:
        """ "host", "shared" or "device" memory."""
        return kind_name(self.allocation.kind)

    @property
    def nbytes(self) -> int:
        """Bytes of the elements, without gaps between rows."""
        return self.info.nbytes

    @property
    def offset(self) -> int:
        """Bytes from the start of the allocation to the first element."""
        return self.address - self.allocation.address

    def array(self) -> np.ndarray[Any, Any]:
        """The elements in place, as an array that keeps them alive.

        Raises:
            NotHostVisibleError: this is device memory.
        """
        if not self.allocation.host_visible:
            raise NotHostVisibleError(
                "device USM cannot be read by the CPU in place: allocate host or shared USM, "
                "or samebytes_npu_level_zero.copy() it there"
            )
        array = array_in(self.pin, self.info, self.address - self.pin.address)
        if self.readonly:
            array.setflags(write=False)
        return array

    def as_readonly(self) -> USMPointer:
        """The same pointer, marked read-only."""
        return USMPointer(
            self.context, self.allocation, self.address, self.info, self.pin, readonly=True
        )

    def __repr__(self) -> str:
        return f"<USMPointer {self.kind} {self.address:#x}, {self.info}>"


def check_fits(info: TensorInfo, offset: int, nbytes: int, what: str) -> None:
    """Raise LayoutError unless the array, its first element at `offset`, lies within `nbytes`."""
    low, high = info.extent
    if offset + low < 0 or offset + high > nbytes:
        raise LayoutError(
            f"{info} at offset {offset} needs bytes {offset + low} to {offset + high}: {what} has "
            f"{nbytes}"
        )


def whole(value: SupportsIndex, what: str) -> int:
    """`value` as an int, or UnsupportedObjectError."""
    try:
        return index(value)
    except TypeError as error:
        raise UnsupportedObjectError(f"a {what} must be an integer, not {value!r}") from error
