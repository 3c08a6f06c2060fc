# SPDX-License-Identifier: Apache-2.0
"""The consumer's side of DLPack."""

from __future__ import annotations

import struct
from collections.abc import Collection
from ctypes import c_int64
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from samebytes._dtypes import DType, from_dlpack_code
from samebytes._numbers import MAX_AXES
from samebytes.errors import LayoutError, UnsupportedObjectError

from ._capsule import Content, content, still_holds
from ._dlpack_abi import (
    DEVICE_CPU,
    DEVICE_CUDA_HOST,
    DEVICE_NAMES,
    DEVICE_ROCM_HOST,
    FLAG_IS_COPIED,
    FLAG_READ_ONLY,
    TYPE_UINT,
    DLTensor,
)
from ._extent import check_reach, reach
from ._pinned import pinned_array

__all__ = ["DeviceArray", "device_array", "from_dlpack"]

# A DLTensor: data, device_type, device_id, ndim, code, bits, lanes, shape, strides, byte_offset.
_HEADER = struct.Struct("PiiiBBHPPQ").unpack_from
# Shapes and strides in memory, by how many axes there are.
_AT = tuple([(c_int64 * n).from_address for n in range(MAX_AXES + 1)])

_HOST_DEVICES = frozenset({DEVICE_CPU, DEVICE_CUDA_HOST, DEVICE_ROCM_HOST})


class DeviceArray(NamedTuple):
    """Memory of a device, as an object lends it by DLPack.

    Attributes:
        array: never to be read or written: its address and its layout count. It holds the
            producer's tensor, and gives it back when the last array over it is gone.
        dtype: what the elements are; where numpy lacks it, `array` has the carrier's dtype.
        readonly: the producer says that nobody may write. A legacy capsule says nothing: False.
        device: (DLDeviceType, id) of dlpack.h.
    """

    array: np.ndarray[Any, Any]
    dtype: DType
    readonly: bool
    device: tuple[int, int]


def device_array(obj: Any, devices: Collection[int], stream: Any = None) -> DeviceArray:
    """What `obj` lends by DLPack, where that lies on one of these kinds of device.

    Args:
        obj: a producer, with `__dlpack__` and `__dlpack_device__`.
        devices: the device types that the caller can use, numbers of DLDeviceType in dlpack.h.
        stream: the consumer's, as `__dlpack__` takes it: the producer lets it wait for what is
            pending on the memory. Memory of the host has none, and its producer is not asked so.

    Raises:
        UnsupportedObjectError: the memory lies elsewhere, or the producer refuses to export it
            uncopied; the producer's error is the cause.
        LayoutError: a dtype or layout that no array can have, or one that makes no sense.
    """
    capsule, (tensor, versioned, flags) = _ask_on_device(obj, devices, stream)
    device = tensor.device
    kind, number = device.device_type, device.device_id
    _check_wanted(obj, kind, devices)
    dtype = _checked_layout(tensor)
    # numpy takes memory of the CPU alone, and reads none that it is not asked to.
    device.device_type, device.device_id = DEVICE_CPU, 0
    try:
        array = _consume(obj, capsule, tensor, dtype)
    finally:
        # Also after an error: an unconsumed capsule is given back as it was.
        device.device_type, device.device_id = kind, number
    return DeviceArray(array, dtype, versioned and bool(flags & FLAG_READ_ONLY), (kind, number))


def _ask_on_device(obj: Any, devices: Collection[int], stream: Any) -> tuple[object, Content]:
    """A capsule over memory of a device, whose kind is not checked.

    With a stream, the object is asked where it lies only if it refuses: few things cost a
    producer in Python more, and the capsule says it as well.
    """
    if stream is not None:
        try:
            return _ask_content(obj, {"stream": stream})
        except UnsupportedObjectError:
            kind = _ask_device(obj)
            _check_wanted(obj, kind, devices)
            if kind not in _HOST_DEVICES:
                raise
        return _ask_content(obj, {})
    _check_wanted(obj, _ask_device(obj), devices)
    return _ask_content(obj, {})


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
    capsule, (tensor, versioned, flags) = _ask_content(obj, {})
    _check_device(obj, tensor.device.device_type)
    dtype = _checked_layout(tensor)
    array = _consume(obj, capsule, tensor, dtype)
    if versioned:
        writable = not flags & FLAG_READ_ONLY
    else:
        writable = getattr(getattr(obj, "flags", None), "writeable", None) is True
    # numpy before 2.2.5 makes every array of a capsule read-only.
    if writable and not array.flags.writeable:
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


