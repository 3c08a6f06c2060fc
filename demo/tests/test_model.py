# SPDX-License-Identifier: Apache-2.0
"""Models of a user's: made here with OpenVINO, written as IR, read by the demo."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import av
import numpy as np
import openvino
import pytest
from openvino import opset13 as ops

import samebytes
from samebytes_demo import _command, _compare, _compare_rgb, pipelines
from samebytes_demo._boxes import Box
from samebytes_demo._copying import CopyingWay, why_not
from samebytes_demo._errors import DemoError
from samebytes_demo._loop import Way
from samebytes_demo._model import ModelDetector
from samebytes_demo._native import NativeWay
from samebytes_demo._pipeline import SamebytesWay
from samebytes_demo._reader import Reader

from .conftest import Transcode, decode

SIZE = 64


def save(path: Path, output: Any, image: Any) -> Path:
    openvino.save_model(openvino.Model([ops.result(output)], [image], "user"), path)
    return path


def image_input(shape: list[int]) -> Any:
    return ops.parameter(openvino.PartialShape(shape), np.float32, name="image")


@pytest.fixture
def mean_model(tmp_path: Path) -> Path:
    """[1, 3, 64, 64] -> the mean of each channel, [1, 3]."""
    image = image_input([1, 3, SIZE, SIZE])
    mean = ops.reduce_mean(image, np.array([2, 3]), keep_dims=False)
    return save(tmp_path / "mean.xml", mean, image)


@pytest.fixture
def ssd_model(tmp_path: Path) -> Path:
    """Gives the same detections for every image; their confidences count the image a little."""
    image = image_input([-1, SIZE, SIZE, 3])
    rows = np.array(
        [
            [0, 1, 0.9, 0.25, 0.25, 0.5, 0.75],
            [0, 2, 0.3, 0.0, 0.0, 1.0, 1.0],  # not confident
            [0, 3, 0.8, -0.5, 0.5, 0.25, 1.5],  # reaches beyond the picture
            [0, 4, 0.8, 1.5, 0.5, 1.75, 0.6],  # lies beyond it
            [-1, 0, 0, 0, 0, 0, 0],  # the end
            [0, 5, 0.9, 0.1, 0.1, 0.2, 0.2],
        ],
        np.float32,
    )
    nothing = ops.multiply(
        ops.reduce_mean(image, np.array([0, 1, 2, 3]), keep_dims=False),
        ops.constant(np.float32(0)),
    )
    detections = ops.add(ops.constant(rows[None, None]), nothing)
    return save(tmp_path / "ssd.xml", detections, image)


@pytest.mark.parametrize("size", [(640, 360), (854, 480), (321, 241)])
def test_the_planes_reach_the_model(
    size: tuple[int, int], mean_model: Path, transcode: Transcode
) -> None:
    """All three ways give the model the same image, and it is that of the frame."""
    answers = []
    codec = "libx264" if size[0] % 2 == 0 else "mpeg4"
    with Reader(transcode(codec, size)) as reader:
        frame = next(reader.frames(1))
        picture = reader.picture
        ways: list[Way[Any]] = [
            SamebytesWay(ModelDetector(mean_model, picture), picture, allow_copy=False),
            NativeWay(ModelDetector(mean_model, picture), picture, allow_copy=False),
        ]
        if why_not(picture) is None:
            dense = picture.dense()
            ways.append(CopyingWay(ModelDetector(mean_model, dense), dense))
        for way in ways:
            held = way.take(frame)
            answers.append(way.infer(held, held).copy())
        expected = frame.to_ndarray(format="bgr24").mean(axis=(0, 1))
    assert answers[0].shape == (1, 3)
    assert np.array_equal(answers[0], answers[1])
    assert all(np.array_equal(answers[0], answer) for answer in answers[2:])
    assert answers[0][0] == pytest.approx(expected, abs=4)


def test_a_write_to_the_frame_is_seen_by_the_model(mean_model: Path, clip: Path) -> None:
    with Reader(clip) as reader:
        frame: av.VideoFrame = next(reader.frames(1))
        way = SamebytesWay(ModelDetector(mean_model, reader.picture), reader.picture,
                           allow_copy=False)  # fmt: skip
        held = way.take(frame)
        before = way.infer(held, held).copy()
        reader.let_go()
        with samebytes.frame(frame).map("cpu", "w") as written:
            for plane, value in zip(written, (235, 128, 128), strict=True):
                plane.native[...] = value
        after = way.infer(held, held).copy()
    assert before.max() < 150
    assert after.min() > 240


def test_detections_are_drawn(ssd_model: Path, clip: Path, tmp_path: Path) -> None:
    output, other = tmp_path / "out.mp4", tmp_path / "copying.mp4"

    def detector(picture: Any) -> ModelDetector:
        return ModelDetector(ssd_model, picture)

    result = pipelines.run_samebytes(clip, output, detector=detector, frames=5)
    assert result.boxes == [[Box(160, 90, 160, 180), Box(0, 180, 160, 180)]] * 5
    assert result.copied_bytes == 0
    copying = pipelines.run_copying(clip, other, detector=detector, frames=5)
    assert copying.boxes == result.boxes
    assert np.array_equal(decode(output), decode(other))


def test_the_summary_says_what_is_drawn(ssd_model: Path, mean_model: Path, clip: Path) -> None:
    with Reader(clip) as reader:
        ssd = ModelDetector(ssd_model, reader.picture)
        mean = ModelDetector(mean_model, reader.picture)
    assert "ssd.xml, fed with 3 planes" in ssd.summary
    assert "are drawn" in ssd.summary
    assert "f32[1,3], which is not an SSD detection output" in mean.summary
    assert "nothing is drawn" in mean.summary


def test_another_output_draws_nothing(mean_model: Path, clip: Path, tmp_path: Path) -> None:
    result = pipelines.run_samebytes(
        clip, tmp_path / "out.mp4", detector=lambda p: ModelDetector(mean_model, p), frames=3
    )
    assert result.boxes == [[], [], []]
    assert result.equal_addresses == 3 * (3 * 2 + 1 + 3 * 2)


def test_a_model_of_any_size_gets_the_size_of_the_frames(clip: Path, tmp_path: Path) -> None:
    image = image_input([-1, 3, -1, -1])
    size = ops.shape_of(image)
    path = save(tmp_path / "any.xml", ops.convert(size, "f32"), image)
    with Reader(clip) as reader:
        way = SamebytesWay(ModelDetector(path, reader.picture), reader.picture, allow_copy=False)
        held = way.take(next(reader.frames(1)))
        assert way.infer(held, held).tolist() == [1, 3, 360, 640]


def message(*fields: tuple[int, int | str | bytes]) -> bytes:
    """A protobuf message of (number, value) fields, each below 128 bytes."""
    out = b""
    for number, value in fields:
        if isinstance(value, int):
            out += bytes([number << 3, value])
        else:
            data = value.encode() if isinstance(value, str) else value
            out += bytes([number << 3 | 2, len(data)]) + data
    return out


def test_an_onnx_model(clip: Path, tmp_path: Path) -> None:
    """One GlobalAveragePool; the numbers of the fields are those of onnx.proto3."""

    def value(name: str, sizes: list[int]) -> bytes:
        shape = message(*((1, message((1, size))) for size in sizes))
        return message((1, name), (2, message((1, message((1, 1), (2, shape))))))

    node = message((1, "image"), (2, "mean"), (4, "GlobalAveragePool"))
    image, mean_value = value("image", [1, 3, 120, 120]), value("mean", [1, 3, 1, 1])
    graph = message((1, node), (2, "g"), (11, image), (12, mean_value))
    path = tmp_path / "mean.onnx"
    path.write_bytes(message((1, 8), (7, graph), (8, message((1, ""), (2, 13)))))
    with Reader(clip) as reader:
        detector = ModelDetector(path, reader.picture)
        way = SamebytesWay(detector, reader.picture, allow_copy=False)
        frame = next(reader.frames(1))
        held = way.take(frame)
        mean = way.infer(held, held).reshape(3).copy()
    assert mean == pytest.approx(frame.to_ndarray(format="bgr24").mean(axis=(0, 1)), abs=4)


def test_nv12_has_two_planes(mean_model: Path, transcode: Transcode, tmp_path: Path) -> None:
    source = transcode("rawvideo", format_="nv12", name="nv12.mkv", frames=3)
    seen: list[ModelDetector] = []

    def detector(picture: Any) -> ModelDetector:
        seen.append(ModelDetector(mean_model, picture))
        return seen[0]

    result = pipelines.run_samebytes(source, tmp_path / "out.mkv", detector=detector)
    assert len(seen[0].inputs) == 2
    assert result.copied_bytes == 0


def refused(path: Path, clip: Path, message: str) -> None:
    with Reader(clip) as reader, pytest.raises(DemoError, match=message):
        ModelDetector(path, reader.picture)


def test_a_missing_model(clip: Path, tmp_path: Path) -> None:
    refused(tmp_path / "missing.xml", clip, "does not exist")


def test_a_file_that_is_not_a_model(clip: Path, tmp_path: Path) -> None:
    path = tmp_path / "text.xml"
    path.write_text("no model")
    refused(path, clip, "cannot read")


def test_a_model_with_two_inputs(clip: Path, tmp_path: Path) -> None:
    one, other = image_input([1, 3, 8, 8]), image_input([1, 3, 8, 8])
    path = tmp_path / "two.xml"
    openvino.save_model(openvino.Model([ops.result(ops.add(one, other))], [one, other]), path)
    refused(path, clip, "one input")


@pytest.mark.parametrize("shape", [[1, 1, 64, 64], [2, 3, 64, 64]])
def test_a_model_of_something_else(shape: list[int], clip: Path, tmp_path: Path) -> None:
    image = image_input(shape)
    refused(save(tmp_path / "else.xml", ops.relu(image), image), clip, "one image of 3 channels")


def test_frames_that_no_model_can_take(mean_model: Path, transcode: Transcode) -> None:
    with (
        Reader(transcode(format_="yuv444p")) as reader,
        pytest.raises(DemoError, match=r"I420 or NV12.*I444.*convert"),
    ):
        ModelDetector(mean_model, reader.picture)


@pytest.mark.parametrize("kind", ["no rows", "no axes", "int64"])
def test_outputs_that_opencv_cannot_have(kind: str, clip: Path, tmp_path: Path) -> None:
    """A model that finds nothing gives no rows."""
    image = image_input([1, 3, SIZE, SIZE])
    mean = ops.reduce_mean(image, np.array([0, 1, 2, 3]), keep_dims=False)
    if kind == "no rows":
        flat = ops.reshape(mean, np.array([1]), special_zero=False)
        found = ops.non_zero(ops.greater(flat, ops.constant(np.float32(1e9))), "i64")
        count = ops.slice(ops.shape_of(found), *(np.array([n]) for n in (1, 2, 1)))
        shape = ops.concat([ops.constant(np.array([1, 1])), count, ops.constant(np.array([7]))], 0)
        output = ops.broadcast(mean, shape)
    else:
        output = mean if kind == "no axes" else ops.convert(image, "i64")
    path = save(tmp_path / "other.xml", output, image)
    out = tmp_path / "out.mp4"
    result = pipelines.run_samebytes(clip, out, detector=lambda p: ModelDetector(path, p), frames=4)
    assert result.boxes == [[]] * 4
    assert result.copied_bytes == 0


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_the_comparison_runs_that_model(
    layout: str, clip: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """On frames as they are decoded, beside the same model on BGR pictures."""
    for module in (_compare, _compare_rgb):
        monkeypatch.setattr(module, "ROUNDS", 2)
    image = image_input([1, 3, 48, 80] if layout == "NCHW" else [-1, 48, 80, 3])
    path = save(tmp_path / "small.xml", ops.relu(image), image)
    parser = argparse.ArgumentParser()
    _command.add_arguments(parser)
    words = ["--input", clip, "--model", path, "--output", tmp_path / "o.mp4", "--frames", 3]
    assert _command.run(parser.parse_args([*map(str, words), "--json"])) == 0
    reported = json.loads(capsys.readouterr().out)
    assert (reported["rgb"]["model"], reported["rgb"]["size"]) == ("small.xml", [80, 48])
    assert list(reported["rgb"]["ways"]) == ["samebytes", "by hand", "copying"]
    # With blue and red the other way round it would be 23.
    assert reported["rgb"]["differences"]["copying"]["mean"] < 10
    assert reported["same_boxes"] is True
