# SPDX-License-Identifier: Apache-2.0
"""Surfaces over memory of somebody else."""

from __future__ import annotations

from functools import partial

from samebytes.plugins import Storage

from ._creation import owner_of
from ._display import NativeDisplay

__all__ = ["Imported"]


class Imported:
    """A surface over memory of somebody else. It is destroyed when the last holder is gone.

    The driver holds the memory itself, so nothing of its source needs to be held.

    Attributes:
        surface: the VASurfaceID.
    """

    __slots__ = ("_display", "_owner", "surface")

    def __init__(self, display: NativeDisplay, surface: int) -> None:
        self.surface = surface
        self._display = display
        self._owner = owner_of(display, surface)

    def mapping(self) -> Storage:
        """An owner for one mapping of the import.

        One of its own, since an import may outlive its mappings, and must not hold the source that
        each of them holds.
        """
        return Storage(holds=self, wait=partial(self._display.sync, self.surface))
