# SPDX-License-Identifier: Apache-2.0
"""A frame as an image model sees it: where its planes are, and their layout."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from openvino import Type

from samebytes import Context, CpuTensor, Frame, FrameMeta, ImageInfo, Tensor
from samebytes.errors import CopyRequiredError, LayoutError, RouteError
from samebytes.formats import colors_of
from samebytes.plugins import HostContext, Refused

from .._host._layout import memory_of
from .._host._pinned import ReadOnlyTensor
from .._remote._context import RemoteContext
from ._build import Memory, Source
from ._letterbox import AS_IT_LIES, Turn, turn_of
from ._pixels import NAMES

if TYPE_CHECKING:
    from ._plan import Known

__all__ = ["Meaning", "Pitches", "Seen", "image_of", "in_cpu_memory", "in_device_memory",
           "memory_of_gpu", "whole_rows"]  # fmt: skip

Array = np.ndarray[Any, Any]
Pitches = tuple[tuple[int, int], ...]
"""For each plane, the bytes of a row, and the byte at which its first pixel begins."""


class Meaning(NamedTuple):
    """The meaning of YUV values, and whether pictures are turned upright.

    A matrix or range of None stands for the one in the metadata of each frame.
    """

    matrix: str | None
    range: str | None
    upright: bool = False

    def said(self, frame: Frame) -> tuple[str | None, str | None]:
        """(range, matrix) in the metadata of a frame, which are not read if both are known.

        Raises:
            UnknownNameError: its metadata have no such names.
        """
        if self.matrix is not None and self.range is not None:
            return None, None
        return frame.meta.color_range_and_matrix()

    def of(
        self, info: ImageInfo, stated: tuple[str | None, str | None] = (None, None)
    ) -> tuple[str, str]:
        """(matrix, range) of pictures.

        Args:
            info: their format.
            stated: what `said` returned.

        Raises:
            LayoutError: they are YUV of a matrix that cannot be computed.
        """
        entries = dict(zip(("color_range", "color_matrix"), stated, strict=True))
        range_, said = colors_of(info.format, {k: v for k, v in entries.items() if v is not None})
        matrix = self.matrix or NAMES.get(said)
        if matrix is None and info.format.color_model == "yuv":
            raise LayoutError(
                f"{info.format} of the matrix {said!r} cannot be converted to RGB inside a model, "
                f"only of {', '.join(NAMES)}: pass color_matrix= of the nearest one, or give it "
                "RGB frames of a program that converts them"
            )
        return matrix or "BT.601", self.range or range_

    def turn(self, frame: Frame) -> Turn:
        """The turn that makes the picture of a frame upright, if that is wanted; else none.

        Raises:
            LayoutError: the metadata of the frame are invalid.
        """
        return turn_of(frame) if self.upright else AS_IT_LIES


@dataclass(slots=True, eq=False, repr=False)
class Seen:
    """A frame that was looked at.

    Attributes:
        given: the user's frame.
        frame: where its planes can be read: in memory of the CPU, or of the model's device.
        known: what is known of all frames like it.
        rows: each plane's whole rows, dense arrays of any shape; None if they cannot be had, or if
            the frame is in the memory of a device.
        why: the reasons why the frame cannot be used where it lies.
    """

    given: Frame
    frame: Frame
    known: Known
    rows: Sequence[Array] | None = None
    why: tuple[str, ...] = ()

    @property
    def source(self) -> Source:
        """The layout of its planes as they were given."""
        return self.known.source

    def host_tensors(self) -> list[Any]:
        """An openvino.Tensor over the whole rows of each plane, in the shapes of the inputs."""
        assert self.rows is not None
        return [
            ReadOnlyTensor(rows, shape, Type.u8)
            for rows, shape in zip(self.rows, self.known.shapes, strict=True)
        ]

    def tensors(self) -> list[Tensor] | None:
        """The whole rows as tensors in the shapes of the model's inputs."""
        if self.rows is None:
            return None
        return [
            CpuTensor.borrowed(
                _in_bytes(rows, shape), plane.context, keep=plane.storage, readonly=True
            )
            for rows, plane, shape in zip(
                self.rows, self.frame.planes, self.source.port_shapes(), strict=True
            )
        ]

    def arrays(self) -> Sequence[Array]:
        """The planes in memory of the CPU: of the part that is seen, between samples."""
        part = self.known.source.placing.part
        if part is None:
            return self.frame.native  # type: ignore[no-any-return]  # a tuple of them
        x, y, width, height = part
        info = ImageInfo(self.source.info.format, width, height)
        arrays = []
        for array, shape, layout in zip(
            self.frame.native, info.format.planes, info.plane_layouts(), strict=True
        ):
            top, left = y >> shape.y_shift, x >> shape.x_shift
            rows, columns = layout.shape[:2]
            arrays.append(array[top : top + rows, left : left + columns])
        return arrays

    def wide_frame(self) -> Frame:
        """The whole rows as one frame. Its planes are wider than its size says."""
        assert self.rows is not None
        arrays = tuple(
            _in_bytes(rows, shape[1:] if shape[3] > 1 else shape[1:3])
            for rows, shape in zip(self.rows, self.source.port_shapes(), strict=True)
        )
        inside, meta = self.frame.context, FrameMeta(self.source.info)
        return Frame.borrowed(arrays, inside, meta, keep=self.frame.storage, readonly=True)


