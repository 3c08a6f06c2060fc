# SPDX-License-Identifier: Apache-2.0
"""Decoding by NVDEC, NVIDIA's decoder, through PyAV: frames in the CUDA context that torch uses."""

from __future__ import annotations

import ctypes
import errno
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from ctypes import c_void_p, sizeof
from typing import Any

import av

from samebytes.errors import MissingDependencyError, SamebytesError
from samebytes.plugins import count_copy

from .._avutil import PYAV, AVFrame
from .._hardware import libcuda, nvcuvid
from .._hardware.cuda_streams import have_stream, stream_of
from .._hardware.described import describe
from .._loans import lend, put, sweep
from .._pyav import end_codec, frame_address
from ._decoders import Decoder, NoHardwareError

__all__ = ["CUDADecoding"]

_COPY = "NVDEC -> ffmpeg:CUDA"
"""The name in stats() of the copy that FFmpeg makes of each frame."""
_SPARE = 3
"""FFmpeg makes five surfaces more than a video needs to be predicted from, and decodes into one or
two of them."""
_BUFFERS = 8
"""The length of `buf` in an AVFrame (AV_NUM_DATA_POINTERS)."""


class CUDADecoding:
    """Decoding by NVDEC.

    Args:
        device: the number of the GPU.
        unsafe_output: give out NVDEC's own surfaces, of which there are few, instead of copies.
        extra_hw_frames: how many surfaces there are beyond those that the video needs.
        strict: it is an error if NVDEC cannot decode what comes later in the stream, such as
            frames of another size; otherwise FFmpeg decodes that in software.
        queue: the stream on which FFmpeg is to work, the caller's; None for one of its own.

    Attributes:
        limit: as for Decoding. A few frames beyond it, FFmpeg has no surface left, and fails.
        in_software: FFmpeg has decoded some frames in software.
    """

    memory = "ffmpeg:CUDA"
    by_device = True

    def __init__(
        self, device: int, *, unsafe_output: bool, extra_hw_frames: int, strict: bool,
        queue: Any = None,
    ) -> None:  # fmt: skip
        self._device = device
        self._queue = queue
        self.strict = strict
        self.in_software = False
        self._unsafe = unsafe_output
        self._extra = extra_hw_frames
        self.limit = extra_hw_frames + _SPARE if unsafe_output else None
        self._tokens: set[int] = set()
        self._nbytes: dict[tuple[int, int], int] = {}

    @property
    def how(self) -> str:
        """As for Decoding."""
        if self._unsafe:
            where = f"in NVDEC's own surfaces, of which {self.limit} may be out"
        else:
            where = "and FFmpeg COPIES each frame on the device (not with unsafe_output=True)"
        return f"decoded by NVDEC on GPU {self._device}, {where}"

    def opening(self) -> AbstractContextManager[dict[str, Any]]:
        """As for Decoding. It makes the device's primary context current, for FFmpeg to take it."""
        try:
            context = libcuda.primary_context(self._device)
            ctypes.CDLL("libnvcuvid.so.1")
            hwaccel = _hwaccel(self._device)
        except OSError as error:
            raise NoHardwareError(
                "the library libnvcuvid.so.1 of NVDEC is missing: install NVIDIA's driver with it "
                "(in a container: NVIDIA_DRIVER_CAPABILITIES must have video)"
            ) from error
        except SamebytesError as error:
            raise NoHardwareError(str(error)) from error
        return _current(context, hwaccel)

    def decoder(self, stream: Any, threads: int) -> Decoder:
        """As for Decoding."""
        codec = stream.codec_context
        if not codec.is_hwaccel:
            codec = self._other_decoder(codec)
        options = {"extra_hw_frames": str(self._extra)}
        if self._unsafe:
            options["hwaccel_flags"] = "+unsafe_output"
        codec.options = {**stream.codec_context.options, **options}
        context = libcuda.primary_context(self._device)
        stream = None if self._queue is None else stream_of(self._queue, context)
        have_stream(codec, context, stream)
        return _NVDEC(codec, self)

    def _other_decoder(self, preferred: Any) -> Any:
        """FFmpeg's own decoder of a codec for which FFmpeg prefers one that does not use hardware.

        For AV1 it prefers libdav1d. FFmpeg's own decoder has the name of the codec.
        """
        name = preferred.codec.canonical_name
        found: Any = None
        if name != preferred.name:
            with suppress(ValueError), libcuda.current(libcuda.primary_context(self._device)):
                codec = av.Codec(name, "r")
                found = av.CodecContext.create(codec, hwaccel=_hwaccel(self._device))
        if found is None or not found.is_hwaccel:
            raise NoHardwareError(f"NVDEC has no decoder for {preferred.name}")
        found.extradata = preferred.extradata
        found.width, found.height = preferred.width, preferred.height
        # PyAV sets the device's format. For AV1, FFmpeg takes that for a sign that the device's
        # decoder exists already (libavcodec/av1dec.c, get_pixel_format), and makes none.
        found.pix_fmt = preferred.format.name if preferred.format else "yuv420p"
        return found

    def refusal(self, codec: str, bits: int) -> str:
        """A remark in brackets if the driver reports no decoder for the codec; else ""."""
        if nvcuvid.decodes(self._device, codec, bits) is False:
            return f" (the GPU has no decoder for {codec} of {bits} bits, as its driver says)"
        return ""

    def held(self) -> int:
        """The number of surfaces that somebody other than FFmpeg's decoder has."""
        sweep()
        return len(self._tokens)

    def given(self, frame: av.VideoFrame) -> None:
        """Note a frame that is given out: count FFmpeg's copy of it, or that its surface is out."""
        if self.in_software and frame.format.name != "cuda":
            return
        if self._unsafe:
            self._watch(frame_address(frame))
        else:
            size = frame.width, frame.height
            nbytes = self._nbytes.get(size)
            if nbytes is None:
                nbytes = self._nbytes[size] = self._nbytes_of(frame)
            count_copy(_COPY, nbytes)

    @staticmethod
    def _nbytes_of(frame: av.VideoFrame) -> int:
        return describe(PYAV, frame_address(frame)).image.nbytes

    def _watch(self, address: int) -> None:
        """Add a buffer to the frame, which ends with the last reference to its surface."""
        native = AVFrame.from_address(address)
        free = next(number for number in range(_BUFFERS) if not native.buf[number])
        token = _Token(self._tokens)
        (buffer,) = lend([(native.data[0], 1)], token, readonly=False)
        put(buffer, address + AVFrame.buf.offset + free * sizeof(c_void_p))


