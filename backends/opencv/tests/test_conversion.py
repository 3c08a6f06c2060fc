# SPDX-License-Identifier: Apache-2.0
"""Frame.convert by OpenCV: its bytes are cv2's own, and what it cannot compute it refuses."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import cv2
import numpy as np
import pytest

import samebytes as sb
from samebytes.errors import CopyRequiredError, UnsupportedObjectError
from samebytes.testing import assert_no_garbage

Array = np.ndarray[Any, Any]

METHODS = {
    "linear": cv2.INTER_LINEAR,
    "area": cv2.INTER_AREA,
    "nearest": cv2.INTER_NEAREST,
    "cubic": cv2.INTER_CUBIC,
}


def noise(format_: str, width: int = 64, height: int = 48, **entries: str) -> sb.Frame[Any]:
    random = np.random.default_rng(width)
    frame = sb.context("cpu").allocate_frame(format_, width, height, metadata=entries)
    for plane in frame:
        plane.native[...] = random.integers(0, 256, plane.shape)
    return frame


def convert(frame: sb.Frame[Any], format_: str, *size: int, **options: Any) -> sb.Frame[Any]:
    return frame.convert(format_, *size, by="opencv", **options)


def one_array(frame: sb.Frame[Any]) -> Array:
    """The planes one after another, as cvtColor wants them."""
    return np.concatenate([plane.native.reshape(-1) for plane in frame]).reshape(
        frame.height * 3 // 2, frame.width
    )


class TestTheSameAsCv2:
    @pytest.mark.parametrize("source", ["I420", "YV12", "NV12", "NV21"])
    @pytest.mark.parametrize("target", ["RGB", "BGR", "RGBA", "BGRA"])
    def test_yuv_of_shared_chroma(self, source: str, target: str) -> None:
        frame = noise(source)
        code = getattr(cv2, f"COLOR_YUV2{target}_{source}")
        expected = cv2.cvtColor(one_array(frame), code)
        assert np.array_equal(convert(frame, target)[0].native, expected)
        for method, number in METHODS.items():
            scaled = cv2.resize(expected, (40, 25), interpolation=number)
            made = convert(frame, target, 40, 25, method=method)
            assert np.array_equal(made[0].native, scaled)

    @pytest.mark.parametrize("source", ["YUY2", "UYVY", "YVYU"])
    def test_packed_yuv(self, source: str) -> None:
        frame = noise(source, 64, 47)
        expected = cv2.cvtColor(frame[0].native, getattr(cv2, f"COLOR_YUV2RGB_{source}"))
        assert np.array_equal(convert(frame, "RGB24")[0].native, expected)

    @pytest.mark.parametrize("source", ["RGB", "BGR", "RGBX", "BGRX", "RGBA", "BGRA"])
    def test_rgb_and_gray(self, source: str) -> None:
        frame = noise(source, 63, 47)
        letters = source.replace("X", "A")
        gray = cv2.cvtColor(frame[0].native, getattr(cv2, f"COLOR_{letters}2GRAY"))
        assert np.array_equal(convert(frame, "GRAY8")[0].native, gray)
        back = convert(sb.frame(gray, format="GRAY8"), source)
        assert np.array_equal(
            back[0].native, cv2.cvtColor(gray, getattr(cv2, f"COLOR_GRAY2{letters}"))
        )
        other = "BGR" if source.startswith("R") else "RGB"
        code = getattr(cv2, f"COLOR_{letters}2{other}")
        assert np.array_equal(convert(frame, other)[0].native, cv2.cvtColor(frame[0].native, code))

    def test_luma_is_gray_of_its_range(self) -> None:
        frame = noise("NV12", color_matrix="bt709", color_range="full")
        assert np.array_equal(convert(frame, "GRAY8")[0].native, frame[0].native)
        with pytest.raises(UnsupportedObjectError, match="pass color_range='limited'"):
            convert(noise("I420"), "GRAY8")
        made = convert(noise("I420"), "GRAY8", 32, 24, color_range="limited")
        assert made.metadata["color_range"] == "limited"

    def test_planes_are_scaled_where_the_format_stays(self) -> None:
        frame = noise("I420", color_matrix="bt709")
        made = convert(frame, "I420", 32, 24)
        for new, old in zip(made, frame, strict=True):
            rows, columns = new.shape
            assert np.array_equal(new.native, cv2.resize(old.native, (columns, rows)))


class TestRefusals:
    @pytest.mark.parametrize(
        "entries",
        [{"color_matrix": "bt709"}, {"color_range": "full"}, {"color_matrix": "ycgco"}],
    )
    def test_colours_that_cvtcolor_does_not_know(self, entries: dict[str, str]) -> None:
        with pytest.raises(
            UnsupportedObjectError, match=r"OpenCV computes only YUV of limited range"
        ):
            convert(noise("NV12", 64, 48, **entries), "RGB24")

    @pytest.mark.parametrize(
        ("source", "target", "why"),
        [
            ("I420", "NV12", "OpenCV does not convert I420"),
            ("P010", "RGB", "OpenCV does not convert P010 to RGB"),
            ("I422", "RGB", "OpenCV does not convert I422 to RGB"),
            ("RGB", "I420", "OpenCV does not convert RGB"),
            ("RGBA", "RGBX", "OpenCV does not convert RGBA"),
        ],
    )
    def test_formats(self, source: str, target: str, why: str) -> None:
        with pytest.raises(UnsupportedObjectError, match=why):
            convert(noise(source), target)

    def test_odd_sizes_of_yuv(self) -> None:
        with pytest.raises(UnsupportedObjectError, match="only of even width and height"):
            convert(noise("I420", 63, 48), "RGB24")

    def test_a_layout_that_is_not_a_mat_needs_a_copy(self) -> None:
        pixels = noise("RGB")[0].native
        flipped = sb.frame(pixels[::-1], format="RGB")
        with pytest.raises(CopyRequiredError, match="negative strides"):
            convert(flipped, "BGR")
        made = convert(flipped, "BGR", copy=True)
        assert np.array_equal(made[0].native, pixels[::-1, :, ::-1])


def test_memory_is_used_again_and_a_kept_array_stays() -> None:
    frame = noise("NV12")
    kept = convert(frame, "RGB24")[0].native
    before = kept.copy()
    frame[0].native[...] = 0
    places = {convert(frame, "RGB24")[0].handle() for _ in range(20)}
    assert len(places) == 1
    assert np.array_equal(kept, before)


def test_threads() -> None:
    frame = noise("I420", 128, 96)
    expected = convert(frame, "RGB24", 50, 40)[0].native.copy()

    def many(_: int) -> bool:
        made = (convert(frame, "RGB24", 50, 40)[0].native for _ in range(100))
        return all(np.array_equal(one, expected) for one in made)

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(many, range(8)))


def test_nothing_stays_of_a_thousand_frames() -> None:
    frame = noise("I420")

    def once() -> None:
        assert convert(frame, "RGB24", 32, 24).width == 32

    once()
    assert_no_garbage(once, times=1_000)
