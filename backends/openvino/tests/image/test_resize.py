# SPDX-License-Identifier: Apache-2.0
"""Planes resized by a function of the user's, into the request's own tensors."""

from __future__ import annotations

import gc
import weakref
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import samebytes
from samebytes import Frame
from samebytes.errors import LayoutError
from samebytes_openvino import image_model

from .pictures import Array, echo, expected, nearest, noise


def resized(frame: Frame, width: int, height: int) -> Frame:
    """The frame with all planes of that size, by the same function."""
    format_ = frame.format
    whole = tuple(replace(plane, x_shift=0, y_shift=0) for plane in format_.planes)
    full = replace(format_, name="full chroma", planes=whole)
    planes = []
    for plane, layout in zip(frame.planes, full.plane_layouts(width, height), strict=True):
        target = np.zeros(layout.shape, layout.dtype)
        nearest(plane.native, target)
        planes.append(target)
    return samebytes.frame(planes, format=full, width=width, height=height)


@pytest.mark.parametrize(
    "format_", ["NV12", "I420", "I422", "I444", "GRAY8", "RGB", "BGRX", "P010"]
)
@pytest.mark.parametrize("size", [(40, 30), (41, 31), (200, 150)])
def test_colour_is_converted_at_the_models_size(format_: str, size: tuple[int, int]) -> None:
    frame = noise(format_, 86, 50, padding=4)
    model = image_model(echo(size[1], size[0]), frame, resize=nearest)
    samebytes.reset_stats()
    image = np.asarray(model.infer(frame).planes[0])[0]
    assert samebytes.stats().copies == 0
    range_ = "full" if format_ == "GRAY8" else "limited"
    want = expected(resized(frame, *size), size, range_=range_)
    np.testing.assert_allclose(image, want, atol=1.1)
    assert "copied: nothing" in model.explain(frame)
    assert "resized by resize() into the model's inputs" in model.explain()


def test_the_planes_are_read_in_place_and_not_held() -> None:
    seen: list[tuple[int, Any]] = []

    def watch(source: Array, target: Array) -> None:
        seen.append((source.__array_interface__["data"][0], weakref.ref(target)))
        assert not source.flags.writeable
        nearest(source, target)

    frame = noise("NV12", 86, 50)
    request = image_model(echo(), frame, resize=watch).create_infer_request()
    request.infer(frame)
    assert [address for address, _ in seen] == [p.handle("data") for p in frame.planes]
    bound = [b for b in request.bindings() if b.kind == "input"]
    assert [b.placement for b in bound] == ["in place", "in place"]
    memory = weakref.ref(frame.planes[0].native)
    del frame
    gc.collect()
    assert memory() is None


def test_one_model_for_all_sizes() -> None:
    model = image_model(echo(), noise("I420", 86, 50), resize=nearest)
    first = model.compiled
    for width, height in ((20, 10), (300, 200)):
        frame = noise("I420", width, height, padding=3)
        image = np.asarray(model.infer(frame).planes[0])[0]
        np.testing.assert_allclose(image, expected(resized(frame, 40, 30), (40, 30)), atol=1.1)
    assert model.compiled is first


def test_packed_chroma_cannot_be_resized() -> None:
    with pytest.raises(LayoutError, match="leave resize= out"):
        image_model(echo(), noise("YUY2", 64, 48), resize=nearest)


def test_an_error_of_the_function() -> None:
    def fail(source: Array, target: Array) -> None:
        raise ValueError(f"no {source.shape} to {target.shape}")

    frame = noise("NV12", 86, 50)
    model = image_model(echo(), frame, resize=fail)
    with pytest.raises(ValueError, match="no"):
        model.infer(frame)
