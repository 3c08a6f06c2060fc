# SPDX-License-Identifier: Apache-2.0
"""Several pictures in one inference: frames of a batch, or parts of one frame.

Frames lie apart in memory, and OpenVINO copies tensors to make a batch of them. Here each frame has
inputs of its own, which are joined behind the preparation, and the outputs are split again. So
planes are read where they lie, and the results of each frame are tensors of their own.

A model that is compiled for the size of its pictures would have to be compiled for nearly every
part of a frame. So one is compiled for the planes of the whole frame, which it reads where they
lie. With each inference it gets tables of the rows and columns of which each part is made: for each
row or column of the model's image, two of the frame, and a weight for the second one, as in
bilinear resizing. No part is cut out beforehand, so it can begin anywhere, even between samples of
chroma.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import openvino
from openvino import opset13 as ops

from samebytes.errors import LayoutError
from samebytes.formats import image_format
from samebytes.metadata import AffineTransform

from .._errors import last_line
from ._build import Built, Source, converted, is_surface
from ._letterbox import Box, Rule, Turn, placing, stored_size, transform_of, turned_back, turning
from ._model_input import Target
from ._pixels import Component, channel, components_of, corrected

__all__ = [
    "Parts",
    "batched",
    "build_parts",
    "check_batch",
    "fill",
    "identity",
    "joined",
    "shown",
    "split",
]


def identity(model: Any) -> Any:
    """A model that returns its inputs, which are those of `model` for one frame.

    Raises:
        LayoutError: an input has no dimensions, or its first one is not that of a batch.
    """
    parameters = []
    for number, port in enumerate(model.inputs):
        shape = port.partial_shape
        if shape.rank.is_dynamic or not len(shape) or not (shape[0].is_dynamic or shape[0] == 1):
            raise LayoutError(
                f"input {_name(port, number)!r} is {shape}: for batch= its first dimension must be "
                "1 or dynamic"
            )
        shape[0] = 1
        parameter = ops.parameter(shape, port.element_type)
        parameter.output(0).get_tensor().set_names({_name(port, number)})
        parameters.append(parameter)
    return openvino.Model([ops.result(one.output(0)) for one in parameters], parameters, "frame")


def joined(model: Any, count: int, prepare: Any) -> Any:
    """A new model of `count` frames.

    Args:
        model: one in which the first dimension of each input is that of the batch. It is not
            changed.
        prepare: makes the inputs of `model`, in their order, out of those of one frame. The inputs
            of the new model are those of each frame, one frame after another, named "0/image".

    Raises:
        LayoutError: the model cannot have such a batch, has a state, or an output cannot be split.
    """
    names = names_of(model.outputs)
    model = batched(model, count)
    parameters, parts = [], []
    for frame in range(count):
        before = prepare.clone()
        for number, port in enumerate(before.inputs):
            port.get_tensor().set_names({f"{frame}/{_name(port, number)}"})
        for operation in before.get_ops():  # plugins know inputs by these names
            operation.set_friendly_name(f"{frame}/{operation.get_friendly_name()}")
        parameters += before.get_parameters()
        parts.append([one.input(0).get_source_output() for one in before.get_results()])
    for number, parameter in enumerate(model.get_parameters()):
        whole = ops.concat([part[number] for part in parts], 0)
        for reader in parameter.output(0).get_target_inputs():
            reader.replace_source_output(whole.output(0))
    results = split(model, names, count)
    return openvino.Model(results, model.get_sinks(), parameters, model.friendly_name)


def split(model: Any, names: Sequence[str], count: int) -> list[Any]:
    """The results of a model for each item of its batch, one item after another: "0/scores" ...

    Args:
        model: has a batch of `count`.
        names: of its outputs.

    Raises:
        LayoutError: an output cannot be split.
    """
    results = []
    for frame in range(count):
        for port, name in zip(model.outputs, names, strict=True):
            part = _part(port, name, frame, count)
            part.set_friendly_name(f"{frame}/{name}")
            part.output(0).get_tensor().set_names({f"{frame}/{name}"})
            results.append(ops.result(part))
    return results


def names_of(ports: Sequence[Any]) -> list[str]:
    """The names of a model's inputs or outputs; the number where there is none."""
    return [_name(port, number) for number, port in enumerate(ports)]


