# SPDX-License-Identifier: Apache-2.0
"""A model of an image, built into one that takes a frame's planes.

FFmpeg begins each row of a plane at a multiple of 32 or 64 bytes; if the width does not fit, bytes
that belong to no pixel lie between the rows. OpenVINO's CPU plugin copies such an input before it
runs, the GPU plugin reads the padding as pixels, the NPU plugin refuses it. So the model is made to
take whole rows, padding included, and to leave the padding out itself: then it reads the decoder's
bytes where they lie, for every width.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import numpy as np
import openvino
from openvino import Layout, Type
from openvino import opset13 as ops
from openvino.preprocess import ColorFormat, PrePostProcessor, ResizeAlgorithm

from samebytes import ImageInfo
from samebytes.errors import LayoutError, UnknownNameError, UnsupportedObjectError

from ._letterbox import AS_IT_LIES, STRETCHED, Box, Placing, Turn, boxed, turning
from ._model_input import Target
from ._pixels import Conversion, components_of, conversion, corrected, picture

__all__ = ["Built", "Memory", "Source", "build", "converted", "converting", "gathering",
           "gathering_is_faster", "is_surface", "take_whole_rows"]  # fmt: skip

_COLUMNS = 2

Memory = Literal["", "GPU_BUFFER", "GPU_SURFACE"]

# Measured with images of 300x300, 416x234 and 640x640 pixels and frames of 0.3 to 5 times as many
# (CPU time, one thread): both ways take equally long at 2.5 to 3 times as many pixels, and at 1.8
# times for large frames.
_FEW, _FEW_OF_A_LARGE_FRAME = 2.6, 1.8
_LARGE = 500_000

_NATIVE = {
    "NV12": (ColorFormat.NV12_TWO_PLANES, ("y", "uv")),
    "I420": (ColorFormat.I420_THREE_PLANES, ("y", "u", "v")),
}


class Source(NamedTuple):
    """The layout of frames in memory, and the meaning of their values.

    Attributes:
        pitches: bytes from row to row of each plane.
        firsts: the byte of a row at which each plane's first pixel begins.
        matrix, range: of YUV; see `MATRICES`.
        memory: the name of the memory in OpenVINO's GPU plugin; "" for other devices.
        turn: the turn that makes the pictures upright, inside the model.
        placing: the part of them that is seen, and where in the model's image it lies.
    """

    info: ImageInfo
    pitches: tuple[int, ...]
    firsts: tuple[int, ...]
    matrix: str = "BT.601"
    range: str = "limited"
    memory: Memory = ""
    turn: Turn = AS_IT_LIES
    placing: Placing = STRETCHED

    @staticmethod
    def dense(
        info: ImageInfo, matrix: str, range_: str, memory: Memory = "", turn: Turn = AS_IT_LIES
    ) -> Source:
        """Frames without padding."""
        pitches = tuple(layout.row_nbytes for layout in info.plane_layouts())
        return Source(info, pitches, (0,) * len(pitches), matrix, range_, memory, turn)

    @property
    def part(self) -> Box:
        """The part of the frames that the model sees."""
        return self.placing.part or (0, 0, *self.size)

    @property
    def size(self) -> tuple[int, int]:
        """(width, height)."""
        return self.info.width, self.info.height

    def port_shapes(self) -> list[list[int]]:
        """The shape of the model's input for each plane: [1, rows, columns, bytes of a pixel].

        Columns are those of a whole row, padding included; they are single bytes if that is not a
        whole number of pixels.
        """
        shapes = []
        for layout, pitch in zip(self.info.plane_layouts(), self.pitches, strict=True):
            pixel = math.prod(layout.shape[2:]) * layout.itemsize
            pixel = 1 if pitch % pixel else pixel
            shapes.append([1, layout.shape[0], pitch // pixel, pixel])
        return shapes

    def conversion(self) -> Conversion | None:
        """The colour conversion that these frames need."""
        model = self.info.format.color_model
        if model == "rgb" or (model == "gray" and self.range == "full"):
            return None
        return conversion(self.matrix, self.range)

    def is_native(self) -> bool:
        """True if OpenVINO's own operations can convert such frames."""
        width, height = self.size
        return (
            self.info.format.name in _NATIVE
            and not (width % 2 or height % 2 or any(self.firsts))
            and (self.matrix, self.range) == ("BT.601", "limited")
            # A row may have half a pixel more.
            and all(
                list(shape[3:]) == list(layout.shape[2:] or (1,))
                for layout, shape in zip(self.info.plane_layouts(), self.port_shapes(), strict=True)
            )
        )


