# SPDX-License-Identifier: Apache-2.0
"""Every pixel format of FFmpeg and GStreamer is taken, or refused by an error that names it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import samebytes as sb
import samebytes.elements as el
from samebytes.errors import SamebytesError

for _package in ("av", "cv2", "gi", "openvino", "samebytes_ffmpeg", "samebytes_gstreamer"):
    pytest.importorskip(_package, reason=f"missing package {_package}: see CONTRIBUTING.md")

import av  # noqa: E402 - after what it needs
import openvino  # noqa: E402
from openvino import opset13 as ops  # noqa: E402

from samebytes_openvino import image_model  # noqa: E402

from .pipelines import Gst, GstVideo  # noqa: E402

WIDTH, HEIGHT = 32, 24


def formats_of_gstreamer() -> list[str]:
    """All that this GStreamer has, but for those of unknown or coded contents."""
    values = {v for v in vars(GstVideo.VideoFormat).values() if isinstance(v, GstVideo.VideoFormat)}
    return sorted(GstVideo.VideoFormat.to_string(value) for value in values if int(value) > 1)


def of_ffmpeg(name: str) -> Any:
    native = av.VideoFrame(WIDTH, HEIGHT, name)
    for plane in native.planes:
        np.asarray(memoryview(plane))[...] = 0
    return native


def of_gstreamer(name: str) -> Any:
    caps = Gst.Caps.from_string(f"video/x-raw,format={name},width={WIDTH},height={HEIGHT}")
    return Gst.Sample.new(Gst.Buffer.new_wrapped(bytes(WIDTH * HEIGHT * 16)), caps, None, None)


def model() -> openvino.Model:
    x = ops.parameter([1, 3, HEIGHT, WIDTH], np.float32, name="image")
    return openvino.Model([ops.result(ops.relu(x))], [x], "echo")


def refused(name: str, format_: str, call: Callable[[], Any]) -> str | None:
    """The error of ours, which names the format in one of its spellings; None where it worked."""
    try:
        call()
    except SamebytesError as error:
        said = str(error).lower()
    else:
        return None
    assert name.lower() in said or format_.lower() in said, f"{name} is not named: {said}"
    assert "did you mean" not in said, said
    return said


def run(frame: sb.Frame[Any], element: el.Element) -> None:
    """Give an element the frame."""
    list(el.Pipeline([frame], element).start())


def tried(name: str, native: Any, tmp_path: Any) -> None:
    """Wrap, map, run and write it."""
    wrapped: list[Any] = []
    if refused(name, name, lambda: wrapped.append(sb.frame(native))):
        return
    (frame,) = wrapped
    format_ = frame.format.name
    for node in ("cpu", "opencv", "openvino"):
        assert all(plane.native is not None for plane in frame.map(node).planes)
    for node in ("ffmpeg", "gstreamer"):
        refused(name, format_, partial(frame.map, node))
    shown = refused(name, format_, lambda: image_model(model(), frame).infer(frame))
    assert shown is None or "convert the frames first" in shown, shown
    for element in (
        el.create("opencv.draw"),
        el.create("opencv.warp", 16, 16, (1, 0, 0, 0, 1, 0)),
        el.create("ffmpeg.sink", str(tmp_path / "out.mkv")),
        el.create("openvino.infer", model()),
    ):
        refused(name, format_, partial(run, frame, element))


def makeable(name: str) -> bool:
    """True if PyAV makes frames of it: it does not of handles of devices."""
    try:
        av.VideoFrame(WIDTH, HEIGHT, name)
    except av.FFmpegError:
        return False
    return True


FORMATS: Any = av.video.format  # PyAV's stubs lack its names
NAMES = [name for name in sorted(FORMATS.names) if makeable(name)]


@pytest.mark.parametrize("name", NAMES)
def test_formats_of_ffmpeg(name: str, tmp_path: Any) -> None:
    tried(name, of_ffmpeg(name), tmp_path)


@pytest.mark.parametrize("name", formats_of_gstreamer())
def test_formats_of_gstreamer(name: str, tmp_path: Any) -> None:
    tried(name, of_gstreamer(name), tmp_path)


@pytest.mark.parametrize("name", ["pal8", "xyz12le", "bayer_rggb8", "uyyvyy411"])
def test_what_no_model_can_read_is_refused(name: str) -> None:
    frame = sb.frame(of_ffmpeg(name))
    with pytest.raises(SamebytesError, match=f"{frame.format.name}.*convert the frames first"):
        image_model(model(), frame)
