# SPDX-License-Identifier: Apache-2.0
"""The layout of a buffer's planes: their memory, offset and strides."""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import c_size_t
from dataclasses import replace
from typing import NamedTuple

from samebytes import AudioInfo, ImageInfo, TensorInfo
from samebytes.errors import LayoutError
from samebytes.formats import DRM_FORMAT_MOD_INVALID, DRM_FORMAT_MOD_LINEAR, PlaneLayout

from .._abi.libraries import gst
from .._abi.video import GstVideoCropMeta
from .._caps.caps import Description, Sound
from .._caps.formats import image_format_of
from .._memory.memory import extent_of, is_behind_descriptor, is_dmabuf, is_plain
from .._memory.opencl_memory import carried_by
from .._metadata.metas import Metas

__all__ = ["PlaneLocation", "places_of", "whole_picture"]

_IN_ROWS = (DRM_FORMAT_MOD_LINEAR, DRM_FORMAT_MOD_INVALID)


class PlaneLocation(NamedTuple):
    """One plane. `memory` counts the memories of the buffer, `offset` the bytes from its first."""

    memory: int
    offset: int
    info: TensorInfo
    modifier: int = DRM_FORMAT_MOD_LINEAR


class _Picture(NamedTuple):
    """A whole picture, before any crop."""

    image: ImageInfo
    pitches: tuple[int, ...] | None
    offsets: tuple[int, ...] | None


def places_of(
    buffer: int, metas: Metas, description: Description, *, crop: bool = True
) -> tuple[ImageInfo | AudioInfo | None, tuple[PlaneLocation, ...]]:
    """The contents of a GstBuffer*, and the location of each plane.

    Args:
        crop: only look at the part that a GstVideoCropMeta names.

    Raises:
        LayoutError: planes outside the buffer or across two memories of it, a crop that cuts
            through samples that several pixels share, or a format that has no layout here.
    """
    memories = [
        gst.gst_buffer_peek_memory(buffer, number)
        for number in range(gst.gst_buffer_n_memory(buffer))
    ]
    if not memories:
        raise LayoutError("the buffer has no memory")
    sizes = [extent_of(memory).size for memory in memories]
    if metas.video is not None or description.image is not None:
        cut = metas.crop if crop else None
        return _image(memories, sizes, _picture(metas, description), description, cut)
    if description.sound is not None:
        return _sound(description.sound, sizes, metas)
    tensors = description.tensors or tuple(TensorInfo("uint8", (size,)) for size in sizes)
    if len(tensors) != len(sizes):
        raise LayoutError(f"the caps name {len(tensors)} tensors, but the buffer has {len(sizes)}")
    for tensor, size in zip(tensors, sizes, strict=True):
        if tensor.nbytes > size:
            raise LayoutError(f"{tensor} does not fit into a memory of {size} bytes")
    return None, tuple(PlaneLocation(number, 0, tensor) for number, tensor in enumerate(tensors))


def whole_picture(metas: Metas, description: Description) -> ImageInfo | None:
    """The format and size of the picture in a buffer, before any crop; None if not known."""
    if metas.video is None and description.image is None:
        return None
    return _picture(metas, description).image


def _picture(metas: Metas, description: Description) -> _Picture:
    """The planes as a VideoMeta places them, or in GStreamer's usual layout without one."""
    video, image = metas.video, description.image
    if video is None:
        assert image is not None  # the caller saw to it
        return _Picture(image, description.pitches, description.offsets)
    if image is None or description.pitches is not None:
        image = ImageInfo.of(image_format_of(video.format), video.width, video.height)
    # Else the caps name a DRM format, and the VideoMeta has a stand-in for it.
    count = len(image.format.planes)
    if video.n_planes != count:
        raise LayoutError(f"planes of {image}: {count}, of the VideoMeta: {video.n_planes}")
    return _Picture(image, tuple(video.stride)[:count], tuple(video.offset)[:count])


def _image(
    memories: Sequence[int],
    sizes: Sequence[int],
    picture: _Picture,
    description: Description,
    cut: GstVideoCropMeta | None,
) -> tuple[ImageInfo, tuple[PlaneLocation, ...]]:
    dmabuf = is_dmabuf(memories[0])
    modifier = _modifier(memories[0], description)
    seen = dmabuf or (is_plain(memories[0]) and carried_by(memories[0]) is None)
    if modifier not in _IN_ROWS or not seen:
        if cut is not None:
            raise LayoutError(
                "memory without rows cannot be cropped here: wrap the buffer with crop=False, and "
                "let the device crop"
            )
        return picture.image, _opaque(sizes, picture, modifier)
    image, pitches, offsets = picture
    if offsets is None:
        raise LayoutError(f"a buffer of {image} without a VideoMeta does not say where planes lie")
    layouts = image.plane_layouts(pitches, offsets, allow_negative=True)
    if cut is not None:
        image, layouts = _cropped(image, layouts, cut)
    return image, tuple(_linear(layout, sizes, modifier) for layout in layouts)


