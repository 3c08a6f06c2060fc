# SPDX-License-Identifier: Apache-2.0
"""One libavutil of this process: its calls, and where its structures have their fields.

Several can be loaded at once: the one that PyAV brings, and that of the system. Each has its own
idea of a frame and its own numbers of pixel formats, so a frame goes with the library that made it.
"""

from __future__ import annotations

import ctypes
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_uint, c_void_p
from typing import Any

from samebytes.errors import MissingDependencyError, NativeError
from samebytes.plugins import Lender, OwnedPointer

from ._avframe_abi import AVFRAMES, frame_head
from ._avutil_abi import AV_BUFFER_FLAG_READONLY, AVBuffer, AVBufferRef, AVPixFmtDescriptor
from ._owned import OwningCalls, made

__all__ = ["Libavutil"]

_MESSAGE_BYTES = 256

# Of the frame that the library is tried with.
_WIDTH, _HEIGHT = 36, 10
_NO_PTS = -(2**63)
_UNSPECIFIED = 2
# libavutil/frame.h: crop at any byte, however the rows are aligned.
_CROP_UNALIGNED = 1
# Different for each side, and less than the picture.
_CROP = {"crop_top": 1, "crop_bottom": 2, "crop_left": 3, "crop_right": 5}


class Libavutil:
    """The calls of one libavutil that mappings need.

    Calls that take well under a microsecond keep the interpreter. Those that may reach a driver
    let it go.

    Args:
        path: the library, or one that is linked to it.
        hint: what to install if this one cannot be used.

    Attributes:
        path: as given.
        version: (major, minor, micro).
        AVFrame: its structure.
        frame_head: see `frame_head` of the module _avframe_abi.
        identity: equal for two of these that are the same library, however it was found.
        unref_address: that of av_buffer_unref, which can be a release function of FFmpeg's, as it
            takes one pointer.
        owned: the calls that return something to give back.
        lender: how this library holds what it is lent: tokens are buffers without memory.

    Raises:
        MissingDependencyError: it cannot be loaded, it lacks a call, or its version is not known.
    """

    def __init__(self, path: str, hint: str) -> None:
        self.path = path
        self.hint = hint
        try:
            self._quick = ctypes.PyDLL(path)
            self._slow = ctypes.CDLL(path)
        except OSError as error:
            raise MissingDependencyError("ffmpeg", f"libavutil ({error})", hint) from error
        number = self.quick("avutil_version", c_uint)()
        self.version = (number >> 16, number >> 8 & 255, number & 255)
        self.major = self.version[0]
        try:
            self.AVFrame = AVFRAMES[self.major]
        except KeyError:
            known = f"{min(AVFRAMES)} to {max(AVFRAMES)}"
            raise MissingDependencyError(
                "ffmpeg", f"libavutil {known} ({path} is libavutil {self.major})", hint
            ) from None
        self.frame_head = frame_head(self.AVFrame)
        self._bind()
        self._check_buffer()
        self._check_frame()
        self.identity = ctypes.cast(self.frame_alloc, c_void_p).value or 0
        self.unref_address = ctypes.cast(self.buffer_unref, c_void_p).value or 0
        self.owned = OwningCalls(self.quick, self.function)
        self.lender = Lender(self.unref_address, self._new_token, self._fill)

    def _bind(self) -> None:
        pointer = c_void_p
        quick, slow = self.quick, self.slow
        self.frame_alloc = quick("av_frame_alloc", pointer)
        self.frame_free = quick("av_frame_free", None, pointer)
        self.frame_get_buffer = quick("av_frame_get_buffer", c_int, pointer, c_int)
        self.frame_clone = quick("av_frame_clone", pointer, pointer)
        self.frame_is_writable = quick("av_frame_is_writable", c_int, pointer)
        self.frame_apply_cropping = quick("av_frame_apply_cropping", c_int, pointer, c_int)
        self.frame_copy_props = quick("av_frame_copy_props", c_int, pointer, pointer)
        self.frame_get_plane_buffer = quick("av_frame_get_plane_buffer", pointer, pointer, c_int)
        self.buffer_create = quick(
            "av_buffer_create", pointer, pointer, c_size_t, pointer, pointer, c_int
        )
        self.buffer_ref = quick("av_buffer_ref", pointer, pointer)
        self.buffer_replace = quick("av_buffer_replace", c_int, pointer, pointer)
        self.buffer_unref = quick("av_buffer_unref", None, pointer)
        self.buffer_get_ref_count = quick("av_buffer_get_ref_count", c_int, pointer)
        self.malloc = quick("av_malloc", pointer, c_size_t)
        self.reallocp = quick("av_reallocp", c_int, pointer, c_size_t)
        self.freep = quick("av_freep", None, pointer)
        self.get_pix_fmt = quick("av_get_pix_fmt", c_int, c_char_p)
        self.pix_fmt_desc_get = quick("av_pix_fmt_desc_get", POINTER(AVPixFmtDescriptor), c_int)
        self.hwdevice_find_type_by_name = quick("av_hwdevice_find_type_by_name", c_int, c_char_p)
        self.hwdevice_get_type_name = quick("av_hwdevice_get_type_name", c_char_p, c_int)
        self.hwdevice_iterate_types = quick("av_hwdevice_iterate_types", c_int, c_int)
        self.hwdevice_ctx_alloc = quick("av_hwdevice_ctx_alloc", pointer, c_int)
        self.hwdevice_ctx_init = slow("av_hwdevice_ctx_init", c_int, pointer)
        self.hwdevice_ctx_create = slow(
            "av_hwdevice_ctx_create", c_int, pointer, c_int, c_char_p, pointer, c_int
        )
        self.hwdevice_get_hwframe_constraints = slow(
            "av_hwdevice_get_hwframe_constraints", pointer, pointer, pointer
        )
        self.hwframe_constraints_free = quick("av_hwframe_constraints_free", None, pointer)
        self.hwframe_ctx_alloc = quick("av_hwframe_ctx_alloc", pointer, pointer)
        self.hwframe_ctx_init = slow("av_hwframe_ctx_init", c_int, pointer)
        self.hwframe_get_buffer = slow("av_hwframe_get_buffer", c_int, pointer, pointer, c_int)
        self.hwframe_transfer_data = slow(
            "av_hwframe_transfer_data", c_int, pointer, pointer, c_int
        )
        self._strerror = quick("av_strerror", c_int, c_int, c_char_p, c_size_t)

    def quick(self, name: str, result: Any, *arguments: Any) -> Any:
        """A call that keeps the interpreter."""
        return self._call(self._quick, name, result, arguments)

    def slow(self, name: str, result: Any, *arguments: Any) -> Any:
        """A call that lets the interpreter go."""
        return self._call(self._slow, name, result, arguments)

    def function(self, name: str) -> Any:
        """A call that keeps the interpreter, without types; a new object each time."""
        return self._function(self._quick, name)

    def _function(self, library: ctypes.CDLL, name: str) -> Any:
        try:
            # Not getattr(): that gives one object for each name, whatever the types.
            return library[name]
        except AttributeError:
            raise MissingDependencyError("ffmpeg", f"{name} in {self.path}", self.hint) from None

    def _call(
        self, library: ctypes.CDLL, name: str, result: Any, arguments: tuple[Any, ...]
    ) -> Any:
        function = self._function(library, name)
        function.restype = result
        function.argtypes = arguments
        return function

    def _new_token(self, notify: tuple[int, int] | None) -> OwnedPointer:
        # Without `notify` the release calls av_buffer_unref(NULL), which does nothing.
        release = notify or (self.unref_address, None)
        token: OwnedPointer = self.owned.buffer_create(None, 0, *release, 0)
        return made(token, "av_buffer_create")

    def _fill(self, slot: int, token: OwnedPointer) -> None:
        self.checked("av_buffer_replace", self.buffer_replace(slot, token))

    def pixel_format(self, name: str) -> int:
        """The number of a pixel format; below zero if the library has none of that name."""
        return int(self.get_pix_fmt(name.encode()))

    def pixel_format_name(self, number: int) -> str:
        """FFmpeg's name of a pixel format; its number if it has none."""
        pointer = self.pix_fmt_desc_get(number)
        return pointer.contents.name.decode() if pointer else f"number {number}"

    def checked(self, call: str, code: int) -> int:
        """The code that a call returned.

        Raises:
            NativeError: it is below zero.
        """
        if code < 0:
            message = ctypes.create_string_buffer(_MESSAGE_BYTES)
            self._strerror(code, message, _MESSAGE_BYTES)
            raise NativeError(call, code, message.value.decode(errors="replace"))
        return code

    def _check_buffer(self) -> None:
        """Compare AVBuffer, whose header is not public, with a buffer made for the purpose."""
        size = 64
        # No release function: av_buffer_create then frees the data with av_free.
        buffer = self.buffer_create(self.malloc(size), size, None, None, AV_BUFFER_FLAG_READONLY)
        reference = c_void_p(buffer)
        outer = AVBufferRef.from_address(reference.value or 0)
        inner = AVBuffer.from_address(outer.buffer)
        found = inner.data, inner.size, inner.refcount, inner.opaque, inner.flags
        expected = outer.data, size, 1, None, AV_BUFFER_FLAG_READONLY
        self.buffer_unref(byref(reference))
        if found != expected:
            raise MissingDependencyError(
                "ffmpeg", "a libavutil whose buffers have the layout of FFmpeg 5 to 9", self.hint
            )

    def _check_frame(self) -> None:
        """Compare AVFrame with what the library itself puts into one."""
        if not _frames_are_as_known(self):
            raise MissingDependencyError(
                "ffmpeg", "a libavutil whose frames have the layout of FFmpeg 5 to 9", self.hint
            )

    def __repr__(self) -> str:
        return f"<Libavutil {'.'.join(map(str, self.version))}, {self.path}>"


