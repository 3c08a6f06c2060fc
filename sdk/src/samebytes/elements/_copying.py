# SPDX-License-Identifier: Apache-2.0
"""A frame of one's own, so that others do not see what is written. Only with copy=True."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from .._core.memory.frame import Frame
from .._core.memory.meta import FrameMeta
from .._core.owner.storage import joint_owner
from .._counting import count_copy
from .._cpu.context import CPU
from ..formats import ImageInfo
from ..metadata import KEY

__all__ = ["make_writable", "own_copy"]


def own_copy(frame: Frame[Any]) -> Frame[Any]:
    """The picture, sound or tensors in new memory of the CPU, with metadata of its own.

    For elements that write into frames that others read too, if the user allows copies. The copy
    is counted in `samebytes.stats()`.

    Args:
        frame: in memory of any kind; it is mapped to the CPU.
    """
    meta = frame.meta
    source = frame.map("cpu", copy=True)
    made = _like(source)
    for to, plane in zip(made.planes, source.planes, strict=True):
        np.copyto(to.native, plane.native)
    made.meta = FrameMeta(
        meta.info,
        meta.pts,
        meta.time_base,
        _own(meta.metadata),
        [replace(region, metadata=_own(region.metadata)) for region in meta.regions],
    )
    count_copy(
        f"{frame.context.node} -> a frame of its own", sum(p.info.nbytes for p in made.planes)
    )
    return made


def make_writable(frame: Frame[Any]) -> Frame[Any]:
    """The frame, copied within its own framework if possible, else an `own_copy`.

    Args:
        frame: a frame that is still read elsewhere, for instance by its decoder.
    """
    make: Any = getattr(frame, "make_writable", None)
    if make is None:
        return own_copy(frame)
    make(copy=True)
    return frame


def _like(frame: Frame[Any]) -> Frame[Any]:
    info = frame.meta.info
    if isinstance(info, ImageInfo):
        return CPU.allocate_frame(info.format, info.width, info.height, zeroed=False)
    tensors = [
        CPU.allocate(plane.info.shape, plane.info.dtype, zeroed=False) for plane in frame.planes
    ]
    owner = joint_owner([tensor.storage for tensor in tensors])
    return Frame.owned(tuple(tensor.native for tensor in tensors), CPU, frame.meta, owner)


def _own(metadata: dict[str, Any]) -> dict[str, Any]:
    entries = metadata.get(KEY)
    return {**metadata, KEY: list(entries)} if isinstance(entries, list) else dict(metadata)
