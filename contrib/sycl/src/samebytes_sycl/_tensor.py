# SPDX-License-Identifier: Apache-2.0
"""Tensors in SYCL's unified shared memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import dpctl
import dpctl.memory
import numpy as np

from samebytes import Storage, Tensor, TensorInfo
from samebytes.errors import LayoutError, UnsupportedObjectError

from . import _dlpack
from ._native_handles import kind_of_pointer
from ._queues import waits_for
from ._usm_array import USMArray

if TYPE_CHECKING:
    from typing import Self

    from ._context import SYCLContext

__all__ = ["SYCLTensor", "tensor", "usm_of"]

_DPCTL_MEMORY = (
    dpctl.memory.MemoryUSMDevice,
    dpctl.memory.MemoryUSMHost,
    dpctl.memory.MemoryUSMShared,
)


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
        """A tensor over an object with `__sycl_usm_array_interface__`, which stays the user's.

        Raises:
            LayoutError: the object is not what its interface says, or has no such.
        """
        if isinstance(native, USMArray):
            pin = native.pin
            return cls.borrowed(
                native, native.context, keep=pin, readonly=native.readonly, info=native.info
            )
        array = _imported(native)
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
    return native if isinstance(native, USMArray) else _imported(native, item.storage)


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
        native: an object with `__sycl_usm_array_interface__`: memory of dpctl's, arrays of dpnp's.
        shape: elements along each axis; by default as the object says, for memory all its bytes.
        dtype: the element type; by default the object's, for memory uint8.
        offset: bytes from the object's first element to the tensor's.
        strides: in bytes; dense by default.

    Raises:
        LayoutError: the object is not what its interface says, or the tensor would reach outside.
        UnsupportedObjectError: it has no such interface.
    """
    whole = SYCLTensor.wrap(native)
    if shape is None and dtype is None and strides is None and not offset:
        return whole
    return SYCLTensor.wrap(usm_of(whole).described(shape, dtype, offset=offset, strides=strides))


def _imported(native: Any, owner: Storage | None = None) -> USMArray:
    """The array that an object's interface describes, checked with the runtime.

    Args:
        owner: what the array must hold, beside the object.
    """
    from ._context import context

    described = _interface_of(native)
    try:
        element = np.dtype(described["typestr"])
        shape, strides = tuple(described["shape"]), _byte_strides(described, element)
        pointer, readonly = described["data"]
        address = int(pointer) + int(described.get("offset") or 0) * element.itemsize
    except (TypeError, ValueError) as error:
        raise LayoutError(f"its __sycl_usm_array_interface__ is malformed: {error}") from error
    info = TensorInfo(element, shape, strides)
    if isinstance(native, _DPCTL_MEMORY):
        readonly = False  # dpctl says read-only of all its memory
    try:
        queue = _queue_of(native)
    except Exception as error:  # whatever dpctl finds wrong with it
        raise LayoutError(f"dpctl does not accept this object: {error}") from error
    low, high = info.extent
    ends = {
        kind_of_pointer(queue, address + low),
        kind_of_pointer(queue, address + max(high, 1) - 1),
    }
    kind = ends.pop()
    if kind is None or ends:
        raise LayoutError(
            f"{info} at {address:#x} is not USM of the context that it names, or ends beyond it"
        )
    home = context(queue)
    pin = Storage(
        address=0 if kind == "device" else address + low,
        nbytes=high - low,
        keep=(native, owner),
        wait=waits_for(queue),
    )
    return USMArray(home, address, info, kind, pin, bool(readonly))


def _interface_of(native: Any) -> dict[str, Any]:
    described = getattr(native, "__sycl_usm_array_interface__", None)
    if not isinstance(described, dict):
        raise UnsupportedObjectError(
            f"a {type(native).__name__} has no __sycl_usm_array_interface__: pass memory of "
            "dpctl.memory, or an array that lies in it"
        )
    missing = {"data", "shape", "typestr", "syclobj"} - described.keys()
    if missing:
        raise LayoutError(f"its __sycl_usm_array_interface__ lacks {sorted(missing)}")
    return described


def _queue_of(native: Any) -> dpctl.SyclQueue:
    if isinstance(native, _DPCTL_MEMORY):
        return native.sycl_queue
    return dpctl.memory.as_usm_memory(_FirstByte(native)).sycl_queue


class _FirstByte:
    """The object's first byte: dpctl computes the ends of reversed arrays wrongly."""

    __slots__ = ("__sycl_usm_array_interface__",)

    def __init__(self, native: Any) -> None:
        described = dict(native.__sycl_usm_array_interface__)
        described |= {"shape": (1,), "strides": None, "typestr": "|u1", "offset": 0}
        self.__sycl_usm_array_interface__ = described


def _byte_strides(described: dict[str, Any], element: np.dtype[Any]) -> tuple[int, ...] | None:
    strides = described.get("strides")
    return None if strides is None else tuple(int(s) * element.itemsize for s in strides)
