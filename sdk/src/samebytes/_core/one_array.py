# SPDX-License-Identifier: Apache-2.0
"""The error for array libraries that take a frame for one array.

Without an answer numpy.asarray(frame) is an array of one Python object, the frame, and goes on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..formats import ImageInfo

if TYPE_CHECKING:
    from .frame import Frame

__all__ = ["why_not_one_array"]


def why_not_one_array(frame: Frame) -> str:
    """Why the frame is not an array, and which of its planes, mapped how, are."""
    info = frame.meta.info
    names = info.format.plane_names if isinstance(info, ImageInfo) else ()
    count = len(names) or len(frame.planes)
    planes = "1 plane" if count == 1 else f"{count} planes"
    listed = f" ({', '.join(names)})" if names else ""
    # Memory of a context that is not the process's one of its type may lie on a device.
    on_cpu = "frame" if frame.context.singleton else 'frame.map("cpu")'
    which = "planes[0]" if count == 1 else "planes[i]"
    what = f"{info} frame" if info is not None else "frame of tensors"
    return (
        f"this {what} in {frame.context.node} has {planes}{listed} and is not an array itself: "
        f"pass {on_cpu}.{which}"
    )
