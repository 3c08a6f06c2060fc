# SPDX-License-Identifier: Apache-2.0
"""The most frequent binding: a dense tensor in memory of the CPU, as an input of the CPU plugin.

It is given to OpenVINO as it is. What is reported of it is made when somebody asks.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import openvino

import samebytes
from samebytes import CpuTensor, Tensor
from samebytes.errors import SamebytesError

from .._host._context import OPENVINO
from .._host._pinned import PinnedTensor, ReadOnlyTensor
from .._host._tensor import OpenVINOTensor
from ._binding import Bound
from ._placement import Placement
from ._ports import Port

__all__ = ["InPlace", "dense_input"]


class InPlace(Bound):
    """A port that is bound to a tensor of OpenVINO's, which this holds.

    Attributes:
        native: the openvino.Tensor.
        source: the tensor that it is the native of, which may be closed by now; or what else it
            lies in: the user's own openvino.Tensor, which is `native` then, or a frame.
    """

    __slots__ = ("_tensor", "native", "source")

    placement: Placement = "in place"
    plugin_copies = 0
    pin = None
    batch: tuple[Tensor, ...] = ()
    ran = False

    def __init__(self, native: Any, source: Any) -> None:
        self.native = native
        self.source = source
        self._tensor: Tensor | None = None

    @property
    def tensor(self) -> Tensor:  # type: ignore[override]  # read only: made when it is asked for
        """The tensor that get_tensor() returns, mapped for reading."""
        found = self._tensor
        if found is None:
            source = self.source
            if not isinstance(source, Tensor) or source.closed:
                source = OpenVINOTensor.wrap(self.native)
            found = self._tensor = source.map(OPENVINO, "r")
        return found

    @property
    def given(self) -> Tensor:  # type: ignore[override]  # as `tensor`
        """The tensor that OpenVINO was given: the same one."""
        return self.tensor


_HOST_NATIVES = (openvino.Tensor, PinnedTensor, ReadOnlyTensor)


def dense_input(port: Port, value: Any) -> tuple[Any, Any] | None:
    """The openvino.Tensor for an input, and what it is the native of.

    None where more must be asked: the tensor is not of the port's very layout, or not in memory of
    the CPU; or the port takes more than one layout.
    """
    kind = type(value)
    if kind is np.ndarray or kind is CpuTensor:
        try:
            value = (samebytes.tensor(value) if kind is np.ndarray else value).map(OPENVINO, "r")
        except SamebytesError:
            return None  # who looks at it closely says why
    elif kind in _HOST_NATIVES:
        if value.element_type != port.type or port.type is None:
            return None
        array = value.data
        if array.shape != port.shape or array.strides != port.strides:
            return None
        return value, value
    elif kind is not OpenVINOTensor:
        return None
    info = value.known_info or value.info
    if info.dtype is port.element and info.shape == port.shape and info.strides == port.strides:
        return value.native, value
    return None
