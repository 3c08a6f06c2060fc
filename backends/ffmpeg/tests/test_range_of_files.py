# SPDX-License-Identifier: Apache-2.0
"""Full range of YUV in files: each encoder in each container keeps it, or it is refused by name."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import pytest
from av.video.reformatter import ColorRange

import samebytes as sb
import samebytes.elements as el
from samebytes.errors import ElementError, SamebytesError
from samebytes_ffmpeg import FFmpegSink

ENDINGS = ("mkv", "mp4", "mov", "avi", "nut", "mxf", "flv", "asf", "y4m")
LAYOUTS = ("yuv420p", "yuv422p", "yuv444p", "yuv422p10le")
DEVICES = ("_v4l2m2m", "_nvenc", "_vaapi", "_qsv", "_vulkan", "_amf", "_mf")
# Refused where it would be kept at times: VC-2 says full range of 8 bits alone (vc2enc.c).
HALF_SAID = ("vc2",)
# Numbers of BT.709 and of what is not said: primaries, transfer and matrix (libavutil/pixfmt.h).
BT709, UNSAID = 1, 2


def full(
    name: str, colours: int = UNSAID, size: tuple[int, int] = (96, 64)
) -> Iterator[sb.Frame[Any]]:
    """Two pictures of full range."""
    for number in range(2):
        made = av.VideoFrame(*size, name)
        for plane in made.planes:
            plane.update(bytes(plane.buffer_size))
        made.color_range = ColorRange.JPEG
        made.pts, made.time_base = number, Fraction(1, 25)
        frame = sb.frame(made)
        if colours == BT709:
            frame.metadata.update(
                color_primaries="bt709", color_transfer="bt709", color_matrix="bt709"
            )
        yield frame


def encoders() -> Iterator[tuple[str, str]]:
    """The encoders of this FFmpeg that need no device, and a layout of YUV that each takes."""
    found = {}
    for name in av.codec.codecs_available:
        try:
            codec = av.codec.Codec(name, "w")
        except av.codec.codec.UnknownCodecError:
            continue
        if codec.type == "video" and not codec.name.endswith(DEVICES):
            known = [one.name for one in codec.video_formats or ()] or [LAYOUTS[0]]
            known = [one.replace("yuvj", "yuv") for one in known]
            found[codec.name] = next((one for one in LAYOUTS if one in known), "")
    yield from ((name, layout) for name, layout in sorted(found.items()) if layout)


def range_of(native: Any) -> str:
    """The range that an av frame says, or "none"."""
    return str(sb.frame(native).metadata.get("color_range", "none"))


def written(made: Path, codec: str, layout: str, **options: str) -> str | None:
    """The range that a reader finds, or "none"; None where the file cannot be written, or read."""
    try:
        el.Pipeline(full(layout), FFmpegSink(made, codec=codec, options=options)).run(threads=0)
        with av.open(str(made)) as container:
            return range_of(next(container.decode(video=0)))
    except SamebytesError as error:
        if "the file would say" in str(error):
            raise
    except (av.FFmpegError, StopIteration, IndexError):
        pass
    return None


@pytest.mark.parametrize("ending", ENDINGS)
def test_each_encoder_keeps_full_range_or_refuses_it(ending: str, tmp_path: Path) -> None:
    """It is refused only where it would have been lost."""
    kept, refused = [], []
    for codec, layout in encoders():
        made = tmp_path / f"{codec}.{ending}"
        try:
            found = written(made, codec, layout)
        except ElementError:
            refused.append(codec)
            lost = written(made, codec, layout, strict="unofficial")
            assert lost != "full" or codec in HALF_SAID, codec
        else:
            assert found in (None, "full"), codec
            kept += [codec] if found else []
    assert kept or refused


@pytest.mark.parametrize("form", ["yuyv422", "nv12"])
def test_raw_video_of_full_range_needs_a_container_that_says_it(form: str, tmp_path: Path) -> None:
    with pytest.raises(ElementError, match=r"as rawvideo in nut does not, .* another ending"):
        written(tmp_path / "made.nut", "rawvideo", form)
    assert written(tmp_path / "made.mkv", "rawvideo", form) == "full"


def test_rgb_has_no_range_to_lose(tmp_path: Path) -> None:
    assert written(tmp_path / "made.avi", "ffv1", "bgra") is not None


@pytest.mark.parametrize(
    ("ending", "options"), [("mp4", {}), ("m3u8", {"hls_segment_type": "fmp4"})]
)
def test_mp4_says_the_range_where_it_says_the_colours(
    ending: str, options: dict[str, str], tmp_path: Path
) -> None:
    """It has one place for both. The error says what else to do."""
    made = tmp_path / f"made.{ending}"

    def sink() -> FFmpegSink:
        return FFmpegSink(made, codec="mpeg4", container_options=options)

    with pytest.raises(ElementError, match="the file would say no range, as mpeg4 in"):
        el.Pipeline(full("yuv420p"), sink()).run(threads=0)
    el.Pipeline(full("yuv420p", BT709), sink()).run(threads=0)
    with av.open(str(made)) as container:
        assert range_of(next(container.decode(video=0))) == "full"


@pytest.mark.parametrize("ending", ["mov", "mxf"])
def test_dnxhd_says_it_itself(ending: str, tmp_path: Path) -> None:
    made = tmp_path / f"made.{ending}"
    sink = FFmpegSink(made, codec="dnxhd", bit_rate=60_000_000)
    el.Pipeline(full("yuv422p", size=(1280, 720)), sink).run(threads=0)
    with av.open(str(made)) as container:
        assert range_of(next(container.decode(video=0))) == "full"
