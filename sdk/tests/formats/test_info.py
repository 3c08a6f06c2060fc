# SPDX-License-Identifier: Apache-2.0
"""ImageInfo and AudioInfo."""

from __future__ import annotations

from typing import Any

import pytest

from samebytes.errors import LayoutError, UnknownNameError
from samebytes.formats import AudioInfo, ImageInfo, image_format


def test_image_info_is_a_remembered_value() -> None:
    info = ImageInfo.of("nv12", 640, 480)
    assert info is ImageInfo.of(image_format("NV12"), 640, 480)
    assert info == ImageInfo(image_format("NV12"), 640, 480)
    assert hash(info) == hash(ImageInfo(image_format("NV12"), 640, 480))
    assert info != ImageInfo.of("nv12", 640, 482)
    assert str(info) == "NV12 640x480"
    assert info.nbytes == 460_800


def test_image_info_places_planes_as_its_format_does() -> None:
    fmt = image_format("I420")
    info = ImageInfo(fmt, 64, 48)
    assert info.plane_layouts() == fmt.plane_layouts(64, 48)
    assert info.packed_layouts() == fmt.packed_layouts(64, 48)
    pitches, offsets = (-80, -48, -48), (80 * 47, 48 * 23 + 8, 48 * 23)
    assert info.plane_layouts(pitches, offsets, allow_negative=True) == fmt.plane_layouts(
        64, 48, pitches, offsets, allow_negative=True
    )


@pytest.mark.parametrize(("width", "height", "what"), [(0, 1, "width"), (1, -2, "height")])
def test_images_have_a_size(width: int, height: int, what: str) -> None:
    with pytest.raises(LayoutError, match=what):
        ImageInfo.of("RGB", width, height)


def test_image_info_of_an_unknown_format() -> None:
    with pytest.raises(UnknownNameError, match="'RGBY'"):
        ImageInfo.of("RGBY", 4, 4)


def test_interleaved_audio_is_one_plane() -> None:
    info = AudioInfo(1024, 2, 48_000, "int16", channel_layout="stereo")
    (plane,) = info.plane_layouts()
    assert (plane.name, plane.dtype) == ("samples", "int16")
    assert (plane.shape, plane.strides) == ((1024, 2), (4, 2))
    assert plane.span == plane.nbytes == info.nbytes == 4096
    assert plane.contiguous


def test_planar_audio_is_one_plane_for_each_channel() -> None:
    info = AudioInfo(480, 6, 48_000, "float32", interleaved=False)
    planes = info.plane_layouts()
    assert [plane.name for plane in planes] == ["0", "1", "2", "3", "4", "5"]
    for plane in planes:
        assert (plane.shape, plane.strides, plane.offset) == ((480,), (4,), 0)
        assert plane.span == plane.nbytes == 1920
        assert plane.contiguous
    assert info.nbytes == 6 * 1920
    assert info.duration == 0.01


def test_audio_infos_are_values() -> None:
    assert AudioInfo(8, 1, 8000, "uint8") == AudioInfo(8, 1, 8000, "uint8")
    assert len({AudioInfo(8, 1, 8000, "uint8"), AudioInfo(8, 1, 8000, "uint8")}) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 2, 48_000, "int16"), "samples"),
        ((1, 0, 48_000, "int16"), "channels"),
        ((1, 2, -1, "int16"), "rate"),
        ((1, 2, 44_100.0, "int16"), "rate must be a positive integer, not 44100.0"),
        ((1, 2, 48_000, "s16"), "dtype 's16'"),
    ],
)
def test_bad_audio(arguments: Any, message: str) -> None:
    with pytest.raises(LayoutError, match=message):
        AudioInfo(*arguments)
