# SPDX-License-Identifier: Apache-2.0
"""Models that take the planes of a decoder's frames."""

from __future__ import annotations

from typing import Any, Literal

from openvino import Layout, Type
from openvino.preprocess import ColorFormat, PrePostProcessor, ResizeAlgorithm

from samebytes import ImageFormat
from samebytes.errors import LayoutError, UnknownNameError

__all__ = ["prepared", "yuv_inputs"]

_FORMATS = {
    "NV12": (ColorFormat.NV12_TWO_PLANES, ("y", "uv")),
    "I420": (ColorFormat.I420_THREE_PLANES, ("y", "u", "v")),
}
_COLORS = {"BGR": ColorFormat.BGR, "RGB": ColorFormat.RGB}


def yuv_inputs(
    model: Any,
    format: str | ImageFormat,  # the field's word for it
    width: int,
    height: int,
    *,
    resize: bool = True,
    layout: str = "NCHW",
    color: Literal["BGR", "RGB"] = "BGR",
) -> tuple[Any, tuple[str, ...]]:
    """A copy of a model that takes NV12 or I420 planes instead of its single image input.

    Colour conversion, scaling and conversion to the model's element type become part of the
    model (openvino.preprocess), so that the planes are read where they lie.

    Args:
        model: an openvino.Model with one input, an image of three channels. It is not changed.
        format: "NV12" or "I420", in any spelling.
        width, height: of the frames, in pixels; both even.
        resize: scale to the model's size (bilinear); without it the model must have this size.
        layout: where the model's input has its channels, for instance "NCHW" or "NHWC".
        color: the order of the channels that the model was trained with.

    Returns:
        (model, names): the new model, and the names of its inputs in the order of the planes, as
        `InferRequest.set_frame(frame, names)` takes them.

    Raises:
        UnknownNameError: another format or colour order.
        LayoutError: an odd size, or a model with several inputs.
    """
    name = ImageFormat.of(format).name
    return prepared(model, name, (width, height), resize=resize, layout=layout, color=color)


def prepared(
    model: Any,
    format_: str,
    size: tuple[int, int] | None,
    *,
    resize: bool,
    layout: str,
    color: str,
    memory_type: str | None = None,
) -> tuple[Any, tuple[str, ...]]:
    """What `yuv_inputs` does, and its relatives for the GPU.

    Args:
        format_: "NV12" or "I420".
        size: (width, height) of the frames; None for the model's own.
        memory_type: what the GPU plugin shall expect: "GPU_SURFACE", "GPU_BUFFER" or nothing.
    """
    if format_ not in _FORMATS:
        raise UnknownNameError("format of yuv_inputs", format_, _FORMATS)
    if color not in _COLORS:
        raise UnknownNameError("colour order", color, _COLORS)
    if size is not None:
        _check_even(format_, *size)
    if len(model.inputs) != 1:
        raise LayoutError(
            f"the model has {len(model.inputs)} inputs: yuv_inputs takes models with one image"
        )
    if not set("CHW") <= set(layout):
        raise LayoutError(f"layout {layout!r} does not say where C, H and W are")
    color_format, planes = _FORMATS[format_]
    processor = PrePostProcessor(model.clone())
    image = processor.input()
    tensor = image.tensor().set_element_type(Type.u8).set_color_format(color_format, list(planes))
    if memory_type is not None:
        tensor.set_memory_type(memory_type)
    if size is not None:
        tensor.set_spatial_static_shape(size[1], size[0])
    steps = image.preprocess().convert_color(_COLORS[color])
    steps.convert_element_type(model.inputs[0].element_type)
    if resize:
        steps.resize(ResizeAlgorithm.RESIZE_LINEAR)
    # Without it, height and width would be taken from the wrong dimensions.
    image.model().set_layout(Layout(layout))
    built = processor.build()
    return built, tuple(port.any_name for port in built.inputs)


def _check_even(format_: str, width: int, height: int) -> None:
    if width <= 0 or height <= 0 or width % 2 or height % 2:
        raise LayoutError(
            f"{format_} preprocessing needs an even width and height, not {width}x{height}"
        )