class Built(NamedTuple):
    """A model that takes planes.

    Attributes:
        names: those of its inputs, in the order of the planes.
        gathers: whether it converts only the pixels that it needs.
        tables: the names of the inputs for tables of the pixels of parts: see `build_parts`.
    """

    model: Any
    names: tuple[str, ...]
    gathers: bool
    tables: tuple[str, ...] = ()


def build(model: Any, source: Source, target: Target, on_cpu: bool) -> Built:
    """A new model that takes the planes of frames like `source`.

    Args:
        model: with one image input of a fixed shape. It is not changed.
        on_cpu: whether it is for OpenVINO's CPU plugin. Others have their own colour operations.

    Raises:
        UnknownNameError: the format cannot be converted.
        LayoutError: surfaces of another format than NV12.
    """
    surface = is_surface(source)
    model, target = boxed(model, target, source.placing)
    model, target = turning(model, target, source.turn)
    native = surface or source.is_native()
    if native and not (on_cpu and gathering_is_faster(source.part[2:], target.size)):
        return converting(model, source, target)
    return gathering(model, source, target)


def is_surface(source: Source) -> bool:
    """True for images and surfaces, which the GPU plugin's own conversion alone reads.

    Raises:
        UnknownNameError: the format cannot be converted.
        LayoutError: surfaces of another format than NV12 and I420, of odd size or full range.
    """
    components_of(source.info.format)
    if source.memory != "GPU_SURFACE":
        return False
    # Another matrix follows that conversion.
    if not source._replace(matrix="BT.601").is_native():
        raise LayoutError(
            f"the GPU plugin takes images and surfaces as NV12 or I420 of even size, and of "
            f"limited range, and these are {source.info} of {source.range} range: pass resize=, as "
            "samebytes_opencv.resize, which reads them on the CPU, or the frame as buffers, which "
            'frame.map("opencl") gives'
        )
    return True


def gathering_is_faster(source: tuple[int, int], target: tuple[int, int]) -> bool:
    """True if the CPU plugin is faster when it converts the needed pixels alone.

    Four pixels are gathered, one by one, for each pixel of the result. Converting all pixels in
    order costs less as long as the frame has few more than the result, and fits into the caches.

    Args:
        source, target: (width, height) of the frame, and of the model's image.
    """
    pixels = source[0] * source[1]
    limit = _FEW if pixels < _LARGE else _FEW_OF_A_LARGE_FRAME
    return source != target and pixels > limit * target[0] * target[1]


def gathering(model: Any, source: Source, target: Target) -> Built:
    """By gathers: the pixels that the result needs are converted, and no others."""
    model = model.clone()
    format_ = source.info.format
    image = model.get_parameters()[0]
    name = model.inputs[0].any_name if model.inputs[0].names else "image"
    planes, rows = [], []
    for plane, shape in zip(format_.plane_names, source.port_shapes(), strict=True):
        parameter = ops.parameter(shape, np.uint8)
        parameter.output(0).get_tensor().set_names({f"{name}/{plane}"})
        planes.append(parameter)
        flat = np.array([shape[1], shape[2] * shape[3]])
        rows.append(ops.reshape(parameter, ops.constant(flat), False))
    how = source.conversion()
    made = picture(
        rows,
        components_of(format_, how is not None),
        source.firsts,
        source.part,
        target.size,
        how,
        target.color,
    )
    finished = target.finish(made, image.get_element_type())
    for reader in image.output(0).get_target_inputs():
        reader.replace_source_output(finished.output(0))
    built = openvino.Model(
        model.get_results(), model.get_sinks(), planes, model.get_variables(), model.friendly_name
    )
    return Built(built, tuple(f"{name}/{plane}" for plane in format_.plane_names), True)


