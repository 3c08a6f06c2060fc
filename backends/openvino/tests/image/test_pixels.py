# SPDX-License-Identifier: Apache-2.0
"""The model's view of a frame: the same numbers for every format, size, padding and layout."""

from __future__ import annotations

from typing import Any

import numpy as np
import openvino
import pytest
from openvino.preprocess import ColorFormat, PrePostProcessor, ResizeAlgorithm

import samebytes
from samebytes import Frame
from samebytes.errors import LayoutError, UnknownNameError
from samebytes.formats import known_formats
from samebytes_openvino import InferRequest, image_model, yuv_inputs
from samebytes_openvino._image._build import (
    Source,
    build,
    converting,
    gathering,
    gathering_is_faster,
)
from samebytes_openvino._image._model_input import Target, read
from samebytes_openvino._image._pixels import is_readable, supported_formats

from .pictures import Array, echo, expected, noise

# Rounded before it is weighed; OpenVINO's factors have three digits.
TOLERANCE = 1.1
# A number between two whole ones may be rounded the other way.
AWAY = 1.001


def seen(frame: Frame, size: tuple[int, int] = (40, 30), **arguments: Any) -> Array:
    model = image_model(echo(size[1], size[0]), frame, **arguments)
    samebytes.reset_stats()
    image: Array = np.asarray(model.infer(frame).planes[0])[0].copy()
    assert samebytes.stats().copies == 0
    return image


@pytest.mark.parametrize("format_", supported_formats(), ids=str)
@pytest.mark.parametrize("padding", [0, 5])
def test_every_format(format_: Any, padding: int) -> None:
    frame = noise(format_.name, 63, 45, padding)
    range_ = "full" if format_.color_model == "gray" else "limited"
    want = expected(frame, (40, 30), range_=range_)
    np.testing.assert_allclose(seen(frame), want, atol=TOLERANCE)


def test_formats_left_out() -> None:
    left = {f.name for f in known_formats()} - {f.name for f in supported_formats()}
    assert {"RGB565", "GRAYF32", "Y410"} <= left
    assert not {"NV12", "I420", "I422", "I444", "GRAY8", "RGB", "BGR", "RGBX", "BGRX"} & left
    assert all(not is_readable(samebytes.ImageFormat.of(name)) for name in left)


@pytest.mark.parametrize("frame_size", [(320, 180), (720, 400), (854, 480), (961, 541), (17, 9)])
@pytest.mark.parametrize("format_", ["NV12", "I420"])
def test_sizes_up_and_down(format_: str, frame_size: tuple[int, int]) -> None:
    frame = noise(format_, *frame_size, padding=10)
    for size in ((300, 300), (64, 200), frame_size, (frame_size[0], 50), (50, frame_size[1])):
        np.testing.assert_allclose(seen(frame, size), expected(frame, size), atol=TOLERANCE)


@pytest.mark.parametrize("matrix", ["BT.601", "BT.709", "BT.2020"])
@pytest.mark.parametrize("range_", ["limited", "full"])
def test_matrix_and_range(matrix: Any, range_: Any) -> None:
    frame = noise("I420", 64, 48)
    image = seen(frame, color_matrix=matrix, color_range=range_, color="RGB")
    want = expected(frame, (40, 30), "RGB", matrix, range_)
    np.testing.assert_allclose(image, want, atol=TOLERANCE)


def test_what_the_frame_says_of_its_colours() -> None:
    frame = noise("I420", 64, 48)
    frame.metadata["color_range"] = "full"
    want = expected(frame, (40, 30), range_="full")
    np.testing.assert_allclose(seen(frame), want, atol=TOLERANCE)
    stated = seen(frame, color_range="limited")
    np.testing.assert_allclose(stated, expected(frame, (40, 30)), atol=TOLERANCE)
    frame.metadata["color_range"] = "unknown"
    with pytest.raises(UnknownNameError, match="color_range"):
        seen(frame)


SAID = {"bt709": "BT.709", "bt470bg": "BT.601", "smpte170m": "BT.601", "bt2020nc": "BT.2020",
        "smpte240m": "SMPTE 240M", "fcc": "FCC"}  # fmt: skip


@pytest.mark.parametrize("said", SAID)
@pytest.mark.parametrize("format_", ["NV12", "I420", "YUY2", "I420_10"])
def test_the_matrix_is_the_one_that_the_frame_says(format_: str, said: str) -> None:
    frame = noise(format_, 64, 48)
    frame.metadata["color_matrix"] = said
    want = expected(frame, (40, 30), matrix=SAID[said])
    np.testing.assert_allclose(seen(frame), want, atol=TOLERANCE)
    stated = seen(frame, color_matrix="BT.601")
    np.testing.assert_allclose(stated, expected(frame, (40, 30)), atol=TOLERANCE)
    frame.metadata["color_matrix"] = "bt2020nc"
    np.testing.assert_allclose(seen(frame, color_matrix=said), want, atol=TOLERANCE)


