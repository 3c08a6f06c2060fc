# SPDX-License-Identifier: Apache-2.0
"""The planes of a frame in CUDA memory: AVFrame.data and linesize, read with distrust."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from samebytes import TensorInfo
from samebytes.errors import LayoutError
from samebytes.formats import ImageInfo

__all__ = ["cuda_planes"]


def cuda_planes(
    image: ImageInfo, addresses: Sequence[int], pitches: Sequence[int]
) -> tuple[tuple[int, TensorInfo], ...]:
    """The address and the layout of each plane of a frame, in the order of the format.

    Args:
        image: what the frame holds.
        addresses, pitches: AVFrame.data and linesize, one for each plane and perhaps more.

    Raises:
        LayoutError: a plane has no address, or rows that are shorter than the picture is wide.
    """
    count = len(image.format.planes)
    if not all(addresses[:count]):
        raise LayoutError(f"a plane of the CUDA frame of {image} has no address")
    infos = _infos(image, tuple(pitches[:count]))
    return tuple(zip(addresses[:count], infos, strict=True))


@lru_cache(maxsize=256)
def _infos(image: ImageInfo, pitches: tuple[int, ...]) -> tuple[TensorInfo, ...]:
    return tuple(
        TensorInfo(layout.dtype, layout.shape, layout.strides)
        for layout in image.plane_layouts(pitches)
    )
