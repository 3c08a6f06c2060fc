# SPDX-License-Identifier: Apache-2.0
"""Models that take the planes of a video surface, or of a picture in OpenCL memory."""

from __future__ import annotations

from typing import Any, Literal

import openvino

from samebytes.errors import LayoutError, UnknownNameError

from .._image._yuv import prepared

__all__ = ["i420_inputs", "nv12_inputs"]

MemoryType = Literal["GPU_SURFACE", "GPU_BUFFER"]
Color = Literal["BGR", "RGB"]

_MEMORY_TYPES = ("GPU_SURFACE", "GPU_BUFFER")  # openvino/runtime/intel_gpu/properties.hpp


def nv12_inputs(
    model: Any,
    width: int | None = None,
    height: int | None = None,
    *,
    memory_type: MemoryType = "GPU_SURFACE",
    layout: str = "NCHW",
    color: Color = "BGR",
    batch: int = 1,
) -> tuple[Any, tuple[str, ...]]:
    """A copy of a model that takes the two planes of NV12 instead of its single image input.

    Args:
        model: an openvino.Model with one input, an image of three channels, or the path of one. It
            is not changed.
        width, height: of the frames, in pixels, both even; they are scaled to the model's size
            (bilinear). Left out, the frames have the model's size.
        memory_type: "GPU_SURFACE" for images and video surfaces, "GPU_BUFFER" for buffers, USM
            and memory of the CPU. A model takes one of them, and fails at inference with the
            other.
        layout: where the model's input has its channels, for instance "NCHW" or "NHWC".
        color: the order of the channels that the model was trained with.
        batch: how many frames one inference takes: a list of tensors for each plane.

    Returns:
        (model, names): compile this model, not the original; and the names of its inputs, Y and
        UV. Their shapes are [batch, height, width, 1] and [batch, height/2, width/2, 2], uint8.

    Raises:
        UnknownNameError: another memory type or colour order.
        LayoutError: an odd size, half a size, or a model with several inputs.
    """
    return _inputs(model, "NV12", width, height, memory_type, layout, color, batch)


def i420_inputs(
    model: Any,
    width: int | None = None,
    height: int | None = None,
    *,
    memory_type: MemoryType = "GPU_SURFACE",
    layout: str = "NCHW",
    color: Color = "BGR",
    batch: int = 1,
) -> tuple[Any, tuple[str, ...]]:
    """As `nv12_inputs`, for the three planes of I420.

    There are no video surfaces of I420: with "GPU_SURFACE" the planes are images.

    Args:
        model: as of `nv12_inputs`.
        width: of the frames, in pixels; by default the model's own.
        height: of the frames, in rows; by default the model's own.
        memory_type: "GPU_SURFACE" for images, "GPU_BUFFER" for buffers and USM.
        layout: of the model's input.
        color: what the model was trained with, "BGR" or "RGB".
        batch: frames at a time.

    Returns:
        (model, names): the names of Y, U and V, whose shapes are [batch, height, width, 1] and
        twice [batch, height/2, width/2, 1], uint8.

    Raises:
        UnknownNameError, LayoutError: as for `nv12_inputs`.
    """
    return _inputs(model, "I420", width, height, memory_type, layout, color, batch)


def _inputs(
    model: Any,
    format_: str,
    width: int | None,
    height: int | None,
    memory_type: MemoryType,
    layout: str,
    color: str,
    batch: int,
) -> tuple[Any, tuple[str, ...]]:
    if memory_type not in _MEMORY_TYPES:
        raise UnknownNameError("memory type of the GPU plugin", memory_type, _MEMORY_TYPES)
    if (width is None) != (height is None):
        raise LayoutError(f"pass both width and height or neither, not {width} and {height}")
    if batch < 1:
        raise LayoutError(f"a batch must have at least one frame, not {batch}")
    built, names = prepared(
        model,
        format_,
        (width, height) if width is not None and height is not None else None,
        layout=layout,
        color=color,
        memory_type=memory_type,
    )
    if batch != 1:
        openvino.set_batch(built, batch)
    return built, names
