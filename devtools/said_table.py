# SPDX-License-Identifier: Apache-2.0
"""`dev.py said`: what becomes of all that frames say, as data, and the page that shows it.

tests/said tries each cell.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal, NamedTuple

from .said_files import files_table

__all__ = ["PAGE", "ROWS", "WAYS", "Cell", "cell", "with_table", "write"]

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "frame-metadata.md"
_BEGIN, _END = "<!-- begin: python3 dev.py said -->\n", "<!-- end -->\n"
_FILES = "<!-- begin: files, python3 dev.py said -->\n"


class Cell(NamedTuple):
    """The outcome for one property on one way.

    Attributes:
        state: "kept": said as before. "applied": the picture is as it says, or what is said is
            what is true of the new picture. "dropped": not said afterwards.
        why: how it is applied, or the reason for which it is dropped.
    """

    state: Literal["kept", "applied", "dropped"]
    why: str = ""


ROWS = {
    "color_range": "",
    "color_primaries": "",
    "color_transfer": "",
    "color_matrix": "",
    "chroma_location": "",
    "sample_aspect_ratio": "",
    "container_aspect": "the same where the container alone says it",
    "field_order": "",
    "repeat_fields": "",
    "rotation": "",
    "mirrored": "",
    "mastering_display": "",
    "content_light": "",
    "duration": "",
    "time": "`meta.pts`, `meta.time_base`",
    "crop": "the part of a stored picture that is to be shown",
    "key_frame": "",
    "captions": "side data A53_CC",
    "stereo": "side data STEREO3D",
    "timecode": "side data S12M_TIMECODE",
    "icc_profile": "side data ICC_PROFILE",
    "dynamic_hdr": "side data DYNAMIC_HDR_PLUS",
}
"""The properties of frames, with an explanation of each that is not the name of an entry."""

WAYS = {
    "wrap": "`samebytes.frame(av_frame)`",
    "ffmpeg": "mapped to FFmpeg",
    "gstreamer": "mapped to GStreamer",
    "crop": "`Frame.crop`, opencv.crop",
    "scale": "opencv.scale",
    "convert": "`Frame.convert`, convert, to RGB",
    "warp": "opencv.warp",
    "draw": "opencv.draw",
    "infer": "openvino.infer, the frame",
    "model": "`image_model`, the picture",
    "batch": "`meta_of_batch`",
    "ffmpeg.sink": "ffmpeg.sink",
    "gstreamer.sink": "gstreamer.sink",
    "ring.sink": "ring.sink",
    "json.sink": "json.sink",
}
"""Ways that frames go, and their headings."""

_THROUGH = ("wrap", "ffmpeg", "gstreamer", "crop", "scale", "convert", "warp", "draw", "infer")
_MODEL = ("model", "batch")
_ENDS = ("ffmpeg.sink", "gstreamer.sink", "ring.sink", "json.sink")

_MIXED = "rows of both fields were mixed"
_NEW_PICTURE = "it is that of the new pixels"
_RGB_HAS_NONE = "colours are converted by it, and RGB has none"
_FFMPEGS_OWN = "FFmpeg's own: there is no shared entry, and buffers do not carry it"
_NOT_WRITTEN = "FFmpeg's H.264 encoder writes none"

_APPLIED: dict[str, dict[str, str]] = {
    "gstreamer": {"crop": "the planes are those of the part"},
    "ffmpeg": {"crop": "the planes are those of the part"},
    "crop": {"crop": "the planes are those of the part"},
    "scale": {
        "sample_aspect_ratio": _NEW_PICTURE,
        "field_order": "progressive where the height changed",
        "crop": "the part is scaled",
    },
    "convert": {
        "color_range": _RGB_HAS_NONE,
        "color_matrix": _RGB_HAS_NONE,
        "chroma_location": f"{_RGB_HAS_NONE}; where the size stays, chroma can be repeated",
        "sample_aspect_ratio": _NEW_PICTURE,
        "field_order": "fields that share chroma are converted apart; progressive where the "
        "height changed",
        "crop": "the part is converted",
    },
    "warp": {
        "sample_aspect_ratio": _NEW_PICTURE,
        "field_order": "progressive",
        "rotation": "gone once a picture was turned by a quarter or mirrored",
        "mirrored": "gone once a picture was turned by a quarter or mirrored",
        "crop": "the part is warped",
    },
    "draw": {"crop": "boxes are in the part"},
    "infer": {"crop": "the model sees the part"},
    "model": {
        "color_range": "colours are converted by it, unless `color_range=` says otherwise",
        "color_matrix": "colours are converted by it, unless `color_matrix=` says otherwise",
        "rotation": "with `upright=True`",
        "mirrored": "with `upright=True`",
        "crop": "the model sees the part",
    },
    "ffmpeg.sink": {"crop": "the part is encoded"},
    "gstreamer.sink": {"crop": "the part is lent"},
    "ring.sink": {"crop": "the part is sent"},
    "json.sink": {"crop": "`resolution` is that of the part"},
}

for _rows in _APPLIED.values():
    if "sample_aspect_ratio" in _rows:
        _rows["container_aspect"] = _rows["sample_aspect_ratio"]

_ALL = "*"
_DROPPED: dict[str, dict[str, str]] = {
    "wrap": {
        "container_aspect": "PyAV's frames do not have it; those of ffmpeg.source do",
        "crop": "FFmpeg's decoders cut pictures themselves",
    },
    "ffmpeg": {"key_frame": "it is of the bitstream that the frame came from"},
    "gstreamer": {
        "rotation": "GStreamer says it of a stream: gstreamer.sink does",
        "mirrored": "GStreamer says it of a stream: gstreamer.sink does",
        **dict.fromkeys(
            ("key_frame", "captions", "stereo", "timecode", "icc_profile", "dynamic_hdr"),
            _FFMPEGS_OWN,
        ),
    },
    "scale": {"repeat_fields": _MIXED},
    "convert": {"repeat_fields": _MIXED},
    "warp": {"repeat_fields": _MIXED},
    "model": {
        "color_primaries": "models are trained with R'G'B' of any primaries",
        "color_transfer": "models are trained with R'G'B' as it is stored",
        "chroma_location": "chroma is repeated for each pixel, as OpenVINO's own conversion does",
        "sample_aspect_ratio": "pixels are scaled to `size=` as they lie",
        "container_aspect": "pixels are scaled to `size=` as they lie",
        "field_order": "put a deinterlacer before it",
        "repeat_fields": "it is about time",
        "duration": "it is about time",
        "time": "it is about time",
        "mastering_display": "models are trained with R'G'B' as it is stored",
        "content_light": "models are trained with R'G'B' as it is stored",
        _ALL: "models see pixels alone",
    },
    "batch": {_ALL: "a batch is of several pictures, which keep theirs"},
    "ffmpeg.sink": {
        "repeat_fields": "times say it: encoders take none",
        "timecode": _NOT_WRITTEN,
        "icc_profile": "MP4 has it only with container_options={'movflags': 'prefer_icc'}",
        "dynamic_hdr": _NOT_WRITTEN,
        "key_frame": "the encoder decides",
    },
    "gstreamer.sink": dict.fromkeys(
        ("key_frame", "captions", "stereo", "timecode", "icc_profile", "dynamic_hdr"),
        _FFMPEGS_OWN,
    ),
    "json.sink": {_ALL: "gvametaconvert's form has no member for it"},
}
_KEPT = {"json.sink": ("time",)}


def cell(row: str, way: str) -> Cell:
    """The outcome for `row` on `way`."""
    if (how := _APPLIED.get(way, {}).get(row)) is not None:
        return Cell("applied", how)
    dropped = _DROPPED.get(way, {})
    why = dropped.get(row, dropped.get(_ALL))
    if why is not None and row not in _KEPT.get(way, ()):
        return Cell("dropped", why)
    return Cell("kept")


def with_table(page: str) -> str:
    """The text of the page, with the tables as they are now.

    Raises:
        ValueError: it has no place for them.
    """
    tables = "\n".join(_table(ways) for ways in (_THROUGH, _MODEL, _ENDS))
    page = _between(page, _BEGIN, f"{tables}\n{_reasons()}")
    return _between(page, _FILES, files_table())


def _between(page: str, mark: str, text: str) -> str:
    before, begin, rest = page.partition(mark)
    _, end, after = rest.partition(_END)
    if not begin or not end:
        raise ValueError(f"{PAGE} has no place between {mark!r} and {_END!r}")
    return f"{before}{begin}{text}{end}{after}"


def _table(ways: tuple[str, ...]) -> str:
    lines = [f"| | {' | '.join(WAYS[way] for way in ways)} |", "|---" * (len(ways) + 1) + "|"]
    for row in ROWS:
        states = (cell(row, way).state for way in ways)
        lines.append(f"| `{row}` | {' | '.join(states)} |")
    return "\n".join(lines) + "\n"


def _reasons() -> str:
    """For each way, the rows with the same reason together."""
    lines = []
    for way, heading in WAYS.items():
        groups: dict[tuple[str, str], list[str]] = {}
        for row in ROWS:
            found = cell(row, way)
            if found.why:
                groups.setdefault((found.state, found.why), []).append(f"`{row}`")
        parts = []
        for (state, why), rows in groups.items():
            others = state == "dropped" and why == _DROPPED.get(way, {}).get(_ALL)
            parts.append(f"{'others' if others else ', '.join(rows)} {state}: {why}")
        if parts:
            lines.append(f"* {heading}: {'; '.join(parts)}.\n")
    return "".join(lines)


def write() -> None:
    """Write the tables into the page."""
    PAGE.write_text(with_table(PAGE.read_text()))
