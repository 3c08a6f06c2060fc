# SPDX-License-Identifier: Apache-2.0
"""Frames in OpenCL memory: a native object for each plane."""

from __future__ import annotations

import pyopencl

from samebytes import Frame, ImageInfo, Tensor, TensorInfo

__all__ = ["OpenCLFrame"]


class OpenCLFrame(Frame):
    """A picture in OpenCL memory. `native` is a tuple: one buffer, image or USM for each plane."""

    __slots__ = ()

    def _make_planes(self) -> tuple[Tensor, ...]:
        info = self.meta.info
        if not isinstance(info, ImageInfo):
            return super()._make_planes()
        make, context, owner = self.context.tensor_class, self.context, self._owner
        parent, readonly = self.parent, self.readonly
        return tuple(
            make(
                native, context, owner, parent, readonly,
                TensorInfo(
                    layout.dtype, layout.shape, opaque=isinstance(native, pyopencl.Image)
                ),
            )
            for native, layout in zip(self.native, info.plane_layouts(), strict=True)
        )  # fmt: skip
