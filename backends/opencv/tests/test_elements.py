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
from samebytes import Region, metadata
from samebytes.errors import (
    ElementError,
    LayoutError,
    NegotiationError,
    ParameterError,
    PoolTimeoutError,
)
from samebytes.formats import color_components, colors_of

FORMATS = (
    "NV12", "I420", "NV21", "YV12", "NV16", "I422", "NV24", "I444", "GRAY8", "BGR", "RGB", "BGRA",
    "RGBA", "BGRX", "RGBX",
)  # fmt: skip


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


@el.inplace(takes=el.Media())
def says(frame: sb.Frame[Any], *, entries: dict[str, str]) -> None:
    """Write entries into the metadata of frames."""
    frame.metadata.update(entries)


def frames_out(statistics: el.Statistics, element: str) -> int:
    """Return the number of frames that an element gave."""
    (found,) = [one.frames_out for one in statistics if one.element == element]
    return found


def drawn(format_: str, *regions: Region, **parameters: Any) -> sb.Frame[Any]:
    sb.reset_stats()
    draw = el.create("opencv.draw", **parameters)
    (frame,) = el.Pipeline(pictures(format_, *regions), draw).start(threads=0)
    assert sb.stats().copied_bytes == 0
    return frame


@pytest.mark.parametrize("format_", FORMATS)
def test_boxes_have_their_colour_in_every_plane(format_: str) -> None:
    color = (250, 40, 90)
    frame = drawn(format_, Region(16, 8, 32, 24), color=color, line=2)
    image = frame.image
    values = color_components(color, image.format, *colors_of(image.format, frame.metadata))
    for plane, layout, names in zip(
        frame.planes, image.format.planes, image.format.plane_names, strict=True
    ):
        x, y = layout.x_shift, layout.y_shift
        expected = np.full(plane.native.shape, 128, np.uint8)
        expected[8 >> y : 32 >> y, 16 >> x : 48 >> x] = [values[name] for name in names]
        expected[10 >> y : 30 >> y, 18 >> x : 46 >> x] = 128
        assert np.array_equal(plane.native, expected), names


def test_the_colour_is_the_one_of_opencv() -> None:
    for color in ((255, 208, 0), (10, 20, 200), (255, 255, 255), (0, 0, 0)):
        pixels = np.full((2, 2, 3), color, np.uint8)
        y, u, v = cv2.cvtColor(pixels, cv2.COLOR_RGB2YUV_I420).reshape(-1)[[0, 4, 5]]
        frame = drawn("I420", Region(0, 0, 96, 64), color=color, line=64)
        found = [int(plane.native[4, 4]) for plane in frame.planes]
        assert np.allclose(found, (y, u, v), atol=1)


SAID = [
    ("I420", {}, (81, 90, 240)),
    ("I420", {"color_range": "full"}, (76, 85, 255)),
    ("I420", {"color_matrix": "bt709"}, (63, 102, 240)),
    ("NV12", {"color_matrix": "bt709", "color_range": "full"}, (54, 99, 255)),
    ("GRAY8", {}, (76,)),
    ("GRAY8", {"color_range": "limited"}, (81,)),
    # FFmpeg's conversions to RGB leave the marks of the YUV that was.
    ("RGB", {"color_range": "limited", "color_matrix": "bt709"}, (255, 0, 0)),
]


@pytest.mark.parametrize(("format_", "said", "red"), SAID)
def test_colours_are_those_of_the_range_and_matrix_that_a_frame_says(
    format_: str, said: dict[str, str], red: tuple[int, ...]
) -> None:
    def pixel(frame: sb.Frame[Any]) -> tuple[int, ...]:
        return tuple(int(n) for plane in frame.planes for n in np.ravel(plane.native[4, 4]))

    draw = el.create("opencv.draw", color=(255, 0, 0), line=100)
    (drawn_on,) = el.Pipeline(
        pictures(format_, Region(0, 0, 96, 64)), says(entries=said), draw
    ).start()
    assert pixel(drawn_on) == red
    outside = (1, 0, 9, 0, 1, 0)
    warp = el.create("opencv.warp", 96, 64, outside, color=(255, 0, 0))
    (warped,) = el.Pipeline(pictures(format_), says(entries=said), warp).start()
    assert pixel(warped) == red
    assert said.items() <= warped.metadata.items()


