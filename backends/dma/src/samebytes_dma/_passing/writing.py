# SPDX-License-Identifier: Apache-2.0
"""From a tensor or frame to its description."""

from __future__ import annotations

from typing import Any

from samebytes import Frame, FrameMeta, ImageFormat, ImageInfo
from samebytes.errors import UnknownNameError, UnsupportedObjectError

from .._buffer import DMABuffer
from .._plane import DMAPlane
from .._tensor import DMATensor
from .description import FRAME, IMAGE, PLANE, REGION
from .values import plain

__all__ = ["describe"]


def describe(item: DMATensor | Frame) -> tuple[dict[str, Any], list[DMABuffer]]:
    """The description of a tensor or frame as plain data, and the buffers that it numbers.

    Raises:
        MessageError: its metadata is no plain data.
        UnsupportedObjectError: a frame of sound, or of a format that only this process knows.
    """
    # By storage: it owns the descriptor, and several objects can stand for one buffer.
    buffers: dict[int, DMABuffer] = {}
    natives: list[DMAPlane] = [p.native for p in (item if isinstance(item, Frame) else (item,))]
    for native in natives:
        buffers.setdefault(id(native.buffer.storage), native.buffer)
    numbers = {key: number for number, key in enumerate(buffers)}
    planes = [_plane(native, numbers[id(native.buffer.storage)]) for native in natives]
    described: dict[str, Any] = {"readonly": item.readonly}
    if isinstance(item, Frame):
        described["frame"] = _frame(planes, item.meta)
    else:
        (described["tensor"],) = planes
    return described, list(buffers.values())


def _plane(plane: DMAPlane, buffer: int) -> dict[str, Any]:
    info = plane.info
    strides = None if info.strides is None else list(info.strides)
    values = (
        buffer, str(info.dtype), list(info.shape), strides, plane.offset, plane.pitch,
        plane.modifier,
    )  # fmt: skip
    return dict(zip(PLANE, values, strict=True))


def _frame(planes: list[dict[str, Any]], meta: FrameMeta) -> dict[str, Any]:
    base = meta.time_base
    regions = [
        {key: plain(getattr(region, key), f"frame.regions[{i}].{key}") for key in REGION}
        for i, region in enumerate(meta.regions)
    ]
    values = (
        planes,
        _image(meta.info),
        plain(meta.pts, "frame.pts"),
        None if base is None else [base.numerator, base.denominator],
        regions,
        plain(meta.metadata, "frame.metadata"),
    )
    return dict(zip(FRAME, values, strict=True))


def _image(info: object) -> dict[str, Any] | None:
    if info is None:
        return None
    if not isinstance(info, ImageInfo):
        raise UnsupportedObjectError("a frame of sound cannot be sent: send its planes")
    name = info.format.name
    try:
        known = ImageFormat.of(name) == info.format
    except UnknownNameError:
        known = False
    if not known:
        raise UnsupportedObjectError(
            f"the format {name!r} is known to this process alone: send the frame's planes"
        )
    return dict(zip(IMAGE, (name, info.width, info.height), strict=True))