def check_batch(model: Any, count: int) -> None:
    """Check that a model can run `count` frames at once, as far as its shapes show.

    Args:
        model: one in which the first dimension of each input is that of the batch. It is not
            changed.

    Raises:
        LayoutError: it cannot have such a batch, has a state, or an output cannot be split.
    """
    for number, port in enumerate(batched(model, count).outputs):
        shape = port.partial_shape
        # What is not known yet depends on the size of the images, which the first frame shows.
        if shape.rank.is_static and (not len(shape) or shape[0].is_static):
            _check_split(port, _name(model.outputs[number], number), count)


def batched(model: Any, count: int) -> Any:
    """A clone of a model whose inputs have that first dimension.

    Raises:
        LayoutError: it cannot have such a batch, or has a state.
    """
    if count > 1 and model.get_variables():
        raise LayoutError("a model with a state runs frames one after another: leave batch= out")
    model = model.clone()
    try:
        model.reshape({n: _of(port, count) for n, port in enumerate(model.inputs)})
        # Here, what a reshape left unknown becomes known, and errors of operations appear.
        model.validate_nodes_and_infer_types()
    except RuntimeError as error:
        reason = last_line(error)
        raise LayoutError(f"the model cannot have a batch of {count}: {reason}") from error
    return model


def _of(port: Any, count: int) -> Any:
    shape = port.partial_shape
    shape[0] = count
    return shape


def _check_split(port: Any, name: str, count: int) -> None:
    shape = port.partial_shape
    fits = shape.rank.is_static and len(shape) and shape[0].is_static
    if not fits or shape[0].get_length() != count:
        raise LayoutError(
            f"output {name!r} of a batch of {count} is {shape}, which does not have one part for "
            "each frame: leave batch= out, and use requests= for inferences side by side"
        )


def _part(port: Any, name: str, frame: int, count: int) -> Any:
    _check_split(port, name, count)
    # A Slice or Split along the first axis gave every frame the result of the first one, on the GPU
    # plugin of OpenVINO 2026.4 in half precision. The test for batches on devices shows it.
    whole = port.get_node().input(0).get_source_output()
    return ops.gather(whole, ops.constant(np.array([frame])), ops.constant(0))


def _name(port: Any, number: int) -> str:
    return port.any_name if port.names else str(number)


Array = np.ndarray[Any, Any]
_EACH_PIXEL = image_format("GRAY8")
_PARTS = "parts"
"""The beginning of the names of tables."""


@dataclass(frozen=True, slots=True)
class Parts:
    """The way in which parts of frames become items of a batch.

    Attributes:
        count: how many parts one inference takes.
        rule: how each is brought to the model's shape.
    """

    count: int
    rule: Rule


class Shown(NamedTuple):
    """A part of a frame, and where in the model's image it is shown.

    Attributes:
        source: the box of the frame that is seen.
        box: the box of the model's image, before it is turned, that shows it.
        transform: from the model's image to the frame, both normalised.
    """

    source: Box
    box: Box
    transform: AffineTransform


def shown(
    rule: Rule, target: tuple[int, int], size: tuple[int, int], part: Box, turn: Turn
) -> Shown:
    """The place of a part in the model's image.

    Args:
        target: (width, height) of the model's image.
        size: (width, height) of the frame.
        part: lies in the frame, and is at least one pixel.
        turn: the turn that makes it upright before that.
    """
    x, y, width, height = part
    found = placing(rule, target, (width, height), turn, _EACH_PIXEL)
    left, top, across, down = found.part or (0, 0, width, height)
    stored = stored_size(target, turn)
    box = (0, 0, *stored)
    if found.box is not None:
        begin, end = found.box[:2], (found.box[0] + found.box[2], found.box[1] + found.box[3])
        bounds = turned_back(turn).bounds(
            begin[0] / target[0], begin[1] / target[1], end[0] / target[0], end[1] / target[1]
        )
        ends = [round(n * length) for n, length in zip(bounds, stored * 2, strict=True)]
        box = ends[0], ends[1], ends[2] - ends[0], ends[3] - ends[1]
    to_part = turned_back(turn).after(transform_of(found, target, (width, height), turn))
    to_frame = AffineTransform.of_rectangles(size, (width, height), part)
    return Shown((x + left, y + top, across, down), box, to_frame.after(to_part))


