# SPDX-License-Identifier: Apache-2.0
"""AVDRMFrameDescriptor, read with distrust and written: which planes lie in which DMA-BUF."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from samebytes import TensorInfo
from samebytes.errors import LayoutError, UnknownNameError
from samebytes.formats import (
    DRM_FORMAT_MOD_INVALID,
    DRM_FORMAT_MOD_LINEAR,
    ImageFormat,
    ImageInfo,
    image_format_of_drm_layers,
)

from .described import Described, snapshot
from .hwcontext_abi import AV_DRM_MAX_PLANES, AVDRMFrameDescriptor

__all__ = ["DRMPlane", "descriptor_of", "planes_of"]


class DRMPlane(NamedTuple):
    """One plane as the descriptor has it.

    Attributes:
        info: strides of linear memory; opaque if it is tiled.
        fd: the descriptor of its buffer, which stays the frame's.
        size: bytes of that buffer as the frame gives them; 0 if it does not.
        offset: bytes from the start of the buffer.
        pitch: bytes from row to row.
        modifier: layout modifier of drm_fourcc.h.
        number: which of the frame's buffers it is in.
    """

    info: TensorInfo
    fd: int
    size: int
    offset: int
    pitch: int
    modifier: int
    number: int


def planes_of(found: Described) -> tuple[DRMPlane, ...]:
    """The planes of a DRM frame, in the order of its format.

    Raises:
        LayoutError: the descriptor contradicts itself or the frame's software format, or a plane
            would reach outside of its buffer.
    """
    said: Any = snapshot(AVDRMFrameDescriptor, found.data, "an AVDRMFrameDescriptor")
    _check_count("objects", said.nb_objects)
    _check_count("layers", said.nb_layers)
    layers = said.layers[: said.nb_layers]
    for layer in layers:
        _check_count("planes of a layer", layer.nb_planes)
    image = found.image
    try:
        image_format_of_drm_layers([(x.format, x.nb_planes) for x in layers], image.format)
    except UnknownNameError as error:
        raise LayoutError(f"the DRM frame of {image}: {error}") from error
    places = [plane for layer in layers for plane in layer.planes[: layer.nb_planes]]
    return tuple(_plane(said, image, number, place) for number, place in enumerate(places))


def _check_count(what: str, count: int) -> None:
    if not 1 <= count <= AV_DRM_MAX_PLANES:
        raise LayoutError(
            f"a DRM frame has 1 to {AV_DRM_MAX_PLANES} {what}, but this one claims {count}"
        )


def _plane(said: Any, image: ImageInfo, number: int, place: Any) -> DRMPlane:
    name = f"plane {number} of a DRM frame of {image}"
    if not 0 <= place.object_index < said.nb_objects:
        raise LayoutError(
            f"{name} is in buffer {place.object_index}, and there are {said.nb_objects}"
        )
    held = said.objects[place.object_index]
    if held.fd < 0:
        raise LayoutError(
            f"{name} is in a buffer with descriptor {held.fd}, which is not a descriptor"
        )
    layout = image.plane_layouts()[number]
    if place.offset < 0:
        raise LayoutError(f"{name} begins {-place.offset} bytes before its buffer")
    if place.pitch < layout.row_nbytes:
        raise LayoutError(f"{name} has rows of {layout.row_nbytes} bytes, pitch {place.pitch}")
    tiled = held.format_modifier not in (DRM_FORMAT_MOD_LINEAR, DRM_FORMAT_MOD_INVALID)
    # Tiles take more room than rows; how much is the driver's business.
    least = 1 if tiled else place.pitch * (layout.shape[0] - 1) + layout.row_nbytes
    if held.size and place.offset + least > held.size:
        raise LayoutError(
            f"{name} takes bytes {place.offset} to {place.offset + least} of a buffer of "
            f"{held.size}"
        )
    if tiled:
        info = TensorInfo(layout.dtype, layout.shape, opaque=True)
    else:
        info = TensorInfo(layout.dtype, layout.shape, (place.pitch, *layout.strides[1:]))
    return DRMPlane(
        info, held.fd, held.size, place.offset, place.pitch, held.format_modifier,
        place.object_index,
    )  # fmt: skip


def descriptor_of(
    format_: ImageFormat, planes: Sequence[tuple[int, int, int, int, int]]
) -> AVDRMFrameDescriptor:
    """A descriptor of one composed layer.

    Args:
        format_: of the image.
        planes: (fd, size of its buffer, offset, pitch, modifier) of each. Planes with the same
            descriptor are in one buffer.

    Raises:
        LayoutError: DRM has no code for the format, there are more than four planes, or planes
            of one buffer have different modifiers.
    """
    if format_.fourcc is None:
        raise LayoutError(f"DRM has no code for {format_}")
    if len(planes) > AV_DRM_MAX_PLANES:
        raise LayoutError(f"{format_} has {len(planes)} planes, a DRM frame {AV_DRM_MAX_PLANES}")
    made: Any = AVDRMFrameDescriptor(nb_layers=1)
    layer = made.layers[0]
    layer.format, layer.nb_planes = format_.fourcc, len(planes)
    numbers: dict[int, int] = {}
    for place, (fd, size, offset, pitch, modifier) in zip(layer.planes, planes, strict=False):
        number = numbers.setdefault(fd, len(numbers))
        held = made.objects[number]
        if number == made.nb_objects:
            made.nb_objects += 1
            held.fd, held.size, held.format_modifier = fd, size, modifier
        elif held.format_modifier != modifier:
            raise LayoutError(f"planes of descriptor {fd} have different modifiers")
        place.object_index, place.offset, place.pitch = number, offset, pitch
    return made  # type: ignore[no-any-return]  # ctypes fields have no types
