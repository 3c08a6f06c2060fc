# SPDX-License-Identifier: Apache-2.0
"""Remote tensors, properties and layouts, as OpenVINO's Python API takes and returns them.

Python's set_tensors(), and set_tensor() by port, refuse remote tensors. But for one that was set by
name, a request returns an openvino.Tensor over the same remote tensor, which is taken everywhere.
So there are requests, for each element type and rank, whose only use is this conversion. They
belong to the CPU plugin, which takes the tensors of all devices as long as nothing runs, and whose
models can be dynamic.

A pointer is written as hexadecimal text: the bindings refuse integers and capsules, and parse
decimal text as hexadecimal. It is read from the text of the ov::Any that comes back, whose
other accessors raise, and whose hash() can end the process.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

import openvino
from openvino import op

from samebytes import DType, TensorInfo, dtype
from samebytes.errors import UnknownNameError

from .._core import default_core
from .._host._layout import element_type, from_element_type

__all__ = [
    "as_tensor",
    "info_of",
    "on_windows",
    "params_of",
    "pointer",
]

_NAME = "converted"

# Converters that nobody uses at the moment, by element type and rank. Each call takes one out, so
# that neither another thread nor a finalizer sets its tensor meanwhile.
_idle: dict[tuple[str, int], deque[_Converter]] = {}


def as_tensor(native: Any, element: Any, rank: int) -> Any:
    """An openvino.Tensor over a remote tensor. The CPU cannot read its data.

    Args:
        native: an openvino.RemoteTensor.
        element: its openvino.Type.
        rank: its number of dimensions.
    """
    key = (element.type_name, rank)
    idle = _idle.setdefault(key, deque())
    try:
        converter = idle.pop()
    except IndexError:
        converter = _Converter(element, rank)
    made = converter.convert(native)
    idle.append(converter)
    return made


class _Converter:
    """A request that is never run."""

    __slots__ = ("_idle", "_request")

    def __init__(self, element: Any, rank: int) -> None:
        parameter = op.Parameter(element, openvino.PartialShape([-1] * rank))
        parameter.output(0).set_names({_NAME})
        model = openvino.Model([op.Result(parameter.output(0))], [parameter], _NAME)
        self._request = default_core().compile_model(model, "CPU").create_infer_request()
        # Set between conversions, so that the request does not keep the user's memory.
        self._idle = openvino.Tensor(element, openvino.Shape([1] * rank))

    def convert(self, native: Any) -> Any:
        request = self._request
        try:
            request.set_tensor(_NAME, native)
            return request.get_tensor(_NAME)
        finally:
            request.set_tensor(_NAME, self._idle)


# openvino/runtime/intel_gpu/remote_properties.hpp and intel_npu/remote_properties.hpp
_POINTERS = frozenset(
    {"OCL_CONTEXT", "OCL_QUEUE", "VA_DEVICE", "MEM_HANDLE", "CPU_VA", "L0_CONTEXT"}
)
_NUMBERS = frozenset(
    {"OCL_CONTEXT_DEVICE_ID", "TILE_ID", "DEV_OBJECT_HANDLE", "VA_PLANE", "OS_HANDLE",
     "CPU_VA_SIZE"}
)  # fmt: skip


def on_windows() -> bool:
    """True if memory is shared by NT handles, False if by file descriptors."""
    return sys.platform == "win32"


def pointer(value: int) -> str:
    """A pointer, or a descriptor that is passed as one, in the form that a property takes."""
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
