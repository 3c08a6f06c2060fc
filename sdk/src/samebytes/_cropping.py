# SPDX-License-Identifier: Apache-2.0
"""A part of a picture as a frame over the same bytes."""

from __future__ import annotations

from math import lcm
from typing import Any

from ._core.memory.frame import Frame
from ._core.memory.tensor import Tensor
from ._core.owner.storage import joint_owner
from ._numbers import integer
from ._routing.route import route
from .errors import CopyRequiredError, LayoutError, SamebytesError, UnsupportedObjectError
from .formats import ImageFormat, ImageInfo, field_order_of
from .metadata import meta_of_part

__all__ = ["crop_frame"]


def crop_frame(frame: Frame[Any], x: int, y: int, width: int, height: int, fit: bool) -> Frame[Any]:
    """`Frame.crop`."""
    info = frame.meta.info
    if not isinstance(info, ImageInfo):
        raise UnsupportedObjectError(
            f"a frame of {frame.media} cannot be cropped: crop() takes images"
        )
    if type(frame) is not Frame:
        raise UnsupportedObjectError(
            f"crop() cannot cut the native object of a {type(frame).__name__}: {_way_out(frame)}"
        )
    if any(type(plane)._window is Tensor._window for plane in frame.planes):
        raise UnsupportedObjectError(
            f"crop() cuts planes that are arrays, not {frame.context.node} memory: "
            f"{_way_out(frame)}"
        )
    grid = _grid_of(info.format, field_order_of(frame.metadata) in ("top", "bottom"))
    box = integer(x, "x"), integer(y, "y"), integer(width, "width"), integer(height, "height")
    if fit:
        box = _fitted(box, info, grid)
    _check(box, info, grid)
    left, top, columns, rows = box
    meta = meta_of_part(frame, *box)
    natives = []
    for plane, shape in zip(frame.planes, info.format.planes, strict=True):
        down, right = top >> shape.y_shift, left >> shape.x_shift
        extent = shape.shape(columns, rows)
        natives.append(plane._window(down, right, extent[0], extent[1]))
    keep = joint_owner([plane._owner for plane in frame.planes])
    part: Frame[Any] = Frame.borrowed(
        tuple(natives), frame.context, meta, keep=keep, readonly=frame.readonly
    )
    part.parent = frame
    _ = part.planes  # made now, while those of the frame are surely open
    return part


def _way_out(frame: Frame[Any]) -> str:
    """Advice on another way to get the part, as far as the route to the CPU allows one."""
    try:
        route(frame, "cpu")
    except CopyRequiredError:
        return (
            'the CPU cannot read it in place, so use frame.map("cpu", copy=True).crop(...), which '
            "copies the frame and counts it"
        )
    except SamebytesError as error:
        return f"and the CPU cannot read it at all: {error}"
    return 'use frame.map("cpu").crop(...), or frame.map("cpu", "rw") to write to the part'


def _grid_of(format_: ImageFormat, interlaced: bool = False) -> tuple[int, int]:
    """The numbers that x and y must be multiples of where a picture is cut.

    Chroma samples stay whole, and in interlaced pictures the two fields keep their order.
    """
    across = lcm(*[plane.x_multiple << plane.x_shift for plane in format_.planes])
    down = lcm(*[1 << plane.y_shift for plane in format_.planes])
    return across, down * 2 if interlaced else down


def _fitted(
    box: tuple[int, int, int, int], info: ImageInfo, grid: tuple[int, int]
) -> tuple[int, int, int, int]:
    """The part of `box` inside the picture, extended to whole chroma samples."""
    x, width = _fitted_along(box[0], box[2], info.width, grid[0])
    y, height = _fitted_along(box[1], box[3], info.height, grid[1])
    if width <= 0 or height <= 0:
        raise LayoutError(f"{_shown(box)} and {info} have no pixel in common")
    return x, y, width, height


def _fitted_along(begin: int, extent: int, size: int, step: int) -> tuple[int, int]:
    end = min(begin + extent, size)
    begin = max(begin, 0)
    if end <= begin:
        return begin, 0
    begin -= begin % step
    return begin, min(end + -end % step, size) - begin


def _check(box: tuple[int, int, int, int], info: ImageInfo, grid: tuple[int, int]) -> None:
    """Refuse a rectangle that is not a part of the picture, or that splits chroma samples."""
    x, y, width, height = box
    if width <= 0 or height <= 0:
        raise LayoutError(f"{_shown(box)}: width and height must be above 0")
    if x < 0 or y < 0 or x + width > info.width or y + height > info.height:
        raise LayoutError(
            f"{_shown(box)} reaches beyond {info}: pass fit=True for the part inside of it"
        )
    for name, begin, extent, size, step in (
        ("x", x, width, info.width, grid[0]),
        ("y", y, height, info.height, grid[1]),
    ):
        end = begin + extent
        if begin % step or (end % step and end != size):
            side = {"x": "width", "y": "height"}[name]
            fitted = _shown(_fitted(box, info, grid))
            raise LayoutError(
                f"{_shown(box)} splits chroma samples or fields of {info}: {name} {begin} and "
                f"{name} + {side} {end} must be multiples of {step}, or the edge of the picture; "
                f"pass fit=True for {fitted}"
            )


def _shown(box: tuple[int, int, int, int]) -> str:
    x, y, width, height = box
    return f"the rectangle {width}x{height} at ({x}, {y})"
