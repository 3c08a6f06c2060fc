# SPDX-License-Identifier: Apache-2.0
"""Describe tensors and frames in messages, and read descriptions that may be forged.

The classes that are made from a description check that arrays lie inside of their memory and that
planes fit their format.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from numbers import Rational
from typing import Any

from samebytes import Frame, FrameMeta, ImageFormat, ImageInfo, Region, TensorInfo, dtype
from samebytes.errors import UnknownNameError, UnsupportedObjectError
from samebytes.formats import is_linear_modifier
from samebytes.metadata import KEY
from samebytes_dma import DMABuffer, DMAPlane, DMATensor

from .._errors import MessageError
from .entries import describe_entries, read_entries
from .memory import natives_of
from .message import (
    FRAME,
    IMAGE,
    MAX_AXES,
    MAX_DESCRIPTORS,
    MAX_EXTENT,
    META,
    PLANE,
    REGION,
    Description,
    PlaneDescription,
    named,
)
from .values import Value, plain

__all__ = ["NumberedBuffers", "describe", "describe_layout", "describe_meta", "read", "read_meta"]

_MAX_PLANES = MAX_DESCRIPTORS
_MAX_REGIONS = 1024
_MAX_NAME = 64
# The sum of two of them is a 64-bit number too.
_MAX_BYTES = (1 << 62) - 1
_MAX_MODIFIER = (1 << 64) - 1


def read(
    value: Value,
    descriptors: int,
    tensor_of: Callable[[PlaneDescription, bool], DMATensor | None],
) -> Description:
    """The description in a message that came with so many descriptors.

    Args:
        value: the description.
        descriptors: how many.
        tensor_of: makes the tensor of an inference result; the flag says whether it is read-only.

    Raises:
        MessageError: what it says is invalid.
    """
    meta: FrameMeta | None = None
    results: list[PlaneDescription] = []
    if "frame" in value.keys():  # noqa: SIM118 - no dictionary: it may be anything
        readonly, frame = value.members("readonly", "frame")
        planes, results, meta = _read_frame(frame, descriptors, tensor_of)
    else:
        readonly, tensor = value.members("readonly", "tensor")
        planes = (_read_plane(tensor, descriptors),)
    _check_all_used(descriptors, (*planes, *results))
    return Description(planes, meta, readonly.flag())


def _read_frame(
    value: Value,
    descriptors: int,
    tensor_of: Callable[[PlaneDescription, bool], DMATensor | None],
) -> tuple[tuple[PlaneDescription, ...], list[PlaneDescription], FrameMeta]:
    """The planes of the frame, those of its results, and what is known of it."""
    planes, image, pts, time_base, *rest = value.members(*FRAME)
    found = tuple(_read_plane(p, descriptors) for p in planes.items(_MAX_PLANES))
    if not found:
        planes.fail("is empty")
    metadata, regions, results = _read_meta(rest, descriptors, tensor_of)
    meta = FrameMeta(
        _read_image(image) if image.optional() else None,
        pts.whole() if pts.optional() else None,
        _read_time_base(time_base) if time_base.optional() else None,
        metadata,
        regions,
    )
    return found, results, meta


def read_meta(
    value: Value,
    descriptors: int,
    tensor_of: Callable[[PlaneDescription, bool], DMATensor | None],
) -> tuple[dict[str, Any], list[Region]]:
    """Metadata and regions as `describe_meta` described them, with so many descriptors of results.

    Raises:
        MessageError: what it says is invalid.
    """
    metadata, regions, results = _read_meta(value.members(*META), descriptors, tensor_of)
    _check_all_used(descriptors, results)
    return metadata, regions


def _read_meta(
    members: Sequence[Value],
    descriptors: int,
    tensor_of: Callable[[PlaneDescription, bool], DMATensor | None],
) -> tuple[dict[str, Any], list[Region], list[PlaneDescription]]:
    regions, metadata, entries = members
    results: list[PlaneDescription] = []

    def read_result(plane: Value, readonly: bool) -> DMATensor | None:
        results.append(_read_plane(plane, descriptors))
        with named(plane):
            return tensor_of(results[-1], readonly)

    own = _read_metadata(metadata, entries, read_result)
    found = [_read_region(r, read_result) for r in regions.items(_MAX_REGIONS)]
    return own, found, results


def _check_all_used(descriptors: int, planes: Iterable[PlaneDescription]) -> None:
    unused = set(range(descriptors)).difference(p.buffer for p in planes)
    if unused:
        raise MessageError(f"descriptors[{min(unused)}]", "is not referenced by any plane")


def _read_metadata(
    own: Value, entries: Value, read_result: Callable[[Value, bool], DMATensor | None]
) -> dict[str, Any]:
    """The user's own entries, and the typed ones under their key."""
    found = own.entries()
    if KEY in found:
        own.fail(f"has the key {KEY!r}, under which the typed entries lie")
    typed = read_entries(entries, read_result)
    return {**found, KEY: typed} if typed else found


def _read_plane(value: Value, descriptors: int) -> PlaneDescription:
    buffer, element, shape, strides, offset, pitch, modifier = value.members(*PLANE)
    layout = modifier.whole(0, _MAX_MODIFIER)
    with named(element):
        kind = dtype(element.text(_MAX_NAME))
    # Arrays without elements have no place in memory that could be checked.
    extents = [n.whole(1, MAX_EXTENT) for n in shape.items(MAX_AXES)]
    steps = None
    if strides.optional():
        steps = [n.whole(-_MAX_BYTES, _MAX_BYTES) for n in strides.items(MAX_AXES)]
    elif is_linear_modifier(layout) and not kind.packed:
        strides.fail("is null, which only tiled memory and packed types have")
    with named(value):
        info = TensorInfo(kind, extents, steps, opaque=steps is None and not kind.packed)
    return PlaneDescription(
        buffer.whole(0, descriptors - 1),
        info,
        offset.whole(0, _MAX_BYTES),
        pitch.whole(-_MAX_BYTES, _MAX_BYTES) if pitch.optional() else None,
        layout,
    )


