# SPDX-License-Identifier: Apache-2.0
"""With the garbage collector off, frames go when they are dropped, whatever they went through.

Edges are tried by the kit (rule 4). Here are sources, models and sinks: no garbage beyond
what the frameworks leave by themselves, and no more buffers in use than a plain loop needs.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import av
import numpy as np
import openvino
import pytest
from openvino import opset13 as ops

import samebytes as sb
import samebytes_opencv
import samebytes_openvino as sbo
from samebytes import elements as el
from samebytes.errors import ElementError, PluginError, SamebytesError
from samebytes.testing import assert_no_garbage, missing_device
from samebytes.testing.rules.garbage import collector_off

WIDTH, HEIGHT = 64, 48
_FRAMES = 700
_WARM = 100
_TIMES = 400

_IN_HAND = 16
"""Frames that wait in the queues of a pipeline's threads, at most."""


@pytest.fixture(scope="module")
def video(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A file of many small frames, each with side data: captions."""
    path = tmp_path_factory.mktemp("video") / "clip.mp4"
    picture = np.zeros((HEIGHT * 3 // 2, WIDTH), np.uint8)
    with av.open(str(path), "w") as container:
        stream: Any = container.add_stream("libx264", rate=30, options={"preset": "ultrafast"})
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        for number in range(_FRAMES):
            picture[:] = number % 200
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, "yuv420p")))
        container.mux(stream.encode(None))
    return str(path)


@pytest.fixture(scope="module", params=["CPU", "GPU", "NPU"])
def device(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    if not any(found.startswith(name) for found in openvino.Core().available_devices):
        pytest.skip(missing_device(name))
    return name


def network() -> openvino.Model:
    """A model of one image that gives its mean colour."""
    image = ops.parameter([1, 3, 32, 32], np.float32, name="image")
    mean = ops.reduce_mean(image, ops.constant([2, 3]))
    return openvino.Model([ops.result(mean)], [image])


def decoded(path: str) -> Iterator[av.VideoFrame]:
    """The frames of a video, by PyAV alone."""
    with av.open(path) as container:
        yield from container.decode(video=0)


def address_of(frame: sb.Frame) -> int:
    """The address of the picture."""
    return frame.planes[0].handle()


def buffers_of(frames: Iterator[Any]) -> int:
    """In how many buffers frames come, if each is dropped for the next one."""
    seen = set()
    for _ in range(_WARM):
        seen.add(address_of(sb.frame(next(frames))))
    return len(seen)


class Reused:
    """Counts the buffers in which frames come, and reads what a user of a frame reads."""

    def __init__(self) -> None:
        self.buffers: set[int] = set()

    def saw(self, frame: sb.Frame) -> None:
        """Note a frame."""
        self.buffers.add(address_of(frame))
        assert frame.meta.metadata is not None


def check(pipeline: el.Pipeline, threads: int, by_hand: Iterator[Any]) -> None:
    """A pipeline that runs without an end leaves nothing, and uses the decoder's own buffers."""
    reused = Reused()
    with pipeline.start(threads=threads) as out:
        for _ in range(_WARM):
            next(out)
        assert_no_garbage(lambda: reused.saw(next(out)), _TIMES)
    assert len(reused.buffers) <= 2 * buffers_of(by_hand) + _IN_HAND


@pytest.mark.parametrize("resize", [None, samebytes_opencv.resize], ids=["inside", "resize"])
def test_image_model(video: str, device: str, resize: Any) -> None:
    frames = decoded(video)
    model = sbo.image_model(network(), sb.frame(next(frames)), device=device, resize=resize)
    reused = Reused()

    def infer() -> None:
        frame = sb.frame(next(frames))
        reused.saw(frame)
        model.infer(frame)

    for _ in range(_WARM):
        infer()
    assert_no_garbage(infer, _TIMES)
    assert len(reused.buffers) <= 2 * buffers_of(decoded(video))


@pytest.mark.parametrize("threads", [0, 2])
def test_infer_element(video: str, device: str, threads: int) -> None:
    infer = el.create("openvino.infer", network(), device=device)
    check(el.Pipeline(el.create("ffmpeg.source", video), infer), threads, decoded(video))


@pytest.mark.parametrize("threads", [0, 2])
@pytest.mark.parametrize("regions", [False, True])
@pytest.mark.parametrize("fails", [False, True])
def test_a_pipeline_that_has_ended(
    video: str, device: str, fails: bool, regions: bool, threads: int
) -> None:
    """Its decoder, model and elements go, however it ended."""

    def find(frame: sb.Frame) -> sb.Frame:
        frame.regions.append(sb.Region(0, 0, 32, 32))
        return frame

    def read(_frame: sb.Frame, _outputs: object, _region: object = None) -> None:
        if fails:
            raise ZeroDivisionError

    with collector_off():
        source = el.create("ffmpeg.source", video, frames=3)
        infer = el.create(
            "openvino.infer", network(), device, postprocess=read, regions=regions, copy=True
        )
        gone = [weakref.ref(source), weakref.ref(infer)]
        pipe = el.Pipeline(source, find, infer)
        try:
            pipe.run(threads=threads)
        except ElementError:
            assert fails
        else:
            assert not fails
        del pipe, source, infer
        assert [one() for one in gone] == [None, None]


@pytest.mark.parametrize("name", el.available())
def test_each_element_goes(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the addresses and models that are asked for none is there."""
    monkeypatch.chdir(tmp_path)
    try:
        known = el.element_class(name).declared_parameters()
    except PluginError as error:
        pytest.skip(f"missing package of {name}: {error}")
    made: dict[str, Any] = {"format": "RGB", "matrix": (1, 0, 0, 0, 1, 0), "timeout": 0.2}
    made |= {"address": f"@samebytes-{os.getpid()}-nobody"}
    required = {one.name: 8 if one.type is int else "x" for one in known.values() if one.required}
    picture = sb.context("cpu").allocate_frame("I420", WIDTH, HEIGHT)
    with collector_off():
        element = el.create(name, **required | {key: made[key] for key in made if key in known})
        gone = weakref.ref(element)
        is_source = isinstance(element, el.Source)
        pipe = el.Pipeline(*([element] if is_source else [[picture], element]))
        with suppress(SamebytesError):
            pipe.run()
        del pipe, element
        assert gone() is None


@pytest.mark.parametrize("threads", [0, 2])
def test_batches(video: str, device: str, threads: int) -> None:
    # Planes of small frames share pages, which the NPU takes once at a time.
    infer = el.create("openvino.infer", network(), device=device, batch=4, copy=device == "NPU")
    check(el.Pipeline(el.create("ffmpeg.source", video), infer), threads, decoded(video))


def _ffmpeg(video: str) -> el.Element:
    return el.create("ffmpeg.source", video)


_PICTURES = (
    f"videotestsrc num-buffers={_FRAMES} ! video/x-raw,format=I420,width={WIDTH},height={HEIGHT}"
)


def _gstreamer(_: str) -> el.Element:
    return el.create("gstreamer.source", _PICTURES)


def pulled() -> Iterator[Any]:
    """The samples of GStreamer's pictures, by PyGObject alone."""
    import gi

    gi.require_version("GstApp", "1.0")
    from gi.repository import Gst, GstApp

    assert GstApp  # has the methods of an appsink
    Gst.init(None)
    pipeline = Gst.parse_launch(f"{_PICTURES} ! appsink name=out sync=false max-buffers=4")
    sink = pipeline.get_by_name("out")
    pipeline.set_state(Gst.State.PLAYING)
    try:
        while (sample := sink.try_pull_sample(10 * Gst.SECOND)) is not None:
            yield sample
    finally:
        pipeline.set_state(Gst.State.NULL)


@pytest.mark.parametrize("threads", [0, 2])
@pytest.mark.parametrize("source", [_ffmpeg, _gstreamer])
@pytest.mark.parametrize(
    "rest",
    [
        (),
        ("json.sink",),
        ("ffmpeg.sink",),
        ("gstreamer.sink",),
        ("opencv.draw", "json.sink"),
    ],
    ids="+".join,
)
def test_sources_and_sinks(
    video: str,
    source: Callable[[str], el.Element],
    rest: tuple[str, ...],
    threads: int,
    tmp_path: Path,
) -> None:
    arguments: dict[str, tuple[Any, ...]] = {
        "json.sink": (str(tmp_path / "out.json"),),
        "ffmpeg.sink": (str(tmp_path / "out.mkv"),),
        "gstreamer.sink": ("fakesink sync=false",),
    }
    items = [el.create(name, *arguments.get(name, ())) for name in rest]
    by_hand = decoded(video) if source is _ffmpeg else pulled()
    check(el.Pipeline(source(video), *items), threads, by_hand)


def test_pipelines_themselves(video: str) -> None:
    """One that has ended goes with its elements and its model."""

    def run_through() -> None:
        infer = el.create("openvino.infer", network(), device="CPU")
        with el.Pipeline(el.create("ffmpeg.source", video), infer).start(threads=0) as out:
            for _ in range(3):
                next(out)

    run_through()
    assert_no_garbage(run_through, 10)
