# SPDX-License-Identifier: Apache-2.0
"""Pictures of another shape than the model's: letterboxes and crops, and the way back."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pytest

import samebytes as sb
import samebytes.elements as el
from samebytes import Frame, Region
from samebytes.errors import LayoutError, ParameterError, UnknownNameError
from samebytes.metadata import upright_transform
from samebytes_openvino import OpenVINOInfer, image_model

from .pictures import Array, echo, expected, nearest, noise

Box = tuple[int, int, int, int]
WIDTH, HEIGHT = 40, 30
"""Of the model's image."""

WAYS: dict[str, tuple[str, dict[str, Any]]] = {
    "gathering": ("I420", {}),
    "packed": ("YUY2", {}),
    "converting": ("NV12", {"config": {}}),
    "RGB": ("RGB", {"color": "RGB"}),
    "normalised": ("GRAY8", {"mean": (1, 2, 3), "scale": (4, 5, 6)}),
    "NHWC": ("BGR", {"layout": "NHWC"}),
}


def seen(frame: Frame[Any], **options: Any) -> Array:
    """The image that the model sees, (3, rows, columns)."""
    layout = options.pop("layout", "NCHW")
    model = image_model(echo(HEIGHT, WIDTH, layout), frame, **options)
    (output,) = model.infer(frame)
    picture: Array = np.array(output.host_array())[0]
    return picture if layout == "NCHW" else picture.transpose(2, 0, 1)


def normalised(picture: Any, options: dict[str, Any]) -> Array:
    mean, scale = (
        np.reshape(options.get(k, d), (-1, 1, 1)) for k, d in (("mean", 0), ("scale", 1))
    )
    made: Array = (picture - mean) / scale
    return made


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("size", "align", "box"),
    [
        ((128, 48), "center", (0, 7, 40, 15)),
        ((128, 48), "top-left", (0, 0, 40, 15)),
        ((128, 48), "bottom-right", (0, 15, 40, 15)),
        ((46, 96), "center", (13, 0, 14, 30)),
        ((24, 12), "center", (0, 5, 40, 20)),  # made larger
        ((4, 400), "center", (19, 0, 1, 30)),  # never nothing
    ],
)
def test_a_letterbox(way: str, size: tuple[int, int], align: Any, box: Box) -> None:
    format_, options = WAYS[way]
    frame = noise(format_, *size, padding=6)
    pad = (10, 200, 114)
    whole = np.broadcast_to(np.reshape(pad, (3, 1, 1)), (3, HEIGHT, WIDTH)).astype(float)
    x, y, width, height = box
    color = options.get("color", "BGR")
    range_ = "full" if format_ == "GRAY8" else "limited"
    whole[:, y : y + height, x : x + width] = expected(frame, (width, height), color, range_=range_)
    found = seen(frame, fit="letterbox", align=align, pad=pad, **options)
    scale = np.max(options.get("scale", 1))
    np.testing.assert_allclose(found, normalised(whole, options), atol=1.1 / scale)
    outside = np.ones((HEIGHT, WIDTH), bool)
    outside[y : y + height, x : x + width] = False
    np.testing.assert_allclose(found[:, outside], normalised(whole, options)[:, outside], rtol=1e-6)


def cut(frame: Frame[Any], part: Box) -> Frame[Any]:
    return frame.crop(*part)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("size", "align", "part"),
    [
        ((128, 48), "center", (32, 0, 64, 48)),
        ((128, 48), "top-left", (0, 0, 64, 48)),
        ((128, 48), "bottom-right", (64, 0, 64, 48)),
        ((48, 96), "center", (0, 30, 48, 36)),
        ((20, 8), "center", (4, 0, 10, 8)),  # of 10.67 columns, and made larger
    ],
)
def test_a_crop(way: str, size: tuple[int, int], align: Any, part: Box) -> None:
    format_, options = WAYS[way]
    frame = noise(format_, *size, padding=6)
    if size == (20, 8) and frame.format.planes[-1].x_shift == 0 and format_ != "YUY2":
        part = (4, 0, 11, 8)
    found = seen(frame, fit="crop", align=align, **options)
    alone = seen(cut(frame, part), **options)
    np.testing.assert_allclose(found, alone, atol=0.51)


