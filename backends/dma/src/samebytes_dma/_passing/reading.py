# SPDX-License-Identifier: Apache-2.0
"""From a description that a stranger wrote to a checked one.

Whether arrays lie inside of their memory, and planes fit their format, is found out by the classes
that they become.
"""

from __future__ import annotations

from fractions import Fraction

from samebytes import FrameMeta, ImageFormat, ImageInfo, Region, TensorInfo
from samebytes.plugins import dtype

from .._modifiers import is_tiled
from .description import FRAME, IMAGE, PLANE, REGION, Description, PlaneDescription
from .errors import MessageError, named
from .header import MAX_DESCRIPTORS
from .values import Value

__all__ = ["read"]

_MAX_PLANES = MAX_DESCRIPTORS
_MAX_AXES = 16
_MAX_REGIONS = 1024
_MAX_NAME = 64
_MAX_EXTENT = (1 << 31) - 1
# The sum of two of them is a 64-bit number too.
_MAX_BYTES = (1 << 62) - 1
_MAX_MODIFIER = (1 << 64) - 1


def read(value: Value, descriptors: int) -> Description:
    """The description in a message that came with so many descriptors.

    Raises:
        MessageError: it says something that cannot be.
    """
    meta = None
    if "frame" in value.keys():  # noqa: SIM118 - no dictionary: it may be anything
        readonly, frame = value.members("readonly", "frame")
        planes, meta = _frame(frame, descriptors)
    else:
        readonly, tensor = value.members("readonly", "tensor")
        planes = (_plane(tensor, descriptors),)
    unused = set(range(descriptors)).difference(p.buffer for p in planes)
    if unused:
        raise MessageError(f"descriptors[{min(unused)}]", "came along, and no plane lies in it")
    return Description(planes, meta, readonly.flag())


def _frame(value: Value, descriptors: int) -> tuple[tuple[PlaneDescription, ...], FrameMeta]:
    planes, image, pts, time_base, regions, metadata = value.members(*FRAME)
    found = tuple(_plane(p, descriptors) for p in planes.items(_MAX_PLANES))
    if not found:
        planes.fail("is empty")
    meta = FrameMeta(
        _image(image) if image.optional() else None,
        pts.whole() if pts.optional() else None,
        _time_base(time_base) if time_base.optional() else None,
        metadata.plain(),
        [_region(r) for r in regions.items(_MAX_REGIONS)],
    )
    return found, meta


def _plane(value: Value, descriptors: int) -> PlaneDescription:
    buffer, element, shape, strides, offset, pitch, modifier = value.members(*PLANE)
    layout = modifier.whole(0, _MAX_MODIFIER)
    with named(element.name):
        kind = dtype(element.text(_MAX_NAME))
    # Arrays without elements have no place in memory that could be checked.
    extents = [n.whole(1, _MAX_EXTENT) for n in shape.items(_MAX_AXES)]
    steps = None
    if strides.optional():
        steps = [n.whole(-_MAX_BYTES, _MAX_BYTES) for n in strides.items(_MAX_AXES)]
    elif not (kind.packed or is_tiled(layout)):
        strides.fail("is null, which only tiled memory and packed types have")
    with named(value.name):
        info = TensorInfo(kind, extents, steps, opaque=steps is None and not kind.packed)
    return PlaneDescription(
        buffer.whole(0, descriptors - 1),
        info,
        offset.whole(0, _MAX_BYTES),
        pitch.whole(-_MAX_BYTES, _MAX_BYTES) if pitch.optional() else None,
        layout,
    )


def _image(value: Value) -> ImageInfo:
    format_, width, height = value.members(*IMAGE)
    with named(format_.name):
        found = ImageFormat.of(format_.text(_MAX_NAME))
    return ImageInfo(found, width.whole(1, _MAX_EXTENT), height.whole(1, _MAX_EXTENT))


def _time_base(value: Value) -> Fraction:
    parts = value.items(2)
    if len(parts) != 2:
        value.fail("is a numerator and a denominator")
    return Fraction(parts[0].whole(0, _MAX_EXTENT), parts[1].whole(1, _MAX_EXTENT))


def _region(value: Value) -> Region:
    x, y, width, height, label, confidence, metadata = value.members(*REGION)
    return Region(
        x.whole(),
        y.whole(),
        width.whole(0),
        height.whole(0),
        label.text(),
        confidence.number() if confidence.optional() else None,
        metadata.plain(),
    )
