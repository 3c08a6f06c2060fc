# SPDX-License-Identifier: Apache-2.0
"""Metadata of frames is in the files that ffmpeg.sink writes of them."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

import samebytes as sb
import samebytes.elements as el
from samebytes import metadata
from samebytes.errors import ElementError
from samebytes.formats import ROTATIONS
from samebytes.testing import run_program
from samebytes_ffmpeg import FFmpegSink, FFmpegSource

NOISE = np.random.default_rng(0).integers(0, 256, 128 * 96 * 4, np.uint8)

SAID = {
    "sample_aspect_ratio": Fraction(4, 3),
    "field_order": "top",
    "chroma_location": "topleft",
    "color_range": "limited",
    "color_primaries": "bt2020",
    "color_transfer": "smpte2084",
    "color_matrix": "bt2020nc",
    "rotation": 90,
    "mastering_display": {
        "red_x": Fraction(708, 1000), "red_y": Fraction(292, 1000), "green_x": Fraction(170, 1000),
        "green_y": Fraction(797, 1000), "blue_x": Fraction(131, 1000), "blue_y": Fraction(46, 1000),
        "white_x": Fraction(3127, 10000), "white_y": Fraction(329, 1000),
        "min_luminance": Fraction(5, 1000), "max_luminance": Fraction(1000),
    },
    "content_light": {"max": 1000, "average": 400},
}  # fmt: skip

LIGHT = struct.pack("<2I", 1000, 400)

# libavutil/frame.h: enum AVFrameSideDataType.
NUMBERS = {
    "A53_CC": 1, "DISPLAYMATRIX": 6, "MOTION_VECTORS": 8, "MASTERING_DISPLAY_METADATA": 11,
    "CONTENT_LIGHT_LEVEL": 14,
}  # fmt: skip

Hang = Callable[[av.VideoFrame, str, bytes], None]


@pytest.fixture
def hang(avutil: Any) -> Hang:
    """FFmpeg's own way to give a frame side data."""
    new = avutil.quick(
        "av_frame_new_side_data", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t
    )

    def hung(native: av.VideoFrame, name: str, content: bytes) -> None:
        entry = new(sb.frame(native).handle("av_frame"), NUMBERS[name], len(content))
        data = ctypes.c_void_p.from_address(entry + ctypes.sizeof(ctypes.c_void_p))
        ctypes.memmove(data.value or 0, content, len(content))

    return hung


def side_data_of(native: Any) -> dict[str, bytes]:
    found: dict[str, bytes] = sb.frame(native).metadata["ffmpeg"]["side_data"]
    return found


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
        yield saying(native, SAID)


def saying(native: av.VideoFrame, entries: dict[str, Any]) -> Any:
    """A frame over the same bytes, of which FFmpeg knows these entries."""
    frame = sb.frame(native).map("cpu", "rw")
    frame.metadata.update(entries)
    return frame.map("ffmpeg", "rw").native


def written(frames: Any, path: Path, codec: str = "", **options: Any) -> dict[str, Any]:
    """The metadata of the first frame of a file."""
    el.Pipeline(list(frames), FFmpegSink(path, codec, **options)).run()
    return said_in(path)


def said_in(path: Path) -> dict[str, Any]:
    with el.Pipeline(FFmpegSource(path, frames=1)).start(threads=0) as out:
        return dict(next(out).metadata)


OF_STREAMS = ("rotation", "mastering_display", "content_light")

# Encoder, container, pixel format -> what neither of them has a place for.
FILES = {
    ("libx264", "mp4", "yuv420p"): (),
    ("libx264", "mov", "yuv420p"): (),
    ("libx264", "mkv", "yuv420p10le"): (),
    # MPEG-TS has no place for a display matrix.
    ("libx264", "ts", "yuv420p"): ("rotation",),
    # HEVC and AV1 have no fields of one picture.
    ("libx265", "mp4", "yuv420p10le"): ("field_order",),
    # MPEG-4 part 2 has its chroma on the left.
    ("mpeg4", "mp4", "yuv420p"): ("chroma_location",),
    ("mpeg4", "avi", "yuv420p"): (
        "chroma_location", "color_range", "color_primaries", "color_transfer", "color_matrix",
        *OF_STREAMS,
    ),
    ("mpeg2video", "ts", "yuv420p"): ("chroma_location", *OF_STREAMS),
    ("ffv1", "mkv", "yuv420p"): (),
    ("prores_ks", "mov", "yuv422p10le"): ("chroma_location",),
    ("libsvtav1", "mp4", "yuv420p10le"): ("field_order",),
}  # fmt: skip


