# SPDX-License-Identifier: Apache-2.0
"""The objects made in a display that still exist: all are destroyed before the display."""

from __future__ import annotations

import os
from contextlib import ExitStack
from ctypes import c_uint32, c_void_p
from typing import Any, NamedTuple

from samebytes.errors import ClosedError

from ._abi import constants as va
from ._abi.structures import VAImage
from ._library import Library, VAError

__all__ = ["DisplayResources", "ImageCells"]


_NO_ID = 0xFF
"""Each byte of VA_INVALID_ID."""


class ImageCells(NamedTuple):
    """The cells in which the driver stores what it makes for an image; both exist before the calls.

    Attributes:
        native: the image. Its id is VA_INVALID_ID until it is made.
        address: the address of its buffer, while that is mapped.
    """

    native: VAImage
    address: c_void_p


class DisplayResources:
    """The surfaces, images, configs and contexts that samebytes made in one display.

    After fork() the child shares the parent's open DRM node: a surface that the child destroys is
    destroyed for the parent, too. So the child touches none of these objects.
    """

    __slots__ = (
        "_ended", "_images", "_library", "_others", "_pointer", "_process", "_surfaces",
    )  # fmt: skip

    def __init__(self, library: Library, pointer: int) -> None:
        """Take a display."""
        self._library = library
        self._pointer = pointer
        self._process = os.getpid()
        self._ended = False
        # By the id() of the cells, which are noted before anything is in them: no exception of a
        # signal handler can come between a call and the note of what it made.
        self._surfaces: dict[int, c_uint32] = {}
        self._images: dict[int, ImageCells] = {}
        # Each with the function that destroys it.
        self._others: dict[int, tuple[c_uint32, str]] = {}

    @property
    def usable(self) -> bool:
        """True if the display has not ended and belongs to this process."""
        # In this order: when modules are taken apart at the interpreter's end, it has ended, and
        # what else is named here may be gone.
        return not self._ended and self._process == os.getpid()

    def check(self) -> None:
        """Raise ClosedError if the display cannot be used."""
        if self._ended:
            raise ClosedError("this VADisplay was terminated")
        if self._process != os.getpid():
            raise ClosedError(
                "this VADisplay was opened before fork(): open another one in this process"
            )

    def add_surface(self, cell: c_uint32) -> None:
        """Note a surface to destroy. The cell has VA_INVALID_ID until it is made."""
        self._surfaces[id(cell)] = cell

    def add_image(self, cells: ImageCells) -> None:
        """Note an image to destroy."""
        self._images[id(cells)] = cells

    def add_other(self, cell: c_uint32, destroy: str) -> None:
        """Note a config or context to destroy by that function, as `add_surface` does."""
        self._others[id(cell)] = cell, destroy

    def destroy_other(self, cell: c_uint32) -> None:
        """Destroy a config or context that was made, unless that was done."""
        known = self._others.get(id(cell))
        if not self.usable or known is None:
            return
        try:
            if cell.value != va.VA_INVALID_ID:
                self._give_back(cell, _NO_ID, known[1], cell.value)
        finally:
            if cell.value == va.VA_INVALID_ID:
                self._others.pop(id(cell), None)

    def destroy_surface(self, cell: c_uint32) -> None:
        """Destroy a surface that was made, unless that was done."""
        if not self.usable:
            return
        try:
            if cell.value != va.VA_INVALID_ID:
                ids = (c_uint32 * 1)(cell.value)
                self._give_back(cell, _NO_ID, "vaDestroySurfaces", ids, 1)
        finally:
            if cell.value == va.VA_INVALID_ID:
                self._surfaces.pop(id(cell), None)

    def destroy_image(self, cells: ImageCells) -> None:
        """Unmap an image's buffer and destroy the image, if it was made, unless that was done."""
        if not self.usable:
            return
        try:
            self.unmap(cells)
        except VAError:
            self._destroy(cells)
            raise
        self._destroy(cells)

    def _destroy(self, cells: ImageCells) -> None:
        image = c_uint32.from_buffer(cells.native)  # VAImage begins with its id
        try:
            if image.value != va.VA_INVALID_ID:
                self._give_back(image, _NO_ID, "vaDestroyImage", image.value)
        finally:
            if image.value == va.VA_INVALID_ID:
                self._images.pop(id(cells), None)

    def unmap(self, cells: ImageCells) -> None:
        """Unmap an image's buffer, if it is mapped."""
        if self.usable and cells.address.value:
            self._give_back(cells.address, 0, "vaUnmapBuffer", cells.native.buf)

    def _give_back(self, cell: Any, empty: int, name: str, *arguments: Any) -> None:
        self._library.give_back(cell, empty, name, self._pointer, *arguments)

    def end(self, terminate: bool) -> None:
        """End the use of the display: terminate it, or else leave it to its owner.

        Objects that still live at the interpreter's exit are destroyed with it. In a display of
        another owner they are left alone: that display may be gone already.
        """
        if not self.usable:
            self._ended = True
            return
        with ExitStack() as undo:  # the last one first, and all of them if one raises
            undo.callback(setattr, self, "_ended", True)
            if terminate:
                undo.callback(self._library.call, "vaTerminate", self._pointer)
                for other, _ in list(self._others.values()):
                    undo.callback(self.destroy_other, other)
                for surface in list(self._surfaces.values()):
                    undo.callback(self.destroy_surface, surface)
                for image in list(self._images.values()):
                    undo.callback(self.destroy_image, image)