def build_parts(model: Any, source: Source, target: Target, parts: Parts) -> Built:
    """A new model that takes the planes of a frame, and tables of its parts.

    Args:
        model: with one image input of one item and fixed shape. It is not changed.

    Raises:
        The errors of `build`, and LayoutError for a model that cannot have such a batch.
    """
    surface = is_surface(source)
    name, outputs = names_of(model.inputs)[0], names_of(model.outputs)
    model, target = turning(batched(model, parts.count), target, source.turn)
    image = model.get_parameters()[0]
    planes: list[Any] = []
    tables = _Tables(parts.count, target.size)
    if surface:
        planes.append(_input([1, source.size[1], source.size[0], 3], np.uint8, name))
        made = _of_colours(planes[0], source, target, tables)
    else:
        for letter, shape in zip(source.info.format.plane_names, source.port_shapes(), strict=True):
            planes.append(_input(shape, np.uint8, f"{name}/{letter}"))
        made = _of_planes(planes, source, target, tables)
    if parts.rule.fit == "letterbox":
        made = _padded(made, tables, parts.rule.pad)
    finished = target.finish(made, image.get_element_type())
    for reader in image.output(0).get_target_inputs():
        reader.replace_source_output(finished.output(0))
    results = split(model, outputs, parts.count) if parts.count > 1 else model.get_results()
    built = openvino.Model(
        results, model.get_sinks(), [*planes, *tables.made.values()], model.get_variables(),
        model.friendly_name,
    )  # fmt: skip
    if surface:
        built = converted(built, name, source, target)
    names = tuple(port.any_name for port in built.inputs)
    count = len(names) - len(tables.made)
    return Built(built, names[:count], not surface, names[count:])


def fill(tables: Mapping[str, Array], parts: Sequence[Shown]) -> None:
    """Write into tables of which pixels the parts are made.

    Args:
        tables: the inputs that `Built.tables` names, by these names.
        parts: one for each item of the batch. If there are fewer, the other items show whatever was
            written before, or the first pixel.
    """
    places: dict[str, list[_Along]] = {"columns": [], "rows": []}
    for part in parts:
        for axis, name in enumerate(places):
            (first, count), (begin, extent) = part.source[axis::2], part.box[axis::2]
            whole = tables[f"{_PARTS}/{name}/weight"].shape[2 - axis]
            places[name].append(_along(first, count, begin, extent, whole))
    for name, table in tables.items():
        _, axis_name, what = name.split("/")
        for item, along in zip(table, places[axis_name], strict=False):
            values = along.pixels >> int(what) if what.isdigit() else getattr(along, what)
            item.reshape(-1)[...] = values


class _Along(NamedTuple):
    """The columns, or rows, of a part.

    Attributes:
        pixels: the two of the frame for each of the model's image: all first ones, then all second
            ones.
        weight: the weight of the second one, 0 to 1.
        inside: 1 where the part is shown, 0 beside it.
    """

    pixels: Array
    weight: Array
    inside: Array


def _along(first: int, count: int, begin: int, extent: int, whole: int) -> _Along:
    """The places of half-pixel centres, as Interpolate has them by default."""
    step, half = np.float32(count / extent), np.float32(0.5)
    place = (np.arange(-begin, whole - begin, dtype=np.float32) + half) * step - half
    before = np.floor(place).astype(np.int64)
    pixels = np.concatenate([before, before + 1]).clip(0, count - 1) + first
    inside = np.zeros(whole, np.float32)
    inside[begin : begin + extent] = 1
    return _Along(pixels.astype(np.int32), (place - before).astype(np.float32), inside)


class _Tables:
    """The inputs of a model that say which pixels the parts are made of.

    Args:
        count: how many parts there are.
        size: (width, height) of the image that each of them becomes.

    Attributes:
        made: those that the model needs, by name.
    """

    def __init__(self, count: int, size: tuple[int, int]) -> None:
        self._count = count
        self._size = size
        self.made: dict[str, Any] = {}

    def pixels(self, axis: str, shift: int) -> Any:
        """int32 [count, 1, 2 * columns] or [count, 2 * rows, 1]: of a plane with fewer samples."""
        return self._one(axis, str(shift), 2, np.int32)

    def weight(self, axis: str) -> Any:
        """float32 [count, 1, columns] or [count, rows, 1]."""
        return self._one(axis, "weight", 1, np.float32)

    def inside(self, axis: str) -> Any:
        """The same shape: 1 where the part is shown."""
        return self._one(axis, "inside", 1, np.float32)

    def _one(self, axis: str, what: str, times: int, dtype: Any) -> Any:
        name = f"{_PARTS}/{axis}/{what}"
        if name not in self.made:
            width, height = (times * length for length in self._size)
            shape = [1, width] if axis == "columns" else [height, 1]
            self.made[name] = _input([self._count, *shape], dtype, name)
        return self.made[name]


