# SPDX-License-Identifier: Apache-2.0
"""OpenVINO's element types and ours."""

from __future__ import annotations

from typing import Any

import openvino

from samebytes import DType, dtype
from samebytes.errors import LayoutError

__all__ = ["element_type", "from_element_type", "packed_nbytes"]

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


def from_element_type(theirs: Any) -> DType:
    """The dtype of an openvino.Type.

    Raises:
        LayoutError: its elements are strings, which are objects and no plain bytes, or their
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