def test_a_matrix_without_weights_takes_grays_and_refuses_colours_by_name() -> None:
    said = {"color_matrix": "ycgco"}
    for element in (
        el.create("opencv.draw", color=(255, 0, 0)),
        el.create("opencv.warp", 96, 64, (1, 0, 9, 0, 1, 0), color=(255, 0, 0)),
    ):
        pipe = el.Pipeline(pictures("I420", Region(0, 0, 9, 9)), says(entries=said), element)
        with pytest.raises(ElementError, match=r"\(255, 0, 0\).*'ycgco'") as raised:
            list(pipe.start())
        assert isinstance(raised.value.__cause__, LayoutError)
    black = el.create("opencv.warp", 96, 64, (1, 0, 9, 0, 1, 0))
    (warped,) = el.Pipeline(pictures("I420"), says(entries=said), black).start()
    assert [plane.native[4, 4] for plane in warped.planes] == [16, 128, 128]


@pytest.mark.parametrize("format_", ["I420", "GRAY8", "BGRA"])
def test_labels_are_written_on_a_ground_of_the_same_colour(format_: str) -> None:
    region = Region(16, 32, 32, 24, "cat", 0.75)
    with_label = drawn(format_, region).planes[0].native
    without = drawn(format_, region, labels=False).planes[0].native
    differs = np.argwhere(with_label != without)
    assert len(differs)
    assert differs[:, 0].max() < 32  # above the box
    black = 16 if format_ == "I420" else 0
    assert (with_label[:32] == black).any()  # dark ink, since the ground is bright


def test_what_is_outside_is_left_out() -> None:
    regions = [Region(-20, -10, 40, 30, "a"), Region(90, 60, 50, 50, "b"), Region(500, 500, 9, 9)]
    frame = drawn("NV12", *regions)
    assert frame.planes[0].native[0:60, 60:90].min() == 128


@pytest.mark.parametrize("format_", ["NV12", "BGR"])
@pytest.mark.parametrize("far", [1 << 31, 1 << 40, 1 << 63])
def test_a_region_that_reaches_beyond_all_numbers_of_opencv_is_drawn(
    format_: str, far: int
) -> None:
    def regions(most: int) -> list[Region]:
        return [
            Region(-most, 8, most + 20, most, "a"), Region(30, -most, 40, 2 * most, "b"),
            Region(most, most, 9, 9, "c"), Region(-most, -most, 9, 9, "d"),
        ]  # fmt: skip

    planes = zip(drawn(format_, *regions(far)), drawn(format_, *regions(1000)), strict=True)
    for found, wanted in planes:
        np.testing.assert_array_equal(found.native, wanted.native)


def test_a_frame_without_regions_is_as_it_was() -> None:
    assert drawn("I420").planes[0].native.min() == 128


def test_a_label_has_the_number_of_a_tracker_and_what_classifiers_said() -> None:
    region = Region(0, 32, 96, 32, "car", 0.5)
    plain = drawn("NV12", region).planes[0].native
    metadata.add(region, metadata.Classification("red", 0.9))
    metadata.add(region, metadata.ObjectId(7))
    metadata.add(region, metadata.Classification(label_id=3, attribute="make"))
    labelled = drawn("NV12", region).planes[0].native
    assert (labelled != plain).any()
    written = Region(0, 32, 96, 32, "car 0.50 #7 red 3")
    assert np.array_equal(labelled, drawn("NV12", written).planes[0].native)
    nameless = drawn("NV12", Region(0, 32, 96, 32)).planes[0].native
    assert (nameless[:32] == 128).all()
    assert not (labelled[:32] == 128).all()


def test_what_cannot_be_drawn_into_is_refused() -> None:
    with pytest.raises(NegotiationError, match="YUY2"):
        el.Pipeline(pictures("YUY2"), el.create("opencv.draw")).explain()
    with pytest.raises(ParameterError, match="color"):
        el.create("opencv.draw", color=(0, 0, 256))
    with pytest.raises(ParameterError, match="line"):
        el.create("opencv.draw", line=0)


