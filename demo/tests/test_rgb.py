# SPDX-License-Identifier: Apache-2.0
"""The RGB model in three ways: each gives the model the picture of the frame."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import samebytes
from samebytes_demo._compare_rgb import compare_rgb
from samebytes_demo._net import SIZE, Network, stand_in
from samebytes_demo._reader import Reader
from samebytes_demo._rgb import ByHandRgb, CopyingRgb, RgbWay, SamebytesRgb, why_not_by_hand

from .conftest import Transcode

WAYS: list[type[RgbWay]] = [SamebytesRgb, ByHandRgb, CopyingRgb]


@pytest.fixture(scope="module")
def network() -> Network:
    return Network("a stand-in", stand_in(), threads=1)


def test_the_stand_in_is_the_same_every_time() -> None:
    one, other = (Network("", stand_in()) for _ in range(2))
    assert one.size == (SIZE, SIZE)
    constants = [
        [op.data for op in network.model.get_ops() if op.get_type_name() == "Constant"]
        for network in (one, other)
    ]
    assert len(constants[0]) > 10
    assert all(np.array_equal(a, b) for a, b in zip(*constants, strict=True))


@pytest.mark.parametrize("size", [(640, 360), (854, 480), (322, 242)])
@pytest.mark.parametrize("format_", ["yuv420p", "nv12", "yuv444p"])
@pytest.mark.parametrize("kind", WAYS)
def test_the_model_sees_the_frame(
    kind: type[RgbWay], format_: str, size: tuple[int, int], network: Network,
    transcode: Transcode,
) -> None:  # fmt: skip
    """In large areas of one colour, where the order of resizing and colour makes no difference."""
    codec = "rawvideo" if format_ == "nv12" else "libx264"
    source = transcode(codec, size, format_, frames=1, name="source.mkv")
    with Reader(source) as reader:
        way = kind(network.echo(), reader.picture)
        frame = next(reader.frames(1))
        bgr = frame.to_ndarray(format="bgr24").astype(float)
        seen = way.infer(frame).astype(float)
    assert seen.shape == (1, 3, SIZE, SIZE)
    means = [
        [part.mean() for row in np.array_split(plane, 6) for part in np.array_split(row, 6, axis=1)]
        for image in (seen[0].transpose(1, 2, 0), bgr)
        for plane in np.moveaxis(image, 2, 0)
    ]
    assert np.ptp(means[3:]) > 50  # it is a picture of something
    assert np.array(means[:3]) == pytest.approx(np.array(means[3:]), abs=12)


def test_nothing_is_copied_and_writes_are_seen(network: Network, clip: Path) -> None:
    with Reader(clip) as reader:
        way = SamebytesRgb(network.echo(), reader.picture)
        frame = next(reader.frames(1))
        before = samebytes.stats().copied_bytes
        dark = way.infer(frame).mean()
        reader.let_go()
        with samebytes.frame(frame).map("cpu", "w") as written:
            for plane, value in zip(written, (235, 128, 128), strict=True):
                plane.native[...] = value
        light = way.infer(frame).mean()
    assert dark < 150
    assert light > 250
    assert samebytes.stats().copied_bytes == before


@pytest.mark.parametrize("kind", WAYS)
def test_pictures_made_in_between_are_counted(
    kind: type[RgbWay], network: Network, clip: Path
) -> None:
    small, full = SIZE * SIZE, 640 * 360
    expected = {
        SamebytesRgb: (small, small * 3),
        ByHandRgb: (small * 9, small * 9),
        CopyingRgb: (full * 3 + small * 3,) * 2,
    }[kind]
    with Reader(clip) as reader:
        way = kind(network, reader.picture)
        for number, frame in enumerate(reader.frames(3), 1):
            way.infer(frame)
            assert expected[0] * number <= way.made_bytes <= expected[1] * number


def test_the_difference_is_that_of_the_pixels(
    network: Network, clip: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    infer = CopyingRgb.infer

    def compared() -> Any:
        found = compare_rgb(clip, network, 4, missing={}, on_pass=lambda done: None)
        return found.differences["copying"]

    monkeypatch.setattr("samebytes_demo._compare_rgb.ROUNDS", 1)
    honest = compared()
    assert 0 < honest.mean < 20
    monkeypatch.setattr(CopyingRgb, "infer", lambda self, frame: infer(self, frame) * 0 + 1000)
    far = compared()
    assert 745 <= far.mean <= 1000
    assert 745 <= far.most <= 1000


def test_formats_that_the_code_by_hand_does_not_take(transcode: Transcode) -> None:
    for codec, format_ in (("mjpeg", "yuvj420p"), ("ffv1", "gray")):
        with Reader(transcode(codec, format_=format_, name="source.mkv")) as reader:
            assert format_ in (why_not_by_hand(reader.picture) or "")


@pytest.mark.parametrize(
    ("colors", "taken"), [((0, 2), True), ((1, 5), True), ((1, 6), True), ((1, 1), False),
                          ((2, 5), False)]
)  # fmt: skip
def test_colours_that_the_code_by_hand_does_not_take(
    transcode: Transcode, colors: tuple[int, int], taken: bool
) -> None:
    with Reader(transcode("ffv1", format_="yuv420p", name="source.mkv")) as reader:
        picture = replace(reader.picture, colors=colors)
        blank = picture.blank()
        assert (blank.color_range, blank.colorspace) == colors
        assert (why_not_by_hand(picture) is None) == taken
