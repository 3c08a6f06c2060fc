# SPDX-License-Identifier: Apache-2.0
"""Parts of one frame in one inference: each is what image_model sees of frame.crop()."""

from __future__ import annotations

from typing import Any

import numpy as np
import openvino
import pytest
from openvino import opset13 as ops

import samebytes as sb
import samebytes_openvino as sbo
from samebytes.errors import LayoutError
from samebytes.metadata import AffineTransform, upright_transform
from samebytes.testing import missing_device
from samebytes_openvino._image._model import parts_model
from samebytes_openvino._request._outputs import outputs_of_item

Array = np.ndarray[Any, Any]
EXACT = {"INFERENCE_PRECISION_HINT": "f32"}
SIZE = (64, 48)
PARTS = [(12, 8, 90, 50), (158, 86, 42, 34), (2, 4, 64, 48)]  # the second ends at both edges


def echo(size: tuple[int, int] = SIZE) -> openvino.Model:
    """A model that gives its image back."""
    x = ops.parameter([1, 3, size[1], size[0]], np.float32, name="image")
    return openvino.Model([ops.result(ops.relu(x))], [x], "echo")


def noise(format_: str, width: int = 200, height: int = 120) -> sb.Frame[Any]:
    frame = sb.context("cpu").allocate_frame(format_, width, height)
    random = np.random.default_rng(0)
    for plane in frame.planes:
        stored = np.asarray(plane.native).view(np.uint8)
        stored[...] = random.integers(60, 190, stored.shape, np.uint8)
    return frame


def seen(
    frame: sb.Frame[Any], parts: list[tuple[int, int, int, int]], count: int = 2, **options: Any
) -> tuple[list[Array], list[AffineTransform]]:
    """The picture that the model sees of each part, and the part's place in the frame."""
    options.setdefault("config", EXACT)
    request = parts_model(echo(), frame, count=count, **options).create_infer_request()
    images: list[Array] = []
    transforms = []
    for first in range(0, len(parts), count):
        some = parts[first : first + count]
        transforms += request.set_parts(frame, some)
        request.request.infer()
        for number in range(len(some)):
            made = (
                request.request.outputs()
                if count == 1
                else outputs_of_item(request.request, number, count)
            )
            images.append(np.array(made[0].host_array())[0])
    request.close()
    return images, transforms


OPTIONS: list[dict[str, Any]] = [
    {},
    {"fit": "letterbox", "pad": (1, 100, 200)},
    {"fit": "letterbox", "align": "bottom-right", "mean": 10, "scale": (2, 3, 4), "pad": 114},
    {"fit": "crop"},
    {"color": "RGB"},
]


@pytest.mark.parametrize(
    ("format_", "options"),
    [
        (format_, options)
        for format_ in ("BGR", "GRAY8", "NV12", "I420", "YUY2", "P010")
        for options in OPTIONS
        # Of a picture that was cut out, "crop" begins between samples of chroma.
        if options.get("fit") != "crop" or format_ in ("BGR", "GRAY8")
    ],
    ids=str,
)
def test_a_part_is_what_crop_cuts_out(format_: str, options: dict[str, Any]) -> None:
    frame = noise(format_)
    images, transforms = seen(frame, PARTS, **options)
    for image, transform, part in zip(images, transforms, PARTS, strict=True):
        cut = frame.crop(*part)
        model = sbo.image_model(echo(), cut, config=EXACT, **options)
        np.testing.assert_allclose(image, model.infer(cut)[0].host_array()[0], atol=0.51)
        whole = AffineTransform.of_rectangles((200, 120), part[2:], part)
        np.testing.assert_allclose(
            transform.matrix, whole.after(model.transform(cut)).matrix, atol=1e-12
        )


def test_white_of_gray_of_limited_range() -> None:
    frame = sb.context("cpu").allocate_frame("GRAY16", 200, 120)
    frame.planes[0].native[...] = 235 << 8
    for image in seen(frame, PARTS, color_range="limited")[0]:
        np.testing.assert_allclose(image, 255, atol=0.1)