@pytest.mark.parametrize("said", ["ycgco", "ictcp", "bt2020c", "gbr"])
def test_a_matrix_that_cannot_be_computed_is_refused_by_name(said: str) -> None:
    frame = noise("I420", 64, 48)
    frame.metadata["color_matrix"] = said
    with pytest.raises(LayoutError, match=f"'{said}'.*color_matrix="):
        seen(frame)
    stated = seen(frame, color_matrix="BT.709")
    want = expected(frame, (40, 30), matrix="BT.709")
    np.testing.assert_allclose(stated, want, atol=TOLERANCE)
    rgb = noise("RGB", 64, 48)
    rgb.metadata["color_matrix"] = said
    np.testing.assert_allclose(seen(rgb), expected(rgb, (40, 30)), atol=TOLERANCE)


@pytest.mark.parametrize("color", ["RGB", "BGR"])
@pytest.mark.parametrize("matrix", ["BT.709", "BT.2020", "SMPTE 240M"])
@pytest.mark.parametrize("dtype", [np.uint8, np.float16, np.float32])
def test_surfaces_are_corrected_to_their_matrix(color: Any, matrix: str, dtype: Any) -> None:
    """The plugin of a GPU reads surfaces by BT.601; the same operations run on the CPU here."""
    random = np.random.default_rng(2)
    frame = noise("NV12", 40, 30)
    for plane, (low, high) in zip(frame.planes, ((80, 180), (112, 145)), strict=True):
        plane.native[...] = random.integers(low, high, plane.native.shape)
    source = Source.dense(frame.image, matrix, "limited")
    target = Target("NCHW", (40, 30), color)
    built = converting(echo(dtype=dtype), source, target)
    tensors = [
        plane.native.reshape(shape)
        for plane, shape in zip(frame.planes, source.port_shapes(), strict=True)
    ]
    request = openvino.Core().compile_model(built.model, "CPU").create_infer_request()
    (found,) = request.infer(tensors).values()
    want = expected(frame, (40, 30), color, matrix)
    np.testing.assert_allclose(found[0], want, atol=3.5)
    plain = expected(frame, (40, 30), color)
    assert np.abs(found[0] - want).mean() < np.abs(plain - want).mean()


def test_gray_of_limited_range() -> None:
    frame = noise("GRAY8", 64, 48)
    image = seen(frame, color_range="limited")
    np.testing.assert_allclose(image, expected(frame, (40, 30)), atol=TOLERANCE)


@pytest.mark.parametrize("name", ["GRAY8", "GRAY10", "GRAY12", "GRAY16"])
def test_white_of_limited_range_is_the_same_in_all_depths(name: str) -> None:
    """H.273: 235 of 8 bits is 940 of 10, as in YUV."""
    frame = samebytes.context("cpu").allocate_frame(name, 64, 48)
    frame.planes[0].native[...] = 235 << frame.format.bit_depth - 8 << frame.format.bit_shift
    image = seen(frame, color_range="limited")
    np.testing.assert_allclose(image, 255, atol=0.1)


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("dtype", [np.uint8, np.float16, np.float32])
@pytest.mark.parametrize("frame_size", [(64, 48), (20, 10)])
def test_layouts_and_element_types(layout: str, dtype: Any, frame_size: tuple[int, int]) -> None:
    frame = noise("NV12", *frame_size)
    model = image_model(echo(30, 40, layout, dtype), frame, color="RGB")
    image = np.asarray(model.infer(frame).planes[0])[0]
    if layout == "NHWC":
        image = image.transpose(2, 0, 1)
    np.testing.assert_allclose(image, expected(frame, (40, 30), "RGB"), atol=TOLERANCE + 0.5)


@pytest.mark.parametrize("frame_size", [(64, 48), (20, 10)])
def test_mean_and_scale(frame_size: tuple[int, int]) -> None:
    frame = noise("I420", *frame_size)
    mean, scale = (10.0, 20.0, 30.0), (2.0, 4.0, 8.0)
    image = seen(frame, color="RGB", mean=mean, scale=scale)
    column = (3, 1, 1)
    want = expected(frame, (40, 30), "RGB") - np.array(mean).reshape(column)
    want /= np.array(scale).reshape(column)
    np.testing.assert_allclose(image, want, atol=TOLERANCE)
    np.testing.assert_allclose(
        seen(frame, scale=255), expected(frame, (40, 30)) / 255, atol=TOLERANCE / 255
    )


