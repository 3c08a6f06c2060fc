# SPDX-License-Identifier: Apache-2.0
"""samebytes-v4l2 on vivid: the camera's description, formats, times and refusals."""

from __future__ import annotations

import fcntl
import struct
import time
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import samebytes.elements as el
from samebytes import ImageFormat
from samebytes.errors import BusyError, LayoutError, UnsupportedObjectError

from .vivid import CAMERA, HEIGHT, OUTPUT, WIDTH

v4l2 = pytest.importorskip("samebytes_v4l2")

pytestmark = pytest.mark.dmabuf

# linux/videodev2.h
G_FMT, S_FMT, S_INPUT = 0xC0D05604, 0xC0D05605, 0xC0045627
ALTERNATE = 7


def test_what_it_says_of_itself(camera: Any) -> None:
    assert camera.driver == "vivid"
    assert "vivid" in repr(camera)
    assert CAMERA in [one.path for one in v4l2.cameras()]
    assert OUTPUT not in [one.path for one in v4l2.cameras()]
    (nv12,) = [one for one in camera.formats() if one.fourcc == "NV12"]
    assert (nv12.format, nv12.compressed, nv12.step) == ("NV12", False, None)
    assert (WIDTH, HEIGHT) in nv12.sizes
    assert 30 in camera.rates("NV12", WIDTH, HEIGHT)
    assert str(camera.image) == "NV12 320x180"
    assert camera.rate == Fraction(30)
    assert len(camera.pitches) == 2


def test_times_and_numbers(camera: Any) -> None:
    camera.start(4)
    first, second = camera.read(), camera.read()
    assert first.meta.time_base == Fraction(1, 1_000_000)
    # By the clock of time.monotonic(); vivid's times are up to a picture's ahead of it.
    assert first.pts < second.pts < (time.monotonic() + 1) * 1_000_000
    assert first.metadata["duration"] == Fraction(1, 30)
    assert first.metadata["v4l2"]["clock"] == "monotonic"
    assert first.metadata["color_matrix"] == "smpte170m"
    step = second.metadata["v4l2"]["sequence"] - first.metadata["v4l2"]["sequence"]
    assert step == 1 + second.metadata["v4l2"]["dropped"]


def test_a_camera_starts_again_with_another_format(camera: Any) -> None:
    held = camera.start(2).read()
    with pytest.raises(BusyError, match="streams: stop"):
        camera.set_format("YUY2")
    camera.stop()
    assert str(camera.set_format("YUY2", 640, 360)) == "YUY2 640x360"
    assert camera.start(2).read().format.name == "YUY2"
    assert held.format.name == "NV12"


def test_a_camera_that_another_has(camera: Any) -> None:
    camera.start(2)
    with v4l2.Camera(CAMERA) as other:
        with pytest.raises(BusyError, match="fuser -v /dev/video0"):
            other.start(2)
        with pytest.raises(BusyError, match="fuser -v /dev/video0"):
            other.set_format("YUY2", 640, 360)
    assert camera.read() is not None


def test_an_output_is_refused() -> None:
    with pytest.raises(UnsupportedObjectError, match=r"shows pictures.*other nodes: /dev/video0"):
        v4l2.Camera(OUTPUT)


def test_what_a_camera_does_not_have(camera: Any) -> None:
    with pytest.raises(LayoutError, match="has no NV12 321x180; the nearest is NV12 320x180"):
        camera.set_format("NV12", 321, 180)
    assert str(camera.image) == "NV12 320x180"
    with pytest.raises(UnsupportedObjectError, match="has no GBRP; it has "):
        camera.set_format("GBRP")
    assert str(camera.set_format("RGB565")) == "RGB565 320x180"
    with pytest.raises(UnsupportedObjectError, match="has no RGBP; it has "):
        camera.set_format("RGBP")  # planar, which is not V4L2's code of that name
    with pytest.raises(LookupError, match="io of a camera"):
        camera.start(2, io="read")
    with pytest.raises(LayoutError, match="1 to 32 buffers, not 33"):
        camera.start(33)


@pytest.fixture
def single_fields() -> Iterator[None]:
    """vivid's television, whose buffers have one field each."""
    with v4l2.Camera(CAMERA) as camera:
        fd = camera._device.fd.fileno()
        fcntl.ioctl(fd, S_INPUT, struct.pack("<i", 1))
        # struct v4l2_format: type at 0, then width, height, pixelformat and field from 8 on.
        about = bytearray(208)
        struct.pack_into("<I", about, 0, 1)
        fcntl.ioctl(fd, G_FMT, about)
        struct.pack_into("<I", about, 20, ALTERNATE)
        fcntl.ioctl(fd, S_FMT, about)
    yield
    with v4l2.Camera(CAMERA) as camera:
        fcntl.ioctl(camera._device.fd.fileno(), S_INPUT, struct.pack("<i", 0))


@pytest.mark.usefixtures("single_fields")
def test_the_element_takes_whole_pictures_where_single_fields_were_set() -> None:
    with v4l2.Camera(CAMERA) as camera, pytest.raises(LayoutError, match="one field"):
        camera.image  # noqa: B018 - a property that raises
    source = el.create("v4l2.source", CAMERA, width=720, height=480, frames=2)
    with el.Pipeline(source).start() as out:
        assert [frame.image.height for frame in out] == [480, 480]


def component(frame: Any, letter: str, x: int, y: int) -> int:
    """A component of a pixel, in eight bits; chroma is that of the sample that it shares."""
    format_: ImageFormat = frame.format
    index = next(i for i, names in enumerate(format_.plane_names) if letter in names)
    names, plane = format_.plane_names[index], format_.planes[index]
    row = np.ascontiguousarray(frame.map("cpu").native[index][y >> plane.y_shift]).ravel()
    pixels = 2 if len(names) == 2 * plane.channels else 1  # packed 4:2:2 names two of them
    group = (x // pixels) >> plane.x_shift
    value: int = int(row[group * len(names) + names.index(letter)]) >> format_.bit_shift
    return value >> (format_.bit_depth - 8)


def test_components_are_where_the_format_says(camera: Any) -> None:
    """vivid's second bar is yellow: the table of codes names each format as vivid fills it."""
    tried = []
    names = dict.fromkeys(one.format for one in camera.formats() if one.format is not None)
    for name in names:
        camera.set_format(name, 640, 360)
        if any(
            plane.dtype == "uint16" and len(plane_names) > 2
            for plane, plane_names in zip(
                camera.image.format.planes, camera.image.format.plane_names, strict=True
            )
        ):
            continue  # a pixel in a word
        frame = camera.start(2).read()
        here = {letter: component(frame, letter, 120, 350)
                for letter in "".join(frame.format.plane_names) if letter in "rgbyuv"}  # fmt: skip
        if frame.format.color_model == "rgb":
            assert min(here["r"], here["g"]) > 128 > 64 > here["b"], (name, here)
        elif frame.format.color_model == "yuv":
            assert here["y"] > 100 > here["u"], (name, here)
            assert 120 < here["v"] < 170, (name, here)
        else:
            assert here["y"] > 100, (name, here)
        tried.append(name)
        del frame
        camera.stop()
    assert {"NV12", "YUY2", "RGB", "BGR", "BGRX", "GRAY8", "I420"} <= set(tried)
