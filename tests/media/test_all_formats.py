# SPDX-License-Identifier: Apache-2.0
"""Every pixel format of FFmpeg and GStreamer is taken, or refused by an error that names it."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import samebytes as sb
import samebytes.elements as el
from samebytes.errors import NegotiationError, SamebytesError, UnknownNameError

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


def run(frame: sb.Frame[Any], make: Callable[[], el.Element]) -> None:
    """Give an element the frame; where it takes another format, also as the error advises."""
    try:
        list(el.Pipeline([frame], make()).start())
    except NegotiationError as error:
        advice = re.search(r'Put el\.create\("convert", "(\w+)"\) before it', str(error))
        if advice:
            list(el.Pipeline([frame], el.create("convert", advice[1]), make()).start())
        elif frame.context.node == "ffmpeg" and "its format is" in str(error):
            with pytest.raises(SamebytesError):  # nothing converts it
                frame.convert("RGB")
        raise


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
    for make in (
        partial(el.create, "opencv.draw"),
        partial(el.create, "opencv.warp", 16, 16, (1, 0, 0, 0, 1, 0)),
        partial(el.create, "ffmpeg.sink", str(tmp_path / "out.mkv")),
        partial(el.create, "openvino.infer", model()),
    ):
        refused(name, format_, partial(run, frame, make))


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


OF_FFMPEG_ALONE = ["pal8", "xyz12le", "bayer_rggb8", "uyyvyy411"]


@pytest.mark.parametrize("name", OF_FFMPEG_ALONE)
def test_what_ffmpeg_alone_has_is_converted_in_a_pipeline(name: str) -> None:
    frame = sb.frame(of_ffmpeg(name))
    (found,) = el.Pipeline([frame], el.create("convert", "RGB"), el.create("opencv.draw")).start()
    assert np.array_equal(found[0].native, frame.convert("RGB")[0].native)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("PAL8", "a palette"), ("RGB8P", "a palette"), ("bayer_rggb8", "a Bayer pattern"),
        ("xyz12be", "CIE 1931"), ("monow", "eight pixels in a byte"), ("MJPG", "compressed"),
    ],
)  # fmt: skip
def test_arrays_of_what_has_no_planes_are_refused_by_what_it_is(name: str, kind: str) -> None:
    """And no other format is suggested since it is spelled alike."""
    with pytest.raises(UnknownNameError, match=rf"{name}' \(.*{kind}.*convert them first") as seen:
        sb.frame(np.zeros((HEIGHT, WIDTH), np.uint8), format=name)
    assert "did you mean" not in str(seen.value)


@pytest.mark.parametrize("name", OF_FFMPEG_ALONE)
def test_what_no_model_can_read_is_refused(name: str) -> None:
    frame = sb.frame(of_ffmpeg(name))
    with pytest.raises(SamebytesError, match=f"{frame.format.name}.*convert the frames first"):
        image_model(model(), frame)