class _Token:
    """An object that is in a set for as long as it lives."""

    def __init__(self, living: set[int]) -> None:
        self._living = living
        living.add(id(self))

    def __del__(self) -> None:
        self._living.discard(id(self))


class _NVDEC:
    """A decoder of PyAV's made for NVDEC. It has one thread: others would only keep surfaces."""

    def __init__(self, codec: Any, decoding: CUDADecoding) -> None:
        codec.thread_count, codec.thread_type = 1, "NONE"
        self._codec = codec
        self._decoding = decoding
        self._has_begun = False
        # Kept for decoders that use hardware alone: FFmpeg resets the format if the hardware fails.
        self._bits = _bits(codec.format)

    def decode(self, packet: av.Packet[Any]) -> Sequence[av.VideoFrame]:
        """As for Decoder."""
        codec = self._codec
        try:
            frames: Sequence[av.VideoFrame] = codec.decode(packet)
        except av.FFmpegError as error:
            if error.errno != errno.ENOSYS:
                raise
            # A decoder that uses hardware alone, such as that of AV1.
            why = self._decoding.refusal(codec.codec.canonical_name, self._bits)
            raise NoHardwareError(
                f"NVDEC cannot decode this {codec.name} of {codec.width}x{codec.height}{why}"
            ) from error
        for frame in frames:
            if frame.format.name != "cuda":
                if self._has_begun and not self._decoding.strict:
                    self._decoding.in_software = True
                    continue
                why = self._decoding.refusal(codec.codec.canonical_name, _bits(frame.format))
                raise NoHardwareError(
                    f"NVDEC cannot decode this {codec.name} of "
                    f"{frame.width}x{frame.height} in {frame.format.name}{why}"
                )
            self._has_begun = True
        return frames

    def flush(self) -> None:
        """As for Decoder. PyAV flushes only the decoders of a container itself."""
        self._codec.flush_buffers()

    def close(self) -> None:
        """As for Decoder. NVIDIA's driver takes up to a quarter of a second, in another thread."""
        end_codec(self._codec)


def _bits(format_: Any) -> int:
    """The bits of a sample; 8 if the format is not known."""
    components = format_.components if format_ else ()
    return int(components[0].bits) if components else 8


@contextmanager
def _current(context: int, hwaccel: Any) -> Iterator[dict[str, Any]]:
    with libcuda.current(context):
        yield {"hwaccel": hwaccel}


def _hwaccel(device: int) -> Any:
    try:
        from av.codec.hwaccel import HWAccel

        # With PyAV's fallback, a refusal is a frame in software, and not a mere number. FFmpeg
        # takes the context that is current in this thread.
        return HWAccel(
            "cuda", device=str(device), allow_software_fallback=True, is_hw_owned=True,
            options={"primary_ctx": "0", "current_ctx": "1"},
        )  # fmt: skip
    except (ImportError, TypeError) as error:
        raise MissingDependencyError(
            "ffmpeg", f"PyAV 17 or later (this is {av.__version__})", 'pip install "av>=17"'
        ) from error
