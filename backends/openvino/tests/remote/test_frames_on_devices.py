# SPDX-License-Identifier: Apache-2.0
"""Frames whose planes go to a device."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import samebytes
from samebytes.elements import FramePool
from samebytes.errors import CopyRequiredError, DeviceMismatchError
from samebytes_openvino import InferRequest, compile_model

from .models import nv12_model

HEIGHT, WIDTH = 64, 128


def picture() -> Any:
    """NV12 whose planes are whole pages."""
    frame = samebytes.context("cpu").allocate_frame("NV12", WIDTH, HEIGHT)
    random = np.random.default_rng(0)
    for plane in frame.planes:
        plane.host_array()[...] = random.integers(16, 235, plane.shape, np.uint8)
    return frame


def bgr_on_the_cpu(frame: Any) -> Any:
    model = compile_model(nv12_model(HEIGHT, WIDTH, None), "CPU")
    return np.asarray(InferRequest(model).infer(frame).planes[0])


def test_planes_of_the_cpu(gpu: Any) -> None:
    frame = picture()
    request = InferRequest(compile_model(nv12_model(HEIGHT, WIDTH, None), gpu))
    samebytes.reset_stats()
    request.set_frame(frame)
    assert [b.placement for b in request.bindings()[:2]] == ["in place"] * 2
    np.testing.assert_allclose(request.infer().planes[0], bgr_on_the_cpu(frame), atol=2)
    assert samebytes.stats().copies == 0


def pooled(format_: str, width: int, height: int) -> Any:
    context = samebytes.context("cpu")
    return FramePool(lambda: context.allocate_frame(format_, width, height), maximum=2).acquire()


def converted(format_: str, width: int, height: int) -> Any:
    source = "NV12" if format_ != "NV12" else "I420"
    return samebytes.context("cpu").allocate_frame(source, width, height).convert(format_)


def allocated(format_: str, width: int, height: int) -> Any:
    return samebytes.context("cpu").allocate_frame(format_, width, height)


# A converted picture whose rows end within 64 bytes has padded ones.
@pytest.mark.parametrize(
    ("make", "format_", "width", "height"),
    [
        *(
            (make, *size)
            for make in (allocated, pooled)
            for size in (("RGB24", 100, 98), ("I420", 640, 480), ("NV12", 322, 182))
        ),
        (converted, "RGB24", 128, 98),
        (converted, "I420", 640, 480),
    ],
)
@pytest.mark.parametrize("device", ["gpu", "npu"])
def test_a_device_writes_to_frames_of_any_size(
    request: pytest.FixtureRequest, device: str, make: Any, format_: str, width: int, height: int
) -> None:
    there = request.getfixturevalue(device)
    frame = make(format_, width, height)
    samebytes.reset_stats()
    for number, plane in enumerate(frame.planes):
        hops = samebytes.route(plane, there.node, access="rw").hops
        assert len(hops) == 1, "by the memory at hand, and no other framework's"
        with plane.map(there.node, "rw") as mapped, mapped.map("cpu", "rw") as seen:
            seen.native[...] = 31 * number + 5
        assert np.unique(plane.native).tolist() == [31 * number + 5]
    assert samebytes.stats().copies == 0


def test_planes_that_were_mapped_to_the_device(gpu: Any) -> None:
    frame = picture()
    request = InferRequest(compile_model(nv12_model(HEIGHT, WIDTH, None), gpu))
    planes = [plane.map("openvino").map(gpu) for plane in frame.map("openvino").planes]
    np.testing.assert_allclose(request.infer(planes).planes[0], bgr_on_the_cpu(frame), atol=2)


def test_frames_that_the_device_allocated(gpu: Any) -> None:
    frame = picture()
    there = gpu.allocate_frame("NV12", WIDTH, HEIGHT)
    for source, target in zip(frame.map("openvino").planes, there.planes, strict=True):
        target.native.copy_from(source.native)
    request = InferRequest(compile_model(nv12_model(HEIGHT, WIDTH, None), gpu))
    np.testing.assert_allclose(request.infer(there).planes[0], bgr_on_the_cpu(frame), atol=2)
    assert [b.placement for b in request.bindings()[:2]] == ["in place"] * 2


def test_padded_planes(gpu: Any) -> None:
    wide = np.random.default_rng(0).integers(16, 235, (HEIGHT * 3 // 2, 2 * WIDTH), np.uint8)
    planes = [wide[:HEIGHT, :WIDTH], wide[HEIGHT:, :WIDTH].reshape(HEIGHT // 2, WIDTH // 2, 2)]
    frame = samebytes.frame(planes, format="NV12", width=WIDTH, height=HEIGHT)
    request = InferRequest(compile_model(nv12_model(HEIGHT, WIDTH, None), gpu))
    with pytest.raises(CopyRequiredError):
        request.set_frame(frame)
    np.testing.assert_allclose(
        request.infer(frame, copy=True).planes[0], bgr_on_the_cpu(picture_of(planes)), atol=2
    )


def picture_of(planes: Any) -> Any:
    dense = [np.ascontiguousarray(plane) for plane in planes]
    return samebytes.frame(dense, format="NV12", width=WIDTH, height=HEIGHT)


def test_frames_of_another_device(gpu: Any, npu: Any) -> None:
    there = gpu.allocate_frame("NV12", WIDTH, HEIGHT)
    request = InferRequest(compile_model(nv12_model(HEIGHT, WIDTH, None), npu))
    with pytest.raises(DeviceMismatchError):
        request.set_frame(there)
