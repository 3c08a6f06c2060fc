# SPDX-License-Identifier: Apache-2.0
"""FFmpeg shows what opencv.draw and opencv.warp paint in the colour that was asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import samebytes as sb
import samebytes.elements as el
from samebytes import Region

av = pytest.importorskip("av", reason="missing package av: pip install av")
pytest.importorskip(
    "samebytes_ffmpeg", reason="missing package samebytes-ffmpeg: pip install samebytes-ffmpeg"
)
pytest.importorskip(
    "samebytes_opencv", reason="missing package samebytes-opencv: pip install samebytes-opencv"
)

from .filters import filtered  # noqa: E402 - after what it needs

COLOURS = [(0, 0, 0), (255, 255, 255), (255, 0, 0), (20, 160, 90)]
MATRICES = {"unknown": 2, "bt709": 1, "fcc": 4, "bt470bg": 5, "smpte170m": 6, "smpte240m": 7,
            "bt2020nc": 9}  # fmt: skip
FORMATS = ["yuv420p", "nv12", "yuv444p", "yuvj420p", "yuvj444p", "gray", "rgb24", "bgra"]
TOLERANCE = 4  # of swscale, after chroma of 4:2:0


def native(name: str, range_: int, matrix: int) -> Any:
    frame = av.VideoFrame(64, 64, name)
    for plane in frame.planes:
        np.asarray(memoryview(plane))[...] = 128
    frame.color_range, frame.colorspace = range_, matrix
    return frame


def shown(native: Any) -> Any:
    """The pixel in the middle as FFmpeg's filter shows it: it goes by what the frame says."""
    native.pts = 0
    scale = ("scale", "flags=accurate_rnd+full_chroma_int")
    return filtered(native, scale, ("format", "rgb24")).to_ndarray()[32, 32].astype(int)


@pytest.mark.parametrize("matrix", MATRICES)
@pytest.mark.parametrize("range_", ["unknown", "limited", "full"])
@pytest.mark.parametrize("name", FORMATS)
def test_ffmpeg_shows_the_colour_that_was_asked_for(name: str, range_: str, matrix: str) -> None:
    # swscale takes gray for full range, whatever the frame says.
    said = "full" if name == "gray" and range_ == "limited" else range_
    number = {"unknown": 0, "limited": 1, "full": 2}[said]
    for color in COLOURS:
        if name == "gray" and len(set(color)) > 1:
            continue
        warp = el.create("opencv.warp", 64, 64, (1, 0, 9, 0, 1, 0), color=color)
        (warped,) = el.Pipeline([sb.frame(native(name, number, MATRICES[matrix]))], warp).start()
        drawn = sb.frame(native(name, number, MATRICES[matrix]))
        drawn.regions.append(Region(0, 0, 64, 64))
        (drawn,) = el.Pipeline([drawn], el.create("opencv.draw", color=color, line=64)).start()
        for frame in (warped, drawn):
            found = shown(frame.map("ffmpeg").native)
            assert np.abs(found - color).max() <= TOLERANCE, (color, frame.metadata, found)
