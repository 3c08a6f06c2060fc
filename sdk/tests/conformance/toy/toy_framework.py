# SPDX-License-Identifier: Apache-2.0
"""A framework of one class, and a backend for it that can have one fault at a time."""

from __future__ import annotations

import ctypes
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from samebytes.plugins import (
    Access,
    HostContext,
    MemoryMapper,
    Refused,
    Storage,
    Tensor,
    TensorInfo,
)

if TYPE_CHECKING:
    from typing import Self

FAULT = os.environ.get("TOY_FAULT", "none")

Array = np.ndarray[Any, Any]
leaked: list[Any] = []


class Buffer:
    """The framework's tensor: an array in row-major order."""

    def __init__(self, array: Array) -> None:
        self.array = array
        if FAULT == "a cycle":
            self.me = self

    if FAULT == "an error at exit":

        def __del__(self) -> None:
            raise RuntimeError("a fault")


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
