# SPDX-License-Identifier: Apache-2.0
"""The libavcodec that goes with a libavutil: its calls, and the few fields that decoding needs.

PyAV's decoders belong to PyAV's FFmpeg, which may have been built without a type of device. The
system's libavcodec then decodes what PyAV reads. Its contexts differ from one version to the next,
so nothing here depends on where their fields are: options are set by name, what a stream needs goes
through AVCodecParameters, and the place of the device follows from that of an option.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from ctypes import POINTER, Structure, c_char_p, c_int, c_int64, c_uint, c_void_p
from functools import cache
from typing import Any

from samebytes.errors import MissingDependencyError
from samebytes.plugins import OwnedPointer

from .._avutil_abi import AVOption
from .._libavutil import Libavutil
from .._owned import acquired
from .libraries import library_at

__all__ = [
    "AVERROR_EOF",
    "AVERROR_INVALIDDATA",
    "NO_TIME",
    "AVPacket",
    "Libavcodec",
    "libavcodec_of",
]

# libavutil/error.h
AVERROR_EOF = -int.from_bytes(b"EOF ", "little")
AVERROR_INVALIDDATA = -int.from_bytes(b"INDA", "little")
_AVERROR_OPTION_NOT_FOUND = -int.from_bytes(b"\xf8OPT", "little")

_SEARCH_CHILDREN = 1
"""AV_OPT_SEARCH_CHILDREN, libavutil/opt.h: the options that only this codec has, too."""
NO_TIME = -(1 << 63)
"""libavutil/avutil.h: AV_NOPTS_VALUE."""

_VERSIONS = {57: 59, 58: 60, 59: 61, 60: 62, 61: 63}
"""LIBAVUTIL_VERSION_MAJOR -> LIBAVCODEC_VERSION_MAJOR of the same FFmpeg, 5 to 9."""

# libavcodec/codec.h: the decoder finds its device in AVCodecContext.hw_device_ctx.
_METHOD_HW_DEVICE_CTX = 1
# libavcodec/defs.h: bytes that a decoder may read behind what it decodes.
_PADDING = 64


class AVPacket(Structure):
    """libavcodec/packet.h, up to what decoders need."""

    _fields_ = (
        ("buf", c_void_p),
        ("pts", c_int64),
        ("dts", c_int64),
        ("data", c_void_p),
        ("size", c_int),
        ("stream_index", c_int),
        ("flags", c_int),
        ("side_data", c_void_p),
        ("side_data_elems", c_int),
        ("duration", c_int64),
    )


class _AVCodec(Structure):
    """libavcodec/codec.h, its beginning."""

    _fields_ = (("name", c_char_p), ("long_name", c_char_p), ("type", c_int), ("id", c_int))


class _AVCodecHWConfig(Structure):
    """libavcodec/codec.h."""

    _fields_ = (("pix_fmt", c_int), ("methods", c_int), ("device_type", c_int))


class _AVCodecParameters(Structure):
    """libavcodec/codec_par.h, its beginning: the same in all versions."""

    _fields_ = (
        ("codec_type", c_int),
        ("codec_id", c_int),
        ("codec_tag", c_uint),
        ("extradata", c_void_p),
        ("extradata_size", c_int),
    )


class _Rational(Structure):
    _fields_ = (("num", c_int), ("den", c_int))


class Libavcodec:
    """The calls of one libavcodec.

    Args:
        path: its soname.
        library: the libavutil that it is linked to.

    Attributes:
        avutil: that libavutil.

    Raises:
        MissingDependencyError: it cannot be loaded, or lacks a call.
    """

    def __init__(self, path: str, library: Libavutil) -> None:
        self.avutil = library
        self._path = path
        self._hint = _hint(path)
        try:
            self._quick = ctypes.PyDLL(path)
            self._slow = ctypes.CDLL(path)
        except OSError as error:
            raise MissingDependencyError("ffmpeg", f"{path} ({error})", self._hint) from error
        pointer = c_void_p
        context = OwnedPointer.freed_by(
            self._of(self._quick, "avcodec_free_context"), "AVCodecContextPointer"
        )
        packet = OwnedPointer.freed_by(self._of(self._quick, "av_packet_free"), "AVPacketPointer")
        parameters = OwnedPointer.freed_by(
            self._of(self._quick, "avcodec_parameters_free"), "AVCodecParametersPointer"
        )
        quick, slow = self._quick, self._slow
        self._find = self._call(quick, "avcodec_find_decoder_by_name", pointer, c_char_p)
        self._hw_config = self._call(
            quick, "avcodec_get_hw_config", POINTER(_AVCodecHWConfig), pointer, c_int
        )
        self._alloc_context = self._call(quick, "avcodec_alloc_context3", context, pointer)
        self._alloc_parameters = self._call(quick, "avcodec_parameters_alloc", parameters)
        self._from_context = self._call(
            quick, "avcodec_parameters_from_context", c_int, pointer, pointer
        )
        self._to_context = self._call(
            quick, "avcodec_parameters_to_context", c_int, pointer, pointer
        )
        self._opt_find = self._call(
            quick, "av_opt_find", POINTER(AVOption), pointer, c_char_p, c_char_p, c_int, c_int
        )
        self._opt_set_int = self._call(
            quick, "av_opt_set_int", c_int, pointer, c_char_p, c_int64, c_int
        )
        self._opt_set = self._call(quick, "av_opt_set", c_int, pointer, c_char_p, c_char_p, c_int)
        self._opt_set_q = self._call(
            quick, "av_opt_set_q", c_int, pointer, c_char_p, _Rational, c_int
        )
        self.open = self._call(slow, "avcodec_open2", c_int, pointer, pointer, pointer)
        self.send_packet = self._call(slow, "avcodec_send_packet", c_int, pointer, pointer)
        self.receive_frame = self._call(slow, "avcodec_receive_frame", c_int, pointer, pointer)
        self.flush_buffers = self._call(slow, "avcodec_flush_buffers", None, pointer)
        self._packet_alloc = self._call(quick, "av_packet_alloc", packet)
        self._new_packet = self._call(quick, "av_new_packet", c_int, pointer, c_int)

    def decoder(self, name: str, kind: str) -> int | None:
        """The AVCodec* of a decoder that decodes on a type of device; None if there is none.

        Args:
            name: of the codec and of FFmpeg's own decoder for it, for instance "h264".
            kind: FFmpeg's name of the type of device.
        """
        codec = self._find(name.encode())
        number = self.avutil.hwdevice_find_type_by_name(kind.encode())
        index = 0
        while codec and (config := self._hw_config(codec, index)):
            found = config.contents
            if found.device_type == number and found.methods & _METHOD_HW_DEVICE_CTX:
                return int(codec)
            index += 1
        return None

    def context(self, codec: int, device: int, extradata: bytes) -> OwnedPointer:
        """A new AVCodecContext for a device, not yet opened.

        Args:
            codec: an AVCodec*.
            device: AVBufferRef* of an AVHWDeviceContext; the context takes a reference of its own.
            extradata: the codec's headers, as the container has them.

        Raises:
            NativeError: out of memory.
        """
        context: OwnedPointer = acquired(self._alloc_context(codec), "avcodec_alloc_context3")
        parameters: OwnedPointer = acquired(self._alloc_parameters(), "avcodec_parameters_alloc")
        checked = self.avutil.checked
        checked("avcodec_parameters_from_context", self._from_context(parameters, context))
        filled = _AVCodecParameters.from_address(parameters.address)
        known = filled.codec_type, filled.codec_id, filled.extradata, filled.extradata_size
        if known != (0, _AVCodec.from_address(codec).id, None, 0):
            raise self._unknown()
        if extradata:
            # Freed with the parameters.
            room = self.avutil.malloc(len(extradata) + _PADDING)
            ctypes.memset(room, 0, len(extradata) + _PADDING)
            ctypes.memmove(room, extradata, len(extradata))
            filled.extradata, filled.extradata_size = room, len(extradata)
        checked("avcodec_parameters_to_context", self._to_context(context, parameters))
        slot = self._device_slot(context)
        checked("av_buffer_replace", self.avutil.buffer_replace(slot, device))
        return context

    def set_option(self, context: OwnedPointer, name: str, value: int) -> None:
        """Set one of the codec's options, a whole number.

        Raises:
            NativeError: it has no such option.
        """
        done = self._opt_set_int(context, name.encode(), value, 0)
        self.avutil.checked(f"av_opt_set_int({name})", done)

    def set_options(self, context: OwnedPointer, options: Mapping[str, str]) -> None:
        """Set those of the options that the codec has.

        Raises:
            NativeError: it does not take the value of one.
        """
        for name, value in options.items():
            done = self._opt_set(context, name.encode(), value.encode(), _SEARCH_CHILDREN)
            if done != _AVERROR_OPTION_NOT_FOUND:
                self.avutil.checked(f"av_opt_set({name})", done)

    def set_time_base(self, context: OwnedPointer, numerator: int, denominator: int) -> None:
        """Set the unit of the times of packets."""
        done = self._opt_set_q(context, b"pkt_timebase", _Rational(numerator, denominator), 0)
        self.avutil.checked("av_opt_set_q(pkt_timebase)", done)

    def packet(self, data: Any) -> OwnedPointer:
        """A new packet with a copy of the data, which is compressed and small.

        Args:
            data: an object with the buffer protocol.

        Raises:
            NativeError: out of memory.
        """
        packet: OwnedPointer = acquired(self._packet_alloc(), "av_packet_alloc")
        view = memoryview(data).cast("B")
        self.avutil.checked("av_new_packet", self._new_packet(packet, len(view)))
        made = AVPacket.from_address(packet.address)
        if (made.pts, made.dts, made.size) != (NO_TIME, NO_TIME, len(view)) or not made.data:
            raise self._unknown()
        ctypes.memmove(made.data, bytes(view), len(view))
        return packet

    def _device_slot(self, context: OwnedPointer) -> int:
        """The address of AVCodecContext.hw_device_ctx, which stands before hwaccel_flags.

        libavcodec/avcodec.h, in all versions that are known.
        """
        found = self._opt_find(context, b"hwaccel_flags", None, 0, 0)
        if not found:
            raise self._unknown()
        return int(context.address + found.contents.offset - ctypes.sizeof(c_void_p))

    def check(self) -> None:
        """Compare what is assumed of structures with what the library does with them.

        A device that was put into its place is dropped with the context, and the parameters of a
        context are those that were put into it.

        Raises:
            MissingDependencyError: they differ.
        """
        codec = self._find(b"mjpeg") or self._find(b"h264")
        if not codec:
            raise MissingDependencyError("ffmpeg", f"a decoder in {self._path}", self._hint)
        token = self.avutil.lender.new_token(None)
        count = self.avutil.buffer_get_ref_count
        extradata = bytes(range(7))
        context = self.context(codec, token.address, extradata)
        parameters = acquired(self._alloc_parameters(), "avcodec_parameters_alloc")
        self.avutil.checked(
            "avcodec_parameters_from_context", self._from_context(parameters, context)
        )
        found = _AVCodecParameters.from_address(parameters.address)
        kept = ctypes.string_at(found.extradata, found.extradata_size) if found.extradata else b""
        self.packet(extradata)
        referred = count(token)
        del context
        if kept != extradata or (referred, count(token)) != (2, 1):
            raise self._unknown()

    def _unknown(self) -> MissingDependencyError:
        return MissingDependencyError(
            "ffmpeg", "a libavcodec whose contexts have the layout of FFmpeg 5 to 9", self._hint
        )

    def _of(self, library: ctypes.CDLL, name: str) -> Any:
        try:
            # Not getattr(): that gives one object for each name, whatever the types.
            return library[name]
        except AttributeError:
            raise MissingDependencyError("ffmpeg", f"{name} in {self._path}", self._hint) from None

    def _call(self, library: ctypes.CDLL, name: str, result: Any, *arguments: Any) -> Any:
        function = self._of(library, name)
        function.restype, function.argtypes = result, arguments
        return function


@cache
def libavcodec_of(library: Libavutil) -> Libavcodec:
    """The libavcodec that is linked to a libavutil.

    Raises:
        MissingDependencyError: there is none, or it cannot be used.
    """
    path = f"libavcodec.so.{_VERSIONS[library.major]}"
    codec = Libavcodec(path, library)
    # Through a library the calls of those that it is linked to can be found.
    if library_at(path) is not library:
        raise MissingDependencyError(
            "ffmpeg", f"a libavcodec that is linked to {library.path}", _hint(path)
        )
    codec.check()
    return codec


def _hint(path: str) -> str:
    number = path.rpartition(".")[2]
    return f"apt install libavcodec{number} (on Debian) or the libavcodec of your system"