def _in_bytes(rows: Array, shape: Sequence[int]) -> Array:
    return rows.reshape(-1).view(np.uint8).reshape(shape)


def image_of(frame: Frame) -> ImageInfo:
    """Format and size.

    Raises:
        LayoutError: the frame is not an image.
    """
    info = frame.meta.info
    if not isinstance(info, ImageInfo):
        raise LayoutError(f"an image model takes images, not a frame of {frame.media}")
    return info


def in_device_memory(frame: Frame, target: str | Context) -> Frame | None:
    """The frame in the memory of a GPU or NPU, if it gets there without a copy.

    Args:
        target: the node of the device, or the context that served frames of this context before.
    """
    if isinstance(frame.context, HostContext):
        return None
    try:
        there = frame.map(target, "r")
    except RouteError:
        return None
    return there if isinstance(there.context, RemoteContext) else None


def memory_of_gpu(there: Frame) -> Memory:
    """OpenVINO's name of the memory of a frame on a GPU; "" for other devices."""
    context = there.context
    if not isinstance(context, RemoteContext) or not context.device_name.startswith("GPU"):
        return ""
    opaque = any(plane.strides is None for plane in there.planes)
    return "GPU_SURFACE" if opaque else "GPU_BUFFER"


def in_cpu_memory(frame: Frame) -> Frame:
    """The frame in memory of the CPU, copied if need be.

    Raises:
        NoRouteError: it cannot be mapped there.
    """
    try:
        return frame.map("cpu", "r")
    except CopyRequiredError:
        return frame.map("cpu", "r", copy=True)


def whole_rows(there: Frame) -> tuple[list[Array], Pitches]:
    """The whole rows of each plane of a frame in memory of the CPU, and how they are laid out.

    Returns:
        (rows, pitches): dense arrays over the planes' own memory, which hold it; and for each plane
        the bytes of a row, and the one in it at which the first pixel is.

    Raises:
        Refused: the rows of a plane cannot be had, as `rows_of` says.
    """
    found, pitches = [], []
    for plane in there.native:
        if plane.flags.c_contiguous:
            found.append(plane)
            pitches.append((plane.nbytes // len(plane), 0))
        else:
            rows, first = _rows_of(plane)
            found.append(rows)
            pitches.append((rows.shape[1], first))
    return found, tuple(pitches)


def _rows_of(array: Array) -> tuple[Array, int]:
    """The whole rows of a plane, as bytes, and where in them its first pixel is.

    Args:
        array: (rows, columns) or (rows, columns, channels) in memory of the CPU.

    Returns:
        (whole, first): uint8 [rows, row pitch] over the same memory, which it holds. `first` is
        0 unless the memory ends with the last pixel; then the rows begin that much earlier.

    Raises:
        Refused: the rows are stored bottom up, or too little is known of the memory behind them.
    """
    rows, pitch = array.shape[0], array.strides[0]
    if array.flags.c_contiguous:
        return array.reshape(rows, -1).view(np.uint8), 0
    if pitch < 0:
        raise Refused(f"its rows are stored bottom up (pitch {pitch}): flip the image first")
    inner = array.dtype.itemsize
    for extent, stride in zip(array.shape[:0:-1], array.strides[:0:-1], strict=True):
        if stride != inner and extent > 1:
            raise Refused(f"strides {array.strides} leave gaps between the pixels of a row")
        inner *= extent
    memory, start = memory_of(array)
    first = max(0, start + rows * pitch - memory.nbytes)
    if first > min(start, pitch - inner):
        raise Refused(
            f"its last row ends {first} bytes before a whole number of padded rows, and it is "
            "not known whether the bytes there belong to the same memory"
        )
    whole: Array = np.ndarray((rows, pitch), np.uint8, memory, start - first)
    if not array.flags.writeable:
        whole.flags.writeable = False
    return whole, first