def _check_wanted(obj: object, device: int, wanted: Collection[int]) -> None:
    if device not in wanted:
        names = [DEVICE_NAMES.get(d, "unknown") for d in (device, *wanted)]
        raise UnsupportedObjectError(
            f"{_name(obj)} lies in {names[0]} memory (DLPack device {device}), not in "
            f"{' or '.join(sorted(names[1:]))} memory"
        )


def _check_device(obj: object, device: int) -> None:
    if device not in _HOST_DEVICES:
        name = DEVICE_NAMES.get(device, "unknown")
        raise UnsupportedObjectError(
            f"{_name(obj)} lies in {name} memory (DLPack device {device}), which the CPU cannot "
            f"read: a samebytes backend for {name} memory could wrap it ('samebytes list' "
            "lists those installed), or copy it to the CPU with its own framework first"
        )


def _ask_content(obj: Any, arguments: dict[str, Any]) -> tuple[object, Content]:
    """A capsule over the object's own memory, and what is in it."""
    capsule = _ask_capsule(obj, arguments)
    try:
        found = content(capsule)
    except ValueError as error:
        raise UnsupportedObjectError(f"{_name(obj)}.__dlpack__: {error}") from error
    if found.flags & FLAG_IS_COPIED:
        raise UnsupportedObjectError(
            f"{_name(obj)} exported a copy, although copy=False was requested"
        )
    return capsule, found


def _ask_capsule(obj: Any, arguments: dict[str, Any]) -> object:
    try:
        try:
            return obj.__dlpack__(max_version=(1, 0), copy=False, **arguments)
        except TypeError:  # a producer from before DLPack 1.0, which knows no such arguments
            return obj.__dlpack__(**arguments)
    except Exception as error:
        raise UnsupportedObjectError(f"{_name(obj)} does not export its memory: {error}") from error


def _dtype_of(code: int, bits: int, lanes: int) -> DType:
    if lanes != 1:
        raise LayoutError(
            f"vector elements of {lanes} lanes are not supported: "
            "export the array with the lanes as its last axis"
        )
    dtype = from_dlpack_code(code, bits)
    if dtype is None:
        raise LayoutError(f"no dtype for DLPack type code {code} with {bits} bits")
    if dtype.packed:
        raise LayoutError(f"{dtype} elements share bytes: export them as uint8")
    return dtype


def _checked_layout(tensor: DLTensor) -> DType:
    """The dtype of a tensor whose layout numpy may have."""
    data, _, _, ndim, code, bits, lanes, shape, strides, offset = _HEADER(tensor)
    if not 0 <= ndim <= MAX_AXES:
        raise LayoutError(f"a tensor of {ndim} axes: there can be 0 to {MAX_AXES}")
    if ndim and not shape:
        raise LayoutError(f"a tensor of {ndim} axes without a shape")
    at = _AT[ndim]
    extents = bytes(at(shape)) if ndim else b""
    steps = bytes(at(strides)) if ndim and strides else None
    dtype, found, layout = _understood(code, bits, lanes, extents, steps)
    check_reach(found, data, offset, layout)
    return dtype


@lru_cache(maxsize=256)
def _understood(
    code: int, bits: int, lanes: int, shape: bytes, strides: bytes | None
) -> tuple[DType, tuple[int, int] | None, tuple[tuple[int, ...], tuple[int, ...] | None]]:
    """The dtype of a DLTensor, how far it reaches, and its shape and strides in bytes.

    Frames of a video have one layout, which is looked at once.
    """
    dtype = _dtype_of(code, bits, lanes)
    itemsize = dtype.carrier.itemsize
    extents = struct.unpack(f"{len(shape) // 8}q", shape)
    steps = None
    if strides is not None:
        steps = tuple([s * itemsize for s in struct.unpack(f"{len(strides) // 8}q", strides)])
    return dtype, reach(extents, steps, itemsize), (extents, steps)


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
