# SPDX-License-Identifier: Apache-2.0
"""Tensors in CUDA memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from samebytes import Fd, Tensor, TensorInfo
from samebytes.errors import UnsupportedObjectError

from . import _dlpack
from ._array import CudaArray
from ._memory import Allocation
from ._use import CudaStorage

if TYPE_CHECKING:
    from typing import Self

    from ._context import CudaContext
    from ._foreign import Lent

__all__ = ["CudaTensor", "array_of", "tensor"]


class CudaTensor(Tensor):
    """An array in device, pinned or managed memory.

    `native` is what was wrapped (an array of torch, CuPy, Numba or JAX), or a CudaArray.

    Handles: "cuda_ptr"; "data" of pinned and managed memory.

    As a DLPack producer, pinned memory is on the CPU and managed memory on the GPU, where array
    libraries know it; a consumer that asks for kDLCUDAHost or kDLCUDAManaged gets that. What is
    pending on the memory is ordered before the stream that the consumer names.
    """

    __slots__ = ()

    context: CudaContext

    @classmethod
    def wrap(cls, native: Any) -> Self:
        """A tensor over an object with DLPack or the array interface, which stays the user's.

        Raises:
            UnsupportedObjectError: it lends no CUDA memory.
            LayoutError: the object is not what it says.
        """
        if isinstance(native, CudaArray):
            home, keep, readonly = native.context, native.pin, native.readonly
            return cls.borrowed(native, home, keep=keep, readonly=readonly, info=native.info)
        lent = _borrower()(native)
        readonly, info = lent.forbids_writing, lent.info
        return cls.borrowed(native, lent.context, keep=lent, readonly=readonly, info=info)

    def host_array(self) -> np.ndarray[Any, Any]:
        """An array over pinned or managed memory, which keeps it alive. The memory is complete.

        Raises:
            NotHostVisibleError: this is device memory.
        """
        array = array_of(self).array()
        self.wait()
        if self.readonly:
            array.setflags(write=False)
        return array

    @property
    def kind(self) -> str:
        """ "device", "pinned", "managed" or "exportable"."""
        return array_of(self).kind

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """The CUDA array interface, version 3; see `CudaArray`."""
        array = array_of(self)
        if self.readonly and not array.readonly:
            array = array.as_readonly()
        return array.__cuda_array_interface__

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        return _dlpack.export(array_of(self), self.readonly, stream, max_version, dl_device, copy)

    def __dlpack_device__(self) -> tuple[int, int]:
        return _dlpack.device_of(array_of(self))

    def export_fd(self) -> Fd:
        """A new descriptor of the whole allocation, for cuMemImportFromShareableHandle().

        It is not a DMA-BUF: for one, map to "dma".

        Raises:
            UnsupportedObjectError: the memory was not allocated with kind="exportable".
            NativeError: the driver fails.
        """
        keep = cast(CudaStorage, self.storage).keep
        if not isinstance(keep, Allocation):
            raise UnsupportedObjectError(
                f"{self.kind} memory has no descriptor: allocate it with kind='exportable'"
            )
        return keep.export()

    def _describe(self) -> TensorInfo:
        return array_of(self).info

    def _handle(self, key: str) -> int:
        if key == "cuda_ptr":
            return array_of(self).address
        return super()._handle(key)


@cache
def _borrower() -> Callable[[Any], Lent]:
    """`borrow`, whose module needs this one."""
    from ._foreign import borrow

    return borrow


def array_of(item: Tensor) -> CudaArray:
    """The array of a CUDA tensor."""
    native = item.native
    if isinstance(native, CudaArray):
        return native
    return cast("Lent", item.storage).array(item.readonly)


def tensor(
    native: Any,
    shape: Sequence[int] | None = None,
    dtype: Any = None,
    *,
    offset: int = 0,
    strides: Sequence[int] | None = None,
) -> CudaTensor:
    """A tensor over CUDA memory of yours, which is held.

    Args:
        native: an object with DLPack on a CUDA device, or with `__cuda_array_interface__`.
        shape: elements along each axis; by default as the object says.
        dtype: the element type; by default the object's.
        offset: bytes from the object's first element to the tensor's.
        strides: in bytes; dense by default.

    Raises:
        LayoutError: the object is not what it says, or the tensor would reach outside.
        UnsupportedObjectError: it lends no CUDA memory.
    """
    whole = CudaTensor.wrap(native)
    if shape is None and dtype is None and strides is None and not offset:
        return whole
    return CudaTensor.wrap(array_of(whole).described(shape, dtype, offset=offset, strides=strides))
