# SPDX-License-Identifier: Apache-2.0
"""A frame as an image model sees it: where its planes are, and their layout."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from samebytes import Context, Frame, ImageInfo, Tensor
from samebytes.errors import CopyRequiredError, LayoutError, RouteError
from samebytes.formats import colors_of
from samebytes.plugins import CpuTensor, FrameMeta, HostContext, Refused

from .._remote._context import RemoteContext
from ._build import Memory, Source
from ._colour import NAMES
from ._placing import Box
from ._rows import rows_of
from ._upright import AS_IT_LIES, Turn, turn_of

__all__ = ["Meaning", "Seen", "image_of", "in_cpu_memory", "in_device_memory"]

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Meaning:
    """The meaning of YUV values, and whether pictures are turned as frames say.

    A matrix or range of None stands for the one that a frame states itself.
    """

    matrix: str | None
    range: str | None
    upright: bool = False

    def of(self, info: ImageInfo, frame: Frame | None) -> tuple[str, str]:
        """(matrix, range) of a frame.

        Raises:
            LayoutError: the frame is YUV of a matrix that cannot be computed.
            UnknownNameError: its metadata have no such names.
        """
        range_, said = colors_of(info.format, {} if frame is None else frame.metadata)
        matrix = self.matrix or NAMES.get(said)
        if matrix is None and info.format.color_model == "yuv":
            raise LayoutError(
                f"{info.format} of the matrix {said!r} cannot be converted to RGB inside a model, "
                f"only of {', '.join(NAMES)}: convert the frame first, or pass color_matrix="
            )
        return matrix or "BT.601", self.range or range_

    def turn(self, frame: Frame) -> Turn:
        """The turn that makes the picture of a frame upright, if that is wanted; else none.

        Raises:
            LayoutError: the metadata of the frame say what cannot be.
        """
        return turn_of(frame) if self.upright else AS_IT_LIES


@dataclass(frozen=True, slots=True)
class Seen:
    """A frame that was looked at.

    Attributes:
        given: the user's frame.
        frame: where its planes can be read: in memory of the CPU, or of the model's device.
        context: of that device; None for memory of the CPU.
        rows: each plane's whole rows, uint8 [rows, row pitch]; None where they cannot be had, or
            where the frame is in the memory of a device.
        why: reasons for which the frame as it lies cannot be used.
    """

    given: Frame
    frame: Frame
    source: Source
    context: RemoteContext | None = None
    rows: tuple[Array, ...] | None = None
    why: tuple[str, ...] = ()

    def tensors(self) -> list[Tensor] | None:
        """The whole rows as tensors in the shapes of the model's inputs."""
        if self.rows is None:
            return None
        return [
            CpuTensor.borrowed(
                rows.reshape(shape), plane.context, keep=plane.storage, readonly=True
            )
            for rows, plane, shape in zip(
                self.rows, self.frame.planes, self.source.port_shapes(), strict=True
            )
        ]

    def cut(self, part: Box) -> Seen:
        """The frame with planes of which a part is seen, that begins and ends between samples."""
        x, y, width, height = part
        info = ImageInfo(self.source.info.format, width, height)
        arrays = []
        for plane, shape, layout in zip(
            self.frame.planes, info.format.planes, info.plane_layouts(), strict=True
        ):
            top, left = y >> shape.y_shift, x >> shape.x_shift
            rows, columns = layout.shape[:2]
            arrays.append(plane.native[top : top + rows, left : left + columns])
        made = Frame.borrowed(
            tuple(arrays), self.frame.context, FrameMeta(info), keep=self.frame.storage,
            readonly=True,
        )  # fmt: skip
        return replace(self, frame=made, rows=None)

    def wide_frame(self) -> Frame:
        """The whole rows as one frame. Its planes are wider than its size says."""
        assert self.rows is not None
        arrays = tuple(
            rows.reshape(shape[1:] if shape[3] > 1 else shape[1:3])
            for rows, shape in zip(self.rows, self.source.port_shapes(), strict=True)
        )
        inside, meta = self.frame.context, FrameMeta(self.source.info)
        return Frame.borrowed(arrays, inside, meta, keep=self.frame.storage, readonly=True)


def image_of(frame: Frame) -> ImageInfo:
    """Format and size.

    Raises:
        LayoutError: the frame is not an image.
    """
    info = frame.meta.info
    if not isinstance(info, ImageInfo):
        raise LayoutError(f"an image model takes images, not a frame of {frame.media}")
    return info


def in_device_memory(
    frame: Frame, target: str | Context, meaning: Meaning, refusals: list[str]
) -> Seen | None:
    """The frame in the memory of a GPU or NPU, if it gets there without a copy.

    Args:
        target: the node of the device, or the context that served frames of this context before.
        refusals: why it does not is added to them.
    """
    if isinstance(frame.context, HostContext):
        return None
    try:
        there = frame.map(target, "r")
    except RouteError as refused:
        refusals += getattr(refused, "reasons", ()) or [str(refused)]
        return None
    context = there.context
    if not isinstance(context, RemoteContext):
        return None
    memory: Memory = ""
    if context.device_name.startswith("GPU"):
        opaque = any(plane.strides is None for plane in there.planes)
        memory = "GPU_SURFACE" if opaque else "GPU_BUFFER"
    info = image_of(frame)
    source = Source.dense(info, *meaning.of(info, frame), memory, meaning.turn(frame))
    return Seen(frame, there, source, context)


def in_cpu_memory(frame: Frame, meaning: Meaning, memory: Memory, copy: bool) -> Seen:
    """The frame in memory of the CPU, with its padded rows.

    Raises:
        CopyRequiredError, NoRouteError: it cannot be mapped there.
    """
    try:
        there = frame.map("cpu", "r")
    except CopyRequiredError:
        if not copy:
            raise
        there = frame.map("cpu", "r", copy=True)
    info = image_of(frame)
    said, turn = meaning.of(info, frame), meaning.turn(frame)
    try:
        found = [rows_of(plane.native) for plane in there.planes]
    except Refused as refused:
        return Seen(frame, there, Source.dense(info, *said, memory, turn), why=(str(refused),))
    rows = tuple(whole for whole, _ in found)
    firsts = tuple(first for _, first in found)
    pitches = tuple(whole.shape[1] for whole in rows)
    return Seen(frame, there, Source(info, pitches, firsts, *said, memory, turn), rows=rows)
