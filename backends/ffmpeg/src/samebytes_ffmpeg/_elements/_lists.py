# SPDX-License-Identifier: Apache-2.0
"""Files and addresses that say where the data is: playlists of HLS, SDP, DASH and ffconcat."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import av

__all__ = ["list_format", "segment_seconds", "why_no_list"]

# What FFmpeg recognizes them by, under the names of its demuxers.
_LISTS = re.compile(
    rb"\A\s*(?:(?P<hls>#EXTM3U)|(?P<concat>ffconcat))|(?P<dash><MPD)|^(?P<sdp>c=IN IP)",
    re.MULTILINE,
)
_ELSEWHERE = (
    ". It says where the data is, and FFmpeg goes there only where the options allow it: "
    "options={'protocol_whitelist': 'file,http,tcp,udp,rtp'}, and of ffconcat 'safe': '0' for "
    "other folders"
)
# RFC 8216, 4.3.3: no segment is longer, and the playlist will not grow.
_LONGEST = re.compile(rb"^#EXT-X-TARGETDURATION:(\d+)", re.MULTILINE)
_WHOLE = b"#EXT-X-ENDLIST"

_SECONDS = 10.0
"""The length of segments if the playlist is not read here: most have 2 to 10 seconds."""


def list_format(path: Path) -> str:
    """The format of a file that says where the data is; "" for others.

    Opening such a file may wait for a connection.
    """
    if not path.is_file():
        return ""
    try:
        with path.open("rb") as file:
            found = _LISTS.search(file.read(4096))
    except OSError:  # FFmpeg will say why
        return ""
    return "" if found is None else str(found.lastgroup)


def why_no_list(path: Path, options: Mapping[str, str], words: str) -> str:
    """Return the words for why FFmpeg did not open a file, with what there is to do about a list.

    Args:
        path: of the file.
        options: with which it was to be opened.
        words: FFmpeg's.
    """
    kind = list_format(path)
    if kind and not _is_read(kind):
        return f"this FFmpeg cannot read its format, {kind}"
    if kind and not {"protocol_whitelist", "safe"}.intersection(options):
        return words + _ELSEWHERE
    return words


def _is_read(format_: str) -> bool:
    try:
        av.ContainerFormat(format_, "r")
    except ValueError:
        return False
    return True


def segment_seconds(url: str, path: Path) -> float:
    """The seconds in which no data comes of HLS that grows, while its next segment is made.

    Args:
        url: where the playlist is.
        path: the same, if it is a file: it says how long its segments are.
    """
    if not path.exists():
        return _SECONDS if url.partition("?")[0].lower().endswith(".m3u8") else 0.0
    if list_format(path) == "hls":
        with suppress(OSError):
            text = path.read_bytes()
            found = _LONGEST.search(text)
            if found is not None and _WHOLE not in text:
                return float(found[1])
    return 0.0
