# SPDX-License-Identifier: Apache-2.0
"""The number of our functions that are called for a warm frame.

A count does not depend on the machine, as times do, and grows with every needless step. The bounds
are what was reached, and about a tenth.
"""

from __future__ import annotations

import gc
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import openvino
import pytest
from openvino import opset13 as ops

av = pytest.importorskip("av")
cv2 = pytest.importorskip("cv2")

import samebytes as sb  # noqa: E402 - the packages of other distributions are asked for first
import samebytes.elements as el  # noqa: E402
import samebytes_ffmpeg  # noqa: E402
import samebytes_opencv  # noqa: E402
import samebytes_openvino as sbo  # noqa: E402
from samebytes.errors import SamebytesError  # noqa: E402
from samebytes.testing import missing_device  # noqa: E402
from samebytes_ipc import RingReader, RingTimeoutError, RingWriter  # noqa: E402

WARM = 5


def echo() -> openvino.Model:
    """A model of a small image that gives it back."""
    x = ops.parameter([1, 3, 30, 40], np.float32, name="image")
    return openvino.Model([ops.result(ops.relu(x))], [x], "echo")


def calls(function: Callable[[], object], packages: str = "samebytes") -> int:
    """Count the functions that are called of samebytes' packages, or of others named so."""
    count = 0

    def profile(frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        module = frame.f_globals.get("__name__", "")
        count += event == "call" and module.partition(".")[0].startswith(packages)

    gc.collect()  # what earlier tests left ends here, and not while calls are counted
    gc.disable()
    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        function()
    finally:
        sys.setprofile(before)
        gc.enable()
    return count


@pytest.mark.parametrize(
    ("resize", "most"), [(None, 60), (samebytes_opencv.resize, 45)], ids=["inside", "opencv"]
)
@pytest.mark.parametrize("format_", ["yuv420p", "nv12"])
def test_of_an_image_model(format_: str, resize: Any, most: int) -> None:
    frames = [sb.frame(av.VideoFrame(320, 192, format_)) for _ in range(WARM + 1)]
    model = sbo.image_model(echo(), frames[0], resize=resize)
    for frame in frames[:WARM]:
        model.infer(frame)
    assert calls(lambda: model.infer(frames[WARM])) <= most
    assert not frames[WARM].meta.metadata_was_read  # type: ignore[attr-defined]  # FFmpegMeta's


def test_of_a_conversion() -> None:
    native = av.VideoFrame(320, 192, "yuv420p")
    for _ in range(WARM):
        sb.frame(native).convert("RGB24")
    assert calls(lambda: sb.frame(native).convert("RGB24")) <= 78


def test_of_a_source(tmp_path: Path) -> None:
    """Fractions take longer than all else: the time of a frame is compared without."""
    clip = tmp_path / "clip.mp4"
    with av.open(str(clip), "w") as container:
        stream: Any = container.add_stream("mpeg4", rate=25)
        stream.width, stream.height = 64, 48
        for number in range(WARM + 4):
            native = av.VideoFrame(64, 48, "yuv420p")
            native.pts = number
            container.mux(stream.encode(native))
        container.mux(stream.encode(None))
    with samebytes_ffmpeg.open(clip, threads=1) as video:
        for _ in range(WARM):
            next(video)
        assert calls(lambda: next(video)) <= 23
        assert calls(lambda: next(video), "fractions") == 0


@pytest.mark.parametrize(("access", "most"), [("r", 82), ("rw", 95)])
def test_from_a_frame_in_cuda_memory_to_an_array(access: Any, most: int) -> None:
    """It is wrapped, mapped, lent as torch asks for it, and given back."""
    pytest.importorskip(
        "samebytes_cuda", reason="missing package samebytes-cuda: pip install samebytes-cuda"
    )
    try:
        device: Any = sb.context("ffmpeg:CUDA")
    except SamebytesError:
        pytest.skip(missing_device("CUDA"))

    def lent() -> object:
        plane = sb.frame(native).map("cuda", access)[0]
        assert plane.__dlpack_device__()[0] == 2
        return plane.__dlpack__(stream=1, max_version=(1, 0))

    for _ in range(WARM + 1):
        native = device.allocate_frame("NV12", 320, 192).native
        count = calls(lent)
    assert count <= most


@pytest.mark.parametrize("resize", [None, samebytes_opencv.resize], ids=["inside", "opencv"])
def test_of_a_pipeline(resize: Any) -> None:
    """Source, draw, infer and sink in one thread."""
    counts: list[int] = []

    def source() -> Iterator[Any]:
        for _ in range(WARM + 2):
            yield av.VideoFrame(320, 192, "yuv420p")

    @el.inplace(takes=el.Image("I420|NV12", memory="opencv", access="rw"))
    def draw(picture: Any) -> None:
        cv2.rectangle(picture.planes[0].native, (20, 20), (90, 70), 235, 2)

    def read(_frame: Any, outputs: Any) -> None:
        outputs[0].host_array()

    infer = el.create("openvino.infer", echo(), postprocess=read, resize=resize)
    with el.Pipeline(source(), draw(), infer).start(threads=0) as frames:
        for _ in range(WARM):
            next(frames)
        counts.append(calls(lambda: next(frames)))
    assert counts[0] <= 195


def test_of_a_frame_of_a_ring() -> None:
    """It has come, and the reader has waited for it; then it is given back."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with RingWriter(format="NV12", width=320, height=192, memory="memfd") as writer:
        writer.add(ours)
        made: list[RingReader] = []
        joining = threading.Thread(target=lambda: made.append(RingReader(theirs, target="cpu")))
        joining.start()
        writer.wait_for_readers()
        joining.join()
        frames: list[object] = []
        with made.pop() as reader:
            for _ in range(3 * WARM):
                with pytest.raises(RingTimeoutError):
                    reader.read(0)
                writer.send(writer.acquire(target="cpu"))
                read = calls(lambda: frames.append(reader.read()))
                ended = calls(frames.clear)
    assert read <= 8
    assert ended <= 3
