# SPDX-License-Identifier: Apache-2.0
"""The consumer's side of DLPack."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection
from ctypes import c_char
from functools import cache, lru_cache
from struct import Struct
from typing import Any, NamedTuple

import numpy as np

from samebytes._core.memory.info import TensorInfo
from samebytes._core.native.arrays import pinned_array
from samebytes._dtypes import DType, from_dlpack_code
from samebytes._numbers import MAX_AXES
from samebytes.errors import LayoutError, UnsupportedObjectError

from ._capsule_contents import Described, as_one, describe, device_at, still_holds, tensor_at
from ._dlpack_abi import (
    DEVICE_CPU,
    DEVICE_CUDA_HOST,
    DEVICE_NAMES,
    DEVICE_ROCM_HOST,
    FLAG_IS_COPIED,
    FLAG_READ_ONLY,
    TYPE_UINT,
)
from ._extent import check_extent

__all__ = ["DeviceArray", "from_dlpack"]

_HOST_DEVICES = frozenset({DEVICE_CPU, DEVICE_CUDA_HOST, DEVICE_ROCM_HOST})
_ON_CPU = as_one((DEVICE_CPU, 0))
_END = 2 * sys.maxsize
"""No address is above it."""


class DeviceArray(NamedTuple):
    """Memory of a device, as an object lends it by DLPack.

    Attributes:
        array: an array that holds the producer's tensor, and gives it back when the last array over
            it is gone. It must never be read or written; if numpy lacks the dtype, it has the
            carrier's.
        info: the dtype, shape and strides of the elements.
        address: the address of the first element, in the device's memory; may be 0 without any.
        readonly: True if the producer forbids writing; False for a legacy capsule, which cannot.
        device: (DLDeviceType, id) of dlpack.h.
    """

    array: np.ndarray[Any, Any]
    info: TensorInfo
    address: int
    readonly: bool
    device: tuple[int, int]

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        return self.info.dtype

    @classmethod
    def by_dlpack(cls, obj: Any, devices: Collection[int], stream: Any = None) -> DeviceArray:
        """The array that `obj` lends by DLPack, if it lies on one of these kinds of device.

        Args:
            obj: a producer, with `__dlpack__` and `__dlpack_device__`.
            devices: the device types that the caller can use, numbers of DLDeviceType in dlpack.h.
            stream: the consumer's, as `__dlpack__` takes it: the producer lets it wait for what is
                pending on the memory.

        Raises:
            UnsupportedObjectError: the memory lies elsewhere, or the producer refuses to export it
                uncopied; the producer's error is the cause.
            LayoutError: a dtype or layout that no array can have, or one that makes no sense.
        """
        capsule, found = _ask_on_device(obj, devices, stream)
        at, fields = found
        _, _, _, _, flags, data, kind, number, ndim, code, bits, lanes, sizes, steps, offset = (
            fields
        )
        if kind not in devices:
            _check_wanted(obj, kind, devices)
        layout = _layout_at(ndim, code, bits, lanes, sizes, steps)
        info, low, high = _described(*layout)
        address = data + offset
        if high and (not data or address + low <= 0 or address + high > _END):
            _refuse_extent(found, layout, info.dtype)
        # numpy takes memory of the CPU alone, and reads none that it is not asked to.
        there = device_at(at, fields[0])
        was, there.value = there.value, _ON_CPU
        try:
            array = _consume(obj, capsule, found, info.dtype)
        finally:
            # Also after an error: an unconsumed capsule is given back as it was.
            there.value = was
        return cls(array, info, address, flags & FLAG_READ_ONLY != 0, (kind, number))


def _ask_on_device(obj: Any, devices: Collection[int], stream: Any) -> tuple[object, Described]:
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

    capsule: object

    def __dlpack__(self, **_: object) -> object:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return (DEVICE_CPU, 0)


def from_dlpack(obj: Any, device: int | None = None) -> tuple[np.ndarray[Any, Any], DType]:
    """The array over the memory that `obj` exports, and its real dtype.

    `device` is the type of device that `obj` has named, if it was asked already: few things cost a
    producer in Python more.

    The array's base holds the producer's tensor, and calls its deleter once, when the last array
    over it is gone. A capsule that is refused is left unconsumed: its destructor calls the
    deleter.

    Raises:
        UnsupportedObjectError: no host memory, or the producer refuses to export it uncopied.
        LayoutError: a dtype or layout that no array can have, or one that makes no sense.
    """
    if device is None:
        device = _ask_device(obj)
    if device not in _HOST_DEVICES:
        _check_device(obj, device)
    capsule, found = _ask_content(obj, {})
    fields = found[1]
    if fields[6] not in _HOST_DEVICES:
        _check_device(obj, fields[6])
    dtype = _checked(found)
    array = _consume(obj, capsule, found, dtype)
    if fields[0]:
        writable = not fields[4] & FLAG_READ_ONLY
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


def _ask_content(obj: Any, arguments: dict[str, Any]) -> tuple[object, Described]:
    """A capsule over the object's own memory, and what is in it."""
    capsule = _ask_capsule(obj, arguments)
    try:
        found = describe(capsule)
    except ValueError as error:
        raise UnsupportedObjectError(f"{_name(obj)}.__dlpack__: {error}") from error
    if found[1][4] & FLAG_IS_COPIED:
        raise UnsupportedObjectError(
            f"{_name(obj)} exported a copy, although copy=False was requested"
        )
    return capsule, found


