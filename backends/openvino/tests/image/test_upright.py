# SPDX-License-Identifier: Apache-2.0
"""Models that see pictures upright, whatever way and on whatever side the frames lie."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import samebytes.elements as el
from samebytes import Frame, Region
from samebytes.errors import ElementError, LayoutError
from samebytes.formats import ROTATIONS
from samebytes_openvino import OpenVINOInfer, image_model

from .pictures import Array, echo, nearest, noise

EACH = [(rotation, mirrored) for mirrored in (False, True) for rotation in ROTATIONS]
WIDTH, HEIGHT = 40, 30
"""Of the model's image."""


def turned(picture: Array, rotation: int, mirrored: bool) -> Array:
    """A picture (channels, rows, columns) as it is to be shown."""
    return np.rot90(picture[..., ::-1] if mirrored else picture, -(rotation // 90), (1, 2))


def lying(format_: str, width: int, height: int, rotation: int, mirrored: bool) -> Frame[Any]:
    frame = noise(format_, width, height)
    frame.metadata["rotation"], frame.metadata["mirrored"] = rotation, mirrored
    return frame


def seen(frame: Frame[Any], size: tuple[int, int], layout: str = "NCHW", **options: Any) -> Array:
    model = image_model(echo(size[1], size[0], layout), frame, **options)
    (output,) = model.infer(frame)
    picture: Array = np.array(output.host_array())[0]
    return picture if layout == "NCHW" else picture.transpose(2, 0, 1)


WAYS: dict[str, tuple[str, tuple[int, int], dict[str, Any]]] = {
    "gathering": ("I420", (322, 242), {}),
    "converting": ("NV12", (48, 32), {}),
    "same size": ("BGR", (30, 40), {}),
    "NHWC": ("BGR", (50, 60), {"layout": "NHWC"}),
    "resize": ("I420", (100, 80), {"resize": nearest}),
    "normalised": ("GRAY8", (33, 44), {"mean": (1, 2, 3), "scale": 4}),
}


SOME = [(90, False), (180, True), (270, True)]


@pytest.mark.parametrize(
    ("way", "rotation", "mirrored"),
    [(way, *each) for way in WAYS for each in (EACH if way == "gathering" else SOME)],
)
def test_the_picture_that_the_model_sees(way: str, rotation: int, mirrored: bool) -> None:
    format_, size, options = WAYS[way]
    frame = lying(format_, *size, rotation, mirrored)
    stored = (HEIGHT, WIDTH) if rotation in (90, 270) else (WIDTH, HEIGHT)
    as_it_lies = seen(frame, stored, **options)
    upright = seen(frame, (WIDTH, HEIGHT), upright=True, **options)
    np.testing.assert_allclose(upright, turned(as_it_lies, rotation, mirrored), atol=1e-3)
    assert np.abs(as_it_lies - as_it_lies.mean()).max() > 10 / 4


def test_frames_of_several_orientations() -> None:
    """Each has a compiled model of its own, for the same frames otherwise."""
    model = image_model(echo(), lying("NV12", 64, 48, 0, False), upright=True)
    found = []
    for rotation in (0, 90, 0, 90):
        (output,) = model.infer(lying("NV12", 64, 48, rotation, False))
        found.append(np.array(output.host_array()))
    np.testing.assert_array_equal(found[0], found[2])
    np.testing.assert_array_equal(found[1], found[3])
    assert np.abs(found[0] - found[1]).max() > 10


def test_a_model_of_any_size_takes_that_of_the_upright_example() -> None:
    frame = lying("NV12", 64, 48, 90, False)
    assert image_model(echo(-1, -1), frame, upright=True).input_size == (48, 64)
    assert image_model(echo(-1, -1), frame).input_size == (64, 48)


def test_explain_says_how_it_is_turned() -> None:
    frame = lying("I420", 322, 242, 270, True)
    text = image_model(echo(), frame, upright=True).explain(frame)
    assert "upright: mirrored, then turned by 270 degrees clockwise, inside the model" in text
    assert "size: bilinear to 30x40" in text
    assert "upright" not in image_model(echo(), frame).explain(frame)


def test_a_rotation_that_cannot_be_is_refused_by_name() -> None:
    frame = noise("NV12", 64, 48)
    model = image_model(echo(), frame, upright=True)
    frame.metadata["rotation"] = 45
    with pytest.raises(LayoutError, match="rotation"):
        model.infer(frame)


def brightest(frame: Frame[Any], outputs: Any) -> list[Region]:
    """The white box in the model's picture, which is as large as the upright frame."""
    picture = outputs[0].host_array()[0].max(axis=0)
    rows, columns = np.nonzero(picture > 128)
    x, y = int(columns.min()), int(rows.min())
    width, height = int(columns.max()) + 1 - x, int(rows.max()) + 1 - y
    return [Region(x, y, width, height, "box", metadata={"from": frame.width})]


@pytest.mark.parametrize(
    ("rotation", "mirrored", "options"),
    [*((*each, {}) for each in EACH), (90, True, {"requests": 2}), (270, False, {"batch": 2})],
)
def test_regions_are_mapped_back(rotation: int, mirrored: bool, options: dict[str, Any]) -> None:
    frames = []
    for _ in range(2):
        frame = lying("GRAY8", 64, 48, rotation, mirrored)
        frame.planes[0].native[...] = 0
        frame.planes[0].native[5:15, 20:50] = 255
        frames.append(frame)
    size = (48, 64) if rotation in (90, 270) else (64, 48)
    infer = OpenVINOInfer(echo(size[1], size[0]), postprocess=brightest, upright=True, **options)
    with el.Pipeline(frames, infer).start(threads=0) as out:
        found = [frame.regions for frame in out]
    assert found == [[Region(20, 5, 30, 10, "box", metadata={"from": 64})]] * 2


def test_a_batch_has_frames_of_one_orientation_and_range() -> None:
    """Frames that differ in it are run apart, and keep their order."""

    def frames() -> list[Frame[Any]]:
        made = [lying("GRAY8", 40, 30, rotation, False) for rotation in (0, 90, 90, 0, 0)]
        made[4].metadata["color_range"] = "limited"
        return made

    found = []
    for batch in (1, 2):
        pipe = el.Pipeline(frames(), OpenVINOInfer(echo(), upright=True, batch=batch))
        with pipe.start(threads=0) as out:
            found.append([
                np.array(next(iter(frame.metadata["inference"].values())).host_array())
                for frame in out
            ])  # fmt: skip
    np.testing.assert_array_equal(found[0], found[1])
    assert len(found[0]) == 5


def test_the_element_refuses_a_rotation_that_cannot_be() -> None:
    frame = noise("GRAY8", 64, 48)
    frame.metadata["mirrored"] = "yes"
    pipe = el.Pipeline([frame], OpenVINOInfer(echo(), upright=True))
    with pytest.raises(ElementError, match="mirrored"):
        pipe.run()
