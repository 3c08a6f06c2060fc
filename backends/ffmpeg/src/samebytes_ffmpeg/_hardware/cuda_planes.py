# SPDX-License-Identifier: Apache-2.0
"""The planes of a frame in CUDA memory: AVFrame.data and linesize, read with distrust."""

from __future__ import annotations

from functools import lru_cache

from samebytes import TensorInfo
from samebytes.errors import LayoutError
from samebytes.formats import ImageInfo

from .described import Described

__all__ = ["cuda_planes_of"]


def cuda_planes_of(found: Described) -> tuple[tuple[int, TensorInfo], ...]:
    """The address and the layout of each plane, in the order of the format.

    Raises:
        LayoutError: a plane has no address, or rows that are shorter than the picture is wide.
    """
    addresses, pitches = zip(*found.places, strict=True)
    if not all(addresses):
        raise LayoutError(f"a plane of the CUDA frame of {found.image} has no address")
    return tuple(zip(addresses, _infos(found.image, pitches), strict=True))


@lru_cache(maxsize=256)
def _infos(image: ImageInfo, pitches: tuple[int, ...]) -> tuple[TensorInfo, ...]:
    return tuple(
        TensorInfo(layout.dtype, layout.shape, layout.strides)
        for layout in image.plane_layouts(pitches)
    )
