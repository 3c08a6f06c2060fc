# SPDX-License-Identifier: Apache-2.0
"""image_model on a GPU and an NPU: the same pixels, in place, and refusals that say the way out."""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np
import openvino
import pytest

import samebytes
from samebytes import Frame
from samebytes.errors import CopyRequiredError
from samebytes_openvino import image_model

from ..image.pictures import Array, echo, expected, noise

# A GPU computes with half precision unless configured otherwise.
EXACT = {"INFERENCE_PRECISION_HINT": "f32"}
CONFIG = {"GPU": EXACT, "NPU": {}}


def on_pages(frame: Frame, padding: int = 0) -> Frame:
    """The same pixels in memory that the devices take: each plane on its own pages."""
    planes = []
    for plane, layout in zip(frame.planes, frame.image.plane_layouts(), strict=True):
        rows, columns, *channels = layout.shape
        shape = (rows, columns + padding, *channels)
        size = -(-int(np.prod(shape)) * layout.itemsize // 4096) * 4096
        memory = samebytes.context("cpu").allocate((size,), "uint8").native
        whole = memory[: int(np.prod(shape)) * layout.itemsize].view(layout.dtype).reshape(shape)
        whole[:, :columns] = plane.native
        planes.append(whole[:, :columns])
    return samebytes.frame(planes, format=frame.format, width=frame.width, height=frame.height)


def image_of(outputs: Any) -> Array:
    image: Array = np.asarray(outputs.planes[0])[0]
    return image


@pytest.mark.parametrize("format_", ["NV12", "I420", "I422", "YUY2", "GRAY8", "RGB", "BGRX"])
@pytest.mark.parametrize(("width", "height", "padding"), [(64, 64, 0), (96, 64, 32)])
def test_in_place(remote: Any, format_: str, width: int, height: int, padding: int) -> None:
    frame = on_pages(noise(format_, width, height), padding)
    device = remote.device_name.partition(".")[0]
    model = image_model(echo(), frame, device=device, config=CONFIG[device])
    samebytes.reset_stats()
    request = model.create_infer_request()
    image = image_of(request.infer(frame))
    assert samebytes.stats().copies == 0
    places = [b.placement for b in request.bindings() if b.kind == "input"]
    assert set(places) <= {"in place", "imported"}
    range_ = "full" if format_ == "GRAY8" else "limited"
    wanted = expected(frame, (40, 30), range_=range_)
    np.testing.assert_allclose(image, wanted, atol=1.6)
    said = model.explain(frame)
    assert "copied: nothing" in said
    placed = {"NPU": "imported", "GPU": "in place"}[device]
    assert said.count(placed) == len(frame.planes)


@pytest.mark.usefixtures("npu")
def test_odd_sizes_on_the_npu() -> None:
    frame = on_pages(noise("I420", 85, 47), 11)
    model = image_model(echo(), frame, device="NPU")
    samebytes.reset_stats()
    image = image_of(model.infer(frame))
    assert samebytes.stats().copies == 0
    np.testing.assert_allclose(image, expected(frame, (40, 30)), atol=1.1)


def test_a_context_in_place_of_a_name(remote: Any) -> None:
    frame = on_pages(noise("NV12", 64, 64))
    model = image_model(echo(), frame, device=remote)
    image = image_of(model.infer(frame))
    np.testing.assert_allclose(image, expected(frame, (40, 30)), atol=3)
    assert repr(model).endswith(f"on {remote.device_name}>")


@pytest.mark.usefixtures("gpu")
def test_what_must_be_copied() -> None:
    frame = noise("NV12", 62, 46, 3)  # wherever the planes lie, their sizes do not fit
    model = image_model(echo(), frame, device="GPU", config=EXACT)
    with pytest.raises(CopyRequiredError, match=r"GPU[\s\S]*copy=True copies[\s\S]*resize="):
        model.infer(frame)
    assert "refused without copy=True" in model.explain(frame)
    samebytes.reset_stats()
    image = image_of(model.infer(frame, copy=True))
    pitches = sum(plane.strides[0] * plane.shape[0] for plane in frame.planes if plane.strides)
    assert samebytes.stats().copied_bytes == pitches  # whole rows
    np.testing.assert_allclose(image, expected(frame, (40, 30)), atol=1.6)


def test_resized_by_a_function(remote: Any) -> None:
    def corner(source: Array, target: Array) -> None:
        target[...] = source[: target.shape[0], : target.shape[1]]

    frame = noise("RGB", 63, 47, 5)
    device = remote.device_name.partition(".")[0]
    model = image_model(echo(), frame, device=device, color="RGB", resize=corner)
    samebytes.reset_stats()
    request = model.create_infer_request()
    image = image_of(request.infer(frame))
    assert samebytes.stats().copies == 0
    assert request.bindings()[0].placement == "in place"
    np.testing.assert_allclose(image, frame.planes[0].native[:30, :40].transpose(2, 0, 1), atol=0.2)


@pytest.mark.usefixtures("opencl_plugin")
def test_images_and_buffers_of_opencl(gpu: Any) -> None:
    opencl = gpu.derive("opencl")
    pixels = noise("NV12", 64, 64)
    for kind in ("image", "buffer"):
        frame = opencl.allocate_frame("NV12", 64, 64, kind=kind)
        for plane, source in zip(frame.planes, pixels.planes, strict=True):
            with plane.map("cpu", "w") as view:
                view.native[...] = source.native
        model = image_model(echo(), frame, device="GPU", config=EXACT)
        samebytes.reset_stats()
        image = image_of(model.infer(frame))
        assert samebytes.stats().copies == 0
        np.testing.assert_allclose(image, expected(pixels, (40, 30)), atol=2)
        said = "surfaces" if kind == "image" else "buffers of the GPU"
        assert said in model.explain()


@pytest.mark.usefixtures("npu")
def test_frames_that_share_pages_one_after_the_other() -> None:
    """The NPU holds a page once: the previous frame is released, whoever holds its outputs."""
    memory = samebytes.context("cpu").allocate((16 * 4096,), "uint8").native
    memory[...] = np.random.default_rng(3).integers(0, 256, memory.shape, np.uint8)
    model, kept = None, []
    for number in range(5):
        start = 64 + number * 5000
        rows = memory[start : start + 64 * 64].reshape(64, 64)
        frame = samebytes.frame(rows, format="GRAY8")
        model = model or image_model(echo(64, 64), frame, device="NPU")
        samebytes.reset_stats()
        outputs = model.infer(frame)
        kept.append(outputs.planes[0])
        np.testing.assert_allclose(image_of(outputs), np.stack([rows] * 3), atol=0.6)
        assert samebytes.stats().copied_bytes == 0


@pytest.mark.usefixtures("npu")
def test_the_models_shape_may_be_dynamic() -> None:
    frame = on_pages(noise("I420", 64, 64))
    own: openvino.Model = echo(-1, -1)
    model = image_model(own, frame, device="NPU", size=(40, 30))
    np.testing.assert_allclose(image_of(model.infer(frame)), expected(frame, (40, 30)), atol=1.1)


@pytest.mark.parametrize("format_", ["I420", "NV12", "BGR"])
def test_allocated_frames_fit(remote: Any, format_: str) -> None:
    """Frames of any size fit: 427 columns of chroma end within a cache line."""
    frame = samebytes.context("cpu").allocate_frame(format_, 854, 480)
    device = remote.device_name.partition(".")[0]
    model = image_model(echo(), frame, device=device)
    samebytes.reset_stats()
    model.infer(frame)
    assert samebytes.stats().copies == 0


@pytest.mark.usefixtures("npu")
def test_two_models_whose_frames_share_a_page() -> None:
    # Frames of 1.5 pages each, in memory that begins and ends amid a page.
    memory = np.frombuffer(mmap.mmap(-1, 4 * mmap.PAGESIZE), np.uint8, 2 * 6144, offset=1024)
    first, second = (
        samebytes.frame(half.reshape(96, 64), format="GRAY8") for half in memory.reshape(2, -1)
    )
    models = [image_model(echo(64, 96), first, device="NPU") for _ in range(2)]
    for model, frame in zip(models, (first, second), strict=True):  # which they do not hold
        model.infer(frame)
    one, other = (model.create_infer_request() for model in models)
    one.infer(first)
    with pytest.raises(CopyRequiredError, match="last frame of a request") as refused:
        other.infer(second)
    said = [n for n, why in enumerate(refused.value.reasons) if "shares a page" in why]
    plugins = [n for n, why in enumerate(refused.value.reasons) if "the NPU plugin imports" in why]
    assert said[0] < plugins[0]
    one.close()
    other.infer(second)
