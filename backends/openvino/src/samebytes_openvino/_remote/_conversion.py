# SPDX-License-Identifier: Apache-2.0
"""An openvino.Tensor that holds an openvino.RemoteTensor.

Python's set_tensors(), and set_tensor() by port, refuse remote tensors. But what a request gives
back for one that was set by name is an openvino.Tensor over the same remote tensor, and that
is taken everywhere. So there are requests for each element type and rank whose only use is this
conversion. They are of the CPU plugin, which takes the tensors of all devices as long as nothing
runs, and whose models can be dynamic.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import openvino
from openvino import op

from .._core import default_core

__all__ = ["as_tensor"]

_NAME = "converted"

# Those that nobody uses at the moment, by element type and rank. Whoever converts takes one out, so
# that neither another thread nor a finalizer sets its tensor meanwhile.
_idle: dict[tuple[str, int], deque[_Converter]] = {}


def as_tensor(native: Any, element: Any, rank: int) -> Any:
    """`native` as an openvino.Tensor, whose data cannot be read by the CPU.

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
    """One request, which is never run."""

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
