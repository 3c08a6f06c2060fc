# SPDX-License-Identifier: Apache-2.0
"""The libswscale that PyAV itself uses, and the calls of it that conversions need.

It is reached through PyAV's extension module, as libavutil is. PyAV's own VideoReformatter writes
into frames that FFmpeg allocates; sws_scale() writes where its caller wants it. All versions of the
library have the calls.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from ctypes import c_char_p, c_int, c_int64, c_void_p
from pathlib import Path
from typing import Any

import av.video.reformatter

from samebytes.errors import MissingDependencyError, NativeError
from samebytes.plugins import OwnedPointer, untrack

from ._avutil import PYAV, PYAV_HINT, AVFrame

__all__ = ["FLAGS", "MATRICES", "Planes", "PlanesOfFrame", "Scaler", "reads", "writes"]

# libswscale/swscale.h
FLAGS = {"linear": 1 << 1, "cubic": 1 << 2, "nearest": 1 << 4, "area": 1 << 5}
"""SWS_BILINEAR, SWS_BICUBIC, SWS_POINT, SWS_AREA."""

MATRICES = {
    "bt709": 1,
    "fcc": 4,
    "bt470bg": 5,
    "smpte170m": 6,
    "smpte240m": 7,
    "bt2020nc": 9,
}
"""The matrices that sws_getCoefficients knows; its numbers are those of AVColorSpace."""

# Brightness, contrast and saturation that change nothing; the latter two in 1/65536.
_AS_IT_IS = (0, 1 << 16, 1 << 16)


def _path() -> str:
    path = Path(av.video.reformatter.__file__)
    if os.name != "nt":
        return str(path)
    # As for libavutil: Windows looks a symbol up in one library alone.
    for library in (path.parent.parent.parent / "av.libs").glob("swscale-*.dll"):
        return str(library)
    raise MissingDependencyError("ffmpeg", "swscale-*.dll beside PyAV", PYAV_HINT)


_library = ctypes.CDLL(_path())


def _call(name: str, result: Any, *arguments: Any) -> Any:
    """A call that lets the interpreter go."""
    try:
        function = _library[name]
    except AttributeError:
        raise MissingDependencyError("ffmpeg", f"{name} in libswscale", PYAV_HINT) from None
    function.restype = result
    function.argtypes = arguments
    return function


_free = _call("sws_freeContext", None)
_Context = OwnedPointer.freed_by(_free, "SwsContext")
# It takes the pointer, not its address.
_free.argtypes = (_Context,)

_alloc = _call("sws_alloc_context", _Context)
_init = _call("sws_init_context", c_int, c_void_p, c_void_p, c_void_p)
_set_colors = _call(
    "sws_setColorspaceDetails", c_int, c_void_p, *[c_void_p, c_int] * 2, c_int, c_int, c_int
)
_coefficients = _call("sws_getCoefficients", c_void_p, c_int)
_scale = _call("sws_scale", c_int, c_void_p, c_void_p, c_void_p, c_int, c_int, c_void_p, c_void_p)
reads = _call("sws_isSupportedInput", c_int, c_int)
"""Above 0 if pictures of an AVPixelFormat can be read."""
writes = _call("sws_isSupportedOutput", c_int, c_int)
"""Above 0 if pictures of an AVPixelFormat can be made."""
_set_option = PYAV.quick("av_opt_set_int", c_int, c_void_p, c_char_p, c_int64, c_int)

_DATA, _LINESIZE = AVFrame.data.offset, AVFrame.linesize.offset
_Pointers = c_void_p * 4
_Strides = c_int * 4


class Planes:
    """The addresses of up to four planes and their bytes from row to row, as C arrays."""

    def __init__(self) -> None:
        self.pointers = _Pointers()
        self.strides = _Strides()

    def set(self, pointers: Sequence[int], strides: Sequence[int]) -> None:
        """Set those of a picture.

        Args:
            pointers, strides: one for each plane.
        """
        count = len(pointers)
        self.pointers[:count] = [*pointers]
        self.strides[:count] = [*strides]


class PlanesOfFrame:
    """The planes of an AVFrame, which is what libswscale reads of it.

    Args:
        address: the AVFrame*, which lives as long as this is used.
    """

    __slots__ = ("pointers", "strides")

    def __init__(self, address: int) -> None:
        self.pointers = address + _DATA
        self.strides = address + _LINESIZE


class Scaler:
    """One SwsContext. One thread uses it at a time.

    Args:
        options: of the context, by libswscale's names.
        source_color, target_color: matrix, a value of MATRICES, and 1 for full range.

    Raises:
        NativeError: libswscale cannot make it.
    """

    def __init__(
        self,
        options: dict[str, int],
        source_color: tuple[int, int],
        target_color: tuple[int, int],
    ) -> None:
        context: OwnedPointer = _alloc()
        untrack(context)
        if not context:
            raise NativeError("sws_alloc_context", 0, "out of memory")
        for name, value in options.items():
            PYAV.checked(f"av_opt_set_int({name})", _set_option(context, name.encode(), value, 0))
        PYAV.checked("sws_init_context", _init(context, None, None))
        (matrix, full), (other, other_full) = source_color, target_color
        # The result is below zero if neither picture has such colours, as from RGB to RGB.
        _set_colors(
            context, _coefficients(matrix), full, _coefficients(other), other_full, *_AS_IT_IS
        )
        self._context = context

    def scale(self, source: Planes | PlanesOfFrame, first: int, rows: int, target: Planes) -> int:
        """Convert rows of a picture. Those before have been converted.

        Args:
            source: the planes from the first of these rows on.
            first: the number of that row.
            rows: how many.
            target: the planes of the whole new picture.

        Returns:
            The number of rows that were written.

        Raises:
            NativeError: libswscale cannot.
        """
        written: int = _scale(
            self._context, source.pointers, source.strides, first, rows, target.pointers,
            target.strides,
        )  # fmt: skip
        return written if written >= 0 else PYAV.checked("sws_scale", written)
