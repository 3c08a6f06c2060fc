# SPDX-License-Identifier: Apache-2.0
"""Element types and strided arrays, in the terms of OpenVINO.

OpenVINO's Python API takes dense arrays only, but can cut a region out of a tensor. So an array
whose rows are padded is described as a region of a wider, dense tensor. That tensor also claims
the padding after the last row, which must therefore be known to belong to the same memory.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import openvino

from samebytes import DType, TensorInfo, dtype
from samebytes.errors import LayoutError
from samebytes.plugins import Refused, data_address

from ._pinned import tensor_class

__all__ = [
    "carried_tensor",
    "element_type",
    "from_element_type",
    "layout_of",
    "memory_of",
    "packed_nbytes",
    "tensor_over",
    "why_no_element",
]


# openvino/core/type/element_type.hpp, with the names of ours that mean the same bits.
_NAMES = {
    "boolean": "bool",
    "i4": "int4",
    "i8": "int8",
    "i16": "int16",
    "i32": "int32",
    "i64": "int64",
    "u1": "uint1",
    "u2": "uint2",
    "u3": "uint3",
    "u4": "uint4",
    "u6": "uint6",
    "u8": "uint8",
    "u16": "uint16",
    "u32": "uint32",
    "u64": "uint64",
    "f16": "float16",
    "f32": "float32",
    "f64": "float64",
    "bf16": "bfloat16",
    "nf4": "nf4",
    "f8e4m3": "float8_e4m3fn",
    "f8e5m2": "float8_e5m2",
    "f8e8m0": "float8_e8m0fnu",
    "f4e2m1": "float4_e2m1fn",
}
# Versions before 2026 have fewer: u2, u3 and u6 came last.
_TO: dict[DType, Any] = {
    dtype(ours): getattr(openvino.Type, name)
    for name, ours in _NAMES.items()
    if hasattr(openvino.Type, name)
}
_FROM: dict[Any, DType] = {theirs: ours for ours, theirs in _TO.items()}

# Elements of three and six bits are split over groups of three bytes, which hold 8 and 4 of them.
_GROUPS = {dtype("uint3"): (8, 3), dtype("uint6"): (4, 3)}


def element_type(ours: DType) -> Any:
    """The openvino.Type of a dtype, or None where OpenVINO has none."""
    return _TO.get(ours)


def why_no_element(ours: DType) -> str | None:
    """None if OpenVINO has elements of a dtype, else the reason why not."""
    if ours in _TO:
        return None
    return f"OpenVINO has no element type for {ours}: it has {', '.join(map(str, _TO))}"


def from_element_type(theirs: Any) -> DType:
    """The dtype of an openvino.Type.

    Raises:
        LayoutError: its elements are strings, which are objects and not plain bytes, or their
            type is not known yet.
    """
    try:
        return _FROM[theirs]
    except KeyError:
        raise LayoutError(
            f"OpenVINO tensors of type {theirs.type_name!r} cannot be shared"
            + (": read Tensor.str_data, which copies" if theirs == openvino.Type.string else "")
        ) from None


def packed_nbytes(ours: DType, size: int) -> int:
    """Bytes that OpenVINO uses for `size` elements of a type below 8 bits."""
    per_group, nbytes = _GROUPS.get(ours, (8 // ours.bits, 1))
    return -(-size // per_group) * nbytes


Array = np.ndarray[Any, Any]
Ints = tuple[int, ...]


class Region(NamedTuple):
    """A layout with gaps, as a part of a dense tensor.

    Attributes:
        full: shape of the dense tensor, as a tuple and as OpenVINO's type.
        steps: byte strides of the dense tensor.
        span: bytes from the first element of the region to the end of its last one.
        slack: bytes that the dense tensor has besides those.
        begin, end: corners of the region when all the slack is behind it.
    """

    full: Ints
    full_shape: Any
    steps: Ints
    span: int
    slack: int
    begin: Any
    end: Any


# Slots, because their attributes are read faster than those of a tuple: see `CpuToOpenVINO`.
@dataclass(slots=True, eq=False, repr=False)
class Layout:
    """An array's layout in the terms of OpenVINO.

    Attributes:
        shape: openvino.Shape of the tensor.
        extents: the same as a tuple.
        element: openvino.Type.
        carrier: the array's numpy dtype.
        region: None for dense arrays.
        plain: whether the array itself can be passed to OpenVINO.
        info: the layout of the tensor, if it is dense.
    """

    shape: Any
    extents: Ints
    element: Any
    carrier: np.dtype[Any]
    region: Region | None
    plain: bool
    info: TensorInfo | None


@lru_cache(maxsize=1024)
def layout_of(
    shape: Ints,
    strides: Ints,
    array_dtype: np.dtype[Any],
    image: bool = False,
    carried: DType | None = None,
) -> Layout:
    """The layout of an array, worked out once for each shape and strides.

    Args:
        strides: in bytes.
        image: the array is an image plane, (rows, columns) or (rows, columns, channels), and
            is seen as [1, rows, columns, channels].
        carried: what the elements are, if numpy does not have their type.

    Raises:
        Refused: OpenVINO cannot express it.
    """
    element = dtype(array_dtype) if carried is None else carried
    if (reason := why_no_element(element)) is not None:
        raise Refused(reason)
    if image:
        extra = (1,) if len(shape) == 2 else ()
        shape, strides = (1, *shape, *extra), (0, *strides, *extra)
    itemsize = array_dtype.itemsize
    steps = _steps(shape, strides, itemsize)
    region = None if steps == _dense(shape, itemsize) else _region(shape, steps, itemsize)
    plain = region is None and len(shape) > 0 and 0 not in shape
    info = TensorInfo(element, shape) if plain else None
    theirs = element_type(element)
    return Layout(openvino.Shape(shape), shape, theirs, array_dtype, region, plain, info)


def tensor_over(array: Array, layout: Layout, readonly: bool) -> Any:
    """The OpenVINO tensor over `array`, whose layout is `layout`. It keeps the memory alive.

    Raises:
        Refused: rows are padded, and the padding after the last one may be somebody else's.
    """
    region, kind = layout.region, tensor_class(readonly)
    if layout.plain:
        # This constructor, unlike the one with shared_memory=True, takes read-only arrays too.
        tensor = kind(array, layout.shape, layout.element)
    elif region is None:
        # OpenVINO before 2026 asks for the address of element [0], which scalars and arrays without
        # elements do not have.
        flat = array.reshape(1) if array.size else np.empty(1, layout.carrier)
        tensor = kind(flat, layout.shape, layout.element)
    else:
        memory, start = memory_of(array)
        lacking = region.slack - (memory.nbytes - start - region.span)
        if lacking <= 0:
            begin, end, shift = region.begin, region.end, 0
        else:
            begin, end, shift = _moved(region, layout.extents, lacking)
            if shift > start:
                raise Refused(
                    f"its last row ends {lacking} bytes before a whole number of padded rows, "
                    "and it is not known whether the bytes there belong to the same memory: wrap "
                    "the whole buffer and slice it, or allocate whole rows"
                )
        dense = np.ndarray(region.full, layout.carrier, memory, start - shift)
        whole = openvino.Tensor(dense, region.full_shape, layout.element)
        tensor = kind(whole, begin, end)
        tensor.pin = whole
    return tensor


def carried_tensor(array: Array, element: DType, shape: Ints, readonly: bool) -> Any:
    """The tensor over an array that carries the bits of a type which numpy lacks.

    Args:
        shape: in elements; elements below 8 bits lie packed in a dense array of bytes.

    Raises:
        Refused: as for `layout_of` and `tensor_over`, or too few bytes.
    """
    if not element.packed:
        layout = layout_of(shape, array.strides, array.dtype, False, element)
        return tensor_over(array, layout, readonly)
    if not array.flags.c_contiguous:
        raise Refused(f"packed {element} elements must lie in contiguous bytes")
    needed = packed_nbytes(element, math.prod(shape))
    if array.nbytes < needed:
        raise Refused(
            f"OpenVINO keeps {math.prod(shape)} {element} elements in {needed} bytes, but the "
            f"memory has {array.nbytes}"
        )
    if (reason := why_no_element(element)) is not None:
        raise Refused(reason)
    return tensor_class(readonly)(array, openvino.Shape(shape), element_type(element))


def _dense(shape: Ints, itemsize: int) -> Ints:
    steps = [itemsize] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        steps[axis] = steps[axis + 1] * shape[axis + 1]
    return tuple(steps)


def _steps(shape: Ints, strides: Ints, itemsize: int) -> Ints:
    """The strides, after those of axes with one element, which mean nothing, were made to fit."""
    if 0 in shape:
        return _dense(shape, itemsize)
    steps = list(strides)
    outer: int | None = None
    for axis, extent in enumerate(shape):
        if extent > 1:
            outer = strides[axis]
        elif outer is not None:
            steps[axis] = outer
    if shape and shape[-1] == 1:
        steps[-1] = itemsize
    for axis in range(len(shape) - 2, -1, -1):
        if shape[axis] == 1 and all(extent == 1 for extent in shape[:axis]):
            steps[axis] = steps[axis + 1] * shape[axis + 1]
    return tuple(steps)


def _region(shape: Ints, steps: Ints, itemsize: int) -> Region:
    _check(shape, steps, itemsize)
    full = (shape[0], *(outer // step for outer, step in pairwise(steps)))
    span = sum((n - 1) * s for n, s in zip(shape, steps, strict=True)) + itemsize
    return Region(
        full,
        openvino.Shape(full),
        steps,
        span,
        shape[0] * steps[0] - span,
        openvino.Coordinate([0] * len(shape)),
        openvino.Coordinate(list(shape)),
    )


def _check(shape: Ints, steps: Ints, itemsize: int) -> None:
    """Raise Refused unless the layout is that of a region of a dense tensor."""
    strides = f"strides {steps} of shape {shape}"
    if min(steps) < 0:
        raise Refused(f"{strides} are negative, which OpenVINO does not support")
    if 0 in steps:
        raise Refused(f"{strides} let elements overlap (a broadcast axis)")
    if steps[-1] < itemsize:
        raise Refused(f"{strides} let elements of {itemsize} bytes overlap")
    if steps[-1] != itemsize:
        raise Refused(f"{strides} leave gaps between the elements of a row, or are transposed")
    for axis in range(len(shape) - 1):
        outer, step, extent = steps[axis], steps[axis + 1], shape[axis + 1]
        if outer < step * extent:
            raise Refused(f"{strides} are transposed, or let elements overlap")
        if outer % step:
            raise Refused(
                f"{strides}: {outer} bytes are not a multiple of the {step} bytes of the next "
                "axis, and OpenVINO can only skip whole elements"
            )


def _moved(region: Region, shape: Ints, lacking: int) -> tuple[Any, Any, int]:
    """The corners of the region when at least `lacking` bytes of the slack are before it.

    Returns (begin, end, bytes that it moved), moved as little as can be.
    """
    begin = [0] * len(shape)
    left = lacking
    for axis in range(1, len(shape)):
        step, room = region.steps[axis], region.full[axis] - shape[axis]
        begin[axis] = min(room, left // step)
        left -= begin[axis] * step
    for axis in range(len(shape) - 1, 0, -1):
        if left > 0 and begin[axis] < region.full[axis] - shape[axis]:
            begin[axis] += 1
            left -= region.steps[axis]
    shift = sum(b * s for b, s in zip(begin, region.steps, strict=True))
    end = [b + n for b, n in zip(begin, shape, strict=True)]
    return openvino.Coordinate(begin), openvino.Coordinate(end), shift


def memory_of(array: Array) -> tuple[Array, int]:
    """All bytes that are known to belong to the memory of `array`, and where in them it begins."""
    root = array
    while isinstance(root.base, np.ndarray):
        root = root.base
    if root.flags.forc:
        flat = root if root.flags.c_contiguous else root.T
        memory = flat.reshape(-1).view(np.uint8)
    else:
        memory = _buffer_behind(root)
    return memory, data_address(array) - data_address(memory)


def _buffer_behind(root: Array) -> Array:
    """The bytes of the object from whose buffer a strided array was made."""
    try:
        memory: Array = np.frombuffer(root.base, np.uint8)  # type: ignore[arg-type]  # or TypeError
    except (TypeError, ValueError, BufferError):
        pass  # it has no buffer, or one in several pieces
    else:
        # The object could have an array interface as well, over other memory than its buffer.
        if 0 <= data_address(root) - data_address(memory) < memory.nbytes:
            return memory
    raise Refused(
        "its rows are padded, and it is not known how far its memory reaches: wrap the whole "
        "buffer and slice it"
    )
