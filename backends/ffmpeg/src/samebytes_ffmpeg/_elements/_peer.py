# SPDX-License-Identifier: Apache-2.0
"""A connection that FFmpeg writes to, opened so that other threads run and can end its waits.

PyAV opens it in the middle of a call that keeps the interpreter: while a server is silent, no
thread of Python would run, and no signal would be handled. For a container that already has an
AVIOContext, PyAV opens nothing.
"""

from __future__ import annotations

import ctypes
import io
from collections.abc import Mapping
from ctypes import Structure, byref, c_char_p, c_int, c_void_p
from functools import cache
from typing import Any

import av

from samebytes.errors import MissingDependencyError

from .._avutil import PYAV
from .._pyav import format_context_address

__all__ = ["Peer", "close_unbegun"]

_AVFMT_NOFILE = 1
"""libavformat/avformat.h: the muxer makes its connections itself."""
_AVIO_FLAG_WRITE = 2


class _AVIOInterruptCB(Structure):
    """libavformat/avio.h."""

    _fields_ = (("callback", c_void_p), ("opaque", c_void_p))


class _AVFormatContext(Structure):
    """libavformat/avformat.h, as far as it is used."""

    _fields_ = (
        ("av_class", c_void_p), ("iformat", c_void_p), ("oformat", c_void_p),
        ("priv_data", c_void_p), ("pb", c_void_p),
    )  # fmt: skip


class _AVIOContext(Structure):
    """libavformat/avio.h, as far as it is used."""

    _fields_ = (
        ("av_class", c_void_p), ("buffer", c_void_p), ("buffer_size", c_int),
        ("buf_ptr", c_void_p), ("buf_end", c_void_p), ("opaque", c_void_p),
    )  # fmt: skip


_open: set[Peer] = set()
"""Connections whose flags FFmpeg may read: a call that was given up may wait for long."""


class Peer:
    """The connection of one container.

    Args:
        container: PyAV's, for writing; nothing was written yet.
        url: where it leads.
        options: those of the protocol are used; others are left alone.
    """

    def __init__(self, container: Any, url: str, options: Mapping[str, str]) -> None:
        self._container = container
        self._url = url
        self._options = options
        self._ended = c_int(0)

    @staticmethod
    def needed(container: Any) -> bool:
        """True if PyAV would open a connection for the container, and this class can."""
        return not int(container.format.flags) & _AVFMT_NOFILE and _calls() is not None

    def open(self) -> None:
        """Connect, unless that was done.

        Raises:
            FFmpegError: it cannot be opened; ExitError after `interrupt()`.
        """
        calls = _calls()
        if self in _open or calls is None:
            return
        interrupt = _AVIOInterruptCB(calls.flag_reader, ctypes.addressof(self._ended))
        options, found = c_void_p(), c_void_p()
        _open.add(self)
        try:
            for key, value in self._options.items():
                calls.dict_set(byref(options), key.encode(), value.encode(), 0)
            code = calls.open(
                byref(found), self._url.encode(), _AVIO_FLAG_WRITE, byref(interrupt),
                byref(options),
            )  # fmt: skip
        finally:
            calls.dict_free(byref(options))
        if code < 0:
            _open.discard(self)
            av.error.err_check(code, self._url)
        self._context.pb = found.value

    def interrupt(self) -> None:
        """End each wait for the other side, now and from now on, with av.error.ExitError."""
        self._ended.value = 1

    def flush(self) -> None:
        """Send what the container has written. PyAV would let no other thread run meanwhile."""
        calls = _calls()
        if calls is not None and self in _open and self._context.pb:
            calls.flush(self._context.pb)

    def forget(self) -> None:
        """Drop what FFmpeg reads in waits, after the container's close()."""
        _open.discard(self)

    @property
    def _context(self) -> _AVFormatContext:
        return _AVFormatContext.from_address(format_context_address(self._container))


def close_unbegun(container: Any) -> bool:
    """Close the file or connection of a container that has not begun to write.

    PyAV closes only others, so it would leave a file open whose header could not be written. Call
    this before the container's close(), in which PyAV 19 frees the AVFormatContext.

    Returns:
        True if it was open.
    """
    calls = _calls()
    if calls is None or not Peer.needed(container):
        return False
    address = format_context_address(container)
    was_open = _AVFormatContext.from_address(address).pb is not None
    calls.closep(address + _AVFormatContext.pb.offset)
    return was_open


class _Calls:
    """Calls of libavformat; what may wait lets the interpreter go.

    Raises:
        MissingDependencyError: there is one that this FFmpeg lacks.
    """

    def __init__(self) -> None:
        pointer = c_void_p
        self.open = PYAV.slow("avio_open2", c_int, pointer, c_char_p, c_int, pointer, pointer)
        self.flush = PYAV.slow("avio_flush", None, pointer)
        self.closep = PYAV.slow("avio_closep", c_int, pointer)
        self.dict_set = PYAV.quick("av_dict_set", c_int, pointer, c_char_p, c_char_p, c_int)
        self.dict_free = PYAV.quick("av_dict_free", None, pointer)
        # av_dict_count returns the int that its argument points to (libavutil/dict.c), so it can be
        # an interrupt callback. One in Python would need the interpreter ten times a second.
        self.read_flag = PYAV.quick("av_dict_count", c_int, pointer)
        self.flag_reader = ctypes.cast(PYAV.function("av_dict_count"), c_void_p).value


@cache
def _calls() -> _Calls | None:
    """The calls; None if one is missing, or the fields that are used are not at known places."""
    try:
        calls = _Calls()
    except MissingDependencyError:
        return None
    with av.open(io.BytesIO(), "w", format="mpegts") as container:
        context = _AVFormatContext.from_address(format_context_address(container))
        # PyAV's AVIOContext for a file of Python refers to the object that PyAV has for it.
        opaque = _AVIOContext.from_address(context.pb).opaque if context.pb else None
        if opaque != id(container.file) or not context.oformat:
            return None
        name = c_char_p.from_address(context.oformat).value
    flag = c_int(0)
    unset = calls.read_flag(ctypes.addressof(flag))
    flag.value = 1
    read = unset, calls.read_flag(ctypes.addressof(flag))
    return calls if name == b"mpegts" and read == (0, 1) else None
