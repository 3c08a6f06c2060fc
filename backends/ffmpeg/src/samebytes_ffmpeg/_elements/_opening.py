# SPDX-License-Identifier: Apache-2.0
"""Opening of files for a decoder on a device, without decoding them in software first.

FFmpeg decodes the first pictures of each file in software to find out what its header does not say
(avformat_find_stream_info): the pixel format and, in H.264, by how many pictures the decoder must
lag behind. A device finds the format out by itself. The lag follows from the table of samples in
MP4, which has the times of decoding and of showing. So such a file opens without decoding one or
more pictures, which saves tens of milliseconds for each stream.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import av

__all__ = ["open_container"]

_NOTHING_DECODED: list[Any] = [{"skip_frame": "all"}] * 64
"""Options of the search, for more streams than a file has."""
_OF_SEARCH = frozenset(("skip_frame", "analyzeduration", "probesize", "fpsprobesize"))
"""Options of FFmpeg's search, with which a caller asks for one."""
_CODECS = frozenset(("h264", "hevc"))


def open_container(name: str, *, options: Mapping[str, str], by_device: bool, **more: Any) -> Any:
    """Open a container to read, as `av.open` does.

    Args:
        name: a file, or what FFmpeg opens.
        options: of FFmpeg.
        by_device: a device decodes the video, for which the table of samples is enough.
        more: arguments of `av.open`.

    Raises:
        FFmpegError, OSError: as for `av.open`.
    """
    if by_device and not _OF_SEARCH & options.keys() and _is_mp4(name):
        found = None
        # An error is raised below instead. PyAV 19 has no stream_options: it always searches.
        with suppress(av.FFmpegError, ValueError, TypeError):
            found = av.open(
                name,
                options=dict(options),
                stream_options=_NOTHING_DECODED,
                **more,
            )
        if found is not None:
            if all(map(_is_known, found.streams.video)):
                return found
            found.close()
    return av.open(name, options=dict(options), **more)


def _is_mp4(name: str) -> bool:
    """True for a file that begins as MP4 and QuickTime do, with a box of its type."""
    try:
        if not Path(name).is_file():
            return False
        with Path(name).open("rb") as file:
            return file.read(8)[4:] == b"ftyp"
    except OSError:
        return False


def _is_known(stream: Any) -> bool:
    """True if the header of a container has all that a stream's decoder does not find out itself.

    A file in fragments has no table of samples, and so no number of frames.
    """
    context = stream.codec_context
    if context is None or context.name not in _CODECS:
        return False
    return bool(context.width and context.height and stream.frames and stream.average_rate)
