# SPDX-License-Identifier: Apache-2.0
"""The part of a picture that a model sees, turned upright, and its place in the model's image.

"stretch" scales the whole picture to the model's size, whatever that does to its shape. "letterbox"
keeps the shape, and fills what is left of the model's image with one colour. "crop" keeps the shape
too, and cuts off what does not fit. Nothing is made larger outside of the model: the picture is
scaled to the size that it has in the model's image, and the colour is joined to that, inside it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np
from openvino import Type
from openvino import opset13 as ops

from samebytes import Frame, FrameMeta, ImageFormat, formats, metadata
from samebytes.metadata import AffineTransform

from ._model_input import Target

__all__ = [
    "ALIGNS",
    "AS_IT_LIES",
    "FITS",
    "STRETCHED",
    "Align",
    "Box",
    "Fit",
    "Placing",
    "Rule",
    "Turn",
    "boxed",
    "placing",
    "stored_size",
    "transform_of",
    "turn_of",
    "turned_back",
    "turning",
]

Fit = Literal["stretch", "letterbox", "crop"]
Align = Literal["center", "top-left", "bottom-right"]
Box = tuple[int, int, int, int]
"""x, y, width and height in pixels."""

FITS = ("stretch", "letterbox", "crop")
ALIGNS = ("center", "top-left", "bottom-right")
Array = np.ndarray[Any, Any]


class Rule(NamedTuple):
    """The rule by which pictures are brought to the model's size.

    Attributes:
        align: where the picture lies in a letterbox; which part of it is seen with "crop".
        pad: the colour around it, for each channel in the order of the model, 0 to 255.
    """

    fit: Fit = "stretch"
    align: Align = "center"
    pad: tuple[float, ...] = (0.0, 0.0, 0.0)


class Placing(NamedTuple):
    """The result of a rule for pictures of one size.

    Attributes:
        part: the part of the frame, as it is stored, that is seen; None for all of it.
        box: the box in the model's image where it is shown; None for all of the image.
        pad: the colour around the box.
    """

    part: Box | None = None
    box: Box | None = None
    pad: tuple[float, ...] = (0.0, 0.0, 0.0)


STRETCHED = Placing()


@lru_cache(maxsize=256)
def placing(
    rule: Rule, target: tuple[int, int], size: tuple[int, int], turn: Turn, format_: ImageFormat
) -> Placing:
    """The place of a frame's picture in the model's image.

    Args:
        target: (width, height) of the model's image.
        size: (width, height) of the frame.
        turn: the turn that makes it upright before that.
        format_: the format of the frame; a part begins and ends between its chroma samples.
    """
    if rule.fit == "stretch":
        return STRETCHED
    across, down = stored_size(size, turn)
    width, height = target
    if rule.fit == "letterbox":
        scale = min(width / across, height / down)
        # Rounded in the usual way: Ultralytics has the same boxes, to the pixel.
        inner = max(1, round(across * scale)), max(1, round(down * scale))
        if inner == target:
            return STRETCHED
        left, top = (_begin(rule.align, a, b) for a, b in zip(inner, target, strict=True))
        return Placing(None, (left, top, *inner), rule.pad)
    scale = max(width / across, height / down)
    wanted = min(across, width / scale), min(down, height / scale)
    left, top = (_begin(rule.align, a, b) for a, b in zip(wanted, (across, down), strict=True))
    shown = (left / across, top / down, (left + wanted[0]) / across, (top + wanted[1]) / down)
    x_min, y_min, x_max, y_max = turned_back(turn).bounds(*shown)
    steps = (
        max(plane.x_multiple << plane.x_shift for plane in format_.planes),
        max(1 << plane.y_shift for plane in format_.planes),
    )
    x, columns = _between_samples(x_min * size[0], x_max * size[0], steps[0], size[0])
    y, rows = _between_samples(y_min * size[1], y_max * size[1], steps[1], size[1])
    part = x, y, columns, rows
    return STRETCHED if part == (0, 0, *size) else Placing(part)


@lru_cache(maxsize=256)
def transform_of(
    found: Placing, target: tuple[int, int], size: tuple[int, int], turn: Turn
) -> AffineTransform:
    """The transform from the model's image to the picture, which is upright if it is turned."""
    shown = stored_size(size, turn)
    part = None
    if found.part is not None:
        x, y, columns, rows = found.part
        width, height = size
        seen = x / width, y / height, (x + columns) / width, (y + rows) / height
        left, top, right, bottom = turned_back(turn).inverse().bounds(*seen)
        part = (
            left * shown[0], top * shown[1],
            (right - left) * shown[0], (bottom - top) * shown[1],
        )  # fmt: skip
    return AffineTransform.of_rectangles(shown, target, part, found.box)