def _ask_capsule(obj: Any, arguments: dict[str, Any]) -> object:
    # PyTorch refuses to export what is conjugated when it is read, but not what is negated then.
    if getattr(obj, "is_neg", bool)() is True:
        raise UnsupportedObjectError(
            f"{_name(obj)} has its negative bit set: its memory holds the negated numbers; "
            "pass tensor.resolve_neg()"
        )
    try:
        try:
            if not arguments:  # the most frequent case
                return obj.__dlpack__(max_version=(1, 0), copy=False)
            return obj.__dlpack__(max_version=(1, 0), copy=False, **arguments)
        except TypeError:  # a producer from before DLPack 1.0, which knows no such arguments
            return obj.__dlpack__(**arguments)
    except Exception as error:
        raise UnsupportedObjectError(f"{_name(obj)} does not export its memory: {error}") from error


def _dtype_of(code: int, bits: int, lanes: int) -> DType:
    if lanes != 1:
        raise LayoutError(
            f"vector elements of {lanes} lanes are not supported: "
            "export the array with the lanes as its last axis, or as uint8"
        )
    dtype = from_dlpack_code(code, bits)
    if dtype is None:
        raise LayoutError(
            f"no dtype for DLPack type code {code} with {bits} bits: export the elements as uint8"
        )
    if dtype.packed:
        raise LayoutError(f"{dtype} elements share bytes: export them as uint8")
    return dtype


# What is remembered of a layout: type code, bits, lanes, how many axes there are, and the words of
# the shape and the strides as they lie in memory.
Layout = tuple[int, int, int, int, bytes, bytes | None]


def _layout_at(ndim: int, code: int, bits: int, lanes: int, sizes: int, steps: int) -> Layout:
    """The layout of a tensor with that many axes, whose shape and strides are at two addresses."""
    if not 0 <= ndim <= MAX_AXES:
        raise LayoutError(f"a tensor of {ndim} axes: there can be 0 to {MAX_AXES}")
    if ndim and not sizes:
        raise LayoutError(f"a tensor without a shape, whose number of axes is {ndim}")
    if not ndim or not steps:
        return code, bits, lanes, ndim, _words(sizes, ndim), None
    if steps == sizes + 8 * ndim:  # in one piece, as most producers have them
        return code, bits, lanes, ndim, _words(sizes, 2 * ndim), _BEHIND
    return code, bits, lanes, ndim, _words(sizes, ndim), _words(steps, ndim)


def _checked(found: Described) -> DType:
    """The element type of a tensor whose elements all have addresses."""
    _, _, _, _, _, data, _, _, ndim, code, bits, lanes, sizes, steps, offset = found[1]
    layout = _layout_at(ndim, code, bits, lanes, sizes, steps)
    dtype, low, high = _extent(*layout)
    first = data + offset
    if high and (not data or first + low <= 0 or first + high > _END):
        _refuse_extent(found, layout, dtype)
    return dtype


def _refuse_extent(found: Described, layout: Layout, dtype: DType) -> None:
    """Raise the error for a tensor whose elements cannot all have addresses."""
    shape, strides = _numbers(*layout[3:])
    steps = strides and [s * dtype.carrier.itemsize for s in strides]
    check_extent(shape, steps, dtype.carrier.itemsize, found[1][5], found[1][14])


@lru_cache(maxsize=256)
def _described(
    code: int, bits: int, lanes: int, ndim: int, shape: bytes, strides: bytes | None
) -> tuple[TensorInfo, int, int]:
    """As `_extent`, with all of the layout."""
    dtype, low, high = _extent(code, bits, lanes, ndim, shape, strides)
    extents, counts = _numbers(ndim, shape, strides)
    steps = None if counts is None else [s * dtype.carrier.itemsize for s in counts]
    return TensorInfo(dtype, extents, steps), low, high


@lru_cache(maxsize=256)
def _extent(
    code: int, bits: int, lanes: int, ndim: int, shape: bytes, strides: bytes | None
) -> tuple[DType, int, int]:
    """The element type, and where the bytes begin and end, from the first element on.

    What is found good is remembered: the same layouts come again and again, at other addresses.
    """
    dtype = _dtype_of(code, bits, lanes)
    itemsize = dtype.carrier.itemsize
    extents, counts = _numbers(ndim, shape, strides)
    steps = None if counts is None else [s * itemsize for s in counts]
    return dtype, *check_extent(extents, steps, itemsize, None)


_BEHIND = b"the strides follow the shape"


@cache
def _words_at(count: int) -> Callable[[int], Any]:
    return (c_char * (8 * count)).from_address


def _words(address: int, count: int) -> bytes:
    """So many int64_t, unread."""
    return _words_at(count)(address).raw if count else b""


def _numbers(
    ndim: int, shape: bytes, strides: bytes | None
) -> tuple[tuple[int, ...], tuple[int, ...] | None]:
    """Shape and strides."""
    if strides == _BEHIND:
        shape, strides = shape[: 8 * ndim], shape[8 * ndim :]
    read = Struct(f"@{ndim}q").unpack
    return read(shape), None if strides is None else read(strides)


def _consume(obj: object, capsule: object, found: Described, dtype: DType) -> np.ndarray[Any, Any]:
    """Let numpy consume the capsule; a dtype that it lacks is an unsigned integer meanwhile."""
    element = tensor_at(found).dtype if dtype.numpy is None else None
    if element is not None:
        real, element.code = element.code, TYPE_UINT
    handover = _Handover()
    handover.capsule = capsule
    try:
        array = np.from_dlpack(handover)  # type: ignore[arg-type]  # it gives (1, 0)
    except Exception as error:
        if element is not None and still_holds(capsule):
            element.code = real
        raise UnsupportedObjectError(f"{_name(obj)}: numpy refuses its capsule: {error}") from error
    if element is not None:
        element.code = real
    return array
