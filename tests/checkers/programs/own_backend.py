# SPDX-License-Identifier: Apache-2.0
"""A third party's backend: its classes are all that the checkers need."""

from typing import Any, Self, assert_type

import numpy as np

import samebytes as sb
from samebytes import Context, MemoryMapper, Storage, Tensor, TensorInfo
from samebytes.plugins import HostContext


class Buffer:
    """A framework's own object."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.array = array


class BufferTensor(Tensor):
    """A tensor over a Buffer."""

    __slots__ = ()
    native: Buffer

    def host_array(self) -> np.ndarray[Any, Any]:
        """The array in it."""
        return self.native.array


class BufferContext(HostContext["BufferTensor"]):
    """The context of BufferTensors."""

    memory_type = "buffer"
    node = "buffer"
    tensor_class = BufferTensor

    @classmethod
    def create(cls, device: str | None, parent: Context | None) -> Self:
        """The one there is."""
        return cls()

    def allocate(self, shape: tuple[int, ...], dtype: Any = "uint8") -> BufferTensor:
        """A new one."""
        info = TensorInfo(dtype, shape)
        native = Buffer(np.zeros(info.shape, info.dtype.carrier))
        return BufferTensor.borrowed(native, self, info=info)


class ToBuffer(MemoryMapper):
    """cpu -> buffer."""

    __slots__ = ()

    def connect(
        self, item: Any, access: sb.Access
    ) -> tuple[Any, TensorInfo | None, Storage | None]:
        """A Buffer over the array."""
        return Buffer(item.native), None, None


def use(frame: sb.Frame, tensor: sb.Tensor) -> None:
    """Check the types that users of the backend see."""
    assert_type(tensor.map(BufferContext).native, Buffer)
    assert_type(frame.map(BufferContext), sb.Frame[BufferTensor])
    assert_type(frame.map(sb.context(BufferContext)).planes[0].native, Buffer)
    assert_type(sb.context(BufferContext).allocate((4,)), BufferTensor)


class OldContext(Context):
    """One without parameters, as they were written before there were any."""

    memory_type = "old"
    node = "old"


def old(tensor: sb.Tensor, context: OldContext) -> None:
    """It is a context of tensors."""
    assert_type(tensor.map(context), sb.Tensor)
    assert_type(tensor.map(OldContext), sb.Tensor)