def _input(shape: list[int], dtype: Any, name: str) -> Any:
    parameter = ops.parameter(shape, dtype)
    parameter.output(0).get_tensor().set_names({name})
    parameter.set_friendly_name(name)
    return parameter


def _of_planes(planes: list[Any], source: Source, target: Target, tables: _Tables) -> Any:
    """float32 [count, 3, height, width], 0 to 255, of the planes as they are stored."""
    how = source.conversion()
    components = components_of(source.info.format, how is not None)
    pixels = _Pixels(planes, source.pitches, source.firsts, tables)
    letters = "y" if "y" in components and "u" not in components else target.color.lower()
    channels = [
        _between_four(channel(letter, lambda c: pixels.of(components[c]), how), tables)
        for letter in letters
    ]
    return ops.concat(channels if len(channels) == 3 else channels * 3, 1)


def _of_colours(whole: Any, source: Source, target: Target, tables: _Tables) -> Any:
    """The same of a picture [1, rows, columns, 3] that was converted already."""
    if source.matrix != "BT.601":
        whole = corrected(whole, source.matrix, target.color)
    pixels = _Pixels([whole], (source.size[0] * 3,), (0,), tables)
    of_colour = [Component(0, number, 3, 0, 0, 1, 1.0) for number in range(3)]
    return ops.concat([_between_four(pixels.of(c), tables) for c in of_colour], 1)


class _Pixels:
    """The pixels of all parts, out of the planes of the frame.

    Args:
        planes: nodes whose elements are the bytes of the planes.
        pitches, firsts: the bytes of a row, and where in it the first pixel begins.
    """

    def __init__(
        self, planes: Sequence[Any], pitches: Sequence[int], firsts: Sequence[int], tables: _Tables
    ) -> None:
        every = ops.constant(np.array([-1]))
        self._planes = [ops.reshape(plane, every, False) for plane in planes]
        self._pitches, self._firsts, self._tables = pitches, firsts, tables

    def of(self, component: Component) -> Any:
        """float32 [count, 2 * rows, 2 * columns] of a component."""
        node = self._bytes(component, 0)
        if component.nbytes == 2:
            high = self._bytes(component, 1)
            node = ops.add(node, ops.multiply(high, ops.constant(np.float32(256))))
        if component.scale != 1:
            node = ops.multiply(node, ops.constant(np.float32(component.scale)))
        return node

    def _bytes(self, component: Component, byte: int) -> Any:
        plane = component.plane
        rows = self._tables.pixels("rows", component.y_shift)
        columns = self._tables.pixels("columns", component.x_shift)
        begin = self._firsts[plane] + component.offset + byte
        # Integers all the way: half precision cannot express every place beyond 2048.
        row = ops.multiply(rows, ops.constant(np.int32(self._pitches[plane])))
        column = ops.multiply(columns, ops.constant(np.int32(component.step)))
        places = ops.add(row, ops.add(column, ops.constant(np.int32(begin))))
        found = ops.gather(self._planes[plane], places, ops.constant(np.int32(0)))
        return ops.convert(found, np.float32)


def _between_four(node: Any, tables: _Tables) -> Any:
    """A node [count, 1, rows, columns], each pixel of which lies between four."""
    for axis, number in (("columns", 2), ("rows", 1)):
        halves = ops.split(node, ops.constant(np.int32(number)), 2)
        first, second = halves.output(0), halves.output(1)
        step = ops.multiply(ops.subtract(second, first), tables.weight(axis))
        node = ops.add(first, step)
    return ops.unsqueeze(node, ops.constant(np.int32(1)))


def _padded(node: Any, tables: _Tables, pad: tuple[float, ...]) -> Any:
    """The node with the colour where no part is shown."""
    inside = ops.multiply(tables.inside("columns"), tables.inside("rows"))
    inside = ops.unsqueeze(inside, ops.constant(np.int32(1)))
    colour = ops.constant(np.array(pad, np.float32).reshape(1, 3, 1, 1))
    return ops.add(ops.multiply(ops.subtract(node, colour), inside), colour)
