# SPDX-License-Identifier: Apache-2.0
"""Models that take the planes of a decoder's frames: yuv_inputs, nv12_inputs and i420_inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import openvino

from samebytes import Frame, ImageFormat, ImageInfo
from samebytes.errors import LayoutError, UnknownNameError
from samebytes.plugins import Refused

from ._build import Memory, Source, build
from ._frames import image_of, whole_rows
from ._model_input import COLORS, Target, input_size_of, layout_of_input, read

__all__ = [
    "i420_inputs",
    "nv12_inputs",
    "prepared",
    "yuv_inputs",
]

_FORMATS = ("NV12", "I420")


def yuv_inputs(
    model: Any,
    format: str | ImageFormat,  # the field's word for it
    width: int,
    height: int,
    *,
    resize: bool = True,
    layout: str = "NCHW",
    color: Literal["BGR", "RGB"] = "BGR",
    pitches: Sequence[int] | Frame | None = None,
) -> tuple[Any, tuple[str, ...]]:
    """A copy of a model that takes NV12 or I420 planes instead of its single image input.

    Colour conversion (BT.601 in limited range), scaling and conversion to the model's element type
    become part of the model, so that the planes are read where they lie. `image_model` does the
    same for more formats and for every device, and binds the frames too.

    Where frames have several times as many pixels as the model's image, only those that the result
    needs are converted. The result is that of openvino.preprocess to within 1 of 255.

    Args:
        model: an openvino.Model with one input, an image of three channels, or the path of one. It
            is not changed.
        format: "NV12" or "I420", in any spelling.
        width, height: of the frames, in pixels.
        resize: scale to the model's size (bilinear); without it the model must have this size.
        layout: where the model's input has its channels, "NCHW" or "NHWC".
        color: the order of the channels that the model was trained with.
        pitches: bytes from row to row of each plane, or a frame that has them. Such inputs are as
            wide as a whole row; `InferRequest.set_frame` gives them the padding too. By default
            rows without padding.

    Returns:
        (model, names): the new model, and the names of its inputs in the order of the planes, as
        `InferRequest.set_frame(frame, names)` takes them.

    Raises:
        UnknownNameError: another format, layout or colour order.
        LayoutError: a size or pitch that the format cannot have, a pitch that is not a whole
            number of pixels, or a model with several inputs.
    """
    name = _known_format(ImageFormat.of(format).name)
    _check_color(color)
    info = ImageInfo.of(name, width, height)
    own = read(model, None)
    target = _target(own, layout, color, (width, height) if not resize else None)
    source = Source.dense(info, "BT.601", "limited")
    if pitches is not None:
        source = _padded(info, pitches)
    if not resize and target.size != source.size:
        raise LayoutError(
            f"the model takes {target.size[0]}x{target.size[1]}, but the frames are {info}: pass "
            "resize=True"
        )
    built = build(own, source, target, on_cpu=True)
    return built.model, built.names


def prepared(
    model: Any,
    format_: str,
    size: tuple[int, int] | None,
    *,
    layout: str,
    color: str,
    memory_type: Memory,
) -> tuple[Any, tuple[str, ...]]:
    """The result of `yuv_inputs`, with OpenVINO's own operations and the memory of a GPU.

    Args:
        format_: "NV12" or "I420".
        size: (width, height) of the frames, both even; None for the model's own.
        memory_type: the memory type that the GPU plugin will expect.
    """
    _known_format(format_)
    _check_color(color)
    own = read(model, None)
    target = _target(own, layout, color, None)
    width, height = size or target.size
    if width <= 0 or height <= 0 or width % 2 or height % 2:
        raise LayoutError(
            f"{format_} preprocessing needs an even width and height, not {width}x{height}"
        )
    source = Source.dense(ImageInfo.of(format_, width, height), "BT.601", "limited", memory_type)
    built = build(own, source, target, on_cpu=False)
    return built.model, built.names


def _known_format(name: str) -> str:
    if name not in _FORMATS:
        raise UnknownNameError("format of yuv_inputs", name, _FORMATS)
    return name


def _check_color(color: str) -> None:
    if color not in COLORS:
        raise UnknownNameError("colour order", color, COLORS)


def _target(model: Any, layout: str, color: str, size: tuple[int, int] | None) -> Target:
    """The model's image input; of the given size, where its own is dynamic."""
    if not set("CHW") <= set(layout):
        raise LayoutError(f"layout {layout!r} does not say where C, H and W are")
    order = layout_of_input(model, layout)
    shape = model.inputs[0].partial_shape
    if size is None and not all(shape[order.index(axis)].is_static for axis in "HW"):
        raise LayoutError(
            f"the model's input is {shape}: reshape it to the size that it should work at, "
            "model.reshape([1, 3, height, width])"
        )
    return Target(order, input_size_of(model, order, None, size or (1, 1)), color)


def _padded(info: ImageInfo, pitches: Sequence[int] | Frame) -> Source:
    if isinstance(pitches, Frame):
        there = pitches.map("cpu", "r")
        if image_of(there) != info:
            raise LayoutError(f"the frame is {there.image}, but the model expects {info}")
        pitches = _pitches_of(there, info)
    layouts = info.plane_layouts(pitches)
    source = Source(info, tuple(pitches), (0,) * len(layouts), "BT.601", "limited")
    for layout, shape in zip(layouts, source.port_shapes(), strict=True):
        if (*layout.shape[2:], 1)[0] != shape[3]:
            raise LayoutError(
                f"the pitch of plane {layout.name!r} is {layout.pitch} bytes, which is not a whole "
                f"number of its {layout.shape[2]}-byte pixels: image_model() takes such frames"
            )
    return source


def _pitches_of(there: Frame, info: ImageInfo) -> tuple[int, ...]:
    """The bytes of a row of each plane; those of dense planes where whole rows cannot be had."""
    try:
        _, pitches = whole_rows(there)
    except Refused:
        return tuple(layout.row_nbytes for layout in info.plane_layouts())
    return tuple(pitch for pitch, _ in pitches)


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
    """A copy of a model that takes the three planes of I420; otherwise like `nv12_inputs`.

    There are no video surfaces of I420: with "GPU_SURFACE" the planes are images.

    Args:
        model: as for `nv12_inputs`.
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
