# SPDX-License-Identifier: Apache-2.0
"""Frames in OpenCL memory: a native object for each plane."""

from __future__ import annotations

from typing import Any

import pyopencl

from samebytes import Frame, ImageInfo, TensorInfo

from ._natives import layout_of
from ._tensor import OpenCLTensor

__all__ = ["OpenCLFrame"]


class OpenCLFrame(Frame[OpenCLTensor]):
    """A picture in OpenCL memory. `native` is a tuple: one buffer, image or USM for each plane."""

    __slots__ = ()

    def _make_planes(self) -> tuple[OpenCLTensor, ...]:
        info = self.meta.info
        if not isinstance(info, ImageInfo):
            return super()._make_planes()
        planes = zip(self.native, info.plane_layouts(), strict=True)
        return self._planes_over(
            self.native, [_layout(native, layout) for native, layout in planes]
        )


def _layout(native: Any, plane: Any) -> TensorInfo:
    """Return the layout noted on the native (its rows may be padded), else one of dense rows."""
    noted = layout_of(native)
    if noted is not None and noted.shape == plane.shape:
        return noted
    return TensorInfo(plane.dtype, plane.shape, opaque=isinstance(native, pyopencl.Image))
