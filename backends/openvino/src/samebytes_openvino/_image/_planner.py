# SPDX-License-Identifier: Apache-2.0
"""Planner: finds the compiled model that takes a frame, and the memory in which it sees the planes.

An image model and its requests each hold it. If they held the model instead, the model and its own
request would refer to each other, and only the garbage collector would free them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import openvino

from samebytes import Context, Frame, ImageInfo
from samebytes.errors import (
    CopyRequiredError,
    LayoutError,
    UnknownNameError,
    UnsupportedObjectError,
)
from samebytes.metadata import AffineTransform
from samebytes.plugins import Refused, plane_resizer

from .._core import default_core
from .._remote._context import RemoteContext
from .._request._outputs import WHOLE
from ._build import Memory, Source
from ._frames import (
    Meaning,
    Pitches,
    Seen,
    image_of,
    in_cpu_memory,
    in_device_memory,
    memory_of_gpu,
    whole_rows,
)
from ._letterbox import (
    ALIGNS,
    AS_IT_LIES,
    FITS,
    STRETCHED,
    Align,
    Fit,
    Rule,
    placing,
    stored_size,
    transform_of,
)
from ._model_input import COLORS, Target, input_size_of, is_of_open_size, layout_of_input, read
from ._pixels import (
    MATRICES,
    NAMES,
    RANGES,
    ColorMatrix,
    ColorRange,
    components_of,
    without_subsampling,
)
from ._plan import Known, Plan, Plans, kind_of
from ._request import Quality, Resize

if TYPE_CHECKING:
    from ._batches import Parts

__all__ = ["QUALITIES", "Planner", "planner_for", "rule_of"]


class Planner:
    """Plans for the frames of one image model.

    Args:
        plans: compiles, once for each layout.
        target: the model's input.
        device: of the model, or the context of its memory.
        resize: brings planes to the model's size on the CPU, if the model does not.
        meaning: how colours are to be read.
        rule: how pictures of another shape are brought to the model's.

    Attributes:
        choose: returns the context of the device for frames of a context; by default it is that of
            the model for all frames.
    """

    def __init__(
        self,
        plans: Plans,
        target: Target,
        device: str | RemoteContext,
        resize: Resize | None,
        meaning: Meaning,
        rule: Rule,
    ) -> None:
        self.target = target
        self.device = device
        self.resize = resize
        self.choose: Callable[[Context], RemoteContext] | None = None
        self._plans = plans
        self._meaning = meaning
        self.rule = rule
        self._last: Plan | None = None
        kind = kind_of(device)
        self._tries_device = resize is None and kind in ("GPU", "NPU")
        self._host_memory: Memory = "GPU_BUFFER" if kind == "GPU" else ""
        # The device's context for frames of a context, known since the first one was mapped there.
        self._contexts: dict[Any, RemoteContext] = {}

    @property
    def device_name(self) -> str:
        """The device, as OpenVINO calls it."""
        return self.device if isinstance(self.device, str) else self.device.device_name

    @property
    def last(self) -> Plan:
        """The plan for the layout that was seen last."""
        assert self._last is not None, "image_model() plans for the example"
        return self._last

    def prepare(self, example: Frame | ImageInfo) -> None:
        """Compile for the example."""
        if isinstance(example, Frame):
            try:
                self.look(example, False)
            except CopyRequiredError:
                info, turn = image_of(example), self._meaning.turn(example)
                said = self._meaning.of(info, self._meaning.said(example))
            else:
                return
        else:
            info, turn, said = example, AS_IT_LIES, self._meaning.of(example)
        source = self._placed(Source.dense(info, *said, turn=turn))
        self._last = self._plans.plan_for(self._planned(source), None)

    def look(self, frame: Frame, copy: bool) -> Seen:
        """Return a frame as the model sees it: its planes there, and the plan that takes them."""
        there = self._in_device_memory(frame) if self._tries_device else None
        if there is not None:
            return self._with_known(frame, there, (), memory_of_gpu(there), there.context)
        there = in_cpu_memory(frame) if copy else frame.map("cpu", "r")
        if self.resize is not None:
            return self._with_known(frame, there, (), "", None)
        try:
            rows, pitches = whole_rows(there)
        except Refused as refused:
            seen = self._with_known(frame, there, (), self._host_memory, None)
            seen.why = (str(refused),)
        else:
            seen = self._with_known(frame, there, pitches, self._host_memory, None)
            seen.rows = rows
        return seen

    def _with_known(
        self, frame: Frame, there: Frame, pitches: Pitches, memory: Memory, context: Any
    ) -> Seen:
        """The frame with what is known of all frames like it, which is found out the first time.

        Args:
            frame: the user's.
            there: the same, where its planes can be read.
            pitches: those of its planes; empty if they do not matter.
            memory: the name of that memory in OpenVINO's GPU plugin.
            context: that of the device; None for memory of the CPU.
        """
        info = frame.meta.info
        if type(info) is not ImageInfo:
            info = image_of(frame)
        meaning = self._meaning
        said = meaning.said(frame)
        turn = meaning.turn(frame) if meaning.upright else AS_IT_LIES
        key = info.format.name, info.width, info.height, said, turn, pitches, memory, context
        known = self._plans.known(key, info)
        if known is None:
            colours = meaning.of(info, said)
            source = Source.dense(info, *colours, memory, turn)
            if pitches:
                lengths, firsts = zip(*pitches, strict=True)
                source = source._replace(pitches=lengths, firsts=firsts)
            known = self._find_out(source, context)
            self._plans.remember(key, known)
        self._last = known.plan
        return Seen(frame, there, known)

    def _find_out(self, source: Source, context: RemoteContext | None) -> Known:
        if context is not None:
            _check_bytes(source.info)
        source = self._placed(source)
        plan = self._plans.plan_for(self._planned(source), context)
        transform = transform_of(source.placing, self.target.size, source.size, source.turn)
        if transform == WHOLE:
            transform = WHOLE  # as outputs compare with it, each time
        shapes = tuple(openvino.Shape(shape) for shape in source.port_shapes())
        return Known(source.info, source, plan, transform, context, shapes)

    def transform(self, frame: Frame) -> AffineTransform:
        """The transform from the model's image to the picture of a frame.

        Raises:
            LayoutError: it is not an image, or its metadata are invalid.
        """
        info, turn = image_of(frame), self._meaning.turn(frame)
        size, target = (info.width, info.height), self.target.size
        found = placing(self.rule, target, size, turn, info.format)
        return transform_of(found, target, size, turn)

    def _placed(self, source: Source) -> Source:
        """The source with the placing that the rule gives pictures of that size."""
        format_ = source.info.format
        found = placing(self.rule, self.target.size, source.size, source.turn, format_)
        return source if found is STRETCHED else source._replace(placing=found)

    def _planned(self, source: Source) -> Source:
        """The planes that the model gets: the frame's, or those that `resize` makes of them."""
        if self.resize is None:
            return source
        format_ = source.info.format
        if any(plane.x_multiple > 1 for plane in format_.planes):
            raise LayoutError(
                f"{format_} keeps luma and chroma of neighbouring pixels in one plane, which "
                'resizing planes would mix: leave resize= out, or pass quality="exact"'
            )
        # Chroma is interpolated rather than repeated, which is nearer to resizing colours.
        box = source.placing.box
        size = self.target.size if box is None else box[2:]
        made = ImageInfo(without_subsampling(format_), *stored_size(size, source.turn))
        dense = Source.dense(made, source.matrix, source.range, turn=source.turn)
        return dense._replace(placing=source.placing._replace(part=None))

    def _in_device_memory(self, frame: Frame) -> Frame | None:
        target = self._contexts.get(frame.context) or self._target_of(frame)
        there = in_device_memory(frame, target)
        if there is not None:
            assert isinstance(there.context, RemoteContext)
            self._contexts[frame.context] = there.context
        return there

    def _target_of(self, frame: Frame) -> Any:
        if self.choose is not None:
            return self.choose(frame.context)
        if isinstance(self.device, RemoteContext):
            return self.device
        return f"openvino:{self.device}"


