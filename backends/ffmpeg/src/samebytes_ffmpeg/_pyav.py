# SPDX-License-Identifier: Apache-2.0
"""The offsets of fields in PyAV's objects, checked against PyAV's own answers before use.

PyAV has no call that gives the pointer. Its classes are C structures: the Python object's head,
Cython's method table, then the fields that av/frame.pxd and av/plane.pxd declare.
"""

from __future__ import annotations

import ctypes
import gc
import struct
import sys
from collections import deque
from ctypes import c_double, c_int, c_void_p, py_object
from fractions import Fraction
from functools import cache
from threading import Thread, main_thread
from typing import TYPE_CHECKING, Any

import av
from av.codec import context as codec_context
from av.container import InputContainer
from av.frame import Frame as AnyFrame
from av.plane import Plane as AnyPlane

from samebytes.errors import MissingDependencyError

from ._avutil import FRAME_HEAD, PYAV_HINT, AVFrame, frame_get_plane_buffer, get_pix_fmt

if TYPE_CHECKING:
    from av import AudioLayout
    from av.audio.frame import AudioFrame
    from av.video.frame import VideoFrame

__all__ = [
    "FRAME_POINTER",
    "TIME_BASE",
    "AnyFrame",
    "AnyPlane",
    "channel_count",
    "codec_context_address",
    "container_being_opened",
    "end_codec",
    "end_wait",
    "format_context_address",
    "fraction",
    "frame_address",
    "frame_of_plane",
    "plane_index",
    "pointer_at",
    "stream_address",
    "time_base_of",
    "two_ints",
    "two_ints_at",
]

_POINTER = ctypes.sizeof(c_void_p)
_HEAD = object.__basicsize__ + _POINTER

FRAME_POINTER = _HEAD
"""Bytes from the address of an av frame to its AVFrame* (`ptr` in av/frame.pxd)."""
_PLANE_FRAME = _HEAD
_PLANE_INDEX = _HEAD + _POINTER

# av/frame.pxd: ptr, _time_base (two ints) and, before PyAV 19, _side_data.
_FRAME_SIZES = (_HEAD + 2 * _POINTER, _HEAD + 3 * _POINTER)


two_ints = struct.Struct("@2i").unpack
two_ints_at = (ctypes.c_ubyte * 8).from_address
TIME_BASE = _HEAD + _POINTER
"""Bytes from the address of an av frame to its time base, which is two ints."""


def time_base_of(native: VideoFrame | AudioFrame) -> tuple[int, int]:
    """The two numbers of an av frame's time base; one of them is 0 if it has none.

    PyAV's own answer is a new Fraction each time.
    """
    over, under = two_ints(two_ints_at(id(native) + TIME_BASE))
    return over, under


def fraction(ratio: Any) -> Fraction | None:
    """Return a time base or rate of PyAV as a Fraction; since 19.0.2 they have their own class."""
    return ratio if ratio is None or type(ratio) is Fraction else Fraction(ratio)


pointer_at = c_void_p.from_address
"""The pointer at an address, in `value`."""


def frame_address(native: VideoFrame | AudioFrame) -> int:
    """The AVFrame* of an av frame. It stays the av frame's."""
    return pointer_at(id(native) + FRAME_POINTER).value or 0


def codec_context_address(context: Any) -> int:
    """The AVCodecContext* of a codec context (`ptr` in av/codec/context.pxd). It stays its own."""
    return c_void_p.from_address(id(context) + _HEAD).value or 0


def end_codec(context: Any) -> None:
    """Have FFmpeg's decoder behind a codec context end in a thread of its own.

    PyAV ends it when the object is dropped, while it holds Python's lock. NVIDIA's driver takes up
    to a quarter of a second for that, during which the caller and all other threads would wait. The
    process does not end before the thread does. The object gets an AVCodecContext that was never
    opened, and refuses to decode. If the calls are not found, the end is left to PyAV.

    Args:
        context: PyAV's codec context, which no other thread uses.
    """
    allocate, free = _codec_calls()
    fresh = allocate and allocate(None)
    if not fresh:
        return
    place = c_void_p.from_address(id(context) + _HEAD)
    old = c_void_p(place.value)
    # Not a daemon, although the threads in which sources are read are daemons.
    thread = Thread(
        target=free, args=(ctypes.byref(old),), name="samebytes-end-of-decoder", daemon=False
    )
    place.value = fresh
    # While the interpreter ends, nobody waits for a new thread. Before Python 3.12 it would never
    # run, and start() would wait for it.
    if not main_thread().is_alive():
        free(ctypes.byref(old))
        return
    try:
        thread.start()
    except RuntimeError:  # the interpreter ends, or the system has no thread left
        free(ctypes.byref(old))
        return
    _ending.append(thread)
    # Only after the start, as Ctrl-C may end the wait.
    if len(_ending) > _MOST_ENDING:
        _ending.popleft().join()


