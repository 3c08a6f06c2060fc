# SPDX-License-Identifier: Apache-2.0
"""What files of ffmpeg.sink say: a row for each encoder in a container.

tests/said/test_files.py writes and reads each.
"""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["COLUMNS", "FILES", "File", "files_table", "outcome"]

COLUMNS = (
    "color_range", "color_primaries", "color_transfer", "color_matrix", "chroma_location",
    "sample_aspect_ratio", "field_order", "rotation", "mirrored", "mastering_display",
    "content_light",
)  # fmt: skip
"""Entries of frames that are those of a whole stream."""

_COLOURS = ("color_range", "color_primaries", "color_transfer", "color_matrix")
_TURN = ("rotation", "mirrored")
_HDR = ("mastering_display", "content_light")

_NO_PLACE = "neither its bitstream nor its container has a place for it"
_NO_FIELDS = "it codes no fields"
_LEFT = "decoders take it for left"


@dataclass(frozen=True)
class File:
    """One kind of file.

    Attributes:
        codec: FFmpeg's name of the encoder.
        ending: of the file's name.
        words: what it is called.
        dropped: entry to the reason for which no reader gets it.
        refused: entry to the reason for which frames that say it are an error.
        noted: entry to what is to be known of how it is kept.
    """

    codec: str
    ending: str
    words: str
    dropped: dict[str, str] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    noted: dict[str, str] = field(default_factory=dict)


_CUT_OFF = {"color_range": "its files say limited range of all YUV, so full range is an error"}
_ALONE = {"sample_aspect_ratio": "the container alone says it; Matroska in whole pixels"}

FILES = (
    File("libx264", "mp4", "H.264 in MP4"),
    File("libx264", "mkv", "H.264 in Matroska"),
    File("libx264", "ts", "H.264 in MPEG-TS", dict.fromkeys(_TURN, "MPEG-TS has no place for it")),
    File("libx265", "mp4", "H.265 in MP4", {"field_order": _NO_FIELDS}),
    File("libvpx-vp9", "webm", "VP9 in WebM", {"field_order": _NO_FIELDS}, noted=_ALONE),
    File("libsvtav1", "mkv", "AV1 in Matroska", {"field_order": _NO_FIELDS}, noted=_ALONE),
    File(
        "libvpx", "webm", "VP8 in WebM",
        {"color_matrix": "VP8 is BT.601", "field_order": _NO_FIELDS}, _CUT_OFF, _ALONE,
    ),
    File(
        "mpeg4", "mp4", "MPEG-4 in MP4",
        {
            "color_range": "MP4 says it only where the frames say the matrix and primaries too",
            "chroma_location": _LEFT,
        },
    ),
    File("mpeg4", "mkv", "MPEG-4 in Matroska", {"chroma_location": _LEFT}),
    File(
        "mpeg4", "avi", "MPEG-4 in AVI",
        {
            **dict.fromkeys((*_COLOURS, *_TURN, *_HDR), _NO_PLACE),
            "color_range": f"{_NO_PLACE}, so players take full range for limited",
            "chroma_location": _LEFT,
        },
    ),
    File("ffv1", "mkv", "FFV1 in Matroska"),
    File(
        "ffv1", "avi", "FFV1 in AVI",
        {
            **dict.fromkeys((*_COLOURS, "chroma_location", *_TURN, *_HDR), _NO_PLACE),
            "color_range": f"{_NO_PLACE}, so players take full range for limited",
        },
    ),
    File(
        "mpeg2video", "mpg", "MPEG-2 in MPEG-PS",
        {"chroma_location": _LEFT, **dict.fromkeys((*_TURN, *_HDR), _NO_PLACE)}, _CUT_OFF,
    ),
    File(
        "mjpeg", "avi", "JPEG in AVI",
        {
            **dict.fromkeys(("color_primaries", "color_transfer", *_TURN, *_HDR), _NO_PLACE),
            "color_matrix": "JPEG is BT.601",
            "chroma_location": "JPEG's lies in the centre",
            "field_order": _NO_FIELDS,
        },
    ),
)  # fmt: skip


def outcome(file: File, entry: str) -> str:
    """ "kept", "dropped", or "refused": frames that say it are an error."""
    if entry in file.refused:
        return "refused"
    return "dropped" if entry in file.dropped else "kept"


def files_table() -> str:
    """The table, and its reasons."""
    lines = [
        f"| | {' | '.join(f'`{entry}`' for entry in COLUMNS)} |",
        "|---" * (len(COLUMNS) + 1) + "|",
    ]
    for file in FILES:
        cells = (outcome(file, entry) for entry in COLUMNS)
        lines.append(f"| {file.words} | {' | '.join(cells)} |")
    return "\n".join([*lines, "", *(f"* {text}." for text in _reasons())]) + "\n"


def _reasons() -> list[str]:
    found = []
    for file in FILES:
        groups: dict[tuple[str, str], list[str]] = {}
        for state, reasons in (
            ("kept", file.noted), ("refused", file.refused), ("dropped", file.dropped),
        ):  # fmt: skip
            for entry, why in reasons.items():
                groups.setdefault((state, why), []).append(f"`{entry}`")
        parts = [f"{', '.join(entries)} {state}: {why}" for (state, why), entries in groups.items()]
        if parts:
            found.append(f"{file.words}: {'; '.join(parts)}")
    return found
