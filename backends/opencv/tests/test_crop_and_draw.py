# SPDX-License-Identifier: Apache-2.0
"""Parts of frames, and elements that write into them: the access is found by negotiation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import samebytes as sb
import samebytes.elements as el
from samebytes.errors import ElementError, NegotiationError
from samebytes.metadata import Detection, add

FRAMES = 5
WHITE = 235
CUT = (32, 32, 64, 32)


@el.inplace(takes=el.Image("I420|NV12|GRAY8", memory="cpu", access="rw"))
def whiten(frame: Any) -> None:
    """Write into the luma of all that is seen."""
    frame.planes[0].native[...] = WHITE


@el.inplace(takes=el.Image(memory="cpu"))
def boxed(frame: Any) -> None:
    """Say that something is everywhere."""
    add(frame, Detection(0.1, 0.1, 0.9, 0.9))


@pytest.fixture(scope="module")
def video(tmp_path_factory: pytest.TempPathFactory) -> str:
    av = pytest.importorskip("av", reason="missing package av: pip install av")
    reason = "missing package samebytes-ffmpeg: pip install samebytes-ffmpeg"
    pytest.importorskip("samebytes_ffmpeg", reason=reason)
    path = str(tmp_path_factory.mktemp("video") / "a.mp4")
    with av.open(path, "w") as file:
        stream = file.add_stream("mpeg4", rate=25)
        stream.width, stream.height, stream.pix_fmt = 128, 96, "yuv420p"
        for number in range(FRAMES):
            frame = av.VideoFrame.from_ndarray(np.full((144, 128), 100, np.uint8), "yuv420p")
            frame.pts, frame.time_base = number, Fraction(1, 25)
            file.mux(stream.encode(frame))
        file.mux(stream.encode(None))
    return path


def from_ffmpeg(video: str) -> Any:
    return el.create("ffmpeg.source", video)


def from_gstreamer(_: str) -> Any:
    reason = "missing package samebytes-gstreamer: pip install samebytes-gstreamer"
    pytest.importorskip("samebytes_gstreamer", reason=reason)
    text = "video/x-raw,format=I420,width=128,height=96"
    return el.create("gstreamer.source", f"videotestsrc num-buffers={FRAMES} ! {text}")


def of_the_program(_: str) -> list[sb.Frame[Any]]:
    return list(pictures())


def pictures(memory: str = "cpu") -> Iterator[sb.Frame[Any]]:
    for _ in range(FRAMES):
        frame = sb.context(memory).allocate_frame("I420", 128, 96)
        with frame.map("cpu", "w") as view:
            for plane in view.planes:
                plane.native[...] = 100
        yield frame


def cut() -> Any:
    return el.create("opencv.crop", *CUT)


def luma(frame: sb.Frame[Any]) -> Any:
    return frame.map("cpu").planes[0].native


WRITERS: dict[str, Callable[[], list[Any]]] = {
    "opencv.draw": lambda: [boxed(), el.create("opencv.draw", color=(255, 255, 255))],
    "custom": lambda: [whiten()],
    "behind a reader": lambda: [boxed(), whiten()],
    "a part of a part": lambda: [el.create("opencv.crop", 0, 0, 32, 32), whiten()],
    "parts of some": lambda: [el.create("opencv.crop", 0, 0, 32, 32, fit=True), whiten()],
}


@pytest.mark.parametrize("threads", [0, 1])
@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("source", [from_ffmpeg, from_gstreamer, of_the_program])
def test_parts_are_written_in_place(source: Any, writer: str, threads: int, video: str) -> None:
    given = source(video)
    with el.Pipeline(given, cut(), *WRITERS[writer]()).start(threads=threads) as out:
        for frame in out:
            found = luma(frame)
            assert (found == WHITE).any()
            assert writer == "opencv.draw" or (found == WHITE).all()
    if isinstance(given, list):
        x, y, width, height = (0, 0, 32, 32) if "part" in writer else (0, 0, *CUT[2:])
        for frame in given:
            whole = luma(frame)
            assert (whole[32 + y : 32 + y + height, 32 + x : 32 + x + width] == WHITE).any()
            assert (whole[:32] == 100).all()
    assert sb.stats().copies == 0


@pytest.mark.parametrize("branch", ["others", "program"])
def test_parts_of_frames_that_others_get_are_refused_or_copied(branch: str) -> None:
    items: list[Any] = [[cut(), whiten()]]
    if branch == "others":
        items += [[cut(), boxed()], el.create("opencv.crop", 0, 0, 8, 8)]
    given = list(pictures())
    with pytest.raises(NegotiationError, match="shared with"):
        el.Pipeline(given, *items).start()
    pipe = el.Pipeline(given, *items, copy=True)
    with pipe.start(threads=0) as out:
        assert len(list(out)) == FRAMES
        said = out.explain()
    assert all((luma(frame) == 100).all() for frame in given)
    # Only the part was.
    assert said.count("COPIES each frame first: others read the same one") == 1
    assert sb.stats().copied_bytes == FRAMES * 64 * 32 * 3 // 2
    sb.reset_stats()


def test_parts_of_frames_that_nobody_may_write_into() -> None:
    given = [frame.map("cpu", "r") for frame in pictures()]
    with pytest.raises(ElementError, match="the frame is read-only"):
        el.Pipeline(given, cut(), whiten()).run()
    el.Pipeline(given, cut(), whiten(), copy=True).run()
    assert sb.stats().copied_bytes == FRAMES * 64 * 32 * 3 // 2
    sb.reset_stats()


@pytest.mark.parametrize("declared", [False, True])
def test_an_element_of_ones_own_that_cuts(declared: bool, video: str) -> None:
    class Left(el.Transform):
        takes = el.Image(memory="cpu")
        gives = el.Image(memory="cpu", width=64)
        gives_parts = declared

        def process(self, frame: Any) -> Any:
            return frame.crop(0, 0, 64, 96)

    pipe = el.Pipeline(from_ffmpeg(video), Left(), whiten())
    if declared:
        pipe.run()
        return
    with pytest.raises(ElementError, match="gives_parts = True"):
        pipe.run()


def test_only_where_somebody_writes(video: str) -> None:
    """Else it would wait for the decoder."""
    with el.Pipeline(from_ffmpeg(video), cut(), boxed()).start(threads=0) as out:
        assert 'opencv.crop takes it in cpu, access "r"' in out.explain()
    with el.Pipeline(from_ffmpeg(video), cut(), whiten()).start(threads=0) as out:
        assert 'opencv.crop takes it in cpu, access "rw"' in out.explain()


@pytest.mark.parametrize("writable", [False, True])
def test_a_program_that_writes_says_so(writable: bool, video: str) -> None:
    crop = el.create("opencv.crop", *CUT, writable=writable)
    with el.Pipeline(from_ffmpeg(video), crop).start(threads=0) as out:
        assert next(out).readonly != writable
