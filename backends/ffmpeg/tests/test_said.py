# SPDX-License-Identifier: Apache-2.0
"""What frames say of themselves is in the files that ffmpeg.sink writes of them."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

import samebytes as sb
import samebytes.elements as el
from samebytes.errors import ElementError
from samebytes_ffmpeg import FFmpegSink, FFmpegSource
from samebytes_ffmpeg._elements import _encoder_side_data
from samebytes_ffmpeg._elements._encoder_side_data import give_side_data
from samebytes_ffmpeg._meaning import write_meaning
from samebytes_ffmpeg._side_data import read_side_data, set_side_data

NOISE = np.random.default_rng(0).integers(0, 256, 128 * 96 * 4, np.uint8)

SAID = {
    "sample_aspect_ratio": Fraction(4, 3),
    "field_order": "top",
    "chroma_location": "topleft",
    "color_range": "limited",
    "color_primaries": "bt2020",
    "color_transfer": "smpte2084",
    "color_matrix": "bt2020nc",
}

# libavutil/display.h: a quarter clockwise. mastering_display_metadata.h: red, green, blue, white,
# least and most luminance, and that both are known.
MATRIX = struct.pack("<9i", 0, 65536, 0, -65536, 0, 0, 0, 0, 1 << 30)
POINTS = (35400, 14600, 8500, 39850, 6550, 2300, 15635, 16450)
MASTERING = struct.pack(
    "<22i", *(n for point in POINTS for n in (point, 50000)), 50, 10000, 10**7, 10000, 1, 1
)
LIGHT = struct.pack("<2I", 1000, 400)
SIDE_DATA = {
    "DISPLAYMATRIX": MATRIX, "MASTERING_DISPLAY_METADATA": MASTERING, "CONTENT_LIGHT_LEVEL": LIGHT,
}  # fmt: skip


def pictures(format_: str = "yuv420p", height: int = 96) -> Iterator[av.VideoFrame]:
    """Pictures that say nothing."""
    for number in range(12):  # FFmpeg's probe of MPEG-TS wants some
        native = av.VideoFrame(128, height, format_)
        for plane in native.planes:
            plane.update(NOISE[: plane.buffer_size].tobytes())
        native.pts, native.time_base = number, Fraction(1, 25)
        yield native


def marked(format_: str = "yuv420p", height: int = 96) -> Iterator[av.VideoFrame]:
    """Pictures that say it all, as those of a decoder do."""
    for native in pictures(format_, height):
        write_meaning(native, SAID)
        for name, content in SIDE_DATA.items():
            set_side_data(native, name, content)
        yield native


def written(frames: Any, path: Path, codec: str = "", **options: Any) -> dict[str, Any]:
    """The metadata of the first frame of a file."""
    el.Pipeline(list(frames), FFmpegSink(path, codec, **options)).run()
    return said_in(path)


def said_in(path: Path) -> dict[str, Any]:
    with el.Pipeline(FFmpegSource(path, frames=1)).start(threads=0) as out:
        return dict(next(out).metadata)


# Encoder, container, pixel format -> what neither of them has a place for.
FILES = {
    ("libx264", "mp4", "yuv420p"): (),
    ("libx264", "mov", "yuv420p"): (),
    ("libx264", "mkv", "yuv420p10le"): (),
    # MPEG-TS has no place for a display matrix.
    ("libx264", "ts", "yuv420p"): ("DISPLAYMATRIX",),
    # HEVC and AV1 have no fields of one picture.
    ("libx265", "mp4", "yuv420p10le"): ("field_order",),
    # MPEG-4 part 2 has its chroma on the left.
    ("mpeg4", "mp4", "yuv420p"): ("chroma_location",),
    ("mpeg4", "avi", "yuv420p"): (
        "chroma_location", "color_range", "color_primaries", "color_transfer", "color_matrix",
        *SIDE_DATA,
    ),
    ("mpeg2video", "ts", "yuv420p"): ("chroma_location", *SIDE_DATA),
    ("ffv1", "mkv", "yuv420p"): (),
    ("prores_ks", "mov", "yuv422p10le"): ("chroma_location",),
    ("libsvtav1", "mp4", "yuv420p10le"): ("field_order",),
}  # fmt: skip


@pytest.mark.pyav17
@pytest.mark.parametrize(("codec", "ending", "format_"), FILES)
def test_a_file_says_what_its_frames_say(
    codec: str, ending: str, format_: str, tmp_path: Path
) -> None:
    """And no more is lost than is written here, so that FFmpeg's news are noticed."""
    _need(codec)
    found = written(marked(format_), tmp_path / f"made.{ending}", codec)
    given = {**SAID, **numbers_in(SIDE_DATA)}
    kept = {**found, **numbers_in(found["ffmpeg"]["side_data"])}
    assert {key for key in given if kept.get(key) != given[key]} == set(
        FILES[codec, ending, format_]
    )