@pytest.mark.pyav17
@pytest.mark.parametrize(("codec", "ending", "format_"), FILES)
def test_a_file_says_what_its_frames_say(
    codec: str, ending: str, format_: str, tmp_path: Path
) -> None:
    """And no more is lost than is written here."""
    _need(codec)
    found = written(marked(format_), tmp_path / f"made.{ending}", codec)
    lost = {key for key, value in SAID.items() if rounded(found.get(key)) != rounded(value)}
    assert lost <= set(FILES[codec, ending, format_])
    if av.library_versions["libavcodec"][0] == 62:  # later ones may write more
        assert lost == set(FILES[codec, ending, format_])


ASPECTS = [
    ("libx264", "mp4"), ("libx264", "mov"), ("libx264", "mkv"), ("libx264", "ts"),
    ("libx264", "avi"), ("libvpx", "webm"), ("libvpx", "mkv"), ("libvpx-vp9", "webm"),
    ("libvpx-vp9", "mp4"), ("libsvtav1", "mkv"), ("libsvtav1", "mp4"), ("libsvtav1", "webm"),
    ("rawvideo", "mkv"), ("rawvideo", "nut"), ("rawvideo", "mov"), ("ffv1", "mkv"),
    ("mpeg4", "mp4"), ("mpeg4", "avi"), ("ffv1", "avi"), ("rawvideo", "avi"),
    ("mpeg2video", "ts"), ("mpeg2video", "mkv"),
]  # fmt: skip


@pytest.mark.pyav17
@pytest.mark.parametrize("ratio", [Fraction(4, 3), Fraction(16, 15)], ids=str)
@pytest.mark.parametrize(("codec", "ending"), ASPECTS)
def test_every_container_says_the_shape_of_pixels(
    codec: str, ending: str, ratio: Fraction, tmp_path: Path
) -> None:
    """The container alone says it where the bitstream has no place for it."""
    _need(codec)
    if codec == "mpeg2video" and ratio != Fraction(4, 3):
        return  # it knows pictures of 4:3, 16:9 and 2.21:1
    path = tmp_path / f"made.{ending}"
    given = pictures("uyvy422" if codec == "rawvideo" else "yuv420p")  # MOV has a tag for it
    frames = [saying(native, {"sample_aspect_ratio": ratio}) for native in given]
    el.Pipeline(frames, FFmpegSink(path, codec)).run()
    with av.open(str(path)) as container:
        found: Any = container.streams.video[0].sample_aspect_ratio
    assert found is not None
    # WebM has whole pixels of the screen.
    assert float(found) == pytest.approx(float(ratio), rel=0.004 if ending == "webm" else 1e-9)


def rounded(value: Any) -> Any:
    """AV1 has other units of HDR than H.264."""
    if not isinstance(value, dict):
        return value
    return {key: round(number, 4) for key, number in value.items()}


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


@pytest.mark.pyav17
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


def test_side_data_is_set_in_place_of_what_there_is(hang: Hang) -> None:
    native = next(pictures())
    hang(native, "CONTENT_LIGHT_LEVEL", LIGHT)
    assert side_data_of(native) == {"CONTENT_LIGHT_LEVEL": LIGHT}
    frame = sb.frame(native).map("cpu")
    for levels in ({"max": 5, "average": 4}, None):
        frame.metadata["content_light"] = levels
        made = frame.map("ffmpeg").native
        content = {} if levels is None else {"CONTENT_LIGHT_LEVEL": struct.pack("<2I", 5, 4)}
        assert side_data_of(made) == content
        assert len(made.side_data) == len(content)


@pytest.mark.pyav17
def test_an_ffmpeg_without_a_known_place_for_side_data(tmp_path: Path) -> None:
    """Of the next FFmpeg nothing is guessed: HDR and rotation are left out, the rest is said."""
    run_program(
        """
        import os, sys, av
        import samebytes as sb, samebytes.elements as el
        from fractions import Fraction

        av.library_versions["libavcodec"] = (99, 0, 0)
        frame = sb.context("cpu").allocate_frame(
            "I420", 128, 96, pts=0, time_base=Fraction(1, 25)
        )
        frame.metadata.update(rotation=90, color_matrix="bt709")
        el.Pipeline([frame], el.create("ffmpeg.sink", os.environ["OUT"], codec="libx264")).run()
        """,
        OUT=str(tmp_path / "out.mp4"),
    )
    found = said_in(tmp_path / "out.mp4")
    assert found["color_matrix"] == "bt709"
    assert "rotation" not in found