def _check_bytes(info: ImageInfo) -> None:
    """Raise LayoutError if planes in the memory of a device are not of single bytes.

    The inputs of the model are bytes, and memory of a device is not seen as another type.
    """
    if any(layout.itemsize > 1 for layout in info.plane_layouts()):
        raise LayoutError(
            f"samples of {info} have more than 8 bits, which a model reads from memory of the CPU "
            'alone: pass frame.convert("NV12"), or resize=, as samebytes_opencv.resize, which '
            "reads the planes on the CPU"
        )


QUALITIES = ("exact", "fast")


def planner_for(
    model: Any,
    example: Frame | ImageInfo,
    *,
    device: str | RemoteContext = "CPU",
    color: str = "BGR",
    layout: str | None = None,
    mean: float | Sequence[float] | None = None,
    scale: float | Sequence[float] | None = None,
    size: tuple[int, int] | None = None,
    resize: Resize | None = None,
    quality: Quality = "exact",
    color_range: ColorRange | None = None,
    color_matrix: ColorMatrix | None = None,
    config: Mapping[Any, Any] | None = None,
    core: Any = None,
    batch: int = 1,
    upright: bool = False,
    fit: Fit = "stretch",
    align: Align = "center",
    pad: float | Sequence[float] = 0,
    parts: bool = False,
) -> Planner:
    """The planner, which has compiled for the example. Arguments and errors are `image_model`'s.

    Args:
        parts: the items of a batch are parts of one frame, not frames; `fit` is about them.
    """
    color_matrix = color_matrix and NAMES.get(color_matrix, color_matrix)
    _check_names(color, color_range, color_matrix, fit, align, quality)
    if not isinstance(example, Frame | ImageInfo):
        raise UnsupportedObjectError(
            f"example must be a samebytes.Frame or ImageInfo, not {type(example).__name__}: wrap "
            "what the decoder gave, samebytes.frame(av_frame)"
        )
    info = image_of(example) if isinstance(example, Frame) else example
    components_of(info.format)
    core = core or (device.core if isinstance(device, RemoteContext) else default_core())
    own = read(model, core)
    order = layout_of_input(own, layout)
    meaning = Meaning(color_matrix, color_range, upright)
    if parts and size is None and is_of_open_size(own, order):
        raise LayoutError(
            f"the model's image is {own.inputs[0].partial_shape}, of any size, and so are regions: "
            "pass size=(width, height)"
        )
    if batch < 1:
        raise LayoutError(f"batch={batch}: an inference takes at least one frame")
    turn = meaning.turn(example) if isinstance(example, Frame) else AS_IT_LIES
    input_size = input_size_of(own, order, size, stored_size((info.width, info.height), turn))
    target = Target(order, input_size, color, *_normalisation(own, mean, scale))
    rule = rule_of(fit, align, pad)
    if resize is None and quality == "fast":
        resize = plane_resizer("openvino")
    of_parts = _parts(batch, rule) if parts else None
    plans = Plans(own, target, device, config, core, batch, of_parts)
    planner = Planner(plans, target, device, resize, meaning, Rule() if parts else rule)
    planner.prepare(example)
    return planner


