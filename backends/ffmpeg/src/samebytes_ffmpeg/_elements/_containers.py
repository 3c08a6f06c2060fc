# SPDX-License-Identifier: Apache-2.0
"""Codecs that a container holds, and the advice where it has no place for one."""

from __future__ import annotations

import errno
from contextlib import suppress
from functools import cache
from pathlib import PurePath
from typing import Any

import av

from ._failures import ARGUMENT_ERROR

__all__ = ["add_stream", "advice", "is_about_the_codec"]

_STREAMS = ("mpeg1video", "mpeg2video", "mpeg4", "h264", "hevc")
# Containers that FFmpeg writes any video to; readers find only what has a type of stream there.
_READ_BACK = {
    "mpegts": (*_STREAMS, "vvc", "cavs", "dirac", "vc1"),  # libavformat/mpegtsenc.c
    **dict.fromkeys(("mpeg", "vob", "dvd", "svcd", "vcd"), _STREAMS),  # libavformat/mpeg.c
}


def add_stream(container: Any, url: object, codec: str, rate: Any) -> Any:
    """Add a stream of video to a container that is written.

    Args:
        container: PyAV's.
        url: what it writes to.
        codec: FFmpeg's name of the encoder.
        rate: frames a second.

    Raises:
        ValueError: the container has no place for such video; the message says which it has.
    """
    held = _READ_BACK.get(container.format.name)
    if held is not None and av.codec.Codec(codec, "w").id not in _ids(held):
        raise ValueError(f"readers would find no video: {advice(container, url, codec)}")
    try:
        return container.add_stream(codec, rate=rate)
    except ValueError as error:
        raise ValueError(advice(container, url, codec)) from error


def advice(container: Any, url: object, codec: str) -> str:
    """Return the words that a container does not hold such video, and a codec that it does."""
    usual = getattr(container, "default_video_codec", "")  # not in PyAV 12
    if container.format.name == "image2" and usual:  # of many formats: the ending says which
        ending = PurePath(str(url)).suffix[1:].lower()
        usual = ending if ending in container.supported_codecs else usual
    usual = {"wrapped_avframe": "rawvideo"}.get(usual, usual)  # y4m
    such = f", such as {usual!r}" if usual else ""
    return (
        f"the container {container.format.name} has no place for {codec}: name another encoder "
        f"with codec={such}, or take another ending"
    )


def is_about_the_codec(error: Exception) -> bool:
    """True if an error of writing a header may be that the container does not hold the codec."""
    if not isinstance(error, av.FFmpegError):
        return False
    kinds = (ARGUMENT_ERROR, av.error.InvalidDataError)
    return isinstance(error, kinds) or error.errno == errno.EPERM


@cache
def _ids(names: tuple[str, ...]) -> frozenset[int]:
    """The numbers of codecs; an encoder of one that this FFmpeg does not encode cannot be asked."""
    found = set()
    for name in names:
        with suppress(av.codec.codec.UnknownCodecError):
            found.add(av.codec.Codec(name, "w").id)
    return frozenset(found)
