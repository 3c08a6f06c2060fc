# SPDX-License-Identifier: Apache-2.0
"""The layout of a new remote tensor, from the element types and shapes that users pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import openvino

from samebytes import DType, TensorInfo, dtype
from samebytes.errors import UnknownNameError

from .._host._element_types import element_type, from_element_type

__all__ = ["info_of"]


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
