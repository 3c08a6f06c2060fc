# SPDX-License-Identifier: Apache-2.0
"""FFmpeg and GStreamer show the same colours of the same bytes.

Pixels are converted by swscale and by videoconvert, and compared with the formulas of ITU-T H.273.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import samebytes as sb
from samebytes.formats import COLOR_MATRICES

av = pytest.importorskip("av", reason="missing package av: pip install av")
sbg = pytest.importorskip(
    "samebytes_gstreamer",
    reason="missing package samebytes-gstreamer: pip install samebytes-gstreamer",
)
pytest.importorskip(
    "samebytes_ffmpeg", reason="missing package samebytes-ffmpeg: pip install samebytes-ffmpeg"
)
pytest.importorskip("gi", reason="missing package PyGObject: pip install PyGObject")

from .filters import filtered  # noqa: E402 - after what it needs
from .pipelines import Gst, played  # noqa: E402 - after what it needs

# KR and KB of H.273, table 4.
WEIGHTS = {
    "bt709": (0.2126, 0.0722),
    "fcc": (0.30, 0.11),
    "bt470bg": (0.299, 0.114),
    "smpte170m": (0.299, 0.114),
    "smpte240m": (0.212, 0.087),
    "bt2020nc": (0.2627, 0.0593),
}
TOLERANCE = 3
RANGES = ("limited", "full")
WIDTH, HEIGHT = 64, 48


def yuv() -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Ramps of y, u and v that stay inside of what RGB can show, for each matrix."""
    y = np.linspace(60, 190, WIDTH)[None, :] + np.zeros((HEIGHT, 1))
    u = np.linspace(110, 146, HEIGHT)[:, None] + np.zeros((1, WIDTH))
    v = np.linspace(146, 110, WIDTH)[None, :] + np.zeros((HEIGHT, 1))
    return np.stack((y, u, v)).round().astype(np.uint8)


def rgb_of(matrix: str, range_: str) -> Any:
    """By the equations of H.273, clause 8.3, solved for R, G and B."""
    y, u, v = yuv().astype(float)
    if range_ == "limited":
        y, u, v = (y - 16) / 219, (u - 128) / 224, (v - 128) / 224
    else:
        y, u, v = y / 255, (u - 128) / 255, (v - 128) / 255
    kr, kb = WEIGHTS[matrix]
    red, blue = y + 2 * (1 - kr) * v, y + 2 * (1 - kb) * u
    green = (y - kr * red - kb * blue) / (1 - kr - kb)
    return np.clip(np.stack((red, green, blue), -1) * 255, 0, 255)


def native_image(name: str = "yuv444p") -> Any:
    native = av.VideoFrame(WIDTH, HEIGHT, name)
    with sb.frame(native).map("cpu", "w") as view:
        for plane, values in zip(view.native, yuv(), strict=True):
            plane[...] = values[: plane.shape[0], : plane.shape[1]]
    return native


def by_swscale(native: Any) -> Any:
    """RGB as FFmpeg shows it, by its filter: it goes by what the frame says."""
    scale = ("scale", "flags=accurate_rnd+full_chroma_int+bicubic")
    return filtered(native, scale, ("format", "rgb24")).to_ndarray().astype(float)


def by_videoconvert(frame: Any) -> Any:
    """RGB as GStreamer shows it, by the caps of the frame."""
    # Sixteen bits: for eight, videoconvert rounds on the way.
    with played("videoconvert ! video/x-raw,format=ARGB64", frame) as converted:
        return converted.map("cpu").native[0][..., 1:] / 257


@pytest.mark.parametrize("range_", RANGES)
@pytest.mark.parametrize("matrix", WEIGHTS)
def test_colours_from_ffmpeg(matrix: str, range_: str) -> None:
    native = native_image()
    native.colorspace = COLOR_MATRICES[matrix]
    native.color_range = 1 + RANGES.index(range_)
    want = rgb_of(matrix, range_)
    np.testing.assert_allclose(by_swscale(native), want, atol=TOLERANCE)
    np.testing.assert_allclose(by_videoconvert(sb.frame(native)), want, atol=TOLERANCE)


@pytest.mark.parametrize("range_", RANGES)
@pytest.mark.parametrize("matrix", WEIGHTS)
def test_colours_from_gstreamer(matrix: str, range_: str) -> None:
    names = {"bt709": 3, "fcc": 2, "bt470bg": 4, "smpte170m": 4, "smpte240m": 5, "bt2020nc": 6}
    caps = (
        f"video/x-raw,format=Y444,width={WIDTH},height={HEIGHT},framerate=25/1,"
        f"colorimetry=(string){2 - RANGES.index(range_)}:{names[matrix]}:0:0"
    )
    frame = sbg.frame_of(Gst.Buffer.new_wrapped(yuv().tobytes()), caps)
    want = rgb_of(matrix, range_)
    np.testing.assert_allclose(by_videoconvert(frame), want, atol=TOLERANCE)
    native = frame.map("ffmpeg").native
    np.testing.assert_allclose(by_swscale(native), want, atol=TOLERANCE)
    # And through memory of another framework.
    np.testing.assert_allclose(
        by_swscale(frame.map("cpu").map("ffmpeg").native), want, atol=TOLERANCE
    )


@pytest.mark.parametrize("name", ["yuvj420p", "yuvj422p", "yuvj444p"])
def test_formats_that_are_of_full_range(name: str) -> None:
    native = native_image(name)
    want = by_swscale(native)
    for via in ("cpu", "gstreamer", "opencv"):
        if via == "opencv":
            pytest.importorskip(
                "samebytes_opencv",
                reason="missing package samebytes-opencv: pip install samebytes-opencv",
            )
        mapped = sb.frame(native).map(via, copy=True).map("ffmpeg").native
        assert (mapped.format.name, mapped.color_range) == (name, 2)
        np.testing.assert_array_equal(by_swscale(mapped), want)
    # A frame that was not FFmpeg's, as another process would have it.
    frame = sb.frame(native).map("cpu")
    other = sb.context("cpu").allocate_frame(frame.format, WIDTH, HEIGHT)
    for source, target in zip(frame.native, other.native, strict=True):
        target[...] = source
    other.metadata.update(frame.metadata)
    mapped = other.map("ffmpeg").native
    assert (mapped.format.name, mapped.color_range) == (name.replace("j", ""), 2)
    np.testing.assert_array_equal(by_swscale(mapped), want)


def test_full_range_that_the_user_takes_back() -> None:
    frame = sb.frame(native_image("yuvj444p")).map("cpu")
    frame.metadata["color_range"] = "limited"
    mapped = frame.map("ffmpeg").native
    assert (mapped.format.name, mapped.color_range) == ("yuv444p", 1)


def test_rgb_stays_as_it_is_converted() -> None:
    """RGB from GStreamer is full range and has no matrix: YUV made of it is FFmpeg's usual one."""
    caps = f"video/x-raw,format=RGB,width={WIDTH},height={HEIGHT},framerate=25/1"
    data = np.random.default_rng(1).integers(0, 256, (HEIGHT, WIDTH, 3), np.uint8)
    native = sbg.frame_of(Gst.Buffer.new_wrapped(data.tobytes()), caps).map("ffmpeg").native
    plain = av.VideoFrame.from_ndarray(data, format="rgb24")
    for name in ("yuv420p", "gray"):
        want, found = (n.reformat(format=name) for n in (plain, native))
        np.testing.assert_array_equal(found.to_ndarray(), want.to_ndarray())
        assert (found.color_range, found.colorspace) == (want.color_range, want.colorspace)