# Threads in which decoders end or have ended, the oldest first.
_ending: deque[Thread] = deque()
_MOST_ENDING = 16
"""The number of decoders that may end at a time, since each has its memory until then."""


@cache
def _codec_calls() -> tuple[Any, Any]:
    """avcodec_alloc_context3 and avcodec_free_context of the libavcodec that PyAV uses, or None."""
    try:
        # The calls of a library that another is linked to are found through that one.
        library = ctypes.CDLL(codec_context.__file__)
        allocate, free = library["avcodec_alloc_context3"], library["avcodec_free_context"]
    except (AttributeError, OSError):
        return None, None
    allocate.restype, allocate.argtypes = c_void_p, (c_void_p,)
    free.restype, free.argtypes = None, (c_void_p,)
    return allocate, free


def format_context_address(container: Any) -> int:
    """The AVFormatContext* of a container that is written (`ptr` in av/container/core.pxd).

    It stays the container's.
    """
    place = id(container) + _HEAD
    found = c_void_p.from_address(place).value or 0
    if found == 1:  # not a pointer but `writeable`, which stands before it until PyAV 17
        found = c_void_p.from_address(place + _POINTER).value or 0
    return found


def stream_address(stream: Any) -> int:
    """The AVStream* of a stream (`ptr` in av/stream.pxd). It stays its own."""
    return c_void_p.from_address(id(stream) + _HEAD).value or 0


def frame_of_plane(plane: AnyPlane) -> Any:
    """The av frame that a plane belongs to."""
    return py_object.from_address(id(plane) + _PLANE_FRAME).value


def plane_index(plane: AnyPlane) -> int:
    """Return the index of a plane in its frame."""
    return c_int.from_address(id(plane) + _PLANE_INDEX).value


def channel_count(layout: AudioLayout) -> int:
    """Return the number of channels in a layout. PyAV exposes it since 14."""
    try:
        return layout.nb_channels
    except AttributeError:
        return len(layout.channels)


_DOUBLE = ctypes.sizeof(c_double)


def end_wait(container: Any, timeout: float) -> bool:
    """Set the time-out of a container to 0, so that a read which waits now ends with av.ExitError.

    PyAV compares with a limit in seconds that is a field of its container object, and has no call
    that changes it during a read. Its place differs between releases, so the field is located by
    the value that it holds.

    Args:
        timeout: what the container was opened with, a number that no other field of it holds.

    Returns:
        False: this PyAV keeps the number elsewhere.
    """
    place = _place_of(container, timeout)
    if place is None:
        return False
    place.value = 0.0
    return True


def container_being_opened(timeout: float) -> Any:
    """The container that av.open() is opening, which nobody has yet; None if there is none.

    Args:
        timeout: what it is opened with, a number that no other container has.
    """
    for one in gc.get_objects():
        if type(one) is InputContainer and _place_of(one, timeout) is not None:
            return one
    return None


def _place_of(container: Any, timeout: float) -> c_double | None:
    size = type(container).__basicsize__
    numbers = (c_double * (size // _DOUBLE)).from_address(id(container))
    found = [n for n, value in enumerate(numbers) if value == timeout]
    return c_double.from_address(id(container) + found[0] * _DOUBLE) if len(found) == 1 else None


def _check() -> None:
    # The sizes come first: a pointer is followed only if there is one at that place.
    if sys.implementation.name != "cpython" or AnyFrame.__basicsize__ not in _FRAME_SIZES:
        _refuse(f"av frames of {AnyFrame.__basicsize__} bytes")
    native = av.VideoFrame(36, 10, "nv12")
    planes = native.planes
    address = frame_address(native)
    frame = AVFrame.from_address(address)
    seen = (
        frame.width, frame.height, frame.format, frame.data[:2], frame.linesize[:2],
        frame.extended_data, frame.buf[0],
    )  # fmt: skip
    known = (
        36, 10, get_pix_fmt(b"nv12"), [p.buffer_ptr for p in planes],
        [p.line_size for p in planes], address, frame_get_plane_buffer(address, 0),
    )  # fmt: skip
    if seen != known:
        _refuse("another layout of AVFrame")
    head = FRAME_HEAD.unpack_from((ctypes.c_ubyte * FRAME_HEAD.size).from_address(address))
    if head != (
        *[pointer or 0 for pointer in frame.data[:4]], *frame.linesize[:4], address, 36, 10, 0,
        frame.format, frame.buf[0] or 0,
    ):  # fmt: skip
        _refuse("another layout of AVFrame")
    native.time_base = Fraction(3, 7)
    if time_base_of(native) != (3, 7):
        _refuse("another place of its time base")
    if [plane_index(p) for p in planes] != [0, 1] or frame_of_plane(planes[1]) is not native:
        _refuse("another layout of its planes")


def _refuse(found: str) -> None:
    raise MissingDependencyError(
        "ffmpeg", f"PyAV 12.3 to 19 on CPython (PyAV {av.__version__} has {found})", PYAV_HINT
    )


_check()
