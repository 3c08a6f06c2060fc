# SPDX-License-Identifier: Apache-2.0
"""Values of remote properties and layouts, as OpenVINO's Python API takes and returns them.

A pointer is written as hexadecimal text: the bindings refuse integers and capsules, and parse
decimal text as hexadecimal. It is read from the text of the ov::Any that comes back, whose
other accessors raise, and whose hash() can end the process.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import openvino

from samebytes import DType, TensorInfo, dtype
from samebytes.errors import UnknownNameError

from .._host._element_types import element_type, from_element_type

__all__ = ["info_of", "params_of", "pointer"]

# openvino/runtime/intel_gpu/remote_properties.hpp and intel_npu/remote_properties.hpp
_POINTERS = frozenset(
    {"OCL_CONTEXT", "OCL_QUEUE", "VA_DEVICE", "MEM_HANDLE", "CPU_VA", "L0_CONTEXT"}
)
_NUMBERS = frozenset(
    {"OCL_CONTEXT_DEVICE_ID", "TILE_ID", "DEV_OBJECT_HANDLE", "VA_PLANE", "OS_HANDLE",
     "CPU_VA_SIZE"}
)  # fmt: skip


def pointer(value: int) -> str:
    """A pointer, or a descriptor that goes as one, as a property takes it."""
    return hex(value)


def params_of(native: Any) -> dict[str, int | str]:
    """`get_params()` of a remote context or tensor, as Python values: pointers are ints."""
    return {key: _value(key, value) for key, value in _texts(native.get_params()).items()}


def _texts(params: Mapping[str, Any]) -> dict[str, str]:
    return {key: any_.astype(str) for key, any_ in params.items()}


def _value(key: str, text: str) -> int | str:
    if key in _POINTERS:
        return int(text, 16)
    if key in _NUMBERS:
        return int(text)
    return text


def info_of(type_: Any, shape: Sequence[int]) -> tuple[TensorInfo, Any, Any]:
    """(layout, openvino.Type, openvino.Shape) of a dense tensor.

    Raises:
        LayoutError: a shape that `TensorInfo` refuses, or elements that are not plain bytes.
        UnknownNameError: no such element type, or none that OpenVINO has.
    """
    ours, theirs = _element_of(type_)
    info = TensorInfo(ours, shape)
    return info, theirs, openvino.Shape(info.shape)


def _element_of(type_: Any) -> tuple[DType, Any]:
    """(dtype, openvino.Type) of an openvino.Type, a name, a numpy dtype or a DType.

    Raises:
        UnknownNameError: no such type, or none that OpenVINO has.
        LayoutError: an openvino.Type whose elements are not plain bytes.
    """
    if isinstance(type_, str):  # "u8" and "f32" are names of OpenVINO's
        type_ = getattr(openvino.Type, type_, type_)
    if isinstance(type_, openvino.Type):
        return from_element_type(type_), type_
    ours = dtype(type_)
    theirs = element_type(ours)
    if theirs is None:
        raise UnknownNameError("element type of OpenVINO", ours.name, ())
    return ours, theirs