def numbers_in(side_data: dict[str, bytes]) -> dict[str, Any]:
    """What HDR data say, for AV1 has other units than H.264; others as they are."""
    found: dict[str, Any] = dict(side_data)
    if (content := side_data.get("MASTERING_DISPLAY_METADATA")) is not None:
        numbers = struct.unpack("<22i", content)
        pairs = zip(numbers[:20:2], numbers[1:20:2], strict=True)
        found["MASTERING_DISPLAY_METADATA"] = [round(Fraction(*pair), 4) for pair in pairs]
    return found


def _need(codec: str) -> None:
    try:
        av.codec.Codec(codec, "w")
    except av.codec.codec.UnknownCodecError:
        pytest.skip(f"missing encoder {codec}: install a PyAV with it")


@pytest.mark.parametrize(
    ("height", "options"), [(98, {}), (96, {"profile": "baseline"})], ids=["height", "profile"]
)
def test_fields_that_the_encoder_cannot_code(
    height: int, options: dict[str, str], tmp_path: Path
) -> None:
    """The pictures are coded as a whole, and the rest is said."""
    found = written(marked(height=height), tmp_path / "made.mp4", "libx264", options=options)
    assert found["sample_aspect_ratio"] == SAID["sample_aspect_ratio"]
    assert "field_order" not in found


def test_entries_count_more_than_the_av_frame(tmp_path: Path) -> None:
    """An element has set them, in the decoder's memory."""

    @el.inplace(takes=el.Image(memory="ffmpeg"))
    def say(frame: sb.Frame[Any]) -> None:
        frame.metadata["field_order"] = "bottom"
        frame.metadata["sample_aspect_ratio"] = Fraction(16, 11)
        frame.metadata["chroma_location"] = "top"

    path = tmp_path / "made.mp4"
    given = list(marked())
    el.Pipeline(given, say(), FFmpegSink(path)).run()
    found = said_in(path)
    expected = {
        "field_order": "bottom", "sample_aspect_ratio": Fraction(16, 11), "chroma_location": "top",
        "color_matrix": "bt2020nc",
    }  # fmt: skip
    assert {key: found.get(key) for key in expected} == expected
    for native in given:  # as they were
        assert sb.frame(native).metadata["field_order"] == "top"


def test_options_count_more_than_frames(tmp_path: Path) -> None:
    options = {"chroma_sample_location": "bottom"}
    found = written(marked(), tmp_path / "made.mp4", "libx264", options=options)
    assert found["chroma_location"] == "bottom"


def test_frames_of_the_cpu_say_it_too(tmp_path: Path) -> None:
    frames = []
    for number in range(3):
        frame = sb.context("cpu").allocate_frame("I420", 128, 96)
        frame.metadata.update(SAID)
        frame.meta.pts, frame.meta.time_base = number, Fraction(1, 25)
        frames.append(frame)
    found = written(frames, tmp_path / "made.mp4")
    assert {key: found.get(key) for key in SAID} == SAID


def test_an_entry_that_cannot_be_is_an_error_of_the_sink(tmp_path: Path) -> None:
    @el.inplace(takes=el.Image(memory="ffmpeg"))
    def say(frame: sb.Frame[Any]) -> None:
        frame.metadata["field_order"] = "sideways"

    with pytest.raises(ElementError, match="field_order") as caught:
        el.Pipeline(list(pictures()), say(), FFmpegSink(tmp_path / "made.mp4")).run()
    assert caught.value.element == "ffmpeg.sink"


def test_side_data_is_set_in_place_of_what_there_is() -> None:
    native = next(pictures())
    set_side_data(native, "CONTENT_LIGHT_LEVEL", LIGHT)
    set_side_data(native, "CONTENT_LIGHT_LEVEL", bytes(8))
    assert read_side_data(native) == {"CONTENT_LIGHT_LEVEL": bytes(8)}
    set_side_data(native, "CONTENT_LIGHT_LEVEL", None)
    assert read_side_data(native) == {}


@pytest.mark.pyav17
def test_the_place_of_side_data_is_found_and_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else HDR and rotation would be dropped in silence with the next FFmpeg."""
    _encoder_side_data._place.cache_clear()
    assert _encoder_side_data._place() is not None
    context = av.codec.CodecContext.create("mpeg4", "w")
    assert give_side_data(context, SIDE_DATA)
    _encoder_side_data._place.cache_clear()
    monkeypatch.setattr(_encoder_side_data, "_VERSIONS", ())
    assert not give_side_data(context, SIDE_DATA)
    assert give_side_data(context, {})
    _encoder_side_data._place.cache_clear()
