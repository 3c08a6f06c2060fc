# SPDX-License-Identifier: Apache-2.0
"""Tensors in CPU memory: numpy arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .._core.address import data_address
from .._core.info import TensorInfo
from .._core.storage import Storage
from .._core.tensor import Tensor
from .._dtypes import DType
from .._exchange import from_foreign

if TYPE_CHECKING:
    from typing import Self

    from .._core.context import Context

__all__ = ["CpuTensor"]

# A dtype that numpy lacks lies in an array of its carrier type; the tensor's info names it.
_Array = np.ndarray[Any, Any]


class CpuTensor(Tensor):
    """An array in CPU memory. `native` is a numpy.ndarray.

    For element types that numpy has not (bfloat16, float8 ...) the array carries the bits in an
    unsigned type of the same size, and `info.dtype` says what they are.
    """

    __slots__ = ()

    native: _Array
    # Set by the module of the context, which needs this class first.
    home: ClassVar[Context]

    @classmethod
    def wrap(cls, native: Any) -> Self:
        """A tensor over an array, or over anything that shares its bytes as an array does.

        Takes numpy arrays and whatever has DLPack, an array interface or the buffer protocol.

        Raises:
            LayoutError: a dtype without a fixed native layout (objects, structures, other byte
                orders).
            UnsupportedObjectError: it shares no bytes with the CPU.
        """
        found = from_foreign(native)
        tensor = cls(found.array, cls.home, found.owner, None, found.readonly)
        if found.dtype.numpy is None:
            tensor.given_info = _carried(found.array, found.dtype)
        return tensor

    def host_array(self) -> _Array:
        """`native` itself."""
        return self.native

    def _native_recipe(self) -> Callable[[Storage], Any]:
        array, storage = self.native, self.storage
        layout = array.dtype, array.shape, array.strides, array.flags.writeable
        low, high = TensorInfo.of(array).extent
        first = data_address(array)
        begin, nbytes = storage.address, storage.nbytes
        # Where a frame lies in several memories, its storage is the owner of all of them.
        apart = not begin or first + low < begin or first + high > begin + nbytes
        if apart:
            begin, nbytes = first + low, high - low

        def again(storage: Storage) -> _Array:
            dtype, shape, strides, writeable = layout
            memory = Storage(address=begin, nbytes=nbytes, keep=storage) if apart else storage
            view: _Array = np.ndarray(shape, dtype, np.asarray(memory), first - begin, strides)
            view.flags.writeable = writeable
            return view

        return again


def _carried(array: _Array, dtype: DType) -> TensorInfo:
    if dtype.packed:
        return TensorInfo(dtype, array.shape)
    return TensorInfo(dtype, array.shape, array.strides)