def by_openvino(frame: Frame, size: tuple[int, int]) -> Array:
    """By openvino.preprocess alone."""
    color, names = {
        "NV12": (ColorFormat.NV12_TWO_PLANES, ["y", "uv"]),
        "I420": (ColorFormat.I420_THREE_PLANES, ["y", "u", "v"]),
    }[frame.format.name]
    processor = PrePostProcessor(echo(size[1], size[0]))
    image = processor.input()
    tensor = image.tensor().set_element_type(openvino.Type.u8).set_color_format(color, names)
    tensor.set_spatial_static_shape(frame.height, frame.width)
    steps = image.preprocess().convert_color(ColorFormat.BGR)
    steps.convert_element_type(openvino.Type.f32).resize(ResizeAlgorithm.RESIZE_LINEAR)
    image.model().set_layout(openvino.Layout("NCHW"))
    request = InferRequest(openvino.Core().compile_model(processor.build(), "CPU"))
    request.set_frame(frame)
    image_seen: Array = np.asarray(request.infer().planes[0])[0].copy()
    return image_seen


@pytest.mark.parametrize("format_", ["NV12", "I420"])
@pytest.mark.parametrize("frame_size", [(640, 360), (1920, 1080), (320, 240)])
@pytest.mark.parametrize("size", [(300, 300), (640, 640), (416, 234)])
def test_within_one_of_openvino(
    format_: str, frame_size: tuple[int, int], size: tuple[int, int]
) -> None:
    for frame in (noise(format_, *frame_size), smooth(format_, *frame_size)):
        check_against_openvino(frame, size)


def smooth(format_: str, width: int, height: int) -> Frame:
    """Slow gradients, of which many pixels lie between two whole numbers."""
    planes = []
    for layout in samebytes.ImageFormat.of(format_).plane_layouts(width, height):
        steps = np.indices(layout.shape).sum(0) * 200 / sum(layout.shape) + 20
        planes.append(steps.astype(np.uint8))
    return samebytes.frame(planes, format=format_, width=width, height=height)


def check_against_openvino(frame: Frame, size: tuple[int, int]) -> None:
    want = by_openvino(frame, size)
    assert np.abs(seen(frame, size) - want).max() <= AWAY
    source = Source.dense(frame.image, "BT.601", "limited")
    own = read(echo(size[1], size[0]), None)
    for way in (gathering, converting):  # both, whichever is chosen for such sizes
        built = way(own, source, Target("NCHW", size, "BGR"))
        request = InferRequest(openvino.Core().compile_model(built.model, "CPU"))
        request.set_frame(frame, built.names)
        assert np.abs(np.asarray(request.infer().planes[0])[0] - want).max() <= AWAY
    model, names = yuv_inputs(echo(size[1], size[0]), frame.format, frame.width, frame.height)
    request = InferRequest(openvino.Core().compile_model(model, "CPU"))
    request.set_frame(frame, names)
    assert np.abs(np.asarray(request.infer().planes[0])[0] - want).max() <= AWAY


@pytest.mark.parametrize(
    ("frame_size", "size", "gathers"),
    [
        ((320, 240), (300, 300), False),
        ((640, 360), (300, 300), False),
        ((800, 450), (300, 300), True),
        ((1280, 720), (300, 300), True),
        ((960, 540), (640, 640), False),
        ((1280, 720), (640, 640), True),  # too large for the caches
        ((640, 640), (640, 640), False),
        ((200, 100), (300, 300), False),
    ],
)
@pytest.mark.parametrize("format_", ["NV12", "I420"])
def test_the_way_is_chosen_by_size(
    format_: str, frame_size: tuple[int, int], size: tuple[int, int], gathers: bool
) -> None:
    assert gathering_is_faster(frame_size, size) == gathers
    source = Source.dense(samebytes.ImageInfo.of(format_, *frame_size), "BT.601", "limited")
    own, target = read(echo(size[1], size[0]), None), Target("NCHW", size, "BGR")
    assert build(own, source, target, on_cpu=True).gathers == gathers
    assert not build(own, source, target, on_cpu=False).gathers


def test_what_openvino_cannot_convert_is_gathered_at_every_size() -> None:
    own = read(echo(300, 300), None)
    source = Source.dense(samebytes.ImageInfo.of("NV12", 320, 240), "BT.709", "limited")
    for on_cpu in (True, False):
        assert build(own, source, Target("NCHW", (300, 300), "BGR"), on_cpu).gathers
