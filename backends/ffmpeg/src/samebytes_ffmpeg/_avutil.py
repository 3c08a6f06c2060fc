# SPDX-License-Identifier: Apache-2.0
"""The libavutil that PyAV itself uses, and the calls of it that mappings need.

Two copies of libavutil in one process would each have their own idea of a frame, so this one is
reached through PyAV's extension module: a symbol is looked up in what that module is linked to.
"""

from __future__ import annotations

import ctypes
import os
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_uint, c_void_p
from pathlib import Path
from typing import Any

from samebytes.errors import MissingDependencyError

from ._avutil_abi import (
    AV_BUFFER_FLAG_READONLY,
    LIBAVUTIL_MAJOR,
    AVBuffer,
    AVBufferRef,
    AVPixFmtDescriptor,
)

try:
    import av
    import av.frame
except ImportError as error:
    raise MissingDependencyError("ffmpeg", f"PyAV ({error})", 'pip install "samebytes[ffmpeg]"') \
        from error  # fmt: skip

__all__ = [
    "LIBRARY",
    "avutil_version",
    "buffer_create",
    "buffer_get_ref_count",
    "buffer_ref",
    "buffer_unref",
    "frame_copy_props",
    "frame_get_plane_buffer",
    "frame_is_writable",
    "get_pix_fmt",
    "malloc",
    "pix_fmt_desc_get",
]

_HINT = 'pip install "av>=18,<19"'


def _open() -> ctypes.PyDLL:
    # PyDLL: the calls take well under a microsecond, so the interpreter need not be let go.
    path = Path(av.frame.__file__)
    if os.name != "nt":
        return ctypes.PyDLL(str(path))
    # Windows looks a symbol up in one library alone; PyAV's wheel has them in a folder beside it.
    for library in (path.parent.parent / "av.libs").glob("avutil-*.dll"):
        return ctypes.PyDLL(str(library))
    raise MissingDependencyError("ffmpeg", "avutil-*.dll beside PyAV", _HINT)


LIBRARY = _open()


def _call(name: str, result: Any, *arguments: Any) -> Any:
    try:
        function = getattr(LIBRARY, name)
    except AttributeError:
        raise MissingDependencyError("ffmpeg", f"{name} in PyAV's libavutil", _HINT) from None
    function.restype = result
    function.argtypes = arguments
    return function


avutil_version = _call("avutil_version", c_uint)
frame_is_writable = _call("av_frame_is_writable", c_int, c_void_p)
frame_copy_props = _call("av_frame_copy_props", c_int, c_void_p, c_void_p)
frame_get_plane_buffer = _call("av_frame_get_plane_buffer", c_void_p, c_void_p, c_int)
buffer_create = _call("av_buffer_create", c_void_p, c_void_p, c_size_t, c_void_p, c_void_p, c_int)
buffer_ref = _call("av_buffer_ref", c_void_p, c_void_p)
buffer_unref = _call("av_buffer_unref", None, c_void_p)
buffer_get_ref_count = _call("av_buffer_get_ref_count", c_int, c_void_p)
malloc = _call("av_malloc", c_void_p, c_size_t)
get_pix_fmt = _call("av_get_pix_fmt", c_int, c_char_p)
pix_fmt_desc_get = _call("av_pix_fmt_desc_get", POINTER(AVPixFmtDescriptor), c_int)


def _check_version() -> None:
    major = avutil_version() >> 16
    if major != LIBAVUTIL_MAJOR:
        raise MissingDependencyError(
            "ffmpeg", f"libavutil {LIBAVUTIL_MAJOR} (this PyAV uses libavutil {major})", _HINT
        )


def _check_buffer() -> None:
    """Compare AVBuffer, whose header is not public, with a buffer made for the purpose."""
    size = 64
    # No release function: av_buffer_create then frees the data with av_free.
    reference = c_void_p(buffer_create(malloc(size), size, None, None, AV_BUFFER_FLAG_READONLY))
    outer = AVBufferRef.from_address(reference.value or 0)
    inner = AVBuffer.from_address(outer.buffer)
    found = inner.data, inner.size, inner.refcount, inner.opaque, inner.flags
    expected = outer.data, size, 1, None, AV_BUFFER_FLAG_READONLY
    buffer_unref(byref(reference))
    if found != expected:
        raise MissingDependencyError(
            "ffmpeg", "a libavutil whose buffers have the layout of FFmpeg 8", _HINT
        )


_check_version()
_check_buffer()
