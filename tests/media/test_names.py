# SPDX-License-Identifier: Apache-2.0
"""Colour properties by name: each value of GStreamer's enumerations, both ways.

GStreamer's own functions say what each number stands for.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import samebytes as sb
from samebytes.errors import LayoutError, UnknownNameError
from samebytes.formats import (
    CHROMA_LOCATIONS,
    COLOR_MATRICES,
    COLOR_PRIMARIES,
    COLOR_RANGES,
    COLOR_TRANSFERS,
)

pytest.importorskip("av", reason="missing package av: pip install av")
sbg = pytest.importorskip(
    "samebytes_gstreamer",
    reason="missing package samebytes-gstreamer: pip install samebytes-gstreamer",
)
pytest.importorskip(
    "samebytes_ffmpeg", reason="missing package samebytes-ffmpeg: pip install samebytes-ffmpeg"
)
pytest.importorskip("gi", reason="missing package PyGObject: pip install PyGObject")

from .pipelines import Gst, GstVideo, played  # noqa: E402 - after what it needs

# key of the metadata: FFmpeg's name of it, and the core's table.
FIELDS: dict[str, tuple[str, Any]] = {
    "color_primaries": ("color_primaries", COLOR_PRIMARIES),
    "color_transfer": ("color_trc", COLOR_TRANSFERS),
    "color_matrix": ("colorspace", COLOR_MATRICES),
    "color_range": ("color_range", COLOR_RANGES),
    "chroma_location": ("chroma_location", CHROMA_LOCATIONS),
}
EACH = [(key, name) for key, (_, table) in FIELDS.items() for name in table]


def caps_of(mapped: Any) -> Any:
    return mapped.caps if mapped.memory_type == "gstreamer" else None


def blank() -> Any:
    return sb.frame(np.zeros((72, 64), np.uint8), format="I420", width=64, height=48)


@pytest.mark.parametrize("key", FIELDS)
def test_names_that_nobody_has(key: str) -> None:
    for wrong in ("nonsense", "", 3, ["bt709"]):
        frame = blank()
        frame.metadata[key] = wrong
        for target in ("ffmpeg", "gstreamer"):
            with pytest.raises((UnknownNameError, sb.errors.RouteError), match=key):
                caps_of(frame.map(target))


# What GStreamer cannot say. Primaries and transfers are "unknown" then; a wrong matrix would show
# other colours, so it is refused.
_LACKS = {
    "color_primaries": set(),
    "color_transfer": {"iec61966-2-4", "bt1361e", "smpte428"},
    "color_matrix": {
        "gbr", "ycgco", "bt2020c", "smpte2085", "chroma-derived-nc", "chroma-derived-c", "ictcp",
        "ipt-c2", "ycgco-re", "ycgco-ro",
    },
    "color_range": set(),
    "chroma_location": {"bottomleft", "bottom"},
}  # fmt: skip


@pytest.mark.parametrize(("key", "name"), EACH)
def test_each_name_onto_caps(key: str, name: str) -> None:
    frame = blank()
    frame.metadata[key] = name
    mapped: Any = frame.map("gstreamer")
    if name in _LACKS[key] and key == "color_matrix":
        with pytest.raises(LayoutError, match=name):
            mapped.caps  # noqa: B018 - made when asked for
        return
    info = GstVideo.VideoInfo.new_from_caps(mapped.caps)
    colors = info.colorimetry
    code = COLOR_MATRICES[name] if key == "color_matrix" else -1
    match key:
        case "color_primaries":
            found = GstVideo.video_color_primaries_to_iso(colors.primaries)
            assert found == COLOR_PRIMARIES[name]
        case "color_transfer":
            found = GstVideo.video_transfer_function_to_iso(colors.transfer)
            assert found == (2 if name in _LACKS[key] else COLOR_TRANSFERS[name])
        case "color_matrix":
            # 5 and 6 are one matrix.
            assert GstVideo.video_color_matrix_to_iso(colors.matrix) == (6 if code == 5 else code)
        case "color_range":
            assert colors.range.value_nick == {"full": "0-255", "limited": "16-235"}[name]
        case "chroma_location":
            if name in _LACKS[key]:
                assert not mapped.caps.get_structure(0).has_field("chroma-site")
                return
            want = {"left": "MPEG2", "center": "JPEG", "topleft": "COSITED", "top": "V_COSITED"}
            assert info.chroma_site == getattr(GstVideo.VideoChromaSite, want[name])
    # What is read from the caps again, after elements had the frame.
    with played("identity", mapped) as back:
        wanted = None if name in _LACKS[key] else {"bt470bg": "smpte170m"}.get(name, name)
        if key != "color_matrix":
            wanted = None if name in _LACKS[key] else name
        assert back.metadata.get(key) == wanted


def test_each_number_of_gstreamer() -> None:
    """Numbers with no code point (adobergb, gamma18) have no entries, and stay on the way back."""
    kinds = {
        "color_primaries": (GstVideo.VideoColorPrimaries, GstVideo.video_color_primaries_to_iso, 3),
        "color_transfer": (
            GstVideo.VideoTransferFunction, GstVideo.video_transfer_function_to_iso, 2,
        ),
        "color_matrix": (GstVideo.VideoColorMatrix, GstVideo.video_color_matrix_to_iso, 1),
    }  # fmt: skip
    for key, (kind, to_iso, place) in kinds.items():
        tried = 0
        for number in range(40):
            try:
                value = kind(number)
            except ValueError:
                continue
            parts = [2, 3, 5, 1]
            parts[place] = number
            if key == "color_matrix" and number in (0, 1):
                continue  # none that caps of YUV can have
            tried += 1
            text = ":".join(map(str, parts))
            caps = f"video/x-raw,format=I420,width=16,height=8,colorimetry=(string){text}"
            frame = sbg.frame_of(Gst.Buffer.new_allocate(None, 192, None), caps)
            code = to_iso(value)
            found = frame.metadata.get(key)
            field, table = FIELDS[key]
            assert (None if code == 2 else code) == table.get(found)
            native = frame.map("ffmpeg").native
            assert sb.frame(native).metadata["ffmpeg"][field] == code
            mapped: Any = frame.map("cpu").map("gstreamer")
            again = GstVideo.VideoInfo.new_from_caps(mapped.caps).colorimetry
            place_of = ("range", "matrix", "transfer", "primaries")[place]
            assert int(getattr(again, place_of)) == number
        assert tried > 4


def test_each_chroma_site_of_gstreamer() -> None:
    wanted = {"jpeg": "center", "mpeg2": "left", "v-cosited": "top", "cosited": "topleft"}
    for number in range(16):
        text = GstVideo.video_chroma_site_to_string(GstVideo.VideoChromaSite(number))
        if text is None:
            continue
        caps = f"video/x-raw,format=I420,width=16,height=8,chroma-site={text}"
        frame = sbg.frame_of(Gst.Buffer.new_allocate(None, 192, None), caps)
        assert frame.metadata.get("chroma_location") == wanted.pop(text, None)
    assert not wanted


def test_what_is_not_specified_is_left_to_gstreamer() -> None:
    mapped: Any = blank().map("gstreamer")
    assert not any(
        mapped.caps.get_structure(0).has_field(f) for f in ("colorimetry", "chroma-site")
    )


def test_only_the_range_is_known() -> None:
    """The rest is what GStreamer takes for granted: caps cannot leave out a part."""
    for size, usual in (((64, 48), "bt601"), ((1280, 720), "bt709")):
        frame = sb.context("cpu").allocate_frame("I420", *size)
        frame.metadata["color_range"] = "full"
        mapped: Any = frame.map("gstreamer")
        found = GstVideo.VideoInfo.new_from_caps(mapped.caps).colorimetry
        expected = GstVideo.VideoColorimetry()
        expected.from_string(usual)
        assert found.range.value_nick == "0-255"
        assert (found.matrix, found.transfer, found.primaries) == (
            expected.matrix, expected.transfer, expected.primaries,
        )  # fmt: skip


def test_named_colorimetry_is_written_by_name() -> None:
    """Elements compare the text."""
    frame = blank()
    frame.metadata.update(
        color_range="limited", color_matrix="bt709", color_transfer="bt709", color_primaries="bt709"
    )
    mapped: Any = frame.map("gstreamer")
    assert mapped.caps.get_structure(0).get_string("colorimetry") == "bt709"


def test_the_shared_entry_counts() -> None:
    frame = sbg.frame_of(
        Gst.Buffer.new_allocate(None, 192, None),
        "video/x-raw,format=I420,width=16,height=8,colorimetry=bt709,pixel-aspect-ratio=4/3",
    )
    frame.metadata["color_matrix"] = "bt2020nc"
    frame.metadata["sample_aspect_ratio"] = Fraction(2)
    mapped: Any = frame.map("cpu").map("gstreamer")
    assert "pixel-aspect-ratio=(fraction)2/1" in mapped.caps.to_string()
    assert int(GstVideo.VideoInfo.new_from_caps(mapped.caps).colorimetry.matrix) == 6
