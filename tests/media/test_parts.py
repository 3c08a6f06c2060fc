# SPDX-License-Identifier: Apache-2.0
"""Parts of pictures in other frameworks: the same bytes, and nothing is copied."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import samebytes as sb
from samebytes import Frame, metadata
from samebytes.metadata import AffineTransform, Detection
from samebytes.testing import address_of

FORMATS = ("NV12", "I420", "P010", "YUY2", "BGR", "GRAY8")


@pytest.fixture(params=FORMATS)
def part(request: pytest.FixtureRequest) -> Frame:
    """The middle of a picture, of other values than what is around it."""
    frame = sb.context("cpu").allocate_frame(request.param, 64, 48)
    frame.regions.append(sb.Region(16, 16, 8, 8, "cat"))
    made = frame.crop(16, 8, 32, 24)
    for number, plane in enumerate(made.planes):
        plane.native[...] = 3 + number
    sb.reset_stats()
    return made


def assert_same_bytes(part: Frame, arrays: list[np.ndarray[Any, Any]]) -> None:
    for number, (plane, array) in enumerate(zip(part.planes, arrays, strict=True)):
        assert address_of(array) == address_of(plane.native)
        assert array.size == plane.native.size
        assert (array == 3 + number).all()
        plane.native[...] = 90
        assert (array == 90).all()
    assert sb.stats().copies == 0


def test_openvino(part: Frame) -> None:
    pytest.importorskip("openvino", reason="missing package openvino: pip install openvino")
    reason = "missing package samebytes-openvino: pip install samebytes-openvino"
    pytest.importorskip("samebytes_openvino", reason=reason)
    mapped = part.map("openvino")
    assert mapped.meta is part.meta
    assert_same_bytes(part, [plane.host_array() for plane in mapped])


@pytest.mark.parametrize("target", ["ffmpeg", "gstreamer", "opencv"])
def test_there_and_back(part: Frame, target: str) -> None:
    package = f"samebytes_{target}"
    name = package.replace("_", "-")
    pytest.importorskip(package, reason=f"missing package {name}: pip install {name}")
    mapped = part.map(target)
    assert mapped.image == part.image
    assert_same_bytes(part, [plane.native for plane in mapped.map("cpu")])


def test_a_part_of_a_decoders_frame() -> None:
    av = pytest.importorskip("av", reason="missing package av: pip install av")
    reason = "missing package samebytes-ffmpeg: pip install samebytes-ffmpeg"
    pytest.importorskip("samebytes_ffmpeg", reason=reason)
    native = av.VideoFrame(64, 48, "yuv420p")
    frame = sb.frame(native)
    with pytest.raises(sb.errors.UnsupportedObjectError, match=r'frame.map\("cpu"\).crop'):
        frame.crop(16, 8, 32, 24)
    region = metadata.add(frame, Detection(0.25, 0.25, 0.75, 0.75))
    part = frame.map("cpu", "rw").crop(*region.box)
    del frame
    first = native.planes[0].buffer_ptr + 12 * native.planes[0].line_size + 16
    assert address_of(part.planes[0].native) == first
    del native
    part.planes[0].native[...] = 7  # the bytes are still there
    where = metadata.find(part, AffineTransform)
    assert where is not None
    assert where.apply(0.5, 0.5) == pytest.approx((0.5, 0.5))