@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize("rotation", ROTATIONS)
def test_a_display_matrix_shows_the_picture_upright(rotation: int, mirrored: bool) -> None:
    """By libavutil/display.h: where a point of the picture is shown."""
    frame = sb.context("cpu").allocate_frame("GRAY8", 8, 8)
    frame.metadata["rotation"], frame.metadata["mirrored"] = rotation, mirrored
    native = frame.map("ffmpeg").native
    matrix = struct.unpack("<9i", side_data_of(native)["DISPLAYMATRIX"])
    a, b, c, d = (matrix[n] >> 16 for n in (0, 1, 3, 4))
    for x, y in ((1, 0), (0, 1), (2, 3)):
        left = -x if mirrored else x
        turned = {0: (left, y), 90: (-y, left), 180: (-left, -y), 270: (y, -left)}[rotation]
        assert (a * x + c * y, b * x + d * y) == turned
    said = sb.frame(native).metadata
    assert (said["rotation"], said.get("mirrored", False)) == (rotation, mirrored)
    if not mirrored and hasattr(native, "rotation"):
        assert -native.rotation % 360 == rotation  # counter-clockwise


def test_a_matrix_of_another_angle_is_ffmpegs_own(hang: Hang) -> None:
    content = struct.pack("<9i", 46341, 46341, 0, -46341, 46341, 0, 0, 0, 1 << 30)
    native = next(pictures())
    hang(native, "DISPLAYMATRIX", content)
    frame = sb.frame(native)
    assert "rotation" not in frame.metadata
    again = frame.map("cpu").map("ffmpeg").native
    assert side_data_of(again) == {"DISPLAYMATRIX": content}


def test_entries_that_were_deleted_are_not_written() -> None:
    """A picture that was turned upright, or converted to other colours."""
    native = next(marked())
    native.time_base = Fraction(1, 25)
    frame = sb.frame(native)
    for key in SAID:
        del frame.metadata[key]
    again = sb.frame(frame.map("cpu").map("ffmpeg").native).metadata
    assert not {key for key in SAID if key in again}


def test_side_data_that_cannot_be_give_nothing(hang: Hang) -> None:
    native = next(pictures())
    hang(native, "CONTENT_LIGHT_LEVEL", struct.pack("<2I", 70000, 1))
    hang(native, "MASTERING_DISPLAY_METADATA", struct.pack("<22i", *[-1, 0] * 11))
    hang(native, "DISPLAYMATRIX", bytes(36))
    assert not {"content_light", "mastering_display", "rotation"} & set(sb.frame(native).metadata)
    hang(native, "CONTENT_LIGHT_LEVEL", b"")
    hang(native, "DISPLAYMATRIX", bytes(3))
    assert not {"content_light", "rotation"} & set(sb.frame(native).metadata)


def test_captions_stay_with_a_picture_that_was_scaled(hang: Hang) -> None:
    native = next(marked())
    hang(native, "A53_CC", b"captions")
    hang(native, "MOTION_VECTORS", bytes(40))
    frame = sb.frame(native)
    made = sb.context("cpu").allocate_frame("I420", 64, 48)
    made.metadata.update(metadata.meta_of_warped(frame, 64, 48).metadata)
    assert set(side_data_of(made.map("ffmpeg").native)) == {
        "A53_CC", "DISPLAYMATRIX", "MASTERING_DISPLAY_METADATA", "CONTENT_LIGHT_LEVEL",
    }  # fmt: skip


@pytest.mark.pyav17
@pytest.mark.parametrize("base", [Fraction(1, 90_000), Fraction(1, 25)], ids=str)
@pytest.mark.parametrize(("codec", "ending"), [("libx264", "mkv"), ("mpeg4", "mp4")])
def test_the_last_frame_is_as_long_as_it_says(
    codec: str, ending: str, base: Fraction, tmp_path: Path
) -> None:
    """MPEG-4 counts in other units than 1/90000."""
    frames = list(pictures())[:3]
    for seconds, native in enumerate(frames):
        native.pts, native.time_base = int(seconds / base), base
        native.duration = int((5 if seconds == 2 else 1) / base)
    path = tmp_path / f"made.{ending}"
    el.Pipeline(frames, FFmpegSink(path, codec)).run()
    with av.open(str(path)) as container:
        lengths = [
            float(frame.duration * (frame.time_base or 0)) for frame in container.decode(video=0)
        ]
        assert lengths == pytest.approx([1, 1, 5], abs=0.002)
    assert frames[2].duration == 5 / base  # as it was
