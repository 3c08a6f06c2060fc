# SPDX-License-Identifier: Apache-2.0
"""Planes of surfaces as tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from samebytes import Tensor, TensorInfo

from ._surface import VAPlane

if TYPE_CHECKING:
    from typing import Self

__all__ = ["VATensor"]


class VATensor(Tensor):
    """One plane of a surface. It has no strides: only the driver knows the layout of surfaces.

    `native` is a VAPlane. The CPU cannot read it in place: `map("cpu")` lets the driver map it, if
    the driver can.

    handle(): "va_surface" (the VASurfaceID, of the context's "va_display") and "plane_index".
    """

    __slots__ = ()

    native: VAPlane

    @classmethod
    def wrap(cls, native: VAPlane) -> Self:
        """A tensor over a plane, which stays the user's."""
        surface = native.surface
        return cls.borrowed(native, surface.context, keep=surface.storage)

    def _describe(self) -> TensorInfo:
        return self.native.info

    def _handle(self, key: str) -> int | None:
        if key == "va_surface":
            return self.native.surface.id
        if key == "plane_index":
            return self.native.index
        return super()._handle(key)
