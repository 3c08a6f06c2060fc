# SPDX-License-Identifier: Apache-2.0
"""A connection to an X server, for libva-x11."""

from __future__ import annotations

import os
from ctypes import c_char_p, c_int, c_void_p

from samebytes.errors import MissingDependencyError

from ._library import open_library

__all__ = ["XConnection"]


class XConnection:
    """An open Display* of Xlib. Source: X11/Xlib.h.

    Attributes:
        name: of the server.
        pointer: the Display*.
    """

    def __init__(self, name: str | None) -> None:
        """Connect to the server of that name, or to that of the environment.

        Raises:
            MissingDependencyError: no libX11, or no server answers.
        """
        xlib = open_library("libX11.so.6", "libx11-6")
        xlib.XOpenDisplay.argtypes = (c_char_p,)
        xlib.XOpenDisplay.restype = c_void_p
        xlib.XCloseDisplay.argtypes = (c_void_p,)
        xlib.XCloseDisplay.restype = c_int
        # Surfaces are used, and dropped, by any thread. Needed before libX11 1.8 only.
        xlib.XInitThreads()
        self.name = name if name is not None else os.environ.get("DISPLAY", "")
        self.pointer = xlib.XOpenDisplay(None if name is None else name.encode())
        if not self.pointer:
            hint = "set DISPLAY, or start a server: Xvfb :99"
            raise MissingDependencyError("vaapi", f"an X server at {self.name!r}", hint)
        self._close = xlib.XCloseDisplay

    def close(self) -> None:
        """Disconnect. The display that was made of it must be terminated."""
        pointer, self.pointer = self.pointer, None
        if pointer:
            self._close(pointer)
