# SPDX-License-Identifier: Apache-2.0
"""Surfaces as frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from samebytes import Frame, FrameMeta, Storage, Tensor
from samebytes.errors import UnknownNameError

from ._surface import VAPlane, VASurface
from ._tensor import VATensor

if TYPE_CHECKING:
    from typing import Self

__all__ = ["VAFrame"]


class VAFrame(Frame):
    """A surface; `native` is a VASurface. `wait()` is vaSyncSurface.

    handle(): "va_surface", of the context's "va_display".
    """

    __slots__ = ()

    native: VASurface

    @classmethod
    def wrap(cls, native: VASurface) -> Self:
        """A frame over a surface, which stays the user's."""
        return cls(native, native.context, FrameMeta(native.image), native.storage, None, False)

    def _make_planes(self) -> tuple[Tensor, ...]:
        native, owner = self.native, self._owner
        return tuple(
            VATensor(VAPlane(native, index), self.context, owner, self.parent, self.readonly)
            for index in range(len(native.image.format.planes))
        )

    def _handle(self, key: str) -> int:
        if key == "va_surface":
            return self.native.id
        raise UnknownNameError("handle of a VAFrame", key, ("va_surface",))

    def _recipe(self, ending: frozenset[int]) -> tuple[Any, ...]:
        return (self.native.recipe(), super()._recipe(ending))

    def _restore(self, parts: tuple[Any, ...], storages: dict[int, Storage]) -> None:
        again, rest = parts
        super()._restore(rest, storages)
        self.native = again(self._owner)

    def _native_from_planes(self, planes: tuple[Tensor, ...]) -> None:
        """Nothing: planes can be closed by themselves, and the surface is still there."""
