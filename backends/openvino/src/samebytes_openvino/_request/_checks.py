# SPDX-License-Identifier: Apache-2.0
"""Check that a tensor can be bound to a port, which OpenVINO does late or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import openvino

from samebytes import Frame, Tensor, TensorInfo
from samebytes.errors import LayoutError, UnsupportedObjectError

from .._remote._context import RemoteTensor
from ._ports import Port

if TYPE_CHECKING:
    from ._binding import PlacementRules

__all__ = [
    "check_batch",
    "check_kind",
    "check_layout",
    "check_output",
    "check_remote",
    "check_surface",
    "is_dense",
]


def check_kind(port: Port, value: Any) -> None:
    """Raise UnsupportedObjectError unless `value` may be a tensor."""
    if isinstance(value, Frame):
        raise UnsupportedObjectError(
            f"{port} takes one tensor, and this is a frame: use set_frame(), or set its planes"
        )


def check_layout(port: Port, info: TensorInfo) -> None:
    """Raise LayoutError unless dtype and shape are those of the port."""
    if info.shape == port.shape and info.dtype is port.element:
        return
    if port.element is None:
        raise LayoutError(f"{port} holds strings, which cannot be shared: set them with OpenVINO")
    fits = port.shape is None and port.native.partial_shape.compatible(
        openvino.PartialShape(list(info.shape))
    )
    if not fits or info.dtype is not port.element:
        shape = list(port.shape) if port.shape is not None else str(port.native.partial_shape)
        raise LayoutError(
            f"{port} takes {port.element} {shape}, but the tensor is {info.dtype} "
            f"{list(info.shape)}"
        )


def check_batch(port: Port, parts: Sequence[Tensor]) -> None:
    """Raise LayoutError unless the tensors are the items of one batch, one for each."""
    if port.kind != "input":
        raise LayoutError(f"{port}: only inputs are set as a batch of tensors")
    if port.shape is None or not port.shape:
        raise LayoutError(
            f"{port} has the shape {port.native.partial_shape}: a batch needs a fixed one, see "
            "openvino.set_batch(model, items)"
        )
    items, *rest = port.shape
    if len(parts) != items:
        raise LayoutError(f"{port} takes a batch of {items}, tensors passed: {len(parts)}")
    for index, part in enumerate(parts):
        info = part.info
        if info.shape != (1, *rest) or info.dtype is not port.element:
            raise LayoutError(
                f"item {index} of a batch for {port} must be {port.element} {[1, *rest]}, and is "
                f"{info.dtype} {list(info.shape)}"
            )


def is_dense(port: Port, info: TensorInfo, native: Any) -> bool:
    """True if an openvino.Tensor of the port's layout, in memory of the CPU, has no gaps."""
    # Asking OpenVINO costs more than to compare with what a port of fixed shape takes.
    return info.strides == port.strides or bool(native.is_continuous())


def check_output(port: Port, dense: bool, info: TensorInfo) -> None:
    """Raise LayoutError unless an inference can write its output to memory of the CPU."""
    _check_fixed_shape(port)
    if not dense:
        raise LayoutError(
            f"{port} is written in place to dense memory only, and strides {info.strides} leave "
            "gaps: set a dense tensor, and copy from it"
        )


def check_remote(port: Port, tensor: Tensor, rules: PlacementRules) -> None:
    """Raise LayoutError if the plugin would fail on a remote tensor, or give wrong numbers."""
    info = tensor.info
    if port.kind == "output":
        _check_fixed_shape(port)
        if isinstance(tensor, RemoteTensor) and tensor.params.get("TENSOR_TYPE") == "INPUT":
            raise LayoutError(
                f"{port}: the NPU may only read memory of TENSOR_TYPE INPUT: make the tensor as "
                "OUTPUT or BINDED"
            )
        if info.strides is None and not info.dtype.packed:
            raise LayoutError(f"{port}: an inference writes to buffers, not to images")
    elif info.dtype.name in rules.refuses_remote:
        raise LayoutError(
            f"{port} is {info.dtype}, and the GPU plugin takes no remote tensors for such inputs: "
            "set memory of the CPU, or compile the model with a uint8 input"
        )
    check_surface(port, info.strides is None and not info.dtype.packed, rules)
    if info.strides not in (None, port.strides) and not info.is_contiguous:
        raise LayoutError(
            f"{port}: strides {info.strides} leave gaps, and the plugin would read them as data"
        )


def check_surface(port: Port, surface: bool, rules: PlacementRules) -> None:
    """Raise LayoutError if the input takes surfaces and this is none, or the other way round.

    Args:
        surface: it is an image or a video surface.
    """
    if rules.reads_surface(port) is (not surface):
        have, takes, other = (
            ("an image or surface", "buffers, USM and memory of the CPU", "GPU_SURFACE")
            if surface
            else ("memory with strides", "images and video surfaces", "GPU_BUFFER")
        )
        raise LayoutError(
            f"{port} takes {takes}, and this is {have}: prepare the model with "
            f'memory_type="{other}"'
        )


def _check_fixed_shape(port: Port) -> None:
    """Raise LayoutError if the size of an output is only known when it is there."""
    if port.shape is None:
        raise LayoutError(
            f"{port} has a dynamic shape {port.native.partial_shape}: OpenVINO writes it to memory "
            "of its own and would copy it; read it with get_tensor() or outputs()"
        )
