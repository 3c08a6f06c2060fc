# SPDX-License-Identifier: Apache-2.0
"""The sources: each as a pipeline takes it, and the same frames read by a plain loop."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

import av
import numpy as np

import samebytes as sb
import samebytes.elements as el
from samebytes.errors import ClosedError
from samebytes_ipc import RingWriter

from . import serving
from .material import FRAMES, HEIGHT, WIDTH, Planes, in_format, picture
from .room import Room

__all__ = ["SOURCES", "Source"]


@dataclass(frozen=True)
class Source:
    """One of the sources.

    Attributes:
        name: in the table.
        format: of its frames.
        start: gives what stands first in the pipeline, for the time of the block.
        by_hand: the planes of the same frames, read with the framework itself.
        live: frames are left out where nobody takes them; the first one can be any.
        full_range: of its YUV.
        readonly: nobody may ever write into its frames.
        unaligned: their planes do not begin and end at 64 bytes.
        sendable: other processes can have their memory.
        copies: the edge of what it copies itself.
        title: what it is, for the page.
    """

    name: str
    format: str
    start: Callable[[Room], AbstractContextManager[Any]]
    by_hand: Callable[[Room], list[Planes]]
    live: bool = False
    full_range: bool = False
    readonly: bool = False
    unaligned: bool = False
    sendable: bool = False
    copies: str = ""
    title: str = ""


def _pictures(format_: str) -> list[Planes]:
    return [in_format(picture(number), format_) for number in range(FRAMES)]


@contextmanager
def _given(_: Room) -> Iterator[list[sb.Frame]]:
    """NV12 in arrays whose rows are of an odd length."""
    frames = []
    for number, (luma, chroma) in enumerate(_pictures("NV12")):
        y = np.zeros((HEIGHT, WIDTH + 7), np.uint8)[:, :WIDTH]
        uv = np.zeros((HEIGHT // 2, WIDTH + 9), np.uint8)[:, :WIDTH].reshape(HEIGHT // 2, -1, 2)
        y[...], uv[...] = luma, chroma
        frame = sb.frame([y, uv], format="NV12")
        frame.meta.pts = number
        frames.append(frame)
    yield frames


def _decoded(url: str, frames: int, **options: str) -> list[Planes]:
    found = []
    with av.open(url, options=options) as container:
        for frame in container.decode(video=0):
            found.append([_array_of(plane) for plane in frame.planes])
            if len(found) == frames:
                break
    return found


def _array_of(plane: Any) -> np.ndarray[Any, np.dtype[np.uint8]]:
    rows = np.frombuffer(plane, np.uint8).reshape(plane.height, plane.line_size)
    return rows[:, : plane.width].copy()


@contextmanager
def _file(room: Room) -> Iterator[el.Element]:
    yield el.create("ffmpeg.source", room.video("libx264", "mp4", FRAMES))


def _file_by_hand(room: Room) -> list[Planes]:
    return _decoded(str(room.video("libx264", "mp4", FRAMES)), FRAMES)


@contextmanager
def _live(room: Room) -> Iterator[el.Element]:
    with serving.connection(room.video("mpeg2video", "mpegts", 3 * FRAMES)) as url:
        yield el.create(
            "ffmpeg.source", url, live=True, frames=FRAMES, options=serving.QUICK, timeout=20.0
        )


def _live_by_hand(room: Room) -> list[Planes]:
    return _decoded(str(room.video("mpeg2video", "mpegts", 3 * FRAMES)), FRAMES)


@contextmanager
def _rtsp(room: Room) -> Iterator[el.Element]:
    url = room.once("rtsp", lambda: serving.rtsp(room.folder))
    yield el.create(
        "ffmpeg.source", url, live=True, frames=FRAMES, options=serving.RTSP, timeout=20.0
    )


def _rtsp_by_hand(room: Room) -> list[Planes]:
    """All pictures that the camera shows, again and again, from any of them on.

    A server that gets no CPU time for a while leaves pictures out: so more of them are read than
    there are.
    """
    url = room.once("rtsp", lambda: serving.rtsp(room.folder))
    read = _decoded(url, 3 * serving.PICTURES, **serving.RTSP)
    found = {planes[0].tobytes(): planes for planes in read}
    assert len(found) == serving.PICTURES, f"{len(found)} of the camera's pictures were seen"
    return sorted(found.values(), key=_left_of_the_rectangle)


def _left_of_the_rectangle(planes: Planes) -> int:
    return int(np.argmax(planes[0][44] > 128))


def _gst(format_: str) -> str:
    return (
        f"videotestsrc pattern=ball num-buffers={FRAMES} ! "
        f"video/x-raw,format={format_},width={WIDTH},height={HEIGHT},framerate=25/1"
    )


@contextmanager
def _gstreamer(_: Room) -> Iterator[el.Element]:
    yield el.create("gstreamer.source", _gst("I420"), timeout=20.0)


@contextmanager
def _registered(room: Room) -> Iterator[el.Element]:
    name = room.once("registered", _register)
    yield el.create("gstreamer.source", f"{_gst('NV12')} ! {name} ! identity", timeout=20.0)


def _register() -> str:
    import samebytes_gstreamer as sbg

    @el.inplace(takes=el.Image("NV12", memory="cpu"))
    def product_looks(frame: Any) -> None:
        assert frame.planes[0].native.any()

    return sbg.register(product_looks, name="product_looks")


def _by_appsink(format_: str) -> list[Planes]:
    import samebytes_gstreamer

    samebytes_gstreamer.GStreamerFrame  # noqa: B018 - loads gi, and asks for the versions
    from gi.repository import Gst, GstVideo

    pipeline = Gst.parse_launch(f"{_gst(format_)} ! appsink name=out sync=false")
    sink = pipeline.get_by_name("out")
    pipeline.set_state(Gst.State.PLAYING)
    found = []
    try:
        while (sample := sink.emit("try-pull-sample", 20 * Gst.SECOND)) is not None:
            buffer = sample.get_buffer()
            info = GstVideo.VideoInfo.new_from_caps(sample.get_caps())
            data = np.frombuffer(buffer.extract_dup(0, buffer.get_size()), np.uint8)
            planes = []
            for number in range(info.finfo.n_planes):
                rows = HEIGHT if number == 0 else HEIGHT // 2
                columns = WIDTH // 2 if number and format_ == "I420" else WIDTH
                start, pitch = info.offset[number], info.stride[number]
                plane = data[start : start + rows * pitch].reshape(rows, pitch)[:, :columns]
                pairs = number and format_ == "NV12"
                planes.append(plane.reshape(rows, -1, 2) if pairs else plane)
            found.append(planes)
    finally:
        pipeline.set_state(Gst.State.NULL)
    return found


@contextmanager
def _ring(room: Room) -> Iterator[el.Element]:
    """Its writer is a plain loop, too; in a thread, since the other side waits for it."""
    address = room.address()
    failed: list[BaseException] = []
    ring = RingWriter(
        address, format="I420", width=WIDTH, height=HEIGHT, slots=8, memory="memfd", timeout=30.0
    )

    def write() -> None:
        try:
            with ring:
                ring.wait_for_readers(1)
                for number, planes in enumerate(_pictures("I420")):
                    frame = ring.acquire()
                    with frame.map("cpu", "w") as view:
                        for plane, values in zip(view.planes, planes, strict=True):
                            plane.native[...] = values
                    frame.meta.pts = number
                    ring.send(frame)
        except ClosedError:  # a pipeline that was refused reads nothing
            pass
        except BaseException as error:
            failed.append(error)

    writing = threading.Thread(target=write)
    writing.start()
    try:
        yield el.create("ring.source", address, timeout=30.0)
    finally:
        ring.interrupt()
        writing.join(60)
    assert not writing.is_alive()
    assert not failed, failed


@contextmanager
def _surfaces(_: Room) -> Iterator[list[sb.Frame]]:
    """In rows, which the CPU can read as well."""
    context: Any = sb.context("vaapi")
    frames = []
    for number, planes in enumerate(_pictures("NV12")):
        frame = context.allocate_frame("NV12", WIDTH, HEIGHT, modifiers=(0,))
        with frame.map("cpu", "w") as view:
            for plane, values in zip(view.planes, planes, strict=True):
                plane.native[...] = values
        frame.meta.pts = number
        frames.append(frame)
    yield frames


@contextmanager
def _uploaded(_: Room) -> Iterator[list[sb.Frame]]:
    """Frames that FFmpeg uploads to surfaces of its own."""
    device: Any = sb.context("ffmpeg:VAAPI")
    frames = []
    for number, (y, uv) in enumerate(_pictures("NV12")):
        made = av.VideoFrame.from_ndarray(np.concatenate([y, uv.reshape(-1, WIDTH)]), "nv12")
        frame = device.upload(made)
        frame.meta.pts = number
        frames.append(frame)
    sb.reset_stats()  # the pipeline does not make those copies
    yield frames


@contextmanager
def _ray(room: Room) -> Iterator[Any]:
    """The output of actors of a cluster."""
    room.once("cluster", serving.cluster)
    import samebytes_ray as sbr

    frames = []
    for number, planes in enumerate(_pictures("I420")):
        frame = sb.frame([plane.copy() for plane in planes], format="I420")
        frame.meta.pts = number
        frames.append(frame)
    with sbr.Pipeline(frames, lambda frame: frame).start() as out:
        yield out


SOURCES = {
    one.name: one
    for one in (
        Source(
            "frames", "NV12", _given, lambda _: _pictures("NV12"), unaligned=True,
            title="arrays whose rows are of an odd length, as a list of frames",
        ),
        Source("file", "I420", _file, _file_by_hand, title="`ffmpeg.source` of a file of H.264"),
        Source(
            "live", "I420", _live, _live_by_hand, live=True,
            title='`ffmpeg.source` of a connection, `live=True`',
        ),
        Source(
            "RTSP", "I420", _rtsp, _rtsp_by_hand, live=True, full_range=True,
            title='`ffmpeg.source` of a camera of JPEG, `live=True`',
        ),
        Source(
            "GStreamer", "I420", _gstreamer, lambda _: _by_appsink("I420"),
            title="`gstreamer.source` of `videotestsrc`",
        ),
        Source(
            "registered", "NV12", _registered, lambda _: _by_appsink("NV12"),
            title="`gstreamer.source`, behind an element that was registered in GStreamer",
        ),
        Source(
            "ring", "I420", _ring, lambda _: _pictures("I420"), readonly=True, sendable=True,
            title="`ring.source`",
        ),
        Source(
            "surfaces", "NV12", _surfaces, lambda _: _pictures("NV12"), sendable=True,
            title="surfaces of VA-API in rows, as a list of frames",
        ),
        Source(
            "uploaded", "NV12", _uploaded, lambda _: _pictures("NV12"), sendable=True,
            title="surfaces of VA-API that FFmpeg has made, as a list of frames",
        ),
        Source(
            "Ray", "I420", _ray, lambda _: _pictures("I420"), readonly=True,
            copies="cpu -> pickle", title="what comes out of `samebytes_ray.Pipeline`",
        ),
    )
}  # fmt: skip
