# SPDX-License-Identifier: Apache-2.0
"""The layout of a surface in DMA-BUFs, as exports return it and imports take it."""

from __future__ import annotations

from typing import NamedTuple

from samebytes import ImageInfo

__all__ = ["Object", "PlaneLocation", "SurfaceLayout"]


class Object(NamedTuple):
    """One piece of memory.

    Attributes:
        fd: its descriptor, which stays its owner's.
        size: its size in bytes.
        modifier: the layout modifier of drm_fourcc.h, all 64 bits of it.
    """

    fd: int
    size: int
    modifier: int


class PlaneLocation(NamedTuple):
    """The place of one plane.

    Attributes:
        object: index of the object that it lies in.
        offset: bytes from the start of that object.
        pitch: bytes from row to row.
    """

    object: int
    offset: int
    pitch: int


class SurfaceLayout(NamedTuple):
    """The places of all planes of an image."""

    image: ImageInfo
    objects: tuple[Object, ...]
    places: tuple[PlaneLocation, ...]
