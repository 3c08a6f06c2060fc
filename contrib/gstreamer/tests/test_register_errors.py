# SPDX-License-Identifier: Apache-2.0
"""Refusals by registered elements, and failures in them: errors on the bus of the pipeline."""

from __future__ import annotations

import gc
from typing import Any

import pytest

import samebytes as sb
import samebytes.elements as el
import samebytes_gstreamer as sbg
from samebytes.errors import UnsupportedObjectError
from samebytes_gstreamer._abi.gi import Gst

from .sample_elements import GRAY, SOURCE, Halve, error_of, fill

pytestmark = pytest.mark.usefixtures("registered")


def test_an_exception_is_an_error_on_the_bus() -> None:
    text = error_of(f"{SOURCE} ! sb_fails at=40000000")
    assert "element 'fails' (pts 66666666, at=40000000): ValueError: the function's own" in text
    assert "sample_elements.py" in text  # the traceback, for developers
    gc.collect()


def test_no_secret_in_the_lines_of_the_traceback() -> None:
    @el.inplace
    def posts(_: Any) -> None:
        raise OSError("cannot reach rtsp://me:zvw7pq@camera")

    pipeline = Gst.parse_launch(f"{SOURCE} ! {sbg.register(posts, name='sb_posts')} ! fakesink")
    pipeline.set_state(Gst.State.PLAYING)
    found = pipeline.get_bus().timed_pop_filtered(20 * Gst.SECOND, Gst.MessageType.ERROR)
    pipeline.set_state(Gst.State.NULL)
    _, debug = found.parse_error()
    assert 'raise OSError("cannot reach rtsp://...@camera")' in debug
    assert "zvw7pq" not in debug


def test_what_negotiate_refuses_is_an_error_on_the_bus() -> None:
    small = GRAY.replace("64", "8")
    text = error_of(f"videotestsrc num-buffers=1 ! {small} ! sb_Halve")
    assert "negotiate() raised ValueError: pictures of 16 columns" in text


def test_a_frame_that_was_not_announced_is_an_error_on_the_bus() -> None:
    @el.transform(takes=el.Image("GRAY8", memory="cpu"), gives=el.Image("GRAY8", memory="cpu"))
    def lies(_: Any) -> Any:
        return sb.context("cpu").allocate_frame("GRAY8", 2, 2)

    name = sbg.register(lies, name="sb_lies")
    assert "it gave GRAY8 2x2 in gstreamer" in error_of(f"{SOURCE} ! {name}")


def test_frames_that_do_not_fit_are_not_linked() -> None:
    with pytest.raises(sbg.PipelineError, match="can't handle caps"):
        sbg.GStreamerSource("videotestsrc ! video/x-raw,format=RGB ! sb_fill")


def test_a_parameter_that_must_be_set() -> None:
    text = error_of(f"{SOURCE} ! tee name=t t. ! queue ! sb_Record t. ! queue ! appsink")
    assert "element 'Record': parameter 'path' is missing: it must be a Path" in text


@pytest.mark.parametrize("kind", [OSError, KeyboardInterrupt])
def test_open_that_fails(kind: type[BaseException]) -> None:
    class NoModel(el.TransformInplace):
        takes = el.Image()
        closed = 0

        def open(self, context: Any) -> None:
            raise kind("no model")

        def close(self) -> None:
            type(self).closed += 1

    name = sbg.register(NoModel, name="sb_no_model")
    assert f"element 'NoModel': open() raised {kind.__name__}: no model" in error_of(
        f"{SOURCE} ! {name}"
    )
    assert NoModel.closed == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("number=1 word=c", "parameter 'word' must be 'a' or 'b', not 'c'"),
        ("number=1 maybe=much", "parameter 'maybe' must be an int or None, not 'much'"),
        ("word=a", "parameter 'number' is missing: it must be an int"),
    ],
)
def test_bad_values_are_reported_when_the_element_opens(text: str, said: str) -> None:
    assert said in error_of(f"{SOURCE} ! sb_Typed {text}")


def test_what_cannot_be_registered() -> None:
    class Camera(el.Source):
        pass

    class Renamed(el.TransformInplace):
        qos: bool = False

    class Depends(el.Sink):
        @property
        def takes(self) -> el.Image:
            return el.Image()

    for what, name, said in (
        (Camera, None, "is a source"),
        (Renamed, None, "has the name of a property"),
        (Depends, None, "what 'Depends' takes depends on its parameters"),
        (fill, "identity", "an element 'identity' already"),
        (Halve(), None, "not a class"),
        (len, None, "not a class"),
    ):
        with pytest.raises(UnsupportedObjectError, match=said):
            sbg.register(what, name=name)  # type: ignore[arg-type]  # on purpose


def test_memory_that_is_not_there() -> None:
    @el.inplace(takes=el.Image(memory="nowhere"))
    def lost(_: Any) -> None:
        pass

    name = sbg.register(lost, name="sb_lost")
    assert "element 'lost': unknown memory type 'nowhere'" in error_of(f"{SOURCE} ! {name}")


def test_a_frame_that_is_passed_on_must_be_what_was_announced() -> None:
    @el.transform(takes=el.Image("GRAY8", memory="cpu"), gives=el.Image("BGR", memory="cpu"))
    def promises(frame: Any) -> Any:
        return frame

    name = sbg.register(promises, name="sb_promises")
    assert "it gave GRAY8 64x48" in error_of(f"{SOURCE} ! {name}")
