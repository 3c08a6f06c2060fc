# SPDX-License-Identifier: Apache-2.0
"""The places of an AVFrame's planes, in numpy's terms. Cached, since each frame needs them."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from samebytes import TensorInfo, formats
from samebytes.errors import LayoutError
from samebytes.formats import PlaneLayout
from samebytes.plugins import Refused

from ._pixel_formats import Palette, image_format

if TYPE_CHECKING:
    from samebytes.formats import AudioInfo

__all__ = [
    "AUDIO_FORMATS",
    "PlaneLocation",
    "PlaneLocations",
    "audio_info",
    "audio_locations",
    "image_locations",
]


class PlaneLocation(NamedTuple):
    """One plane, for numpy.ndarray.

    Attributes:
        memory_at: makes a ctypes array from the address of the plane's lowest byte. It is as
            large as the plane, and has an attribute `owner` for what keeps the memory.
        low: from the plane's data pointer to that byte: below zero for a bottom-up plane.
        shape, dtype, offset, strides: of the array on that memory.
        info: the same as a TensorInfo.
        whole: bytes of all rows, including the padding of the last one; 0 if that adds nothing.
        whole_at: as `memory_at`, for so many bytes.
        rows: (how many, bytes from one to the next): the shape of the whole rows as bytes.
    """

    memory_at: Any
    low: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    offset: int
    strides: tuple[int, ...]
    info: TensorInfo
    whole: int
    whole_at: Any
    rows: tuple[int, int]


class PlaneLocations(NamedTuple):
    """All planes of a frame, and whether the rows of some are padded."""

    planes: tuple[PlaneLocation, ...]
    padded: bool


AUDIO_FORMATS = {
    0: ("uint8", True),
    1: ("int16", True),
    2: ("int32", True),
    3: ("float32", True),
    4: ("float64", True),
    5: ("uint8", False),
    6: ("int16", False),
    7: ("int32", False),
    8: ("float32", False),
    9: ("float64", False),
    10: ("int64", True),
    11: ("int64", False),
}
"""AVSampleFormat (libavutil/samplefmt.h) -> (dtype, interleaved)."""


def audio_info(
    sample_format: int, channels: int, samples: int, rate: int, layout: str | None
) -> AudioInfo:
    """Return the description of a frame of sound.

    Raises:
        LayoutError: it is empty, or its rate was not set.
    """
    if not rate:
        raise LayoutError("the audio frame has no sample rate: set frame.sample_rate first")
    dtype, interleaved = AUDIO_FORMATS[sample_format]
    return formats.AudioInfo(samples, channels, rate, dtype, interleaved, layout)


@lru_cache(maxsize=1024)
def image_locations(pixel_format: int, width: int, height: int, *pitches: int) -> PlaneLocations:
    """The planes of an image.

    Args:
        pixel_format: an AVPixelFormat.
        width, height: in pixels.
        pitches: linesize[0..3]; below zero where the image is stored bottom up.

    Raises:
        Refused: it has no layout, or a linesize is shorter than a row.
    """
    try:
        image = image_format(pixel_format)
        given = [
            4 if isinstance(plane, Palette) else pitch
            for plane, pitch in zip(image.planes, pitches, strict=False)
        ]
        layouts = image.plane_layouts(width, height, given, allow_negative=True)
    except LayoutError as error:
        raise Refused(str(error)) from error
    return _locations(layouts)


@lru_cache(maxsize=1024)
def audio_locations(sample_format: int, channels: int, samples: int) -> PlaneLocations:
    """The planes of a piece of sound: (samples, channels), or (samples,) for each channel.

    FFmpeg pads them; only the samples are part of the planes.

    Raises:
        Refused: it is empty.
    """
    try:
        # The rate is not part of the layout.
        return _locations(audio_info(sample_format, channels, samples, 1, None).plane_layouts())
    except LayoutError as error:
        raise Refused(str(error)) from error


def _locations(layouts: Iterable[PlaneLayout]) -> PlaneLocations:
    planes = tuple(_location(layout) for layout in layouts)
    return PlaneLocations(planes, any(plane.whole for plane in planes))


def _memory(nbytes: int) -> Any:
    # With a slot: an instance's dictionary would cost as much as the instance.
    return type("PlaneMemory", (ctypes.c_ubyte * nbytes,), {"__slots__": ("owner",)})


def _location(layout: PlaneLayout) -> PlaneLocation:
    memory_at = _memory(layout.span).from_address
    whole = layout.pitch * layout.shape[0]
    padded = whole > layout.span
    return PlaneLocation(
        memory_at,
        -layout.offset,
        layout.shape,
        np.dtype(layout.dtype),
        layout.offset,
        layout.strides,
        TensorInfo(layout.dtype, layout.shape, layout.strides),
        whole if padded else 0,
        _memory(whole).from_address if padded else memory_at,
        (layout.shape[0], layout.strides[0]),
    )