def _read_image(value: Value) -> ImageInfo:
    format_, width, height = value.members(*IMAGE)
    with named(format_):
        found = ImageFormat.of(format_.text(_MAX_NAME))
    return ImageInfo(found, width.whole(1, MAX_EXTENT), height.whole(1, MAX_EXTENT))


def _read_time_base(value: Value) -> Fraction:
    parts = value.items(2)
    if len(parts) != 2:
        value.fail("is a numerator and a denominator")
    return Fraction(parts[0].whole(0, MAX_EXTENT), parts[1].whole(1, MAX_EXTENT))


def _read_region(value: Value, read_result: Callable[[Value, bool], DMATensor | None]) -> Region:
    x, y, width, height, label, confidence, metadata, entries = value.members(*REGION)
    return Region(
        x.whole(),
        y.whole(),
        width.whole(0),
        height.whole(0),
        label.text(),
        confidence.number() if confidence.optional() else None,
        _read_metadata(metadata, entries, read_result),
    )


def describe(item: DMATensor | Frame, copy: bool) -> tuple[dict[str, Any], list[DMABuffer]]:
    """The description of a tensor or frame as plain data, and the buffers that it numbers.

    Raises:
        CopyRequiredError: a result holds a tensor in other memory, and copy is False.
        MessageError: its metadata is not plain data.
        UnsupportedObjectError: a frame of sound, or of a format that only this process knows.
    """
    buffers = NumberedBuffers()
    planes = [buffers.describe(native) for native in natives_of(item)]
    described: dict[str, Any] = {"readonly": item.readonly}
    if isinstance(item, Frame):
        described["frame"] = _describe_frame(planes, item.meta, buffers.describe, copy)
    else:
        (described["tensor"],) = planes
    return described, buffers.all


class NumberedBuffers:
    """The buffers that a description refers to by number, in the order of their first planes."""

    def __init__(self) -> None:
        # By storage: it owns the descriptor, and several objects can stand for one buffer.
        self._by_storage: dict[int, DMABuffer] = {}

    def describe(self, plane: DMAPlane) -> dict[str, Any]:
        """The description of a plane as plain data. A new buffer gets the next number."""
        key = id(plane.buffer.storage)
        self._by_storage.setdefault(key, plane.buffer)
        return _describe_plane(plane, list(self._by_storage).index(key))

    @property
    def all(self) -> list[DMABuffer]:
        """The buffers, each at its number."""
        return list(self._by_storage.values())


def _describe_plane(plane: DMAPlane, buffer: int) -> dict[str, Any]:
    info = plane.info
    strides = None if info.strides is None else list(info.strides)
    values = (
        buffer, str(info.dtype), list(info.shape), strides, plane.offset, plane.pitch,
        plane.modifier,
    )  # fmt: skip
    return dict(zip(PLANE, values, strict=True))


def _describe_frame(
    planes: list[dict[str, Any]],
    meta: FrameMeta,
    describe_plane: Callable[[DMAPlane], dict[str, Any]],
    copy: bool,
) -> dict[str, Any]:
    base = meta.time_base
    if not isinstance(base, Rational | None):
        raise MessageError("frame.time_base", f"must be a Fraction, not {base!r}")
    described = {
        "planes": planes,
        "image": _describe_image(meta.info),
        "pts": plain(meta.pts, "frame.pts"),
        "time_base": None if base is None else [base.numerator, base.denominator],
        **describe_meta(meta, describe_plane, copy),
    }
    return {name: described[name] for name in FRAME}


def describe_meta(
    meta: FrameMeta, describe_plane: Callable[[DMAPlane], dict[str, Any]], copy: bool
) -> dict[str, Any]:
    """The metadata and regions of a frame as plain data.

    Args:
        meta: the frame's.
        describe_plane: describes the memory of results that goes along as a descriptor.
        copy: tensors of results in other memory may be copied into the message.

    Raises:
        CopyRequiredError: a result holds a tensor in other memory, and copy is False.
        MessageError: it is not plain data.
    """
    regions = []
    for i, region in enumerate(meta.regions):
        name = f"frame.regions[{i}]"
        described = {key: plain(_own(region, key), f"{name}.{key}") for key in REGION[:-1]}
        described["entries"] = describe_entries(region, f"{name}.entries", describe_plane, copy)
        regions.append(described)
    values = (
        regions,
        plain(_own(meta, "metadata"), "frame.metadata"),
        describe_entries(meta, "frame.entries", describe_plane, copy),
    )
    return dict(zip(META, values, strict=True))


def describe_layout(item: DMATensor | Frame) -> dict[str, Any]:
    """Return the description shared by all items that lie in one buffer as this one does.

    It depends neither on the buffer nor on the metadata.

    Raises:
        UnsupportedObjectError: a frame of sound, or of a format that only this process knows.
    """
    planes = [_describe_plane(native, 0) for native in natives_of(item)]
    if isinstance(item, Frame):
        bare = FrameMeta(item.meta.info)
        return {"readonly": True, "frame": _describe_frame(planes, bare, lambda _: {}, False)}
    return {"readonly": True, "tensor": planes[0]}


def _own(holder: FrameMeta | Region, key: str) -> Any:
    """A member of a frame or region; of its metadata, what is not a typed entry."""
    value = getattr(holder, key)
    if key != "metadata" or KEY not in value:
        return value
    return {name: entry for name, entry in value.items() if name != KEY}


def _describe_image(info: object) -> dict[str, Any] | None:
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
