# SPDX-License-Identifier: Apache-2.0
"""Decoders behind one small protocol: those in software, which are here, and those of devices."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Protocol

import av

__all__ = ["Decoder", "Decoding", "NoHardwareError", "SoftwareDecoding", "StreamDecoder"]


class NoHardwareError(Exception):
    """Hardware is not there, or cannot decode this video. This error does not leave the package."""


class Decoder(Protocol):
    """The decoder of one stream. One thread uses it at a time."""

    def decode(self, packet: av.Packet[Any]) -> Sequence[av.VideoFrame]:
        """The frames that a packet completes, in the order in which they are shown.

        Args:
            packet: the next one of the stream; an empty one at its end, for what is left.

        Raises:
            FFmpegError: it cannot be decoded.
            NoHardwareError: the device cannot decode the video, or no longer.
        """

    def flush(self) -> None:
        """Forget what was decoded: the next packet is from another place of the stream."""

    def close(self) -> None:
        """End it. Frames that it gave stay valid."""


class Decoding(Protocol):
    """A way to decode, which makes a decoder for each container that is opened.

    Attributes:
        memory: the node where its frames are.
        by_device: its decoder finds the format of the video out by itself.
        limit: how many frames can be out at a time; None if there is no such limit.
        how: the way in words, for `explain`.
    """

    @property
    def memory(self) -> str: ...
    @property
    def by_device(self) -> bool: ...
    @property
    def limit(self) -> int | None: ...
    @property
    def how(self) -> str: ...

    def opening(self) -> AbstractContextManager[dict[str, Any]]:
        """The arguments of `av.open` besides the address, in a block in which it is called.

        Raises:
            NoHardwareError: there is no such hardware.
        """

    def decoder(self, stream: Any, threads: int) -> Decoder:
        """A decoder for a video stream of PyAV's, whose container was opened in that block.

        Args:
            stream: the stream.
            threads: of a decoder in software; 0 for as many as it likes.

        Raises:
            NoHardwareError: the hardware knows no such codec.
        """

    def given(self, frame: av.VideoFrame) -> None:
        """Note a frame that is given out.

        Args:
            frame: one that a decoder made by this has given.
        """

    def held(self) -> int:
        """The number of frames that are out, if there is a limit."""


class StreamDecoder:
    """The decoder that PyAV has for a stream, in software or as its container was opened.

    Args:
        stream: a video stream of PyAV's.
        threads: 0 for as many as FFmpeg likes.
    """

    def __init__(self, stream: Any, threads: int) -> None:
        self._context = stream.codec_context
        self._context.thread_count = threads
        stream.thread_type = "NONE" if threads == 1 else "AUTO"

    if TYPE_CHECKING:

        def decode(self, packet: av.Packet[Any]) -> Sequence[av.VideoFrame]:
            """As for Decoder."""

    else:
        # PyAV's own method, without one of ours around it for each packet.
        decode = staticmethod(av.Packet.decode)

    def flush(self) -> None:
        """Nothing: PyAV flushes each stream of a container in which it seeks."""

    def close(self) -> None:
        """Let its threads finish their work.

        PyAV frees a codec with the last object that refers to it, while no thread of Python can
        run. A thread of FFmpeg's that has something to log would wait for one (av.logging).
        """
        context, self._context = self._context, None
        if context is not None and context.is_open:
            context.flush_buffers()


class SoftwareDecoding:
    """Decoding on the CPU.

    Args:
        why: the reason, if something else was asked for.
    """

    memory = "ffmpeg"
    by_device = False
    limit: int | None = None

    def __init__(self, why: str = "") -> None:
        self.how = f"decoded in software: {why}" if why else ""

    def opening(self) -> AbstractContextManager[dict[str, Any]]:
        """As for Decoding."""
        return nullcontext({})

    def decoder(self, stream: Any, threads: int) -> Decoder:
        """As for Decoding."""
        return StreamDecoder(stream, threads)

    def given(self, frame: av.VideoFrame) -> None:
        """As for Decoding."""

    def held(self) -> int:
        """As for Decoding."""
        return 0
