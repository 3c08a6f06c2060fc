# SPDX-License-Identifier: Apache-2.0
"""Surfaces whose colours a model of a GPU refuses: each piece of advice in the refusals works."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import openvino
import pytest
from openvino import opset13 as ops

import samebytes as sb
import samebytes.elements as el
from samebytes.errors import ElementError, LayoutError, SamebytesError
from samebytes_openvino import OpenVINOInfer, image_model

from .conftest import NO_VAAPI

pytestmark = pytest.mark.usefixtures("core")

LUMA = 100
LIMITED = pytest.approx((LUMA - 16) * 255 / 219, abs=1)
FULL = pytest.approx(LUMA, abs=1)

REFUSED: dict[str, dict[str, Any]] = {
    "full range": {"color_range": "full"},
    "matrix": {"color_matrix": "ycgco"},
    "10 bits": {},
}


@pytest.fixture(autouse=True)
def va() -> None:
    pytest.importorskip(
        "samebytes_vaapi", reason="missing package samebytes-vaapi: pip install samebytes-vaapi"
    )
    try:
        sb.context("vaapi")
    except SamebytesError:
        pytest.skip(NO_VAAPI)


def mean_of_image() -> openvino.Model:
    image = ops.parameter([1, 3, 32, 32], np.float32, name="image")
    mean = ops.reduce_mean(image, ops.constant([1, 2, 3]))
    mean.output(0).get_tensor().set_names({"mean"})
    return openvino.Model([ops.result(mean)], [image], "mean")


def surface(kind: str) -> sb.Frame[Any]:
    """A gray picture that says of its colours what is refused."""
    deep = kind == "10 bits"
    frame = sb.context("vaapi").allocate_frame("P010" if deep else "NV12", 64, 64)
    with frame.map("cpu", "w") as view:
        for plane, value in zip(view.planes, (LUMA, 128), strict=True):
            plane.native[...] = value << 8 if deep else value
    frame.metadata.update(REFUSED[kind])
    return frame


def by_hand(frame: sb.Frame[Any], **options: Any) -> float:
    model = image_model(mean_of_image(), frame, device="GPU", **options)
    (output,) = model.infer(frame)
    return float(np.asarray(output.map("cpu").native).item())


def by_element(frame: sb.Frame[Any], **options: Any) -> float:
    seen: list[float] = []

    def note(_: Any, outputs: Any) -> list[sb.Region]:
        seen.append(float(np.asarray(outputs["mean"].map("cpu").native).item()))
        return []

    infer = OpenVINOInfer(mean_of_image(), "GPU", postprocess=note, **options)
    el.Pipeline([frame], infer).run(threads=0)
    return seen[0]


def resize(run: Callable[..., float], frame: sb.Frame[Any]) -> float:
    reason = "missing package samebytes-opencv: pip install samebytes-opencv"
    return run(frame, resize=pytest.importorskip("samebytes_opencv", reason=reason).resize)


def as_buffers(run: Callable[..., float], frame: sb.Frame[Any]) -> float:
    pytest.importorskip("pyopencl", reason="missing package pyopencl: pip install pyopencl")
    return run(frame.map("opencl"))


def nearest(run: Callable[..., float], frame: sb.Frame[Any]) -> float:
    return run(frame, color_matrix="BT.709")


def as_rgb(run: Callable[..., float], frame: sb.Frame[Any]) -> float:
    """Converted by hand: gray of any matrix."""
    luma = frame.map("cpu").planes[0].native.reshape(64, 64)
    gray = np.clip((luma.astype(float) - 16) * 255 / 219, 0, 255).round().astype(np.uint8)
    made = sb.context("cpu").allocate_frame("RGB", 64, 64)
    made.planes[0].native.reshape(64, 64, 3)[...] = gray[..., None]
    return run(made)


def converted(run: Callable[..., float], frame: sb.Frame[Any]) -> float:
    reason = "missing package samebytes-ffmpeg: pip install samebytes-ffmpeg"
    pytest.importorskip("samebytes_ffmpeg", reason=reason)
    return run(frame.convert("NV12"))


ADVICE: dict[str, tuple[Callable[..., float], Any]] = {
    "pass resize=, as samebytes_opencv.resize, which reads them on the CPU": (resize, FULL),
    'the frame as buffers, which frame.map("opencl") gives': (as_buffers, FULL),
    'pass frame.convert("NV12")': (converted, LIMITED),
    "resize=, as samebytes_opencv.resize, which reads the planes on the CPU": (resize, LIMITED),
    "pass color_matrix= of the nearest one": (nearest, LIMITED),
    "give it RGB frames of a program that converts them": (as_rgb, LIMITED),
}
"""The pieces of advice in refusals: how each is followed, and what the model then sees."""


def advised(refusal: str) -> list[str]:
    """The pieces of advice in a refusal: what follows the colon at its end."""
    return re.split(r", or ", re.split(r": (?=pass )", refusal)[-1])


@pytest.mark.parametrize("run", [by_hand, by_element])
@pytest.mark.parametrize("kind", REFUSED)
def test_what_a_refusal_advises_works(kind: str, run: Callable[..., float]) -> None:
    with pytest.raises((LayoutError, ElementError)) as caught:
        run(surface(kind))
    found = advised(str(caught.value))
    assert len(found) == 2
    for piece in found:
        follow, seen = ADVICE[piece]
        assert follow(run, surface(kind)) == seen, piece
