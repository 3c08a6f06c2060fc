# SPDX-License-Identifier: Apache-2.0
"""Whether a remote tensor can be bound to a port: what OpenVINO finds out at the inference."""

from __future__ import annotations

from samebytes import Tensor, TensorInfo
from samebytes.errors import LayoutError

from .._bindings import check_fixed_shape
from .._ports import Port
from ._placement import Places

__all__ = ["check_remote"]


def check_remote(port: Port, tensor: Tensor, places: Places) -> None:
    """Raise LayoutError if the plugin would fail, or give wrong numbers."""
    info = tensor.info
    if port.kind == "output":
        check_fixed_shape(port)
        if info.strides is None and not info.dtype.packed:
            raise LayoutError(f"{port}: an inference writes to buffers, not to images")
    elif info.dtype.name in places.refuses_remote:
        raise LayoutError(
            f"{port} is {info.dtype}, and the GPU plugin takes no remote tensors for such inputs: "
            "set memory of the CPU, or compile the model with a uint8 input"
        )
    if info.strides is not None and info.strides != TensorInfo(info.dtype, info.shape).strides:
        raise LayoutError(
            f"{port}: strides {info.strides} leave gaps, and the plugin would read them as data"
        )
