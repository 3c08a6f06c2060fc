# SPDX-License-Identifier: Apache-2.0
"""opencv.draw and opencv.scale in pipelines."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import cv2
import numpy as np
import pytest

import samebytes as sb
import samebytes.elements as el
from samebytes import Region
from samebytes.errors import NegotiationError, ParameterError, PoolTimeoutError
from samebytes_opencv._elements._drawing import FORMATS, components_of


def pictures(format_: str, *regions: Region, width: int = 96, height: int = 64) -> el.Element:
    @el.source(gives=el.Image(format_, memory="cpu", width=width, height=height))
    def made() -> Iterator[sb.Frame[Any]]:
        frame = sb.context("cpu").allocate_frame(format_, width, height)
        for plane in frame.planes:
            plane.native[...] = 128
        frame.regions.extend(regions)
        yield frame

    element: el.Element = made()
    return element


def frames_out(statistics: el.Statistics, element: str) -> int:
    """How many frames an element gave."""
    (found,) = [one.frames_out for one in statistics if one.element == element]
    return found


def drawn(format_: str, *regions: Region, **parameters: Any) -> sb.Frame[Any]:
    sb.reset_stats()
    draw = el.create("opencv.draw", **parameters)
    (frame,) = el.Pipeline(pictures(format_, *regions), draw).start(threads=0)
    assert sb.stats().copied_bytes == 0
    return frame


@pytest.mark.parametrize("format_", FORMATS.split("|"))
def test_boxes_have_their_colour_in_every_plane(format_: str) -> None:
    color = (250, 40, 90)
    frame = drawn(format_, Region(16, 8, 32, 24), color=color, line=2)
    parts = components_of(color)
    image = frame.image
    for plane, layout, names in zip(
        frame.planes, image.format.planes, image.format.plane_names, strict=True
    ):
        x, y = layout.x_shift, layout.y_shift
        expected = np.full(plane.native.shape, 128, np.uint8)
        expected[8 >> y : 32 >> y, 16 >> x : 48 >> x] = [parts[n] for n in names][
            : plane.native.shape[2] if plane.native.ndim == 3 else 1
        ]
        expected[10 >> y : 30 >> y, 18 >> x : 46 >> x] = 128
        assert np.array_equal(plane.native, expected), names


def test_the_colour_is_the_one_of_opencv() -> None:
    for color in ((255, 208, 0), (10, 20, 200), (255, 255, 255), (0, 0, 0)):
        pixels = np.full((2, 2, 3), color, np.uint8)
        y, u, v = cv2.cvtColor(pixels, cv2.COLOR_RGB2YUV_I420).reshape(-1)[[0, 4, 5]]
        parts = components_of(color)
        assert np.allclose((parts["y"], parts["u"], parts["v"]), (y, u, v), atol=1)


@pytest.mark.parametrize("format_", ["I420", "GRAY8", "BGRA"])
def test_labels_are_written_on_a_ground_of_the_same_colour(format_: str) -> None:
    region = Region(16, 32, 32, 24, "cat", 0.75)
    with_label = drawn(format_, region).planes[0].native
    without = drawn(format_, region, labels=False).planes[0].native
    differs = np.argwhere(with_label != without)
    assert len(differs)
    assert differs[:, 0].max() < 32  # above the box
    assert (with_label[:32] == 16).any()  # dark ink, since the ground is bright


def test_what_is_outside_is_left_out() -> None:
    regions = [Region(-20, -10, 40, 30, "a"), Region(90, 60, 50, 50, "b"), Region(500, 500, 9, 9)]
    frame = drawn("NV12", *regions)
    assert frame.planes[0].native[0:60, 60:90].min() == 128


def test_a_frame_without_regions_is_as_it_was() -> None:
    assert drawn("I420").planes[0].native.min() == 128


def test_what_cannot_be_drawn_into_is_refused() -> None:
    with pytest.raises(NegotiationError, match="YUY2"):
        el.Pipeline(pictures("YUY2"), el.create("opencv.draw")).explain()
    with pytest.raises(ParameterError, match="color"):
        el.create("opencv.draw", color=(0, 0, 256))
    with pytest.raises(ParameterError, match="line"):
        el.create("opencv.draw", line=0)


@pytest.mark.parametrize("format_", FORMATS.split("|"))
def test_planes_are_scaled_as_opencv_scales_them(format_: str) -> None:
    sb.reset_stats()
    pipe = el.Pipeline(pictures(format_), el.create("opencv.draw"), mark(), scale(50, 30, "area"))
    assert f"gives image {format_} 50x30 in cpu" in pipe.explain()
    (given,) = el.Pipeline(pictures(format_), mark()).start(threads=0)
    (made,) = pipe.start(threads=0)
    assert sb.stats().copied_bytes == 0
    assert (made.width, made.height, made.meta.pts) == (50, 30, 7)
    assert made.metadata["kept"] == "yes"
    for plane, source in zip(made.planes, given.planes, strict=True):
        size = plane.native.shape[1::-1]
        wanted = cv2.resize(source.native, size, interpolation=cv2.INTER_AREA)
        assert np.array_equal(plane.native, wanted)


def test_regions_are_scaled_and_frames_used_again() -> None:
    (made,) = el.Pipeline(pictures("I420", Region(32, 16, 48, 32, "a")), scale(48, 16)).start()
    assert made.regions == [Region(16, 4, 24, 8, "a")]

    def many() -> Iterator[Any]:
        for _ in range(40):
            yield sb.context("cpu").allocate_frame("GRAY8", 64, 64)

    scaled = scale(8, 8, pool=2)
    assert frames_out(el.Pipeline(many(), scaled).run(threads=0), "opencv.scale") == 40
    keeps_all = el.Pipeline(many(), short(scale(8, 8, pool=2))).start(threads=0)
    with pytest.raises(PoolTimeoutError, match="all 2 frames"):
        list(keeps_all)


def scale(*values: Any, **parameters: Any) -> Any:
    return el.create("opencv.scale", *values, **parameters)


def short(element: Any) -> Any:
    """The element, with a pool that waits for a moment only."""
    make = partial(sb.context("cpu").allocate_frame, "GRAY8", 8, 8)
    element._pools["GRAY8"] = el.FramePool(make, maximum=2, timeout=0.05, name="opencv.scale")
    return element


@el.inplace(takes=el.Media(memory="cpu", access="rw"))
def mark(frame: sb.Frame[Any]) -> None:
    frame.planes[0].native[10:20, 30:60] = 240
    frame.meta.pts, frame.metadata["kept"] = 7, "yes"