def test_planes_are_resized_into_the_letterbox_alone() -> None:
    frame = noise("I420", 128, 48, padding=6)
    found = seen(frame, resize=nearest, fit="letterbox", pad=9)
    assert (found[:, :7] == 9).all()
    assert (found[:, 22:] == 9).all()
    model = image_model(echo(15, 40), frame, resize=nearest)
    (alone,) = model.infer(frame)
    np.testing.assert_allclose(found[:, 7:22], alone.host_array()[0], atol=1e-4)


def test_planes_are_resized_of_the_part_alone() -> None:
    for frame in (noise("I420", 128, 48, padding=6), noise("NV12", 48, 96)):
        part = (32, 0, 64, 48) if frame.width == 128 else (0, 30, 48, 36)
        found = seen(frame, resize=nearest, fit="crop")
        np.testing.assert_allclose(found, seen(cut(frame, part), resize=nearest), atol=1e-4)


def test_one_model_sees_frames_of_all_shapes() -> None:
    frames = [noise("I420", *size) for size in ((128, 48), (48, 96), (40, 30), (80, 60))]
    for resize in (None, nearest):
        model = image_model(echo(), frames[0], fit="letterbox", pad=7, resize=resize)
        for frame in [*frames, *frames]:
            (output,) = model.infer(frame)
            alone = seen(frame, fit="letterbox", pad=7, resize=resize)
            np.testing.assert_array_equal(output.host_array()[0], alone)


def test_nothing_is_copied() -> None:
    frame = noise("NV12", 128, 48, padding=8)
    before = sb.stats().copied_bytes
    model = image_model(echo(), frame, fit="letterbox", pad=114)
    request = model.create_infer_request()
    request.infer(frame)
    address = frame.planes[0].native.ctypes.data
    assert request.bindings()[0].tensor.native.data.ctypes.data == address  # type: ignore[union-attr]
    assert sb.stats().copied_bytes == before


TURNS = [(r, m) for r in (0, 90, 180, 270) for m in (False, True)]


@pytest.mark.parametrize(("rotation", "mirrored"), TURNS)
@pytest.mark.parametrize("fit", ["letterbox", "crop"])
@pytest.mark.parametrize("resize", [None, nearest])
def test_a_point_maps_back(
    fit: Literal["letterbox", "crop"], rotation: int, mirrored: bool, resize: Any
) -> None:
    """A white box of the frame is found in the model's image, and back in the frame."""
    frame = sb.context("cpu").allocate_frame(
        "GRAY8", 160, 80, metadata={"rotation": rotation, "mirrored": mirrored}
    )
    frame.planes[0].native[24:40, 64:80] = 255
    model = image_model(
        echo(64, 64), frame, upright=True, fit=fit, align="top-left", pad=10, resize=resize
    )
    outputs = model.infer(frame)
    picture = outputs[0].host_array()[0, 0]
    assert outputs.transform == model.transform(frame)
    rows, columns = np.nonzero(picture > 128)
    if not len(rows):  # "top-left" of the upright picture does not show it
        assert fit == "crop"
        return
    found = columns.min() / 64, rows.min() / 64, (columns.max() + 1) / 64, (rows.max() + 1) / 64
    upright = outputs.transform.bounds(*found)
    left, top, right, bottom = upright_transform(frame).bounds(*upright)
    np.testing.assert_allclose(
        (left * 160, top * 80, right * 160, bottom * 80), (64, 24, 80, 40), atol=1.3
    )
    # The model's image is 64 pixels wide, and 2.5 or 1.25 pixels of the frame are one of it.