@pytest.mark.parametrize("format_", FORMATS)
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
    element._pools._pools["GRAY8"] = el.FramePool(
        make, maximum=2, timeout=0.05, name="opencv.scale"
    )
    return element


@el.inplace(takes=el.Media(memory="cpu", access="rw"))
def mark(frame: sb.Frame[Any]) -> None:
    frame.planes[0].native[10:20, 30:60] = 240
    frame.meta.pts, frame.metadata["kept"] = 7, "yes"


BOX = (40, 24, 16, 12)


def squares(format_: str = "GRAY8") -> el.Element:
    """A bright square on a dark ground, with a region around it."""

    @el.source(gives=el.Image(format_, memory="cpu", width=96, height=64))
    def made() -> Iterator[sb.Frame[Any]]:
        frame = sb.context("cpu").allocate_frame(format_, 96, 64)
        for plane in frame.planes:
            plane.native[...] = 16
        x, y, width, height = BOX
        frame.planes[0].native[y : y + height, x : x + width] = 235
        region = metadata.add(frame, metadata.Detection(40 / 96, 24 / 64, 56 / 96, 36 / 64, "a"))
        metadata.add(region, metadata.Classification("red"))
        metadata.add(frame, metadata.Classification("day"))
        frame.meta.pts = 5
        yield frame

    element: el.Element = made()
    return element


def bright(frame: sb.Frame[Any]) -> tuple[int, int, int, int]:
    """The box around what is bright."""
    rows, columns, *_ = np.nonzero(frame.planes[0].native > 125)
    left, top = int(columns.min()), int(rows.min())
    return left, top, int(columns.max()) + 1 - left, int(rows.max()) + 1 - top


def in_source(frame: sb.Frame[Any], width: int = 96, height: int = 64) -> tuple[int, ...]:
    """The detection of a frame, in pixels of the picture that it was made of."""
    found = metadata.find(frame, metadata.Detection)
    transform = metadata.find(frame, metadata.AffineTransform)
    assert found is not None
    assert transform is not None
    left, top, right, bottom = transform.bounds(found.x_min, found.y_min, found.x_max, found.y_max)
    x, y = round(left * width), round(top * height)
    return x, y, round(right * width) - x, round(bottom * height) - y


def test_a_part_is_the_same_memory_and_leads_back() -> None:
    sb.reset_stats()
    seen: list[int] = []

    @el.inplace(takes=el.Media())
    def note(frame: sb.Frame[Any]) -> None:
        seen.append(frame.planes[0].native[8:, 32:].ctypes.data)

    pipe = el.Pipeline(
        squares("I420"),
        note(),
        el.create("opencv.crop", 32, 8, 48, 40),
        el.create("opencv.draw", line=2),
    )
    assert "gives image I420 48x40 in cpu" in pipe.explain()
    (part,) = pipe.start(threads=0)
    assert part.planes[0].native.ctypes.data == seen[0]
    assert sb.stats().copied_bytes == 0
    assert (part.width, part.height, part.pts) == (48, 40, 5)
    assert part.regions[0].box == (8, 16, 16, 12)
    assert in_source(part) == BOX
    # What was said of the whole picture is not said of a part.
    assert metadata.find(part, metadata.Classification) is None
    assert metadata.find(part.regions[0], metadata.Classification) is not None


def test_a_part_that_splits_chroma_is_refused_or_fitted() -> None:
    with pytest.raises(ElementError, match="splits chroma samples"):
        el.Pipeline(squares("I420"), el.create("opencv.crop", 31, 8, 48, 40)).run()
    (part,) = el.Pipeline(
        squares("I420"), el.create("opencv.crop", 31, 8, 99, 40, fit=True)
    ).start()
    assert (part.width, part.height) == (66, 40)
    assert in_source(part) == BOX


