# SPDX-License-Identifier: Apache-2.0
"""Frame.convert of interlaced pictures: the fields are pictures of their own."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import av
import numpy as np
import pytest

import samebytes as sb
from samebytes.formats import ImageInfo
from samebytes.plugins import PictureInfo

Array = np.ndarray[Any, Any]

WIDTH, HEIGHT = 64, 48


def picture(format_: str, height: int = HEIGHT, node: str = "ffmpeg", **entries: str) -> Any:
    frame = sb.context(node).allocate_frame(format_, WIDTH, height, metadata=entries)
    random = np.random.default_rng(height)
    for plane in frame.map("cpu", "w"):
        plane.native[...] = random.integers(0, 256, plane.shape)
    return frame


def field_of(frame: Any, number: int) -> Any:
    """Every second row, as a progressive picture."""
    planes = [np.ascontiguousarray(plane.native[number::2]) for plane in frame.map("cpu")]
    height = frame.height // 2
    return sb.frame(planes, format=frame.format.name, width=frame.width, height=height)


def arrays(frame: Any) -> list[Array]:
    return [plane.native for plane in frame.map("cpu")]


@pytest.mark.parametrize("by", ["ffmpeg", "opencv"])
def test_each_field_is_converted_by_itself(by: str) -> None:
    if by == "opencv":
        pytest.importorskip("samebytes_opencv")
    frame = picture("I420", node="cpu" if by == "opencv" else "ffmpeg", field_order="top")
    made = frame.convert("RGB24", by=by)
    assert made.metadata["field_order"] == "top"
    for number in (0, 1):
        expected = field_of(frame, number).convert("RGB24", by=by)
        assert (made[0].native[number::2] == expected[0].native).all()
    del frame.metadata["field_order"]
    assert (frame.convert("RGB24", by=by)[0].native != made[0].native).any()


@pytest.mark.parametrize("before", ["I420", "NV12", "I444", "P010", "RGB24"])
@pytest.mark.parametrize(("after", "width"), [("I420", 40), ("NV12", 64), ("RGB24", 52)])
def test_one_field_says_nothing_of_the_other(before: str, after: str, width: int) -> None:
    frame = sb.context("cpu").allocate_frame(before, WIDTH, HEIGHT, metadata={"field_order": "top"})
    made = []
    for number in (1, 9):
        for plane in frame.native:
            plane[1::2] = number
        made.append([plane.copy() for plane in frame.convert(after, width, HEIGHT).native])
    for one, other in zip(*made, strict=True):
        assert (one[0::2] == other[0::2]).all()


def test_colours_do_not_mix_between_the_fields() -> None:
    frame = sb.context("cpu").allocate_frame("NV12", WIDTH, HEIGHT, metadata={"field_order": "top"})
    luma, chroma = frame.native
    luma[...] = 128
    chroma[0::2], chroma[1::2] = (90, 240), (240, 110)  # red, and blue
    red, blue = (frame.convert("RGB24")[0].native[number::2] for number in (0, 1))
    assert (red[..., 0].astype(int) - red[..., 2] > 80).all()
    assert (blue[..., 2].astype(int) - blue[..., 0] > 80).all()


def test_it_is_what_ffmpeg_makes_of_both_fields() -> None:
    """Its filter `scale` with interl=1, at another width, where chroma is between the rows."""
    frame = picture("I420", field_order="top")
    made = frame.convert("I444", 40, HEIGHT)
    graph = av.filter.Graph()
    nodes = [
        graph.add_buffer(template=frame.native, time_base=Fraction(1, 25)),
        graph.add("scale", f"40:{HEIGHT}:interl=1:flags=bilinear"),
        graph.add("format", "yuv444p"),
        graph.add("buffersink"),
    ]
    for one, other in itertools.pairwise(nodes):
        one.link_to(other)
    graph.configure()
    graph.push(frame.native)
    expected = graph.pull().to_ndarray()
    assert np.array_equal(np.stack(arrays(made)), expected)


@pytest.mark.parametrize("height", [24, 46])
def test_pictures_whose_rows_are_mixed_are_progressive(height: int) -> None:
    """Another height mixes them; 46 rows are fields with half a row of chroma."""
    frame = picture("I420", 46 if height == 46 else HEIGHT, field_order="top")
    plain = picture("I420", 46 if height == 46 else HEIGHT)
    one, other = (f.convert("RGB24", WIDTH, height) for f in (frame, plain))
    assert (one[0].native == other[0].native).all()
    assert one.metadata["field_order"] == ("top" if height == 46 else "progressive")


def test_a_field_has_half_of_the_rows() -> None:
    whole = PictureInfo(ImageInfo.of("I420", 64, 48), "limited", "bt709", "left", interlaced=True)
    assert whole.field == PictureInfo(ImageInfo.of("I420", 64, 24), "limited", "bt709", "left")