def boxed(model: Any, target: Target, found: Placing) -> tuple[Any, Target]:
    """A model that takes the picture alone and joins the colour around it, and what it takes.

    Args:
        model: with one image input of fixed shape, as `target` says. It is not changed.
    """
    if found.box is None:
        return model, target
    model = model.clone()
    image = model.get_parameters()[0]
    element, names = image.get_element_type(), image.output(0).get_names()
    left, top, width, height = found.box
    rows, columns = target.layout.index("H"), target.layout.index("W")
    shape = list(image.get_output_shape(0))
    whole_width, whole_height = shape[columns], shape[rows]
    shape[rows], shape[columns] = height, width
    small = ops.parameter(shape, element)
    colour = _colour(target, found.pad, element)

    def joined(node: Any, axis: int, before: int, after: int) -> Any:
        parts = []
        for length in (before, after):
            around = list(node.output(0).shape)
            around[axis] = length
            made = np.broadcast_to(colour, around)
            parts.append(ops.constant(np.ascontiguousarray(made), element) if length else None)
        return ops.concat([p for p in (parts[0], node, parts[1]) if p is not None], axis)

    node: Any = joined(small, columns, left, whole_width - left - width)
    node = joined(node, rows, top, whole_height - top - height)
    for reader in image.output(0).get_target_inputs():
        reader.replace_source_output(node.output(0))
    model.replace_parameter(0, small)
    small.output(0).get_tensor().set_names(names)
    small.set_friendly_name(image.get_friendly_name())
    model.validate_nodes_and_infer_types()
    return model, target._replace(size=(width, height))


def _colour(target: Target, pad: tuple[float, ...], element: Any) -> Array:
    """The colour as the model sees it, in the shape of one pixel."""
    values: Array = np.array(pad, np.float32)
    if target.mean:
        values = values - np.array(target.mean, np.float32)
    if target.scale:
        values = values / np.array(target.scale, np.float32)
    if element == Type.u8:
        values = np.rint(values)
    kind = np.float32 if element == Type.f32 else element.to_dtype()
    return values.astype(kind).reshape([3 if axis == "C" else 1 for axis in target.layout])


def _begin(align: Align, inner: float, outer: float) -> int:
    """The place in `outer` at which a length of `inner` begins; an odd pixel goes behind it."""
    room = outer - inner
    return int({"center": room // 2, "top-left": 0, "bottom-right": room}[align])


def _between_samples(first: float, end: float, step: int, length: int) -> tuple[int, int]:
    """Begin and length of a part, at the nearest samples of chroma."""
    count = max(step, round((end - first) / step) * step)
    if count >= length:
        return 0, length
    begin = min(round(first / step) * step, (length - count) // step * step)
    return begin, count


def turned_back(turn: Turn) -> AffineTransform:
    """The transform from an upright picture to the picture as it is stored."""
    if turn == AS_IT_LIES:
        return AffineTransform()
    rotation, mirrored = turn
    return metadata.upright_transform(
        FrameMeta(None, metadata={"rotation": rotation, "mirrored": mirrored})
    )


Turn = tuple[int, bool]
"""By how many degrees clockwise to turn a picture, and whether to mirror it before."""

AS_IT_LIES: Turn = (0, False)


def turn_of(frame: Frame) -> Turn:
    """The turn that makes the picture of a frame upright.

    Raises:
        LayoutError: its metadata are invalid.
    """
    entries = frame.metadata
    return formats.rotation_of(entries) or 0, bool(formats.mirrored_of(entries))


def stored_size(size: tuple[int, int], turn: Turn) -> tuple[int, int]:
    """(width, height) of a picture before it is turned to that size."""
    return (size[1], size[0]) if turn[0] in (90, 270) else size


def turning(model: Any, target: Target, turn: Turn) -> tuple[Any, Target]:
    """A model that takes pictures as they lie and turns them, and what it takes.

    Args:
        model: with one image input of fixed shape, as `target` says. It is not changed.
    """
    if turn == AS_IT_LIES:
        return model, target
    model = model.clone()
    image = model.get_parameters()[0]
    names, friendly_name = image.output(0).get_names(), image.get_friendly_name()
    rotation, mirrored = turn
    rows, columns = target.layout.index("H"), target.layout.index("W")
    shape = list(image.get_output_shape(0))
    order = list(range(4))
    if rotation in (90, 270):
        shape[rows], shape[columns] = shape[columns], shape[rows]
        order[rows], order[columns] = columns, rows
    stored = ops.parameter(shape, image.get_element_type())
    node = _reversed(stored, columns) if mirrored else stored
    if rotation in (90, 270):
        node = ops.transpose(node, ops.constant(np.array(order)))
    for axis, turns in ((columns, (90, 180)), (rows, (180, 270))):
        if rotation in turns:
            node = _reversed(node, axis)
    for reader in image.output(0).get_target_inputs():
        reader.replace_source_output(node.output(0))
    model.replace_parameter(0, stored)
    stored.output(0).get_tensor().set_names(names)
    stored.set_friendly_name(friendly_name)
    model.validate_nodes_and_infer_types()
    return model, target._replace(size=stored_size(target.size, turn))


def _reversed(node: Any, axis: int) -> Any:
    # All plugins have gathers, but not all have slices that go backwards.
    numbers = np.arange(list(node.output(0).shape)[axis])[::-1].astype(np.int32)
    return ops.gather(node, ops.constant(numbers), ops.constant(np.int32(axis)))
