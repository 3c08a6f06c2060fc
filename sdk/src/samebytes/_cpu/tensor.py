# SPDX-License-Identifier: Apache-2.0
"""Tensors in CPU memory: numpy arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .._core.memory.info import TensorInfo
from .._core.memory.tensor import Tensor
from .._dtypes import DType
from .._exchange import as_capsule, from_foreign, lasting_export

if TYPE_CHECKING:
    from typing import Self

    from .._core.edges.context import Context

__all__ = ["CpuTensor"]

# A dtype that numpy lacks lies in an array of its carrier type; the tensor's info names it.
_Array = np.ndarray[Any, Any]


class CpuTensor(Tensor):
    """An array in CPU memory. `native` is a numpy.ndarray.

    For element types that numpy lacks (bfloat16, float8 ...) the array carries the bits in an
    unsigned type of the same size, and `info.dtype` says what they are.

    Class attributes:
        home: the one context of the CPU.
    """

    __slots__ = ("_lent", "_shown")

    native: _Array
    # How `__dlpack__` exports the memory, once that was found good: a method of a view that nobody
    # else has, since the layout of `native` can be changed where it is. None where each export has
    # to be made by hand.
    _lent: Callable[..., Any] | None
    # What makes views that cannot be written: a method of one that nobody else has, since whoever
    # has a view can make it writable again.
    _shown: Callable[[], _Array]
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
        # By position: this is the call that wraps every array.
        tensor = cls(found.array, cls.home, found.owner, None, found.readonly)
        if found.dtype.numpy is None:
            tensor.known_info = _carried(found.array, found.dtype)
        return tensor

    def host_array(self) -> _Array:
        """`native` itself."""
        return self.native

    def _native_to_read(self) -> _Array:
        try:
            return self._shown()
        except AttributeError:
            self._shown = self.context.readonly_native(self.native).view
            return self._shown()

    def _window(self, row: int, column: int, rows: int, columns: int) -> _Array:
        return self.native[row : row + rows, column : column + columns]

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        try:
            lent = self._lent
        except AttributeError:
            lent = self._lent = lasting_export(self.native, self.info.dtype, self.readonly)
        usual = stream is None and not copy and (dl_device is None or dl_device == (1, 0))
        # The user may have made the array read-only since then.
        if usual and lent is not None and (self.readonly or self.native.flags.writeable):
            if max_version is not None and max_version[0] >= 1:
                return lent(max_version=(1, 0))
            try:
                return lent()
            except BufferError:  # read-only, which a legacy capsule cannot say
                pass
        return as_capsule(self, stream, max_version, dl_device, copy)

    def __dlpack_device__(self) -> tuple[int, int]:
        self.native  # noqa: B018 - a closed tensor has none
        return (1, 0)


def _carried(array: _Array, dtype: DType) -> TensorInfo:
    if dtype.packed:
        return TensorInfo(dtype, array.shape)
    return TensorInfo(dtype, array.shape, array.strides)
