# SPDX-License-Identifier: Apache-2.0
"""The consumer's side of DLPack."""

from __future__ import annotations

from typing import Any

import numpy as np

from samebytes._dtypes import DType, from_dlpack_code
from samebytes.errors import LayoutError, UnsupportedObjectError

from ._capsule import content, still_holds
from ._dlpack_abi import (
    DEVICE_CPU,
    DEVICE_CUDA_HOST,
    DEVICE_NAMES,
    DEVICE_ROCM_HOST,
    FLAG_IS_COPIED,
    TYPE_UINT,
    DLTensor,
)
from ._extent import MAX_AXES, check_extent
from ._pinned import pinned_array

__all__ = ["from_dlpack"]

_HOST_DEVICES = frozenset({DEVICE_CPU, DEVICE_CUDA_HOST, DEVICE_ROCM_HOST})


class _Handover:
    """Gives numpy a capsule that was looked into before."""

    __slots__ = ("capsule",)

    def __init__(self, capsule: object) -> None:
        self.capsule = capsule

    def __dlpack__(self, **_: object) -> object:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return (DEVICE_CPU, 0)


def from_dlpack(obj: Any) -> tuple[np.ndarray[Any, Any], DType]:
    """The array over the memory that `obj` exports, and its real dtype.

    The array's base holds the producer's tensor, and calls its deleter once, when the last array
    over it is gone. A capsule that is refused is left unconsumed: its destructor calls the
    deleter.

    Raises:
        UnsupportedObjectError: no host memory, or the producer refuses to export it uncopied.
        LayoutError: a dtype or layout that no array can have, or one that makes no sense.
    """
    _check_device(obj, _ask_device(obj))
    capsule = _ask_capsule(obj)
    try:
        tensor, versioned, flags = content(capsule)
    except ValueError as error:
        raise UnsupportedObjectError(f"{_name(obj)}.__dlpack__: {error}") from error
    if flags & FLAG_IS_COPIED:
        raise UnsupportedObjectError(
            f"{_name(obj)} exported a copy, though it was asked for its own memory"
        )
    _check_device(obj, tensor.device.device_type)
    dtype = _dtype_of(tensor)
    _check_layout(tensor, dtype)
    array = _consume(obj, capsule, tensor, dtype)
    if not versioned and getattr(getattr(obj, "flags", None), "writeable", None) is True:
        interface = dict(array.__array_interface__)
        interface["data"] = (interface["data"][0], False)
        array = pinned_array(interface, array)
    return array, dtype


def _name(obj: object) -> str:
    return f"{type(obj).__module__}.{type(obj).__qualname__}"


def _ask_device(obj: Any) -> int:
    try:
        return int(obj.__dlpack_device__()[0])
    except Exception as error:
        raise UnsupportedObjectError(
            f"{_name(obj)} has __dlpack__, but __dlpack_device__ failed: {error}"
        ) from error


def _check_device(obj: object, device: int) -> None:
    if device not in _HOST_DEVICES:
        name = DEVICE_NAMES.get(device, "unknown")
        raise UnsupportedObjectError(
            f"{_name(obj)} lies in {name} memory (DLPack device {device}), which the CPU cannot "
            f"read: a samebytes backend for {name} memory could wrap it ('samebytes list' "
            "lists those installed), or copy it to the CPU with its own framework first"
        )


def _ask_capsule(obj: Any) -> object:
    try:
        try:
            return obj.__dlpack__(max_version=(1, 0), copy=False)
        except TypeError:  # a producer from before DLPack 1.0, which knows no such arguments
            return obj.__dlpack__()
    except Exception as error:
        raise UnsupportedObjectError(f"{_name(obj)} does not lend its memory: {error}") from error


def _dtype_of(tensor: DLTensor) -> DType:
    code, bits, lanes = tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes
    if lanes != 1:
        raise LayoutError(
            f"vector elements of {lanes} lanes are not supported: "
            "export the array with the lanes as its last axis"
        )
    dtype = from_dlpack_code(code, bits)
    if dtype is None:
        raise LayoutError(f"DLPack type code {code} of {bits} bits is no dtype known here")
    if dtype.packed:
        raise LayoutError(f"{dtype} elements share bytes: export them as uint8")
    return dtype


def _check_layout(tensor: DLTensor, dtype: DType) -> None:
    ndim = tensor.ndim
    if not 0 <= ndim <= MAX_AXES:
        raise LayoutError(f"a tensor of {ndim} axes: there can be 0 to {MAX_AXES}")
    if ndim and not tensor.shape:
        raise LayoutError(f"a tensor of {ndim} axes without a shape")
    itemsize = dtype.carrier.itemsize
    shape = tensor.shape[:ndim] if ndim else []
    strides = [s * itemsize for s in tensor.strides[:ndim]] if ndim and tensor.strides else None
    check_extent(shape, strides, itemsize, tensor.data or 0, tensor.byte_offset)


def _consume(obj: object, capsule: object, tensor: DLTensor, dtype: DType) -> np.ndarray[Any, Any]:
    """Let numpy consume the capsule; a dtype that it lacks is an unsigned integer meanwhile."""
    real, lent = tensor.dtype.code, dtype.numpy is None
    if lent:
        tensor.dtype.code = TYPE_UINT
    try:
        array = np.from_dlpack(_Handover(capsule))  # type: ignore[arg-type]  # it gives (1, 0)
    except Exception as error:
        if lent and still_holds(capsule):
            tensor.dtype.code = real
        raise UnsupportedObjectError(f"{_name(obj)}: numpy refuses its capsule: {error}") from error
    if lent:
        tensor.dtype.code = real
    return array