def _frames_are_as_known(library: Libavutil) -> bool:
    """Make one frame, look where libavutil writes, and have it cropped.

    Each check covers what lies before the field that it reads: a field more or fewer would move it.
    The pointers of a hardware frame are checked where they are used, with frames of a device.
    """
    address = library.frame_alloc()
    frame = library.AVFrame.from_address(address)
    # Nothing is followed that has not been found to be a pointer.
    right = (
        _fresh(frame, address)
        and _filled(library, frame, address)
        and _cropped(library, frame, address)
    )
    library.frame_free(byref(c_void_p(address)))
    return right


def _fresh(frame: Any, address: int) -> bool:
    """libavutil/frame.c: the fields that do not begin as 0."""
    found = (
        frame.format, frame.extended_data, frame.pts, frame.pkt_dts, frame.best_effort_timestamp,
        tuple(frame.sample_aspect_ratio), frame.color_primaries, frame.color_trc, frame.colorspace,
    )  # fmt: skip
    # AV_PIX_FMT_NONE, and the address of data.
    return found == (
        -1, address, _NO_PTS, _NO_PTS, _NO_PTS, (0, 1), _UNSPECIFIED, _UNSPECIFIED, _UNSPECIFIED,
    )  # fmt: skip


def _filled(library: Libavutil, frame: Any, address: int) -> bool:
    """A picture that the library allocates: data, linesize and buf."""
    frame.width, frame.height, frame.format = _WIDTH, _HEIGHT, library.pixel_format("gray")
    code = library.frame_get_buffer(address, 1)
    reference = library.frame_get_plane_buffer(address, 0)
    if code != 0 or reference is None or frame.buf[0] != reference:
        return False
    buffer = AVBufferRef.from_address(reference)
    return frame.data[0] - buffer.data in range(buffer.size) and frame.linesize[0] == _WIDTH


def _cropped(library: Libavutil, frame: Any, address: int) -> bool:
    """The crop fields lie last: the library moves data[0] by them."""
    begin = frame.data[0]
    for name, pixels in _CROP.items():
        setattr(frame, name, pixels)
    code = library.frame_apply_cropping(address, _CROP_UNALIGNED)
    for name in _CROP:
        # If these are other fields after all, av_frame_free() must not take them for pointers.
        setattr(frame, name, 0)
    return code == 0 and (frame.data[0] - begin, frame.width, frame.height) == (
        _WIDTH * _CROP["crop_top"] + _CROP["crop_left"],
        _WIDTH - _CROP["crop_left"] - _CROP["crop_right"],
        _HEIGHT - _CROP["crop_top"] - _CROP["crop_bottom"],
    )
