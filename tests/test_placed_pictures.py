# SPDX-License-Identifier: Apache-2.0
"""Letterboxes and crops on every device, beside those that programs make with OpenCV by copying."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import openvino
import pytest
from openvino import opset13 as ops

import samebytes as sb
import samebytes.elements as el
import samebytes_opencv
import samebytes_openvino as sbo
from samebytes import probe
from samebytes.metadata import InferenceResult, find
from samebytes.testing import missing_device

Array = np.ndarray[Any, Any]


def echo(height: int = 64, width: int = 64) -> openvino.Model:
    """A model that gives its image back."""
    x = ops.parameter([1, 3, height, width], np.float32, name="image")
    return openvino.Model([ops.result(ops.relu(x))], [x], "echo")


def image_of(outputs: Any) -> Array:
    """(height, width, 3)."""
    image: Array = np.array(outputs.planes[0].map("cpu").native)[0].transpose(1, 2, 0)
    return image


def smooth(width: int, height: int) -> Array:
    """A picture whose colours change slowly: a step of a pixel is a few of 255."""
    x, y = np.meshgrid(np.linspace(0, 1, width), np.linspace(0, 1, height))
    return np.dstack([200 * x, 200 * y, 100 * (1 - x) + 80 * y]).astype(np.uint8)


def letterboxed(picture: Array, size: int, pad: int) -> Array:
    """As Ultralytics' LetterBox describes it: centred, with the odd pixel behind."""
    height, width = picture.shape[:2]
    scale = min(size / height, size / width)
    inner = round(width * scale), round(height * scale)
    small = cv2.resize(picture, inner, interpolation=cv2.INTER_LINEAR)
    left, top = (size - inner[0]) / 2, (size - inner[1]) / 2
    sides = round(top - 0.1), round(top + 0.1), round(left - 0.1), round(left + 0.1)
    return cv2.copyMakeBorder(small, *sides, cv2.BORDER_CONSTANT, value=(pad,) * 3)


@pytest.mark.parametrize("size", [(640, 360), (333, 500), (853, 480), (200, 199)])
@pytest.mark.parametrize("resize", [None, samebytes_opencv.resize])
def test_it_is_the_picture_that_opencv_makes(size: tuple[int, int], resize: Any) -> None:
    picture = smooth(*size)
    frame = sb.frame(picture, format="BGR")
    model = sbo.image_model(echo(), frame, fit="letterbox", pad=114, resize=resize)
    np.testing.assert_allclose(
        image_of(model.infer(frame)), letterboxed(picture, 64, 114), atol=1.1
    )


@pytest.mark.parametrize("device", ["CPU", "GPU", "NPU"])
@pytest.mark.parametrize(
    "options", [{"fit": "letterbox", "pad": (5, 114, 200)}, {"fit": "crop"}], ids=str
)
@pytest.mark.parametrize("format_", ["NV12", "I420", "BGR"])
def test_devices_see_the_same(device: str, options: dict[str, Any], format_: str) -> None:
    if not any(name.startswith(device) for name in openvino.Core().available_devices):
        pytest.skip(missing_device(device))
    frame = sb.context("cpu").allocate_frame(format_, 160, 96)
    random = np.random.default_rng(5)
    for plane in frame.planes:
        plane.native[...] = random.integers(60, 190, plane.shape, np.uint8)
    alone = sbo.image_model(
        echo(), frame, scale=255, config={"INFERENCE_PRECISION_HINT": "f32"}, **options
    )
    want = image_of(alone.infer(frame))
    for batch in (1, 2):
        model = sbo.image_model(echo(), frame, device=device, batch=batch, scale=255, **options)
        request = model.create_infer_request()
        request.set_frames([frame] * batch if device != "NPU" else [frame])
        request.request.infer()
        np.testing.assert_allclose(image_of(request.outputs()), want, atol=2.5 / 255)
    assert sb.stats().copies == 0


@pytest.mark.parametrize("device", ["CPU", "GPU"])
@pytest.mark.parametrize("fit", ["letterbox", "crop"])
def test_video_surfaces(device: str, fit: Any) -> None:
    if not probe("vaapi").usable:
        pytest.skip(missing_device("VAAPI"))
    if not any(name.startswith(device) for name in openvino.Core().available_devices):
        pytest.skip(missing_device(device))
    pixels = np.random.default_rng(0).integers(60, 190, (96, 128), np.uint8)
    surface = sb.context("vaapi").allocate_frame("NV12", 128, 64)
    with surface.map("cpu", "w") as planes:
        planes.planes[0].native[...] = pixels[:64]
        planes.planes[1].native[...] = pixels[64:].reshape(32, 64, 2)
    plain = sb.frame(pixels, format="NV12", width=128, height=64)
    want = image_of(sbo.image_model(echo(), plain, fit=fit, pad=9).infer(plain))
    model = sbo.image_model(echo(), surface, device=device, fit=fit, pad=9)
    sb.reset_stats()
    image = image_of(model.infer(surface))
    assert sb.stats().copies == 0
    np.testing.assert_allclose(image, want, atol=2)


@pytest.mark.parametrize("device", ["CPU", "GPU"])
@pytest.mark.parametrize("matrix", ["smpte170m", "bt709"])
def test_regions_of_video_surfaces(device: str, matrix: str) -> None:
    if not probe("vaapi").usable:
        pytest.skip(missing_device("VAAPI"))
    if not any(name.startswith(device) for name in openvino.Core().available_devices):
        pytest.skip(missing_device(device))
    pixels = np.random.default_rng(0).integers(90, 150, (96, 128), np.uint8)
    surface = sb.context("vaapi").allocate_frame("NV12", 128, 64, metadata={"color_matrix": matrix})
    with surface.map("cpu", "w") as planes:
        planes.planes[0].native[...] = pixels[:64]
        planes.planes[1].native[...] = pixels[64:].reshape(32, 64, 2)
    plain = sb.frame(pixels, format="NV12", width=128, height=64, metadata={"color_matrix": matrix})
    sb.reset_stats()
    for frame in (surface, plain):
        frame.regions.extend([sb.Region(31, 9, 70, 50), sb.Region(100, 40, 28, 24)])
        infer = el.create(
            "openvino.infer", echo(), device if frame is surface else "CPU", regions=True, batch=2,
            fit="letterbox", pad=9,
        )  # fmt: skip
        el.Pipeline([frame], infer).run(threads=0)
    assert sb.stats().copies == 0
    for ours, theirs in zip(surface.regions, plain.regions, strict=True):
        images = [find(region, InferenceResult) for region in (ours, theirs)]
        assert images[0] is not None
        assert images[1] is not None
        np.testing.assert_allclose(images[0].array, images[1].array, atol=2)