@pytest.mark.parametrize("format_", ["NV12", "I420", "YUY2"])
def test_parts_begin_and_end_at_any_pixel(format_: str) -> None:
    """As many pixels as the model's image has: it sees those of the whole picture, unchanged."""
    frame = noise(format_, 201, 121) if format_ != "YUY2" else noise(format_)
    size = frame.width, frame.height
    whole = sbo.image_model(echo(size), frame, config=EXACT).infer(frame)[0].host_array()[0]
    parts = [(11, 7, *SIZE), (size[0] - 64, size[1] - 48, *SIZE), (0, 1, *SIZE)]
    images, _ = seen(frame, parts, count=3)
    for image, (x, y, width, height) in zip(images, parts, strict=True):
        np.testing.assert_allclose(image, whole[:, y : y + height, x : x + width], atol=0.51)


@pytest.mark.parametrize("fit", ["stretch", "letterbox", "crop"])
@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
def test_upright_parts(rotation: int, mirrored: bool, fit: Any) -> None:
    frame = noise("BGR")
    frame.metadata.update(rotation=rotation, mirrored=mirrored)
    images, transforms = seen(frame, PARTS, upright=True, fit=fit, pad=9)
    for image, transform, part in zip(images, transforms, PARTS, strict=True):
        cut = frame.crop(*part)
        model = sbo.image_model(echo(), cut, config=EXACT, upright=True, fit=fit, pad=9)
        np.testing.assert_allclose(image, model.infer(cut)[0].host_array()[0], atol=1e-4)
        whole = AffineTransform.of_rectangles((200, 120), part[2:], part)
        to_cut = upright_transform(cut).after(model.transform(cut))
        np.testing.assert_allclose(transform.matrix, whole.after(to_cut).matrix, atol=1e-12)


@pytest.mark.parametrize("device", ["CPU", "GPU", "NPU"])
@pytest.mark.parametrize("count", [1, 2])
def test_places_in_large_pictures(device: str, count: int) -> None:
    """Beyond 2**24 a float has no odd numbers, beyond 2048 half of one."""
    if not any(name.startswith(device) for name in openvino.Core().available_devices):
        pytest.skip(missing_device(device))
    frame = sb.context("cpu").allocate_frame("GRAY8", 5120, 4000)
    pixels = frame.planes[0].native
    pixels[...] = 0
    parts = [(5120 - 64, 4000 - 48, *SIZE), (4097, 3501, *SIZE)]
    for x, y, width, height in parts:
        pixels[y : y + height, x : x + width] = np.random.default_rng(x).integers(
            0, 256, (height, width), np.uint8
        )
    images, _ = seen(frame, parts, count, device=device, config={})
    for image, (x, y, width, height) in zip(images, parts, strict=True):
        cut = pixels[y : y + height, x : x + width]
        np.testing.assert_allclose(image, np.broadcast_to(cut, image.shape), atol=0.6)


@pytest.mark.together
@pytest.mark.parametrize("device", ["GPU", "NPU"])
@pytest.mark.parametrize("format_", ["NV12", "I420", "BGR"])
def test_devices_see_the_same(device: str, format_: str) -> None:
    if not any(name.startswith(device) for name in openvino.Core().available_devices):
        pytest.skip(missing_device(device))
    frame = noise(format_)
    sb.reset_stats()
    images, _ = seen(frame, PARTS, device=device, config={}, fit="letterbox")
    assert sb.stats().copies == 0
    for image, want in zip(images, seen(frame, PARTS, fit="letterbox")[0], strict=True):
        np.testing.assert_allclose(image, want, atol=1.5)


def test_frames_of_other_layouts_get_models_of_their_own() -> None:
    first, second = noise("BGR"), noise("NV12", 160, 96)
    request = parts_model(echo(), first, count=1, config=EXACT).create_infer_request()
    for frame in (first, second, first):
        request.set_parts(frame, [PARTS[0]])
        image = np.array(request.request.infer()[0].host_array())[0]
        np.testing.assert_allclose(image, seen(frame, [PARTS[0]])[0][0], atol=1e-4)


def test_what_cannot_be() -> None:
    frame = noise("BGR")
    request = parts_model(echo(), frame, count=2).create_infer_request()
    for parts in ([], PARTS):
        with pytest.raises(LayoutError, match=r"takes 1 to 2"):
            request.set_parts(frame, parts)
    x = ops.parameter([1, 3, -1, -1], np.float32, name="image")
    model = openvino.Model([ops.result(ops.relu(x))], [x], "open")
    with pytest.raises(LayoutError, match=r"of any size.*pass size="):
        parts_model(model, frame, count=1)
    assert parts_model(model, frame, count=1, size=SIZE).compiled
