# SPDX-License-Identifier: Apache-2.0
"""Frames that FFmpeg uploads to VA surfaces, or that VA-API decodes and scales, on the GPU by
VAContext and on the NPU by DMA-BUF."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import openvino
import pytest
from openvino import opset13 as ops
from openvino.preprocess import ColorFormat, PrePostProcessor

import samebytes
from samebytes.errors import SamebytesError
from samebytes.testing import missing_device

WIDTH, HEIGHT, FRAMES = 128, 64, 4


@pytest.fixture(autouse=True)
def _devices(device: Callable[..., None]) -> None:
    device("GPU", software=True)
    device("NPU")
    try:
        samebytes.context("vaapi")
    except SamebytesError:
        pytest.skip(missing_device("VAAPI"))


def write_video(path: Path, codec: str, pixels: str, width: int, height: int) -> Path:
    """A few frames that differ."""
    random = np.random.default_rng(5)
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=30)
        assert isinstance(stream, av.VideoStream)
        stream.width, stream.height, stream.pix_fmt = width, height, pixels
        for number in range(FRAMES):
            frame = av.VideoFrame(width, height, pixels)
            for plane in frame.planes:
                plane.update(random.integers(16, 236, plane.buffer_size, np.uint8).tobytes())
            frame.pts, frame.time_base = number, Fraction(1, 30)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path


@pytest.fixture
def picture() -> Any:
    """A model of one image; each channel is multiplied by its own factor."""
    image = ops.parameter([1, 3, HEIGHT, WIDTH], np.float32, name="image")
    factors = np.array([1, 2, 4], np.float32).reshape(1, 3, 1, 1)
    return openvino.Model([ops.result(ops.multiply(image, ops.constant(factors)))], [image], "rgb")


@pytest.fixture
def sums() -> Any:
    """A model of two planes: for each pair of chroma, the luma of a pixel beside it is added."""
    y = ops.parameter([1, HEIGHT, WIDTH, 1], np.uint8, name="y")
    uv = ops.parameter([1, HEIGHT // 2, WIDTH // 2, 2], np.uint8, name="uv")
    halves = ops.reshape(y, ops.constant([2, HEIGHT // 2, WIDTH // 2, 2]), False)
    top = ops.gather(halves, ops.constant([0]), ops.constant(0))
    model = openvino.Model([ops.result(ops.add(top, uv))], [y, uv], "sums")
    for port, name in zip(model.inputs, ("y", "uv"), strict=True):
        port.tensor.set_names({name})
    return model


@pytest.mark.parametrize(
    ("program", "video"),
    [
        ("uploaded_frames.py", ("libx264", "yuv420p", WIDTH, HEIGHT)),
        ("decoded_frames.py", ("mjpeg", "yuvj420p", 2 * WIDTH, 2 * HEIGHT)),
    ],
)
def test_gpu_and_npu_read_what_was_uploaded_or_decoded_and_scaled(
    run_program: Callable[..., str],
    program: str,
    video: tuple[Any, ...],
    picture: Any,
    sums: Any,
    tmp_path: Path,
) -> None:
    path = write_video(tmp_path / "video.mkv", *video)
    openvino.save_model(picture, tmp_path / "gpu.xml", compress_to_fp16=False)
    openvino.save_model(sums, tmp_path / "npu.xml")
    report, output = tmp_path / "report", tmp_path / "output.npz"
    run_program(
        program, path, tmp_path / "gpu.xml", tmp_path / "npu.xml", FRAMES, output,
        SOFTVA_REPORT=report,
    )  # fmt: skip
    found = np.load(output)
    on_cpu = openvino.Core()
    rgb = on_cpu.compile_model(_taking_nv12(picture), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    added = on_cpu.compile_model(sums, "CPU")
    assert len(found["y"]) == FRAMES
    assert len(np.unique(found["y"].reshape(FRAMES, -1), axis=0)) == FRAMES
    for number in range(FRAMES):
        planes = [found["y"][number][None, :, :, None], found["uv"][number][None]]
        # Conversion from YUV is rounded, by one step at most, before it is multiplied.
        np.testing.assert_allclose(found["gpu"][number], rgb(planes)[0], atol=4.01)
        np.testing.assert_array_equal(found["npu"][number], added(planes)[0])
    softdevices = pytest.importorskip(
        "samebytes_softdevices",
        reason="missing package samebytes-softdevices: pip install samebytes-softdevices",
    )
    assert not any(leftover for leftover in softdevices.va_report(report)), report.read_text()


AFTER = """
        import numpy, samebytes
        print("mean", *numpy.asarray(output.map("cpu").native).ravel())
assert samebytes.stats().copies == 0, samebytes.stats()
assert [*samebytes.stats().by_conversion] == ["NV12 -> NV12 (vaapi)"]
"""


def test_the_page_does_what_it_says(tmp_path: Path) -> None:
    """Its block, with a video and a model of one image, which gives the mean of each colour."""
    image = ops.parameter([1, 3, 640, 640], np.float32, name="image")
    mean = ops.reduce_mean(image, ops.constant([2, 3]))
    openvino.save_model(openvino.Model([ops.result(mean)], [image]), tmp_path / "model.xml")
    colours = [(40, 90, 200), (200, 60, 30), (90, 180, 90)]
    with av.open(str(tmp_path / "video.mp4"), "w") as container:
        stream: Any = container.add_stream("mjpeg", rate=30)
        stream.width, stream.height, stream.pix_fmt = 96, 64, "yuvj420p"
        for number, colour in enumerate(colours):
            pixels = np.full((64, 96, 3), colour, np.uint8)
            frame = av.VideoFrame.from_ndarray(pixels, "bgr24").reformat(format="yuvj420p")
            frame.pts = number
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    page = (Path(__file__).parents[2] / "docs/how-to/vaapi-to-npu.md").read_text()
    (block,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    done = subprocess.run(
        [sys.executable, "-c", block.rstrip() + AFTER],
        cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = [[float(n) for n in line.split()[1:]] for line in done.stdout.splitlines()]
    assert found == [pytest.approx(colour, abs=3) for colour in colours]


@pytest.mark.parametrize(
    ("how", "reason"),
    [({"SOFTVA_TILING": "y"}, "linear"), ({"SOFTVA_PITCH_ALIGN": "512"}, "pitch must be")],
)
def test_what_the_npu_cannot_read_is_refused(
    run_program: Callable[..., str], how: dict[str, str], reason: str
) -> None:
    reported = run_program("refused_surface.py", WIDTH, HEIGHT, **how)
    assert reason in reported
    assert "copies: 0" in reported


def _taking_nv12(model: Any) -> Any:
    """The same preprocessing, made by OpenVINO's own API for the CPU."""
    processor = PrePostProcessor(model.clone())
    tensor = processor.input().tensor().set_element_type(openvino.Type.u8)
    tensor.set_color_format(ColorFormat.NV12_TWO_PLANES, ["y", "uv"])
    processor.input().preprocess().convert_color(ColorFormat.BGR)
    processor.input().model().set_layout(openvino.Layout("NCHW"))
    return processor.build()
