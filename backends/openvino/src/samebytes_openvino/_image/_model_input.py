# SPDX-License-Identifier: Apache-2.0
"""The input of a model of images: its size, layout and element type."""

from __future__ import annotations

import os
from collections.abc import Sequence
from operator import index
from typing import Any, NamedTuple

import numpy as np
import openvino
from openvino import Type
from openvino import opset13 as ops

from samebytes.errors import LayoutError, UnknownNameError, UnsupportedObjectError

from .._core import read_model
from .._errors import last_line

__all__ = ["COLORS", "Target", "input_size_of", "is_of_open_size", "layout_of_input", "read"]

COLORS = ("BGR", "RGB")
_ELEMENTS = (Type.u8, Type.f32, Type.f16)


class Target(NamedTuple):
    """The image input of a model, settled.

    Attributes:
        layout: "NCHW" or "NHWC".
        size: (width, height).
        color: "BGR" or "RGB".
        mean, scale: for each channel in that order, or one for all; none where empty. The mean is
            taken off, then the rest is divided by the scale.
    """

    layout: str
    size: tuple[int, int]
    color: str
    mean: tuple[float, ...] = ()
    scale: tuple[float, ...] = ()

    def finish(self, image: Any, element: Any) -> Any:
        """The model's input out of a picture of float32, with numbers from 0 to 255.

        Args:
            image: [3, height, width], or with a batch before them.
        """
        batch = [1] * (len(image.shape) - 3)
        for values, operation in ((self.mean, ops.subtract), (self.scale, ops.divide)):
            if values:
                constant = np.array(values, np.float32).reshape(*batch, -1, 1, 1)
                image = operation(image, ops.constant(constant))
        if not batch:
            image = ops.unsqueeze(image, 0)
        if self.layout == "NHWC":
            image = ops.transpose(image, ops.constant(np.array([0, 2, 3, 1])))
        if element == Type.u8:
            image = ops.round(image, "half_to_even")
        return image if element == Type.f32 else ops.convert(image, element)


def read(model: Any, core: Any) -> Any:
    """An openvino.Model with one image input, not shared with anybody.

    Raises:
        LayoutError: several inputs, not four dimensions, or other elements than u8, f16 and f32.
        UnsupportedObjectError: `model` is neither a model nor a path.
    """
    if isinstance(model, str | bytes | os.PathLike):
        model = read_model(core, model)
    elif isinstance(model, openvino.Model):
        model = model.clone()
    else:
        raise UnsupportedObjectError(
            f"{type(model).__name__} is neither an openvino.Model nor the path of one; a compiled "
            "model cannot be given other inputs"
        )
    if len(model.inputs) != 1:
        raise LayoutError(
            f"the model has {len(model.inputs)} inputs, but must have one, an image: make the "
            "others constants of the model, or compile_model() it, and set each input on a request"
        )
    port = model.inputs[0]
    if port.partial_shape.rank.is_dynamic or len(port.partial_shape) != 4:
        raise LayoutError(
            f"the model's input is {port.partial_shape}, but an image has four dimensions, as in "
            "[1, 3, height, width]"
        )
    if port.element_type not in _ELEMENTS:
        raise LayoutError(
            f"the model's input is of {port.element_type.type_name}, but only u8, f16 and f32 are "
            "supported: begin the model with a Convert"
        )
    return model


def layout_of_input(model: Any, stated: str | None) -> str:
    """ "NCHW" or "NHWC": as stated, as the model says itself, or where its 3 channels are.

    Raises:
        LayoutError: it cannot be determined, the shape has no 3 channels, or the stated layout
            contradicts it.
        UnknownNameError: another layout was stated.
    """
    shape = model.inputs[0].partial_shape
    if stated is None:
        own = openvino.layout_helpers.get_layout(model.inputs[0])
        stated = own.to_string().strip("[]").replace(",", "") if not own.empty else None
        stated = stated if stated in ("NCHW", "NHWC") else None
    elif stated not in ("NCHW", "NHWC"):
        raise UnknownNameError("layout of a model's input", stated, ("NCHW", "NHWC"))
    if stated is None:
        found = [n for n, at in (("NCHW", 1), ("NHWC", 3)) if _is(shape[at], 3)]
        if not found and shape[1].is_static and shape[3].is_static:
            raise LayoutError(
                f"the model's input is {shape}: only images of 3 channels are supported"
            )
        if len(found) != 1:
            raise LayoutError(
                f"the model's input is {shape}, which does not say where its 3 channels are: pass "
                'layout="NCHW" or layout="NHWC"'
            )
        stated = found[0]
    channels = shape[stated.index("C")]
    if channels.is_static and not _is(channels, 3):
        raise LayoutError(
            f"the model's input is {shape}, in layout {stated} an image of "
            f"{channels.get_length()} channels: only images of 3 channels are supported"
        )
    return stated


def input_size_of(
    model: Any, layout: str, stated: Sequence[int] | None, frame: tuple[int, int]
) -> tuple[int, int]:
    """(width, height) that the model works at; a dynamic shape is made fixed.

    Args:
        stated: what the user wants; None for the model's own, or where that is dynamic, the
            frame's.

    Raises:
        LayoutError: the model cannot have it.
    """
    shape = model.inputs[0].partial_shape
    dimensions = shape[layout.index("W")], shape[layout.index("H")]
    wanted = _two_numbers(stated) if stated is not None else None
    size = tuple(
        (wanted[i] if wanted else d.get_length() if d.is_static else frame[i])
        for i, d in enumerate(dimensions)
    )
    fixed = {"N": 1, "C": 3, "W": size[0], "H": size[1]}
    new = [fixed[axis] for axis in layout]
    if shape.is_dynamic or list(shape.to_shape()) != new:
        try:
            model.reshape(new)
        except RuntimeError as error:
            reason = last_line(error)
            raise LayoutError(
                f"the model's input {shape} cannot become {new}: {reason}; pass size=(width, "
                "height) that it takes"
            ) from error
    return size[0], size[1]


def is_of_open_size(model: Any, layout: str) -> bool:
    """True if the width or height of the model's image is not fixed."""
    shape = model.inputs[0].partial_shape
    return any(shape[layout.index(axis)].is_dynamic for axis in "HW")


def _two_numbers(stated: Any) -> tuple[int, int]:
    try:
        width, height = (index(number) for number in stated)
    except (TypeError, ValueError):
        width = height = 0
    if min(width, height) < 1:
        raise LayoutError(
            f"size must be (width, height), two ints in pixels such as (640, 480), not {stated!r}"
        )
    return width, height


def _is(dimension: Any, length: int) -> bool:
    return bool(dimension.is_static and dimension.get_length() == length)
