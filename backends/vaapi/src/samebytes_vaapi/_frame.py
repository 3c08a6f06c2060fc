# SPDX-License-Identifier: Apache-2.0
"""Surfaces as frames."""

from __future__ import annotations

from typing import TYPE_CHECKING

from samebytes import Frame, FrameMeta

from ._surface import VAPlane, VASurface
from ._tensor import VATensor

if TYPE_CHECKING:
    from typing import Self

__all__ = ["VAFrame"]


class VAFrame(Frame[VATensor]):
    """A surface; `native` is a VASurface. `wait()` is vaSyncSurface.

    handle(): "va_surface", of the context's "va_display".
    """

    __slots__ = ()

    native: VASurface

    @classmethod
    def wrap(cls, native: VASurface) -> Self:
        """A frame over a surface, which stays the user's."""
        return cls.borrowed(native, native.context, FrameMeta(native.image), keep=native.storage)

    def _make_planes(self) -> tuple[VATensor, ...]:
        native = self.native
        planes = range(len(native.image.format.planes))
        return self._planes_over([VAPlane(native, index) for index in planes])

    def _handle(self, key: str) -> int | None:
        return self.native.id if key == "va_surface" else None