@pytest.mark.parametrize(("rotation", "mirrored"), TURNS)
def test_a_crop_of_a_turned_picture_is_that_of_the_upright_one(
    rotation: int, mirrored: bool
) -> None:
    pixels = np.random.default_rng(3).integers(0, 256, (80, 160), np.uint8)
    said = {"rotation": rotation, "mirrored": mirrored}
    frame = sb.frame(pixels, format="GRAY8", metadata=said)
    turned = np.rot90(pixels[:, ::-1] if mirrored else pixels, -(rotation // 90))
    upright = sb.frame(np.ascontiguousarray(turned), format="GRAY8")
    for align in ("center", "top-left", "bottom-right"):
        found = seen(frame, upright=True, fit="crop", align=align)
        np.testing.assert_allclose(found, seen(upright, fit="crop", align=align), atol=5e-3)


def test_models_of_bytes_and_halves() -> None:
    frame = noise("I420", 128, 48)
    for dtype in (np.uint8, np.float16):
        model = image_model(echo(dtype=dtype), frame, fit="letterbox", pad=(1, 2.4, 3))
        (output,) = model.infer(frame)
        corner = output.host_array()[0, :, 0, 0]
        np.testing.assert_allclose(corner, (1, 2 if dtype == np.uint8 else 2.4, 3), rtol=1e-3)


@pytest.mark.parametrize("options", [{}, {"requests": 2}, {"batch": 2}])
def test_the_element_maps_back(options: dict[str, Any]) -> None:
    """Frames of two sizes, each with its own way back."""

    def brightest(frame: Frame[Any], outputs: Any) -> list[Region]:
        rows, columns = np.nonzero(outputs[0].host_array()[0].max(axis=0) > 128)
        left, top, right, bottom = outputs.transform.bounds(
            columns.min() / 64, rows.min() / 64, (columns.max() + 1) / 64, (rows.max() + 1) / 64
        )
        x, y = round(left * frame.width), round(top * frame.height)
        return [Region(x, y, round(right * frame.width) - x, round(bottom * frame.height) - y)]

    def frames() -> list[Frame[Any]]:
        made = []
        for size in ((128, 64), (128, 64), (32, 64), (32, 64)):
            frame = sb.context("cpu").allocate_frame("GRAY8", *size)
            frame.planes[0].native[16:32, 8:24] = 255
            made.append(frame)
        return made

    infer = OpenVINOInfer(echo(64, 64), postprocess=brightest, fit="letterbox", pad=3, **options)
    with el.Pipeline(frames(), infer).start(threads=0) as out:
        assert [frame.regions for frame in out] == [[Region(8, 16, 16, 16)]] * 4


def test_explain_says_what_becomes_of_the_shape() -> None:
    frame = noise("I420", 128, 48)
    model = image_model(echo(), frame, fit="letterbox", pad=114)
    assert "size: bilinear to 40x15" in model.explain(frame)
    assert "letterbox: 40x15 at (0, 7) of 40x30, around it 114, inside the model" in model.explain()
    model = image_model(echo(), frame, fit="crop")
    assert "part: 64x48 at (32, 0) of 128x48" in model.explain(frame)
    model = image_model(echo(), frame, fit="crop", resize=nearest)
    assert "part: what has the model's shape" in model.explain(frame)
    assert "letterbox" not in image_model(echo(), frame).explain(frame)


def test_what_cannot_be_is_refused() -> None:
    frame = noise("I420", 128, 48)
    with pytest.raises(UnknownNameError, match="letterbox"):
        image_model(echo(), frame, fit="letterbocks")  # type: ignore[arg-type]  # the test
    with pytest.raises(UnknownNameError, match="top-left"):
        image_model(echo(), frame, align="top left")  # type: ignore[arg-type]  # the test
    with pytest.raises(LayoutError, match="pad must be one number"):
        image_model(echo(), frame, pad=(1, 2))
    with pytest.raises(ParameterError, match="'fit' must be"):
        OpenVINOInfer(echo(), fit="cover")
