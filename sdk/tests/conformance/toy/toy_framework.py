# SPDX-License-Identifier: Apache-2.0
"""A framework of two classes, and a backend for it that can have one fault at a time."""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
import weakref
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from samebytes.plugins import (
    Access,
    Context,
    HostContext,
    MemoryMapper,
    Refused,
    Storage,
    Tensor,
    TensorInfo,
    intern,
)

if TYPE_CHECKING:
    from typing import Self

FAULT = os.environ.get("TOY_FAULT", "none")

Array = np.ndarray[Any, Any]
leaked: list[Any] = []
open_chips = 0


class Buffer:
    """The framework's tensor: an array in row-major order."""

    def __init__(self, array: Array) -> None:
        self.array = array
        if FAULT == "a cycle":
            self.me = self

    if FAULT == "an error at exit":

        def __del__(self) -> None:
            if sys.is_finalizing():
                raise RuntimeError("a fault")


class Chip:
    """Memory of a device: it is read and written as a whole, and given back by hand."""

    def __init__(self, shape: tuple[int, ...], dtype: Any) -> None:
        global open_chips  # noqa: PLW0603 - the framework's own count
        open_chips += 1
        nbytes = max(int(np.prod(shape)) * np.dtype(dtype).itemsize, 1)
        # Shared with forked children, as a device is.
        self.cells = np.ndarray(shape, dtype, mmap.mmap(-1, nbytes))
        self.keep: object = None  # its memory ends with the last of both

    @classmethod
    def over(cls, cells: Array, keep: object) -> Self:
        """The same memory again."""
        chip = cls.__new__(cls)
        chip.cells, chip.keep = cells, keep
        return chip

    def read(self) -> Array:
        return self.cells.copy()

    def write(self, values: Array) -> None:
        self.cells[...] = values


def give_back(cells: Array) -> None:
    """What must be done once for each Chip."""
    global open_chips  # noqa: PLW0603 - the framework's own count
    cells[...] = 0
    open_chips -= 1


class ToyTensor(Tensor):
    """A tensor over a Buffer."""

    __slots__ = ()

    @classmethod
    def wrap(cls, native: Any) -> Self:
        return cls(native, TOY, native, None, not native.array.flags.writeable)

    def host_array(self) -> Array:
        array: Array = self.native.array
        return array


class ToyContext(HostContext):
    """The context of Buffers."""

    memory_type = "toy"
    node = "toy"
    tensor_class = ToyTensor

    @classmethod
    def create(cls, device: str | None, parent: object) -> Self:
        super().create(device, None)
        return TOY  # type: ignore[return-value]  # the singleton is of this very class

    def readonly_native(self, native: Any) -> Any:
        view = native.array.view()
        view.flags.writeable = False
        return Buffer(view)


TOY = ToyContext()


class ChipTensor(Tensor):
    """A tensor over a Chip."""

    __slots__ = ()

    @classmethod
    def wrap(cls, native: Any) -> Self:
        context: Any = intern(ChipContext())
        return cls(native, context, native, None, False)

    def _describe(self) -> TensorInfo:
        return TensorInfo(self.native.cells.dtype, self.native.cells.shape)

    def _handle(self, key: str) -> int:
        return id(self.native.cells) if key == "data" else self.context.no_handle(key)

    def _native_recipe(self) -> Callable[[Storage], Any]:
        if FAULT == "a native that close() loses":
            return super()._native_recipe()
        alive, cells = weakref.ref(self.native), self.native.cells
        return lambda storage: alive() or Chip.over(cells, storage)


class ChipContext(Context):
    """The context of Chips, one for each device."""

    memory_type = "chip"
    node = "chip"
    tensor_class = ChipTensor

    @classmethod
    def create(cls, device: str | None, parent: Context | None) -> Self:
        context = cls()
        if FAULT == "a context leak":
            leaked.append(context)
        return context

    def allocate(self, shape: tuple[int, ...], dtype: Any = "uint8") -> Tensor:
        chip, storage = new_chip(TensorInfo(dtype, shape))
        return ChipTensor(chip, self, storage, None, False, None, (storage,))


def new_chip(info: TensorInfo) -> tuple[Chip, Storage]:
    chip = Chip(info.shape, info.dtype.carrier)
    release = partial(give_back, chip.cells)
    storage = Storage(release, at_exit=FAULT != "a release in a forked child")
    chip.keep = storage
    if FAULT == "a release that fires twice":
        chip.too = Storage(release, at_exit=True)  # type: ignore[attr-defined]
    return chip, storage


class CpuToToy(MemoryMapper):
    """cpu -> toy, in place if all is well."""

    __slots__ = ()

    def connect(
        self, item: Tensor, access: Access
    ) -> tuple[Any, TensorInfo | None, Storage | None]:
        array = item.native
        if not array.flags.c_contiguous:
            raise Refused("a Buffer has no gaps")
        if FAULT == "a silent copy":
            array = array.copy()
        if FAULT == "memory that is not kept":
            held = (ctypes.c_char * array.nbytes).from_address(item.handle("data"))
            array = np.frombuffer(held, array.dtype).reshape(array.shape)
        if FAULT != "read-only memory made writable":
            array = array.view()
            array.flags.writeable = access != "r" and array.flags.writeable
        native = Buffer(array)
        if FAULT == "a leak":
            leaked.append(native)
        if FAULT == "a wrong layout":
            return Buffer(array[::-1]), None, None
        return native, None, None


class CpuToChip(MemoryMapper):
    """cpu -> chip, by a copy."""

    __slots__ = ()

    def connect(
        self, item: Tensor, access: Access
    ) -> tuple[Any, TensorInfo | None, Storage | None]:
        chip, storage = new_chip(item.info)
        chip.write(item.host_array())
        return chip, None, storage


class ChipToCpu(MemoryMapper):
    """chip -> cpu, by a copy."""

    __slots__ = ()

    def connect(
        self, item: Tensor, access: Access
    ) -> tuple[Any, TensorInfo | None, Storage | None]:
        array = item.native.read()
        array.flags.writeable = False
        return array, None, None