def converting(model: Any, source: Source, target: Target) -> Built:
    """By PrePostProcessor: all of the frame is converted, then resized."""
    color_format, planes = _NATIVE[source.info.format.name]
    width, height = source.size
    processor = PrePostProcessor(model.clone())
    image = processor.input()
    tensor = image.tensor().set_element_type(Type.u8).set_color_format(color_format, list(planes))
    if source.memory:
        tensor.set_memory_type(source.memory)
    tensor.set_spatial_static_shape(height, width)
    steps = image.preprocess().convert_color(getattr(ColorFormat, target.color))
    element = model.inputs[0].element_type
    if element != Type.u8:
        steps.convert_element_type(Type.f32)
    if source.part[2:] != source.size:
        steps.custom(lambda node: _cut(node, source.part))
    if source.part[2:] != target.size:
        steps.resize(ResizeAlgorithm.RESIZE_LINEAR)
    if source.matrix != "BT.601":
        steps.custom(lambda node: corrected(node, source.matrix, target.color).output(0))
    if target.mean:
        steps.mean(list(target.mean))
    if target.scale:
        steps.scale(list(target.scale))
    if element != Type.u8:
        steps.convert_element_type(element)
    # Without it, height and width would be taken from the wrong dimensions.
    image.model().set_layout(Layout(target.layout))
    built = processor.build()
    names = tuple(port.any_name for port in built.inputs)
    shapes = dict(zip(names, source.port_shapes(), strict=True))
    take_whole_rows(built, {name: shape[2] for name, shape in shapes.items()})
    return Built(built, names, False)


def converted(model: Any, name: str, source: Source, target: Target) -> Any:
    """A model whose input `name`, a picture [1, rows, columns, 3] of bytes, is surfaces instead.

    Args:
        model: has other inputs too, which stay. It is not changed.
    """
    color_format, planes = _NATIVE[source.info.format.name]
    processor = PrePostProcessor(model.clone())
    image = processor.input(name)
    tensor = image.tensor().set_element_type(Type.u8).set_color_format(color_format, list(planes))
    tensor.set_memory_type(source.memory)
    image.preprocess().convert_color(getattr(ColorFormat, target.color))
    image.model().set_layout(Layout("NHWC"))
    return processor.build()


def _cut(node: Any, part: Box) -> Any:
    """A part of a picture [1, rows, columns, channels]."""
    x, y, width, height = part
    begin, end = np.array([y, x]), np.array([y + height, x + width])
    return ops.slice(node, begin, end, np.array([1, 1]), np.array([1, 2])).output(0)


def take_whole_rows(model: Any, columns: Mapping[str, int]) -> None:
    """Widen inputs of shape [1, rows, columns, channels], by name, to that many columns.

    Args:
        model: an openvino.Model, which is changed: what follows the inputs sees the same columns
            as before.
        columns: for each input by its name, how many columns a row with its padding has: the row
            pitch in bytes, divided by the bytes of a pixel. Inputs that are not named stay.

    Raises:
        UnsupportedObjectError: `columns` is not a mapping.
        UnknownNameError: the model has no input of such a name.
    """
    if not isinstance(columns, Mapping):
        raise UnsupportedObjectError(
            "columns must be a mapping of names to numbers, such as {'image': 128}, not "
            f"{columns!r}"
        )
    known = [name for port in model.inputs for name in sorted(port.get_names())]
    for name in columns:
        if name not in known:
            raise UnknownNameError("input", name, known)
    for index, narrow in enumerate(model.get_parameters()):
        old = narrow.output(0)
        shape = list(old.get_shape())
        used = shape[_COLUMNS]
        whole = next((columns[name] for name in old.get_names() if name in columns), used)
        if used == whole:
            continue
        shape[_COLUMNS] = whole
        wide = ops.parameter(shape, old.get_element_type())
        names, readers = old.get_names(), old.get_target_inputs()
        cut = ops.slice(wide, *(np.array([n]) for n in (0, used, 1, _COLUMNS)))
        for reader in readers:
            reader.replace_source_output(cut.output(0))
        old.get_tensor().set_names(set())
        wide.output(0).get_tensor().set_names(names)
        model.replace_parameter(index, wide)
    model.validate_nodes_and_infer_types()
