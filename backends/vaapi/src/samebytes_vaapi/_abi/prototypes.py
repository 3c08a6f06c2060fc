# SPDX-License-Identifier: Apache-2.0
"""The argument types of the functions in use.

Handles, out-parameters and callbacks are all `void*` here: byref(), arrays and integers are
passed alike.
"""

from __future__ import annotations

from ctypes import CFUNCTYPE, c_char_p, c_int, c_uint32, c_void_p
from typing import Any

__all__ = ["ANSWERS", "CALLS", "VAMessageCallback"]

_POINTER, _ID, _UINT, _INT = c_void_p, c_uint32, c_uint32, c_int
_DISPLAY = _POINTER

VAMessageCallback = CFUNCTYPE(None, c_void_p, c_char_p)

CALLS: dict[str, tuple[Any, ...]] = {
    "vaInitialize": (_DISPLAY, _POINTER, _POINTER),
    "vaTerminate": (_DISPLAY,),
    "vaGetDisplayAttributes": (_DISPLAY, _POINTER, _INT),
    "vaSetDisplayAttributes": (_DISPLAY, _POINTER, _INT),
    "vaCreateSurfaces": (_DISPLAY, _UINT, _UINT, _UINT, _POINTER, _UINT, _POINTER, _UINT),
    "vaDestroySurfaces": (_DISPLAY, _POINTER, _INT),
    "vaQuerySurfaceStatus": (_DISPLAY, _ID, _POINTER),
    "vaSyncSurface": (_DISPLAY, _ID),
    "vaExportSurfaceHandle": (_DISPLAY, _ID, _UINT, _UINT, _POINTER),
    "vaQueryImageFormats": (_DISPLAY, _POINTER, _POINTER),
    "vaCreateImage": (_DISPLAY, _POINTER, _INT, _INT, _POINTER),
    "vaDeriveImage": (_DISPLAY, _ID, _POINTER),
    "vaDestroyImage": (_DISPLAY, _ID),
    "vaGetImage": (_DISPLAY, _ID, _INT, _INT, _UINT, _UINT, _ID),
    "vaPutImage": (_DISPLAY, _ID, _ID, _INT, _INT, _UINT, _UINT, _INT, _INT, _UINT, _UINT),
    "vaCreateConfig": (_DISPLAY, _INT, _INT, _POINTER, _INT, _POINTER),
    "vaDestroyConfig": (_DISPLAY, _ID),
    "vaCreateContext": (_DISPLAY, _ID, _INT, _INT, _INT, _POINTER, _INT, _POINTER),
    "vaDestroyContext": (_DISPLAY, _ID),
    "vaCreateBuffer": (_DISPLAY, _ID, _INT, _UINT, _UINT, _POINTER, _POINTER),
    "vaDestroyBuffer": (_DISPLAY, _ID),
    "vaBeginPicture": (_DISPLAY, _ID, _ID),
    "vaRenderPicture": (_DISPLAY, _ID, _POINTER, _INT),
    "vaEndPicture": (_DISPLAY, _ID),
    "vaMapBuffer": (_DISPLAY, _ID, _POINTER),
    "vaUnmapBuffer": (_DISPLAY, _ID),
}
"""Functions that return a VAStatus."""

ANSWERS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "vaErrorStr": (c_char_p, (_INT,)),
    "vaDisplayIsValid": (_INT, (_DISPLAY,)),
    "vaQueryVendorString": (c_char_p, (_DISPLAY,)),
    "vaMaxNumImageFormats": (_INT, (_DISPLAY,)),
    "vaSetErrorCallback": (_POINTER, (_DISPLAY, _POINTER, _POINTER)),
    "vaSetInfoCallback": (_POINTER, (_DISPLAY, _POINTER, _POINTER)),
}
"""Functions that return something else: (what, arguments)."""
