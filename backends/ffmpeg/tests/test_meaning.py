# SPDX-License-Identifier: Apache-2.0
"""Colour properties by name: each value of FFmpeg's enumerations, from its frames and onto them.

FFmpeg's own functions say what each number is called.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import av
import numpy as np
import pytest

import samebytes as sb
from samebytes.errors import RouteError, UnknownNameError
from samebytes.formats import (
    CHROMA_LOCATIONS,
    COLOR_MATRICES,
    COLOR_PRIMARIES,
    COLOR_RANGES,
    COLOR_TRANSFERS,
    AudioInfo,
)

NumberOn = Callable[[Any, str], int]
NameByFFmpeg = Callable[[str, int], str | None]

# key of the metadata: field of AVFrame, FFmpeg's function for names, the core's table, how much
# FFmpeg's numbers are above H.273's, and the number of "not specified".
FIELDS: dict[str, tuple[str, str, Any, int, int]] = {
    "color_primaries": ("color_primaries", "av_color_primaries_name", COLOR_PRIMARIES, 0, 2),
    "color_transfer": ("color_trc", "av_color_transfer_name", COLOR_TRANSFERS, 0, 2),
    "color_matrix": ("colorspace", "av_color_space_name", COLOR_MATRICES, 0, 2),
    "color_range": ("color_range", "av_color_range_name", COLOR_RANGES, 1, 0),
    "chroma_location": ("chroma_location", "av_chroma_location_name", CHROMA_LOCATIONS, 1, 0),
}
# FFmpeg's words for what others call limited and full.
SYNONYMS = {"tv": "limited", "pc": "full"}
EACH = [(key, name) for key, (_, _, table, _, _) in FIELDS.items() for name in table]


@pytest.fixture
def number_on(av_frame: Callable[[Any], Any]) -> NumberOn:
    """Give the number of a property that a frame of PyAV has."""
    return lambda native, key: int(getattr(av_frame(native), FIELDS[key][0]))


@pytest.fixture
def name_by_ffmpeg(avutil: Any) -> NameByFFmpeg:
    """Give FFmpeg's own name of a number."""

    def name(key: str, number: int) -> str | None:
        text = avutil.quick(FIELDS[key][1], ctypes.c_char_p, ctypes.c_int)(number)
        return None if text is None else SYNONYMS.get(text.decode(), text.decode())

    return name


@pytest.mark.parametrize("key", FIELDS)
def test_each_number_of_ffmpeg(
    key: str,
    av_frame: Callable[[Any], Any],
    number_on: NumberOn,
    name_by_ffmpeg: NameByFFmpeg,
) -> None:
    """A number that H.273 has not assigned yet has no entry, and stays on the way to FFmpeg."""
    unspecified, table = FIELDS[key][4], FIELDS[key][2]
    for number in (*range(32), 255, 256, 300):
        native = av.VideoFrame(64, 48, "yuv420p")
        setattr(av_frame(native), FIELDS[key][0], number)
        frame = sb.frame(native)
        found = frame.metadata.get(key)
        if number == unspecified or found is None:
            assert found is None
            assert name_by_ffmpeg(key, number) not in table
        else:
            assert found == name_by_ffmpeg(key, number)
        for looked_at in (False, True):
            other = sb.frame(native)
            if looked_at:
                other.metadata  # noqa: B018 - read on first use
            assert number_on(other.map("cpu").map("ffmpeg").native, key) == number


@pytest.mark.parametrize(("key", "name"), EACH)
def test_each_name_onto_a_frame_of_ffmpeg(
    key: str, name: str, number_on: NumberOn, name_by_ffmpeg: NameByFFmpeg
) -> None:
    frame = sb.context("cpu").allocate_frame("I420", 64, 48)
    frame.metadata[key] = name
    native = frame.map("ffmpeg").native
    assert name_by_ffmpeg(key, number_on(native, key)) == name
    assert sb.frame(native).metadata[key] == name


@pytest.mark.parametrize("layout", ["FR+FL", "22.2"])
def test_channels_in_another_order(layout: str) -> None:
    names = layout.split("+") if "+" in layout else ["TFR", "TFC", *["FL"] * 22]
    info = AudioInfo(10, len(names), 8000, "int16", channel_layout="+".join(names))
    frame = sb.frame(np.zeros((10, len(names)), np.int16), audio=info)
    with pytest.raises(RouteError, match="but FFmpeg takes"):
        frame.map("ffmpeg")


@pytest.mark.parametrize(
    ("channels", "layout", "name"),
    [
        (1, None, "mono"), (2, None, "stereo"), (3, None, "3 channels"),
        (3, "3.0", "3.0"), (3, "FL+FR+FC", "3.0"), (3, "3 channels (FL+FR+FC)", "3.0"),
        (24, "22.2", "22.2"), (4, "ambisonic 1", "ambisonic 1"), (3, "nonsense", "3 channels"),
    ],
)  # fmt: skip
def test_layouts_of_channels(channels: int, layout: str | None, name: str) -> None:
    info = AudioInfo(10, channels, 8000, "int16", channel_layout=layout)
    native = sb.frame(np.zeros((10, channels), np.int16), audio=info).map("ffmpeg").native
    assert native.layout.name == name


def test_a_layout_of_other_channels() -> None:
    info = AudioInfo(10, 2, 8000, "int16", channel_layout="5.1")
    with pytest.raises(RouteError, match="not have 2 channels"):
        sb.frame(np.zeros((10, 2), np.int16), audio=info).map("ffmpeg")


def test_channels_that_have_no_layout_by_name() -> None:
    native = av.AudioFrame("s16", "FL+FR+LFE2", 10)
    native.sample_rate = 8000
    frame = sb.frame(native)
    assert frame.audio is not None
    assert frame.audio.channel_layout == "FL+FR+LFE2"
    again = frame.map("cpu").map("ffmpeg").native
    assert [channel.name for channel in again.layout.channels] == ["FL", "FR", "LFE2"]


@pytest.mark.parametrize("format_", ["yuv420p", "yuvj420p", "rgb24"])
@pytest.mark.parametrize(("range_", "matrix"), [(0, 2), (1, 1), (2, 5), (2, 250)])
def test_range_and_matrix_alone(format_: str, range_: int, matrix: int) -> None:
    """They are those of the metadata, which nobody has read for them."""
    native = av.VideoFrame(64, 48, format_)
    native.color_range, native.colorspace = range_, matrix
    meta: Any = sb.frame(native).meta
    said = meta.color_range_and_matrix()
    assert not meta.metadata_was_read
    names = ("color_range", "color_matrix")
    assert said == tuple(meta.metadata.get(name) for name in names)
    meta.metadata.update(color_range="full", color_matrix="bt709")
    assert meta.color_range_and_matrix() == ("full", "bt709")
    meta.metadata["color_matrix"] = "grey"
    with pytest.raises(UnknownNameError, match="color_matrix"):
        meta.color_range_and_matrix()