def turned(degrees: float, zoom: float = 1.0) -> tuple[float, ...]:
    """Around the middle of a picture of 96x64 that stays as large."""
    cos, sin = (zoom * f(np.radians(degrees)) for f in (np.cos, np.sin))
    a, b, d, e = cos, -sin * 64 / 96, sin * 96 / 64, cos
    return a, b, (1 - a - b) / 2, d, e, (1 - d - e) / 2


@pytest.mark.parametrize("degrees", [0, 90, 180, 270])
@pytest.mark.parametrize("format_", ["GRAY8", "I420", "BGR", "NV24"])
def test_detections_map_back_through_a_warp(format_: str, degrees: int) -> None:
    sb.reset_stats()
    matrix = turned(degrees, 0.5)
    pipe = el.Pipeline(squares(format_), el.create("opencv.warp", 192, 128, matrix))
    assert f"gives image {format_} 192x128 in cpu" in pipe.explain()
    (made,) = pipe.start(threads=0)
    # The pixels are where the region says, and the region leads back to where they were.
    found = np.array(bright(made))
    assert np.abs(found - made.regions[0].box).max() <= 2
    assert np.abs(np.array(in_source(made)) - BOX).max() <= 1
    assert metadata.find(made, metadata.Classification) is None
    assert metadata.find(made.regions[0], metadata.Classification) is not None
    assert (made.pts, sb.stats().copied_bytes) == (5, 0)


def test_transforms_of_several_elements_lead_to_the_first_picture() -> None:
    (made,) = el.Pipeline(
        squares(),
        el.create("opencv.crop", 16, 8, 72, 48),
        scale(144, 96),
        el.create("opencv.warp", 100, 80, (0.8, 0.0, 0.1, 0.0, 0.9, 0.05)),
    ).start(threads=0)
    assert np.abs(np.array(bright(made)) - made.regions[0].box).max() <= 1
    assert np.abs(np.array(in_source(made)) - BOX).max() <= 1


def test_what_is_outside_has_the_colour_that_was_asked_for() -> None:
    (made,) = el.Pipeline(
        squares("BGR"),
        el.create("opencv.warp", 96, 64, (1, 0, 0.5, 0, 1, 0), color=(10, 20, 30)),
    ).start()
    assert made.planes[0].native[5, 90].tolist() == [30, 20, 10]
    (made,) = el.Pipeline(
        squares("NV12"), el.create("opencv.warp", 96, 64, (1, 0, 9, 0, 1, 0))
    ).start()
    assert made.planes[0].native[5, 90].item() == 16
    assert made.planes[1].native[5, 40].tolist() == [128, 128]
    assert made.regions == []


def test_a_warp_is_that_of_opencv() -> None:
    """The identity changes nothing; half a turn is a flip, whatever the size."""
    for matrix, like in (((1, 0, 0, 0, 1, 0), 1), ((-1, 0, 1, 0, -1, 1), -1)):
        rows = np.random.default_rng(3).integers(0, 256, (64, 96), np.uint8)
        given = sb.frame(rows, format="GRAY8")
        (made,) = el.Pipeline([given], el.create("opencv.warp", 96, 64, matrix)).start()
        assert np.array_equal(made.planes[0].native, rows[::like, ::like])


def test_a_matrix_without_inverse_is_refused_before_the_first_frame() -> None:
    with pytest.raises(ElementError, match="no inverse"):
        el.Pipeline(squares(), el.create("opencv.warp", 9, 9, (1, 1, 0, 1, 1, 0))).explain()
    with pytest.raises(ParameterError, match="matrix"):
        el.create("opencv.warp", 9, 9, (1, 0, 0))


def test_metadata_of_a_scaled_frame_is_its_own() -> None:
    (made,) = el.Pipeline(squares(), keep(), scale(48, 32)).start(threads=0)
    metadata.add(made, metadata.ObjectId(3))
    assert metadata.find(kept[0], metadata.ObjectId) is None
    assert metadata.find(made, metadata.Classification) is not None  # it is the whole picture


kept: list[Any] = []


@el.inplace(takes=el.Media())
def keep(frame: sb.Frame[Any]) -> None:
    kept[:] = [frame]
