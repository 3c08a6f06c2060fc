# SPDX-License-Identifier: Apache-2.0
"""The ways of the table: what a frame says at their end, and its picture there."""

from __future__ import annotations

import threading
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import openvino
from openvino import opset13 as ops

import samebytes as sb
import samebytes.elements as el
import samebytes_gstreamer as sbg
from samebytes import Frame, metadata
from samebytes_ffmpeg import FFmpegSink, FFmpegSource
from samebytes_openvino import image_model

sbg.GStreamerFrame  # noqa: B018 - loads gi, and asks for the versions
from gi.repository import Gst  # noqa: E402

from .frames import HEIGHT, WIDTH, said_by, said_in  # noqa: E402

__all__ = ["TRIES", "TURNED", "End", "echo"]

Frames = list[Frame[Any]]

TURNED = (0.0, 1.0, 0.0, -1.0, 0.0, 1.0)
"""A quarter clockwise, for opencv.warp."""


class End(NamedTuple):
    """The result at the end of a way.

    Attributes:
        said: row of the table: value.
        luma: of the picture, 0 to 255; None where there is none.
    """

    said: dict[str, Any]
    luma: Any = None


def _end(frame: Frame[Any]) -> End:
    host = frame.map("cpu")
    return End(said_by(frame), np.array(host.planes[0].native))


def _wrap(frames: Frames, _: Path) -> End:
    return _end(frames[0])


def _ffmpeg(frames: Frames, _: Path) -> End:
    return _end(sb.frame(_new(frames[0]).map("ffmpeg").native))


def _gstreamer(frames: Frames, _: Path) -> End:
    mapped: Any = _new(frames[0]).map("gstreamer")
    return _end(sbg.frame_of(mapped.native, mapped.caps))


def _new(frame: Frame[Any]) -> Frame[Any]:
    """A frame that is not FFmpeg's and says the same, over the same bytes."""
    return frame.map("cpu").crop(0, 0, frame.width, frame.height)


def _crop(frames: Frames, _: Path) -> End:
    return _end(_new(frames[0]))


def _scale(frames: Frames, _: Path) -> End:
    return _through(frames, el.create("opencv.scale", WIDTH, HEIGHT // 2))


def _convert(frames: Frames, _: Path) -> End:
    """To RGB; the picture is shown by its luma."""
    made = _through(frames, el.create("convert", "RGB24", WIDTH, HEIGHT // 2))
    return made._replace(luma=frames[0].convert("I444", WIDTH, HEIGHT // 2)[0].native)


def _warp(frames: Frames, _: Path) -> End:
    return _through(frames, el.create("opencv.warp", HEIGHT, WIDTH, TURNED))


def _draw(frames: Frames, _: Path) -> End:
    return _through(frames, el.create("opencv.draw"))


def _infer(frames: Frames, _: Path) -> End:
    return _through(frames, el.create("openvino.infer", echo(8, 8)))


def _through(frames: Frames, element: Any) -> End:
    with el.Pipeline(frames, element).start(threads=0) as out:
        return _end(next(out))


def echo(width: int, height: int) -> openvino.Model:
    """A model that gives its image back."""
    image = ops.parameter([1, 3, height, width], np.float32, name="image")
    return openvino.Model([ops.result(image)], [image])


def _model(frames: Frames, _: Path) -> End:
    (output,) = image_model(echo(WIDTH, HEIGHT), frames[0]).infer(frames[0])
    return End({}, np.array(output.host_array())[0].mean(axis=0))


def _batch(frames: Frames, _: Path) -> End:
    return End(said_by(metadata.meta_of_batch(frames)))


def _ffmpeg_sink(frames: Frames, folder: Path) -> End:
    path = folder / "made.mp4"
    el.Pipeline(frames, FFmpegSink(path, "libx264")).run()
    with el.Pipeline(FFmpegSource(path, frames=2)).start(threads=0) as out:
        first, second = (_end(frame) for frame in out)
    # The first one of a file is always a key frame.
    return End(first.said | {"key_frame": second.said["key_frame"]}, first.luma)


def _gstreamer_sink(frames: Frames, _: Path) -> End:
    pipeline = Gst.parse_launch("appsrc ! appsink name=out sync=false")
    with sbg.GStreamerSource(pipeline) as source, sbg.GStreamerSink(pipeline) as sink:
        sink.write(frames[0])
        frame = source.read()
        assert frame is not None
        return _end(frame)


def _ring_sink(frames: Frames, folder: Path) -> End:
    address = str(folder / "ring")
    pipe = el.Pipeline(frames, el.create("ring.sink", address, copy=True, readers=1))
    writing = threading.Thread(target=pipe.run)
    writing.start()
    try:
        with el.Pipeline(el.create("ring.source", address)).start(threads=0) as out:
            return _end(next(out))
    finally:
        writing.join()


def _json_sink(frames: Frames, _: Path) -> End:
    document = metadata.to_dict(frames[0], add_empty_results=True)
    return End(said_in(document) | {"time": Fraction(document["timestamp"], 10**9)})


TRIES: dict[str, Callable[[Frames, Path], End]] = {
    "`samebytes.frame(av_frame)`": _wrap,
    "mapped to FFmpeg": _ffmpeg,
    "mapped to GStreamer": _gstreamer,
    "`Frame.crop`, opencv.crop": _crop,
    "opencv.scale": _scale,
    "`Frame.convert`, convert, to RGB": _convert,
    "opencv.warp": _warp,
    "opencv.draw": _draw,
    "openvino.infer, the frame": _infer,
    "`image_model`, the picture": _model,
    "`meta_of_batch`": _batch,
    "ffmpeg.sink": _ffmpeg_sink,
    "gstreamer.sink": _gstreamer_sink,
    "ring.sink": _ring_sink,
    "json.sink": _json_sink,
}
"""Column of the page: a function of frames and an empty folder."""
