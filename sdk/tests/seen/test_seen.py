# SPDX-License-Identifier: Apache-2.0
"""The looks of objects in notebooks and on terminals."""

from __future__ import annotations

import io
import struct
import zlib
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import samebytes as sb
import samebytes.elements as el
from samebytes.errors import NegotiationError, UnsupportedObjectError
from samebytes.plugins import counted

LONGEST = 480
"""Pixels of the longer side of a picture in a notebook."""


def pixels_of(data: bytes) -> np.ndarray[Any, Any]:
    """Return the pixels of a PNG file, read with Python's own zlib, and check the checksums."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    rest, parts = io.BytesIO(data[8:]), {}
    while head := rest.read(8):
        size, kind = struct.unpack(">I4s", head)
        parts[kind] = rest.read(size)
        assert struct.unpack(">I", rest.read(4))[0] == zlib.crc32(kind + parts[kind])
    width, height, *how = struct.unpack(">2I5B", parts[b"IHDR"])
    assert how == [8, 2, 0, 0, 0]
    rows = np.frombuffer(zlib.decompress(parts[b"IDAT"]), np.uint8).reshape(height, -1)
    assert not rows[:, 0].any()
    return rows[:, 1:].reshape(height, width, 3)


def picture(frame: Any) -> bytes:
    if not {"ffmpeg", "opencv"} & {one.name for one in sb.installed_plugins()}:
        pytest.skip("missing package samebytes-ffmpeg: pip install samebytes-ffmpeg")
    data = frame._repr_png_()
    assert isinstance(data, bytes)
    return data


def test_a_png_has_the_pixels() -> None:
    pixels = np.arange(5 * 7 * 3, dtype=np.uint8).reshape(5, 7, 3)
    assert (pixels_of(picture(sb.frame(pixels, format="RGB"))) == pixels).all()


def test_a_small_frame_in_its_colours() -> None:
    array = np.zeros((6, 8, 3), np.uint8)
    array[:, :, 0] = 200  # blue
    found = pixels_of(picture(sb.frame(array, format="BGR")))
    assert found.shape == (6, 8, 3)
    assert (found == (0, 0, 200)).all()


def test_a_large_frame_is_not_copied_and_its_picture_is_bounded() -> None:
    noise = np.random.default_rng(1).integers(0, 255, (2160, 3840, 3), np.uint8)
    frame = sb.frame(noise, format="RGB")
    before = sb.stats()
    data = picture(frame)
    after = sb.stats()
    height, width, _ = pixels_of(data).shape
    assert (width, height) == (LONGEST, 270)
    assert after.copied_bytes == before.copied_bytes
    assert after.converted_bytes - before.converted_bytes == LONGEST * 270 * 3
    worst = np.random.default_rng(1).integers(0, 255, (LONGEST, LONGEST, 3), np.uint8)
    assert len(picture(sb.frame(worst, format="RGB"))) < 700_000


def test_what_has_no_picture_is_shown_as_text() -> None:
    tensors = sb.context("cpu").allocate_frame("GRAY8", 4, 4)
    tensors.meta.info = None
    assert tensors._repr_png_() is None
    frame = sb.frame(np.zeros((4, 4), np.uint8), format="GRAY8")
    frame.close()
    assert frame._repr_png_() is None


def test_a_route() -> None:
    html = sb.route("cpu", "cpu")._repr_html_()
    assert ">cpu -&gt; cpu (" in html
    assert "<pre style" in as_html(sb.route("cpu", "cpu").explain())


def as_html(text: str) -> str:
    """Return the HTML that a notebook shows for a text with a look of its own."""
    shown: Any = text  # a str to all others
    return str(shown._repr_html_())


def test_an_explanation_is_a_text_that_a_notebook_shows_in_lines() -> None:
    pipe = el.Pipeline([sb.frame(np.zeros((4, 4), np.uint8), format="GRAY8")], lambda frame: frame)
    text = pipe.explain()
    assert "<pre style" in as_html(text)
    assert "&lt;lambda&gt; takes" in as_html(text)
    with pipe.start(threads=0) as out:
        next(out)
        assert "<pre style" in as_html(out.explain())


def test_statistics() -> None:
    frames = [sb.frame(np.zeros((4, 4), np.uint8), format="GRAY8")]
    html = el.Pipeline(frames, lambda frame: frame).run()._repr_html_()
    left, right = (f'<td style="text-align:{side}">' for side in ("left", "right"))
    assert f"{left}&lt;lambda&gt;</td>{right}1</td>" in html
    assert ">source to end, ms: " in html


def test_plugins_are_printed_as_a_table() -> None:
    plugins = sb.installed_plugins()
    first, *rows = str(plugins).splitlines()
    assert first.split()[:3] == ["PLUGIN", "VERSION", "STATE"]
    assert len(rows) == len(plugins)
    assert ">cpu</td>" in plugins._repr_html_()  # type: ignore[attr-defined]  # a list


def copies_by_edge(*edges: str) -> Any:
    """The same counts for each of these edges."""
    sb.reset_stats()
    padded = sb.tensor(np.zeros((2, 8), np.uint8)[:, :6])
    for _ in range(2):
        np.array(padded)  # a counted copy
    (count,) = sb.stats().by_edge.values()
    return dict.fromkeys(edges, count)


def test_words_stand_to_the_left_and_numbers_to_the_right() -> None:
    """Notebooks align all cells to the right, where sentences are hard to read."""
    html = sb.Stats(by_edge=copies_by_edge("a", "5"))._repr_html_()
    left, right = (f'style="text-align:{side}"' for side in ("left", "right"))
    assert f"<th {left}>copy or conversion</th><th {right}>times</th>" in html
    assert f"<td {left}>5</td><td {right}>2</td><td {right}>24</td>" in html


def test_what_was_copied_and_converted() -> None:
    counts = sb.Stats(copied_bytes=12, by_edge=copies_by_edge("a -> b", "<c>"))
    html = counts._repr_html_()
    assert "12 bytes copied, 0 bytes converted" in html
    assert ">a -&gt; b</td>" in html
    assert ">&lt;c&gt;</td>" in html
    assert "<table>" not in sb.Stats()._repr_html_()


def test_meta_says_what_it_knows() -> None:
    frame = sb.frame(np.zeros((4, 6), np.uint8), format="GRAY8")
    assert repr(frame.meta) == "<FrameMeta GRAY8 6x4>"
    frame.meta.pts, frame.meta.time_base = 5, Fraction(1, 90000)
    frame.metadata["seen"] = True
    frame.regions.append(sb.Region(0, 0, 1, 1))
    assert repr(frame.meta) == (
        "<FrameMeta GRAY8 6x4, pts=5, time_base=1/90000, metadata=['seen'], regions=1>"
    )


def test_running_says_what_runs() -> None:
    frames = [sb.frame(np.zeros((4, 4), np.uint8), format="GRAY8")] * 2
    with el.Pipeline(frames, lambda frame: frame).start(threads=0) as out:
        next(out)
        assert repr(out) == "<Running frames -> <lambda>: runs, 1 frame read>"
    assert repr(out) == "<Running frames -> <lambda>: stopped, 1 frame read>"


@pytest.mark.parametrize("how", ["get", "set", "len", "iterate"])
def test_a_tensor_names_the_array(how: str) -> None:
    tensor: Any = sb.tensor(np.zeros(3, np.uint8))
    ways: dict[str, Any] = {
        "get": lambda: tensor[0],
        "set": lambda: tensor.__setitem__(..., 1),
        "len": lambda: len(tensor),
        "iterate": lambda: list(tensor),
    }
    with pytest.raises(TypeError, match=r"tensor\.native is the array, over the same bytes"):
        ways[how]()
    assert bool(tensor)
    assert np.asarray(tensor).shape == (3,)


@pytest.mark.parametrize("make", [sb.frame, sb.tensor, sb.wrap])
def test_names_and_none_are_named_at_once(make: Any) -> None:
    for name in ("a.mp4", Path("a.mp4")):
        for _ in range(2):
            with pytest.raises(UnsupportedObjectError, match=r"'a\.mp4' is a name.*ffmpeg\.source"):
                make(name)
    with pytest.raises(UnsupportedObjectError, match="None is neither a frame nor an array"):
        make(None)
    with pytest.raises(UnsupportedObjectError) as info:
        make("rtsp://me:hunter2@10.0.0.7/live")
    assert "hunter2" not in str(info.value)


@pytest.mark.parametrize("native", [3, True, 2.5])
@pytest.mark.parametrize("make", [sb.frame, sb.tensor, sb.wrap])
def test_a_number_is_named_at_once(make: Any, native: Any) -> None:
    with pytest.raises(UnsupportedObjectError, match=f"^{native} is neither a frame nor an array"):
        make(native)


@pytest.mark.parametrize("native", [{}, [{}], object()])
def test_what_shares_nothing_is_not_asked_for_a_format(native: Any) -> None:
    with pytest.raises(UnsupportedObjectError, match="does not share its memory"):
        sb.frame(native)


def test_a_tensor_is_asked_for_a_format_whatever_it_is() -> None:
    closed = sb.context("cpu").allocate((4, 4), "uint8")
    closed.close()
    for tensor in (closed, sb.context("cpu").allocate((4, 4), "int4")):
        with pytest.raises(UnsupportedObjectError, match=r"pass format=, for instance"):
            sb.frame(tensor)


def test_an_array_of_texts_is_not_a_frame_of_an_element() -> None:
    @el.transform
    def words(_: Any) -> Any:
        return np.array(["text"])

    with pytest.raises(NegotiationError, match="it gave 'ndarray', not a frame"):
        list(el.Pipeline([sb.context("cpu").allocate_frame("GRAY8", 4, 4)], words()).start())


def test_arrays_are_asked_for_a_format() -> None:
    plane = np.zeros((4, 4), np.uint8)
    for native in (plane, [plane, plane]):
        with pytest.raises(UnsupportedObjectError, match=r"pass format=, for instance"):
            sb.frame(native)


def test_elements_are_a_table() -> None:
    found = el.available()
    assert repr(found).splitlines()[0].split() == ["ELEMENT", "WHAT", "IT", "DOES"]
    assert f"json.sink{' ' * (max(map(len, found)) - 7)}a line of JSON for each frame" in repr(
        found
    )
    shown: Any = found
    assert ">a line of JSON for each frame</td>" in shown._repr_html_()
    assert found == dict(found)


@pytest.mark.parametrize(("number", "text"), [(0, "0 frames"), (1, "1 frame"), (2, "2 frames")])
def test_one_thing_and_several(number: int, text: str) -> None:
    assert counted(number, "frame") == text


@pytest.mark.parametrize("native", [None, "a.mp4"])
def test_a_refused_object_is_the_only_error_that_is_seen(native: Any) -> None:
    with pytest.raises(UnsupportedObjectError) as caught:
        sb.frame(native)
    assert caught.value.__context__ is None


def test_statistics_fit_into_a_terminal() -> None:
    frames = [sb.frame(np.zeros((4, 4), np.uint8), format="GRAY8")]
    head, *rows = str(el.Pipeline(frames, lambda frame: frame).run()).splitlines()[:3]
    assert len(head) < 80
    assert {len(row) for row in rows} == {len(head)}  # the numbers stand below each other


def test_branches_and_several_sources_are_said_as_they_are_written() -> None:
    def ends(frame: Any) -> None: ...
    def on(frame: Any) -> Any:
        return frame

    frames = [sb.frame(np.zeros((4, 4), np.uint8), format="GRAY8")]
    pipe = el.Pipeline([iter(frames), iter(frames)], on, [on, [ends], ends], on)
    with pipe.start() as out:
        said = repr(out)
    assert "[frames, frames#2] -> on -> [on#2 -> [ends] -> ends#2] -> on#3:" in said