def _modifier(memory: int, description: Description) -> int:
    """The DRM format modifier: that of the caps if they can mean this memory."""
    if not is_behind_descriptor(memory):
        return DRM_FORMAT_MOD_LINEAR
    if description.modifier is not None:
        return description.modifier
    # Without caps, it is not known whether a DMA-BUF lies in rows.
    known = description.details or not is_dmabuf(memory)
    return DRM_FORMAT_MOD_LINEAR if known else DRM_FORMAT_MOD_INVALID


def _opaque(sizes: Sequence[int], picture: _Picture, modifier: int) -> tuple[PlaneLocation, ...]:
    """Planes of surfaces, textures and tiles, of which only the beginning is known."""
    layouts = picture.image.plane_layouts()
    offsets = picture.offsets or (0,) * len(layouts)
    places = []
    for layout, offset in zip(layouts, offsets, strict=True):
        memory, base = _memory_at(sizes, offset)
        info = TensorInfo(layout.dtype, layout.shape, opaque=True)
        places.append(PlaneLocation(memory, offset - base, info, modifier))
    return tuple(places)


def _linear(layout: PlaneLayout, sizes: Sequence[int], modifier: int) -> PlaneLocation:
    end = layout.start + layout.span
    memory, base = _memory_at(sizes, layout.start)
    if end > base + sizes[memory]:
        where = "across two memories" if end <= sum(sizes) else "past the end"
        raise LayoutError(
            f"plane {layout.name} takes bytes {layout.start} to {end} of the buffer, {where} "
            f"(memories of {', '.join(map(str, sizes))} bytes)"
        )
    info = TensorInfo(layout.dtype, layout.shape, layout.strides)
    return PlaneLocation(memory, layout.offset - base, info, modifier)


def _memory_at(sizes: Sequence[int], offset: int) -> tuple[int, int]:
    """The number of the memory that has this byte of the buffer, and its offset in the buffer."""
    base = 0
    for number, size in enumerate(sizes):
        if offset < base + size:
            return number, base
        base += size
    raise LayoutError(f"byte {offset} is outside a buffer of {base} bytes")


def _cropped(
    whole: ImageInfo, layouts: Sequence[PlaneLayout], cut: GstVideoCropMeta
) -> tuple[ImageInfo, tuple[PlaneLayout, ...]]:
    x, y, width, height = cut.x, cut.y, cut.width, cut.height
    text = f"the crop of {width}x{height} at ({x}, {y})"
    if not (width and height) or x + width > whole.width or y + height > whole.height:
        raise LayoutError(f"{text} is not inside {whole}")
    offsets = []
    for plane, layout in zip(whole.format.planes, layouts, strict=True):
        across = plane.x_multiple << plane.x_shift
        down = 1 << plane.y_shift
        if x % across or y % down:
            raise LayoutError(
                f"{text} begins inside a block of {across}x{down} pixels that share a sample of "
                f"plane {layout.name}: crop at multiples of that, or wrap the buffer with "
                "crop=False"
            )
        column = (x >> plane.x_shift) * layout.strides[1]
        offsets.append(layout.offset + (y >> plane.y_shift) * layout.pitch + column)
    image = ImageInfo.of(whole.format, width, height)
    pitches = [layout.pitch for layout in layouts]
    return image, image.plane_layouts(pitches, offsets, allow_negative=True)


def _sound(
    sound: Sound, sizes: Sequence[int], metas: Metas
) -> tuple[AudioInfo, tuple[PlaneLocation, ...]]:
    samples = sum(sizes) // sound.frame_nbytes if metas.audio is None else metas.audio.samples
    info = AudioInfo(
        samples, sound.channels, sound.rate, sound.dtype, sound.interleaved, sound.channel_layout
    )
    layouts = info.plane_layouts()
    if metas.audio is not None and metas.audio.offsets and not sound.interleaved:
        starts = (c_size_t * sound.channels).from_address(metas.audio.offsets)[:]
    else:
        starts = [number * layout.nbytes for number, layout in enumerate(layouts)]
    return info, tuple(
        _linear(replace(layout, offset=start), sizes, DRM_FORMAT_MOD_LINEAR)
        for layout, start in zip(layouts, starts, strict=True)
    )