def _check_names(
    color: str,
    color_range: str | None,
    color_matrix: str | None,
    fit: str,
    align: str,
    quality: str,
) -> None:
    """Raise UnknownNameError for an option with a value that it cannot have."""
    for what, value, known in (
        ("colour order", color, COLORS),
        ("colour range", color_range or "full", RANGES),
        ("colour matrix", color_matrix or "BT.601", MATRICES),
        ("fit", fit, FITS),
        ("align", align, ALIGNS),
        ("quality", quality, QUALITIES),
    ):
        if value not in known:
            raise UnknownNameError(what, value, known)


def _normalisation(
    model: Any, mean: float | Sequence[float] | None, scale: float | Sequence[float] | None
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The mean and scale for each channel; both empty if the image is taken as it is.

    Raises:
        LayoutError: they are not numbers for three channels, or the model takes bytes.
    """
    channels = _channels("mean", mean), _channels("scale", scale)
    if any(channels) and model.inputs[0].element_type.type_name == "u8":
        raise LayoutError("mean and scale need a model of f32 or f16, but this one takes u8")
    return channels


def _parts(count: int, rule: Rule) -> Parts:
    from ._batches import Parts  # most models see whole frames

    return Parts(count, rule)


def rule_of(
    fit: Fit = "stretch", align: Align = "center", pad: float | Sequence[float] = 0
) -> Rule:
    """The rule for pictures of another shape.

    Raises:
        LayoutError: `pad` is neither one number nor three.
    """
    return Rule(fit, align, _channels("pad", pad))


def _channels(what: str, values: float | Sequence[float] | None) -> tuple[float, ...]:
    if values is None:
        return ()
    numbers = tuple(values) if isinstance(values, Sequence) else (values,) * 3
    if len(numbers) != 3:
        raise LayoutError(f"{what} must be one number, or one for each of the 3 channels: {values}")
    if what == "scale" and 0 in numbers:
        raise LayoutError(f"the image cannot be divided by a scale of 0: {values}")
    return tuple(float(number) for number in numbers)
