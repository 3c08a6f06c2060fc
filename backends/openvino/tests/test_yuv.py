# SPDX-License-Identifier: Apache-2.0
"""Models that take the planes of frames."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import samebytes
from samebytes import Frame
from samebytes.errors import CopyRequiredError, LayoutError, UnknownNameError
from samebytes_openvino import InferRequest, yuv_inputs

from .models import core, image_model

Array = np.ndarray[Any, Any]
WIDTH, HEIGHT = 32, 24


def frame_of(format_: str, padding: int = 0) -> Frame:
    """Random planes, whose rows are longer by `padding` pixels than what they show."""
    generator = np.random.default_rng(1)
    planes = []
    for layout in samebytes.ImageFormat.of(format_).plane_layouts(WIDTH, HEIGHT):
        rows, columns, *channels = layout.shape
        whole = generator.integers(16, 236, (rows, columns + padding, *channels), np.uint8)
        planes.append(whole[:, :columns])
    return samebytes.frame(planes, format=format_, width=WIDTH, height=HEIGHT)


def expected(frame: Frame) -> Array:
    """BGR of an NV12 or I420 frame, (3, height, width), after ITU-R BT.601 in limited range."""
    y, *chroma = (np.asarray(p).astype(np.float32) for p in frame)
    u, v = (chroma[0][..., 0], chroma[0][..., 1]) if len(chroma) == 1 else chroma
    u, v = (c.repeat(2, 0).repeat(2, 1) - 128 for c in (u, v))
    luma = 1.164 * (y - 16)
    bgr = np.stack([luma + 2.018 * u, luma - 0.391 * u - 0.813 * v, luma + 1.596 * v])
    return bgr.clip(0, 255)


@pytest.mark.parametrize("format_", ["NV12", "I420"])
def test_colours(format_: str) -> None:
    model, names = yuv_inputs(image_model(), format_, WIDTH, HEIGHT)
    frame = frame_of(format_)
    request = InferRequest(core().compile_model(model, "CPU"))
    samebytes.reset_stats()
    request.set_frame(frame, names)
    (image,) = request.infer()
    np.testing.assert_allclose(np.asarray(image)[0], expected(frame), atol=1.1)
    assert samebytes.stats().copies == 0
    assert all(b.placement == "in place" for b in request.bindings())
    (again,) = request.infer(frame)
    np.testing.assert_array_equal(again, image)


def test_order_of_colours_and_layout() -> None:
    frame = frame_of("NV12")
    model, names = yuv_inputs(
        image_model(layout="NHWC"), "nv12", WIDTH, HEIGHT, layout="NHWC", color="RGB"
    )
    request = InferRequest(core().compile_model(model, "CPU"))
    request.set_frame(frame, names)
    image = np.asarray(request.infer().planes[0])[0]
    np.testing.assert_allclose(image, expected(frame)[::-1].transpose(1, 2, 0), atol=1.1)


def test_scaling() -> None:
    model, _ = yuv_inputs(image_model(12, 16), "I420", WIDTH, HEIGHT)
    request = InferRequest(core().compile_model(model, "CPU"))
    assert np.asarray(request.infer(frame_of("I420")).planes[0]).shape == (1, 3, 12, 16)


def test_padded_planes_need_copy() -> None:
    model, _ = yuv_inputs(image_model(), "NV12", WIDTH, HEIGHT)
    request = InferRequest(core().compile_model(model, "CPU"))
    frame = frame_of("NV12", padding=8)
    with pytest.raises(CopyRequiredError, match="'image/y'"):
        request.set_frame(frame)
    samebytes.reset_stats()
    image = np.asarray(request.infer(frame, copy=True).planes[0])[0]
    np.testing.assert_allclose(image, expected(frame), atol=1.1)
    assert samebytes.stats().copied_bytes == WIDTH * HEIGHT * 3 // 2


@pytest.mark.parametrize("format_", ["NV12", "I420"])
@pytest.mark.parametrize("size", [(HEIGHT, WIDTH), (12, 16), (30, 50)])
def test_padded_planes_in_place(format_: str, size: tuple[int, int]) -> None:
    frame = frame_of(format_, padding=8)
    pitches = [plane.strides[0] for plane in frame if plane.strides]
    samebytes.reset_stats()
    seen = []
    for given in (pitches, frame):
        model, names = yuv_inputs(image_model(*size), format_, WIDTH, HEIGHT, pitches=given)
        request = InferRequest(core().compile_model(model, "CPU"))
        request.set_frame(frame, names)
        seen.append(np.asarray(request.infer().planes[0]).copy())
        places = {b.name: b.placement for b in request.bindings()}
        assert all(places[name] == "in place" for name in names)
        for name, plane in zip(names, frame, strict=True):
            assert request.get_tensor(name).handle("data") == plane.handle("data")
    assert samebytes.stats().copies == 0
    dense, names = yuv_inputs(image_model(*size), format_, WIDTH, HEIGHT)
    request = InferRequest(core().compile_model(dense, "CPU"))
    request.set_frame(frame, names, copy=True)
    for image in seen:
        np.testing.assert_array_equal(image, request.infer().planes[0])


def test_the_model_is_not_changed() -> None:
    model = image_model()
    yuv_inputs(model, "NV12", WIDTH, HEIGHT)
    assert len(model.inputs) == 1
    assert list(model.inputs[0].shape) == [1, 3, HEIGHT, WIDTH]


def test_errors() -> None:
    with pytest.raises(UnknownNameError, match="format of yuv_inputs 'NV21'") as caught:
        yuv_inputs(image_model(), "NV21", WIDTH, HEIGHT)
    assert "NV12" in caught.value.nearest
    with pytest.raises(UnknownNameError, match="colour order"):
        yuv_inputs(image_model(), "NV12", WIDTH, HEIGHT, color="GBR")  # type: ignore[arg-type]
    with pytest.raises(LayoutError, match="width must be a positive integer"):
        yuv_inputs(image_model(), "NV12", 0, HEIGHT)
    with pytest.raises(LayoutError, match="pass resize=True"):
        yuv_inputs(image_model(), "NV12", WIDTH + 2, HEIGHT, resize=False)
    with pytest.raises(LayoutError, match="does not say where C, H and W are"):
        yuv_inputs(image_model(), "NV12", WIDTH, HEIGHT, layout="NC??")
    with pytest.raises(LayoutError, match="not a whole number"):
        yuv_inputs(image_model(), "NV12", WIDTH, HEIGHT, pitches=(WIDTH, WIDTH + 1))
    with pytest.raises(LayoutError, match="a row of it has"):
        yuv_inputs(image_model(), "NV12", WIDTH, HEIGHT, pitches=(WIDTH - 1, WIDTH))
    with pytest.raises(LayoutError, match="the model expects I420"):
        yuv_inputs(image_model(), "I420", WIDTH, HEIGHT, pitches=frame_of("NV12"))
    two, _ = yuv_inputs(image_model(), "NV12", WIDTH, HEIGHT)
    with pytest.raises(LayoutError, match="2 inputs"):
        yuv_inputs(two, "NV12", WIDTH, HEIGHT)


def test_as_many_planes_as_inputs() -> None:
    model, names = yuv_inputs(image_model(), "NV12", WIDTH, HEIGHT)
    request = InferRequest(core().compile_model(model, "CPU"))
    with pytest.raises(LayoutError, match="3 planes for 2 inputs"):
        request.set_frame(frame_of("I420"))
    with pytest.raises(LayoutError, match="2 planes for 1 inputs"):
        request.set_frame(frame_of("NV12"), names[:1])
    with pytest.raises(UnknownNameError):
        request.set_frame(frame_of("NV12"), ("y", "uv"))
