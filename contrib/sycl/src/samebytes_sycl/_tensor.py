# SPDX-License-Identifier: Apache-2.0
"""Tensors in SYCL's unified shared memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from samebytes import Tensor, TensorInfo

from . import _dlpack
from ._foreign import imported
from ._usm_array import USMArray

if TYPE_CHECKING:
    from typing import Self

    from ._context import SYCLContext

__all__ = ["SYCLTensor", "tensor", "usm_of"]


class SYCLTensor(Tensor):
    """An array in host, shared or device USM.

    `native` is what was wrapped (a dpctl memory object, an array of dpnp's), or a USMArray.

    Handles: "usm_ptr"; "data" of host and shared memory. As a DLPack producer, host and shared USM
    is on the CPU; device USM, and the others for a consumer that asks for it, on kDLOneAPI.
    """

    __slots__ = ()

    context: SYCLContext

    @classmethod
    def wrap(cls, native: Any) -> Self:
        """A tensor over memory that an object lends; the object stays the user's.

        Args:
            native: an object with `__sycl_usm_array_interface__`, or with DLPack on kDLOneAPI.

        Raises:
            LayoutError: the memory is not what the object says, or in another context than it says.
            UnsupportedObjectError: it lends no USM.
        """
        if isinstance(native, USMArray):
            pin = native.pin
            return cls.borrowed(
                native, native.context, keep=pin, readonly=native.readonly, info=native.info
            )
        array = imported(native)
        return cls.borrowed(
            native, array.context, keep=array.pin, readonly=array.readonly, info=array.info
        )

    def host_array(self) -> np.ndarray[Any, Any]:
        """An array over host or shared USM, which keeps the memory alive.

        Raises:
            NotHostVisibleError: this is device USM.
        """
        array = usm_of(self).array()
        if self.readonly:
            array.setflags(write=False)
        return array

    @property
    def kind(self) -> str:
        """ "host", "shared" or "device"."""
        return usm_of(self).kind

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        array = usm_of(self)
        if array.host_visible and (dl_device is None or dl_device[0] != _dlpack.ONEAPI):
            return super().__dlpack__(
                stream=stream, max_version=max_version, dl_device=dl_device, copy=copy
            )
        return _dlpack.export(self, array, stream, max_version, dl_device, copy)

    def __dlpack_device__(self) -> tuple[int, int]:
        array = usm_of(self)
        return (1, 0) if array.host_visible else _dlpack.device_of(array.context)

    def _describe(self) -> TensorInfo:
        return usm_of(self).info

    def _handle(self, key: str) -> int:
        if key == "usm_ptr":
            return usm_of(self).address
        return super()._handle(key)


def usm_of(item: Tensor) -> USMArray:
    """The array of a SYCL tensor."""
    native = item.native
    return native if isinstance(native, USMArray) else imported(native, item.storage)


def tensor(
    native: Any,
    shape: Sequence[int] | None = None,
    dtype: Any = None,
    *,
    offset: int = 0,
    strides: Sequence[int] | None = None,
) -> SYCLTensor:
    """A tensor over USM of yours, which is held.

    Args:
        native: an object with `__sycl_usm_array_interface__`, such as memory of dpctl's and arrays
            of dpnp's, or with DLPack on kDLOneAPI, such as torch's tensors on "xpu".
        shape: elements along each axis; by default as the object says, for memory all its bytes.
        dtype: the element type; by default the object's, for memory uint8.
        offset: bytes from the object's first element to the tensor's.
        strides: in bytes; dense by default.

    Raises:
        LayoutError: the memory is not what the object says, in another context than it says, or
            the tensor would reach outside.
        UnsupportedObjectError: it lends no USM.
    """
    whole = SYCLTensor.wrap(native)
    if shape is None and dtype is None and strides is None and not offset:
        return whole
    return SYCLTensor.wrap(usm_of(whole).described(shape, dtype, offset=offset, strides=strides))
