# SPDX-License-Identifier: Apache-2.0
"""What was made in a display and still lives: destroyed before the display is, whatever happens."""

from __future__ import annotations

import os
from contextlib import ExitStack
from ctypes import c_uint32

from samebytes import Context
from samebytes.errors import ClosedError

from ._library import Library

__all__ = ["DisplayResources"]


class DisplayResources:
    """The surfaces and images that samebytes made in one display.

    After fork() the child shares the parent's open DRM node, in which a surface that the child
    destroys is destroyed for the parent, too. So the child touches nothing of it. Nor does anybody
    once the context was closed that the display is of: it may be gone with it.
    """

    __slots__ = ("_ended", "_images", "_library", "_owner", "_pointer", "_process", "_surfaces")

    def __init__(self, library: Library, pointer: int, owner: Context | None) -> None:
        """Take a display, and the context of another plugin that it is of, if it is of one."""
        self._library = library
        self._pointer = pointer
        self._owner = owner
        self._process = os.getpid()
        self._ended = False
        self._surfaces: set[int] = set()
        # The buffer of an image while it is mapped, or None.
        self._images: dict[int, int | None] = {}

    @property
    def usable(self) -> bool:
        """Whether the display is there, and this process's."""
        # In this order: when modules are taken apart at the interpreter's end, it has ended, and
        # what else is named here may be gone.
        if self._ended or self._process != os.getpid():
            return False
        if self._owner is None:
            return True
        try:
            self._owner.check_open()
        except ClosedError:
            return False
        return True

    def check(self) -> None:
        """Raise ClosedError if the display cannot be used."""
        if self._owner is not None:
            self._owner.check_open()
        if self._ended:
            raise ClosedError("this VADisplay was terminated")
        if self._process != os.getpid():
            raise ClosedError(
                "this VADisplay was opened before fork(): open another one in this process"
            )

    def add_surface(self, surface: int) -> None:
        """Note a surface to destroy."""
        self._surfaces.add(surface)

    def add_image(self, image: int) -> None:
        """Note an image to destroy."""
        self._images[image] = None

    def mapped(self, image: int, buffer: int) -> None:
        """Note that an image's buffer is mapped."""
        self._images[image] = buffer

    def destroy_surface(self, surface: int) -> None:
        """Destroy a surface, if that was not done."""
        if self.usable and surface in self._surfaces:
            self._surfaces.discard(surface)
            ids = (c_uint32 * 1)(surface)
            self._library.call("vaDestroySurfaces", self._pointer, ids, 1)

    def destroy_image(self, image: int) -> None:
        """Unmap an image's buffer and destroy the image, if that was not done."""
        if self.usable and image in self._images:
            buffer = self._images.pop(image)
            with ExitStack() as undo:
                undo.callback(self._library.call, "vaDestroyImage", self._pointer, image)
                if buffer is not None:
                    self._library.call("vaUnmapBuffer", self._pointer, buffer)

    def unmap(self, image: int) -> None:
        """Unmap an image's buffer, if it is mapped."""
        buffer = self._images.get(image)
        if self.usable and buffer is not None:
            self._images[image] = None
            self._library.call("vaUnmapBuffer", self._pointer, buffer)

    def end(self, terminate: bool) -> None:
        """The display ends: with `terminate`, here and now; else it is left to its owner.

        What still lives at the interpreter's exit is destroyed with it. In a display of somebody
        else it is left alone: that display may be gone already.
        """
        if not self.usable:
            self._ended = True
            return
        with ExitStack() as undo:  # the last one first, and all of them if one raises
            undo.callback(setattr, self, "_ended", True)
            if terminate:
                undo.callback(self._library.call, "vaTerminate", self._pointer)
                for surface in list(self._surfaces):
                    undo.callback(self.destroy_surface, surface)
                for image in list(self._images):
                    undo.callback(self.destroy_image, image)
