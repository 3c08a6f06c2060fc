# SPDX-License-Identifier: Apache-2.0
"""Planner: which compiled model takes a frame, and in what memory it sees the planes.

An image model and its requests each hold it. Were it the model itself, the model and its own
request would refer to each other, and be freed by the garbage collector alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import openvino

from samebytes import Context, Frame, ImageInfo
from samebytes.errors import CopyRequiredError, LayoutError
from samebytes.metadata import AffineTransform
from samebytes.plugins import Refused

from .._remote._context import RemoteContext
from ._build import Memory, Source
from ._components import without_subsampling
from ._placing import STRETCHED, Rule, placing, transform_of
from ._plan import Known, Plan, Plans, kind_of
from ._request import Resize
from ._seen import (
    Meaning,
    Pitches,
    Seen,
    image_of,
    in_cpu_memory,
    in_device_memory,
    memory_of_gpu,
    whole_rows,
)
from ._target import Target
from ._upright import AS_IT_LIES, stored_size

__all__ = ["Planner"]


class Planner:
    """Plans for the frames of one image model.

    Args:
        plans: compiles, once for each layout.
        target: the model's input.
        device: of the model, or the context of its memory.
        resize: what brings planes to the model's size on the CPU, if the model does not.
        meaning: how colours are to be read.
        rule: how pictures of another shape are brought to the model's.

    Attributes:
        choose: gives the context of the device for frames of a context; by default that of the
            model, whatever frames come.
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
        # Where frames of a context go: a name, until the first one showed the context it means.
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
        """Return what to do with a frame, and its planes as the device sees them."""
        there = self._in_device_memory(frame) if self._tries_device else None
        if there is not None:
            _check_bytes(there)
            return self._seen(frame, there, (), memory_of_gpu(there), there.context)
        there = in_cpu_memory(frame, copy)
        if self.resize is not None:
            return self._seen(frame, there, (), "", None)
        try:
            rows, pitches = whole_rows(there)
        except Refused as refused:
            seen = self._seen(frame, there, (), self._host_memory, None)
            seen.why = (str(refused),)
        else:
            seen = self._seen(frame, there, pitches, self._host_memory, None)
            seen.rows = rows
        return seen

    def _seen(
        self, frame: Frame, there: Frame, pitches: Pitches, memory: Memory, context: Any
    ) -> Seen:
        """With what is known of such frames, which is found out where it is not.

        Args:
            frame: the user's.
            there: the same, where its planes can be read.
            pitches: of its planes; none where they do not matter.
            memory: the name of it in OpenVINO's GPU plugin.
            context: of the device; None for memory of the CPU.
        """
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
        source = self._placed(source)
        plan = self._plans.plan_for(self._planned(source), context)
        transform = transform_of(source.placing, self.target.size, source.size, source.turn)
        shapes = tuple(openvino.Shape(shape) for shape in source.port_shapes())
        return Known(source.info, source, plan, transform, context, shapes)

    def transform(self, frame: Frame) -> AffineTransform:
        """The transform from the model's image to the picture of a frame.

        Raises:
            LayoutError: it is not an image, or its metadata say what cannot be.
        """
        info, turn = image_of(frame), self._meaning.turn(frame)
        size, target = (info.width, info.height), self.target.size
        found = placing(self.rule, target, size, turn, info.format)
        return transform_of(found, target, size, turn)

    def _placed(self, source: Source) -> Source:
        """With what the rule makes of pictures of that size."""
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
        # Chroma is interpolated rather than repeated: that is nearer to resizing colours.
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


def _check_bytes(there: Frame) -> None:
    """Raise LayoutError if the planes in the memory of a device are not of single bytes.

    The inputs of the model are bytes, and memory of a device is not seen as another type.
    """
    if any(layout.itemsize > 1 for layout in image_of(there).plane_layouts()):
        raise LayoutError(
            f"samples of {image_of(there)} have more than 8 bits, which a model reads from memory "
            'of the CPU alone: pass frame.convert("NV12"), or resize=, as samebytes_opencv.resize, '
            "which reads the planes on the CPU"
        )
