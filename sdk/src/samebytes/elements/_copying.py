# SPDX-License-Identifier: Apache-2.0
"""A frame of one's own, where others may not see what is written. Only with copy=True."""

from __future__ import annotations

import numpy as np

from .._core.frame import Frame
from .._core.frame_meta import FrameMeta
from .._cpu.context import CPU
from .._stats import count_copy

__all__ = ["own_copy"]


def own_copy(frame: Frame) -> Frame:
    """The picture in new memory of the CPU, with metadata of its own. The copy is counted."""
    image, meta = frame.image, frame.meta
    made = CPU.allocate_frame(image.format, image.width, image.height)
    source = frame.map("cpu", copy=True)
    for to, plane in zip(made.planes, source.planes, strict=True):
        np.copyto(to.native, plane.native)
    made.meta = FrameMeta(
        meta.info, meta.pts, meta.time_base, dict(meta.metadata), list(meta.regions)
    )
    count_copy(
        f"{frame.context.node} -> a frame of its own", sum(p.info.nbytes for p in made.planes)
    )
    return made
