# SPDX-License-Identifier: Apache-2.0
"""The programs in samples/, on each device: the same boxes, and no bytes copied."""

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

ROOT = Path(__file__).parents[2]
WIDTH, HEIGHT = 256, 192
FRAMES = 24


@pytest.fixture(params=["CPU", "GPU", "NPU"])
def name(request: pytest.FixtureRequest, device: Callable[..., None]) -> str:
    """A device that is there."""
    kind: str = request.param
    device(kind)
    return kind


def place(number: int) -> tuple[int, int, int, int]:
    """Where the bright square is: on the borders of what becomes one pixel of the model."""
    return 16 + 4 * number, 48, 64, 48


@pytest.fixture(scope="session")
def video(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bright square that moves over a dark ground."""
    path = tmp_path_factory.mktemp("samples") / "video.mp4"
    with av.open(str(path), "w") as container:
        options = {"crf": "10", "g": "250", "bf": "3"}
        stream = container.add_stream("libx264", rate=30, options=options)
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        for number in range(FRAMES):
            picture = np.full((HEIGHT * 3 // 2, WIDTH), 128, np.uint8)
            picture[:HEIGHT] = 30
            x, y, width, height = place(number)
            picture[y : y + height, x : x + width] = 220
            frame = av.VideoFrame.from_ndarray(picture, "yuv420p")
            frame.pts, frame.time_base = number, Fraction(1, 30)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Finds one bright rectangle, and gives it as an SSD does: float32 [1, 1, 1, 7]."""
    size = 64
    image = ops.parameter([1, 3, size, size], np.float32, name="image")
    bright = ops.convert(
        ops.greater(ops.reduce_mean(image, ops.constant([0, 1])), ops.constant(np.float32(128))),
        "f32",
    )
    edges = []
    for other in (0, 1):  # columns, then rows
        hit = ops.greater(
            ops.reduce_max(bright, ops.constant([other])), ops.constant(np.float32(0))
        )
        start = ops.constant(np.arange(size, dtype=np.float32) / size)
        end = ops.constant((np.arange(size, dtype=np.float32) + 1) / size)
        axis = ops.constant([0])
        first = ops.select(hit, start, ops.constant(np.float32(1)))
        last = ops.select(hit, end, ops.constant(np.float32(0)))
        edges.append((ops.reduce_min(first, axis, True), ops.reduce_max(last, axis, True)))
    head = ops.constant(np.array([0, 1, 0.875], np.float32))
    (left, right), (top, bottom) = edges
    row = ops.concat([head, left, top, right, bottom], 0)
    shape = ops.constant(np.array([1, 1, 1, 7]))
    path = tmp_path_factory.mktemp("model") / "detector.xml"
    openvino.save_model(
        openvino.Model([ops.result(ops.reshape(row, shape, False))], [image], "detector"), path
    )
    return path


def run(sample: str, *arguments: Any) -> str:
    done = subprocess.run(
        [sys.executable, ROOT / "samples" / sample, *map(str, arguments)],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "0 bytes copied"
    return done.stdout


def expected(prefix: str = "frame") -> list[str]:
    return [f"{prefix} {n}: {' '.join(map(str, place(n)))}" for n in range(FRAMES)]


def explained(document: str) -> str:
    """The block that a page shows as printed by explain()."""
    text = (ROOT / "docs" / "how-to" / document).read_text()
    (found,) = re.findall(r"```\n((?:stream 0: )?[\w.]+ gives .*?)```", text, re.DOTALL)
    return str(found)


def test_detect_and_draw(name: str, video: Path, model: Path, tmp_path: Path) -> None:
    made = tmp_path / "drawn.mp4"
    printed = run("detect.py", video, model, made, "--device", name)
    assert printed.splitlines()[:FRAMES] == expected()
    assert explained("detect-and-draw.md") in printed
    with av.open(str(made)) as container:
        drawn = [frame.to_ndarray() for frame in container.decode(video=0)]
    assert len(drawn) == FRAMES
    for number, picture in enumerate(drawn):
        x, y, width, height = place(number)
        # The line is darker than the square, and brighter than the ground.
        assert abs(int(picture[y + height // 2, x]) - 186) < 25
        assert abs(int(picture[y + height - 1, x + width // 2]) - 186) < 25


def test_several_streams(name: str, video: Path, model: Path) -> None:
    printed = run("several_streams.py", model, video, video, "--device", name)
    lines = printed.splitlines()
    for camera in ("camera 0", "camera 1"):
        found = [line for line in lines if line.startswith(f"{camera}, ")]
        assert found == expected(f"{camera}, frame")
        assert f"{camera}: {FRAMES} frames, {FRAMES} boxes" in lines
    assert explained("several-streams.md") in printed


def test_gray_by_a_kernel(
    name: str, device: Callable[..., None], model: Path, tmp_path: Path
) -> None:
    pytest.importorskip("pyopencl", reason="missing package pyopencl: pip install pyopencl")
    device("GPU")  # whose OpenCL runs the kernel
    made = tmp_path / "gray.mkv"
    printed = run("gray_kernel.py", model, made, "--device", name)
    assert printed.splitlines()[:FRAMES] == expected()
    assert explained("gray-by-a-kernel.md") in printed
    with av.open(str(made)) as container:
        for frame in container.decode(video=0):
            picture = frame.to_ndarray(format="rgb24").astype(int)
            assert np.median(np.ptp(picture, axis=2)) < 8  # it was 80, and the encoder adds noise


def test_an_element_of_gstreamer(name: str, model: Path) -> None:
    pytest.importorskip("gi", reason="missing package gi: pip install PyGObject")
    source = (
        "videotestsrc pattern=ball num-buffers=24 ! video/x-raw,format=NV12,width=256,height=192"
    )
    printed = run("gstreamer_element.py", source, model, "--device", name)
    found = [tuple(map(int, line.split(": ")[1].split())) for line in printed.splitlines()[:-1]]
    assert len(found) == FRAMES
    # The ball: white, 40 pixels wide, and never where it was.
    assert all(36 <= width <= 40 and 36 <= height <= 40 for _, _, width, height in found)
    assert len(set(found)) == FRAMES
    assert (found[0], found[-1]) == ((108, 78, 40, 36), (180, 141, 40, 39))
