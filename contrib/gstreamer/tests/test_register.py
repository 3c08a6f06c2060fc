# SPDX-License-Identifier: Apache-2.0
"""Elements of samebytes.elements in pipelines of GStreamer."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gi.repository import GObject, Gst

import samebytes as sb
import samebytes.elements as el
import samebytes_gstreamer as sbg
from samebytes.errors import SamebytesError
from samebytes.testing import missing_device

from .sample_elements import SOURCE, Shape, Typed, Waits, error_of, first_bytes, frames_of

pytestmark = pytest.mark.usefixtures("registered")


def test_a_function_writes_into_the_buffers_of_a_pipeline_without_a_copy() -> None:
    assert first_bytes(f"{SOURCE} ! sb_fill ! identity ! sb_fill value=77") == [77, 77, 77]
    assert sb.stats().copies == 0


def test_the_bytes_stay_where_they_are() -> None:
    seen: list[int] = []

    @el.inplace(takes=el.Image(memory="cpu", access="rw"))
    def look(frame: Any) -> None:
        seen.append(frame.planes[0].native.ctypes.data)

    name = sbg.register(look, name="sb_look")
    frames = frames_of(f"{SOURCE} ! {name} ! {name}")
    addresses = [frame.map("cpu").planes[0].native.ctypes.data for frame in frames]
    assert seen == [address for address in addresses for _ in range(2)]


def test_regions_are_added_to_the_buffers() -> None:
    first, *_ = frames_of(f"{SOURCE} ! sb_mark ! sb_mark label=other")
    assert [(r.x, r.label, r.confidence) for r in first.regions] == [
        (1, "thing", 0.5), (2, "other", 0.5),
    ]  # fmt: skip


def test_regions_behind_a_tee_do_not_reach_the_other_branch() -> None:
    text = f"{SOURCE} ! tee name=t t. ! queue ! sb_mark ! fakesink async=false t. ! queue ! appsink"
    with sbg.GStreamerSource(text) as source:
        assert [frame.regions for frame in source] == [[], [], []]
    assert sb.stats().copies == 0


def test_changed_and_removed_regions() -> None:
    @el.inplace(takes=el.Image())
    def rewrite(frame: Any) -> None:
        frame.regions[0].label = "changed"
        del frame.regions[1]

    name = sbg.register(rewrite, name="sb_rewrite")
    first, *_ = frames_of(f"{SOURCE} ! sb_mark ! sb_mark ! {name}")
    assert [(r.x, r.label) for r in first.regions] == [(1, "changed")]


def test_other_frames_get_their_own_caps_and_the_time_of_their_origin() -> None:
    frames = frames_of(f"{SOURCE} ! sb_fill value=9 ! sb_Halve ! sb_Halve")
    assert [(f.caps.get_structure(0).get_int("width").value, f.pts) for f in frames] == [
        (16, 0), (16, 33333333), (16, 66666666),
    ]  # fmt: skip
    assert {np.unique(f.map("cpu").planes[0].native).item() for f in frames} == {9}
    assert frames[0].metadata["gstreamer"]["framerate"] == 30
    assert sb.stats().copies == 0


@pytest.mark.parametrize("shared", [False, True])
def test_times_that_an_element_changes_go_on(shared: bool) -> None:
    @el.inplace(takes=el.Media())
    def later(frame: Any) -> None:
        frame.meta.pts = None if frame.pts == 33333333 else frame.pts + 10**9

    name = sbg.register(later, name="sb_later")
    text = f"{SOURCE} ! {name} ! appsink name=out"
    if shared:
        text = (
            f"{SOURCE} ! tee name=t t. ! queue ! {name} ! appsink name=out "
            "t. ! queue ! appsink name=other async=false"
        )
    with sbg.GStreamerSource(text, name="out") as source:
        assert [frame.pts for frame in source] == [10**9, None, 1_066_666_666]
        if shared:
            other = source.pipeline.get_by_name("other")
            pulled = [other.emit("pull-sample").get_buffer().pts for _ in range(3)]
            assert pulled == [0, 33333333, 66666666]
    assert sb.stats().copies == 0


def test_frames_that_were_lent_are_written_by_those_after() -> None:
    assert first_bytes(f"{SOURCE} ! sb_Halve ! sb_fill value=3") == [3, 3, 3]
    assert sb.stats().copies == 0


def test_several_frames_for_one_and_none() -> None:
    assert first_bytes(f"{SOURCE} ! sb_thrice") == [0, 1, 2] * 3

    @el.inplace(takes=el.Image())
    def second(frame: Any) -> bool:
        return bool(frame.pts)

    name = sbg.register(second, name="sb_second")
    assert [f.pts for f in frames_of(f"{SOURCE} ! {name}")] == [33333333, 66666666]


def test_a_frame_passed_on_between_others_keeps_its_place() -> None:
    @el.transform(takes=el.Image("GRAY8", memory="cpu", access="rw"))
    def around(frame: Any) -> Iterator[Any]:
        frame.planes[0].native[...] = 50
        for value in (40, None, 60):
            if value is None:
                yield frame
                continue
            made = sb.context("cpu").allocate_frame("GRAY8", 64, 48)
            made.native[0][...] = value
            yield made

    name = sbg.register(around, name="sb_around")
    assert first_bytes(f"{SOURCE} ! {name}") == [40, 50, 60] * 3


@pytest.mark.parametrize("made", [False, True])
def test_frames_that_come_go_on_where_others_are_made(made: bool) -> None:
    class Sometimes(el.Transform):
        takes = gives = el.Image("GRAY8", memory="cpu", access="rw")

        def process(self, frame: Any) -> Any:
            if made and frame.pts == 33333333:
                other = sb.context("cpu").allocate_frame("GRAY8", 64, 48)
                other.native[0][...] = 70
                return other
            frame.planes[0].native[...] = 50
            return frame

    name = sbg.register(Sometimes, name=f"sb_sometimes_{int(made)}")
    assert first_bytes(f"{SOURCE} ! {name}") == [50, 70 if made else 50, 50]


def test_what_is_kept_back_comes_at_the_end() -> None:
    class Late(el.Transform):
        takes = el.Image("GRAY8", memory="cpu")

        def open(self, context: Any) -> None:
            self._kept: list[Any] = []

        def process(self, frame: Any) -> None:
            made = sb.context("cpu").allocate_frame("GRAY8", 64, 48)
            made.native[0][...] = 10 + len(self._kept)
            self._kept.append(made)

        def end_of_stream(self, stream: int) -> list[Any]:
            return self._kept

    name = sbg.register(Late, name="sb_late")
    assert first_bytes(f"{SOURCE} ! {name}") == [10, 11, 12]


def test_memory_that_a_tee_shares_is_refused_or_copied_and_counted() -> None:
    # The first branch keeps all that it gets, since nobody asks for it.
    text = (
        f"{SOURCE} ! tee name=t t. ! queue ! appsink async=false t. ! queue ! sb_fill {{}} ! "
        "appsink name=out"
    )
    refused = pytest.raises(sbg.PipelineError, match="AccessError: the buffer cannot be written")
    with sbg.GStreamerSource(text.format(""), name="out") as source, refused:
        source.read()
    with sbg.GStreamerSource(text.format("value=8 copy=true"), name="out") as source:
        frames = list(source)
        assert {np.unique(f.map("cpu").planes[0].native).item() for f in frames} == {8}
    assert sb.stats().copied_bytes == 3 * 64 * 48
    assert list(sb.stats().by_edge) == ["gstreamer -> a frame of its own"]


@pytest.mark.parametrize("default", [False, True])
def test_a_parameter_that_allows_copies_is_the_property(default: bool) -> None:
    allowed = []

    @el.inplace(takes=el.Image(memory="cpu"))
    def allowing(_: Any, *, copy: bool = default) -> None:
        allowed.append(copy)

    name = sbg.register(allowing, name="sb_allowing")
    made: Any = Gst.ElementFactory.make(name)
    assert made.find_property("copy").default_value == made.get_property("copy") == default
    for said in ("", " copy=true", " copy=false"):
        assert len(frames_of(f"{SOURCE} ! {name}{said}")) == 3
    assert allowed == [default] * 3 + [True] * 3 + [False] * 3


def test_a_sink_is_opened_and_closed_with_the_pipeline(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    pipeline = Gst.parse_launch(f"{SOURCE} ! sb_Record path={notes}")
    expected = ["open cpu", "image GRAY8 64x48 in cpu, 30 fps", *["write (48, 64)"] * 3, "end 0"]
    for _ in range(2):
        pipeline.set_state(Gst.State.PLAYING)
        message = pipeline.get_bus().timed_pop_filtered(
            10 * Gst.SECOND, Gst.MessageType.EOS | Gst.MessageType.ERROR
        )
        assert message.type == Gst.MessageType.EOS
        assert notes.read_text().splitlines() == expected
        pipeline.set_state(Gst.State.READY)
        assert notes.read_text().splitlines() == [*expected, "close"]
        notes.unlink()
    pipeline.set_state(Gst.State.NULL)
    assert not notes.exists()


def test_properties_are_the_parameters() -> None:
    element = Gst.ElementFactory.make("sb_Typed")
    known = {spec.name: spec for spec in element.list_properties()}
    big = known["big-number"]
    assert (big.minimum, big.maximum, big.default_value) == (10, 20, 12)
    assert known["share"].blurb == "of the picture"
    assert known["word"].value_type == GObject.TYPE_STRING
    assert "'a' or 'b'" in known["word"].blurb
    assert "(must be set)" in known["number"].blurb
    assert element.get_property("path") == "/tmp"
    assert element.get_property("shape") == "ROUND"
    assert element.get_property("flag") is True
    frames_of(
        f"{SOURCE} ! sb_Typed number=3 big_number=20 share=0.25 flag=false word=b mode=y path=/x "
        "shape=SQUARE maybe=4 names=a,b"
    )
    assert Typed.seen == {
        "number": 3, "big_number": 20, "share": 0.25, "flag": False, "word": "b", "mode": "y",
        "path": Path("/x"), "shape": Shape.SQUARE, "maybe": 4, "names": ["a", "b"],
    }  # fmt: skip


def test_the_factory_says_what_it_is() -> None:
    factory = Gst.ElementFactory.find("sb_fill")
    assert factory.get_metadata("description") == "Sets all bytes of the first plane."
    templates = {t.name_template: t.static_caps.string for t in factory.get_static_pad_templates()}
    assert set(templates) == {"sink", "src"}
    assert "I420" in templates["sink"]


def test_a_name_is_registered_again() -> None:
    for value in (1, 2):

        @el.inplace(takes=el.Image("GRAY8", memory="cpu", access="rw"))
        def again(frame: Any, *, value: int = value) -> None:
            frame.planes[0].native[...] = value

        assert sbg.register(again, name="sb_again") == "sb_again"
        assert first_bytes(f"{SOURCE} ! sb_again") == [value] * 3


def test_a_pipeline_stops_while_an_element_waits() -> None:
    Waits.waiting.clear()
    Waits.ended.clear()
    pipeline = Gst.parse_launch(f"{SOURCE} ! sb_Waits ! fakesink")
    pipeline.set_state(Gst.State.PLAYING)
    assert Waits.waiting.wait(10)
    assert not Waits.ended.is_set()
    pipeline.set_state(Gst.State.NULL)
    assert Waits.ended.is_set()


def test_audio_is_changed_in_place() -> None:
    @el.inplace(takes=el.Audio(memory="cpu", access="rw"))
    def silence(frame: Any) -> None:
        frame.planes[0].native[...] = 0

    name = sbg.register(silence, name="sb_silence")
    frames = frames_of(f"audiotestsrc num-buffers=2 ! audio/x-raw,format=S16LE ! {name}")
    assert [int(np.abs(f.map("cpu").planes[0].native).max()) for f in frames] == [0, 0]


def test_sound_that_a_tee_shares_is_copied_if_that_is_allowed() -> None:
    @el.inplace(takes=el.Audio(memory="cpu", access="rw"))
    def mute(frame: Any) -> None:
        frame.planes[0].native[...] = 0

    name = sbg.register(mute, name="sb_mute")
    text = (
        "audiotestsrc num-buffers=2 ! audio/x-raw,format=S16LE ! tee name=t "
        "t. ! queue ! appsink name=loud async=false "
        f"t. ! queue ! {name} copy=true ! appsink name=out"
    )
    with sbg.GStreamerSource(text, name="out") as source:
        frames = list(source)
        loud = source.pipeline.get_by_name("loud").emit("pull-sample").get_buffer()
    assert [int(np.abs(f.map("cpu").planes[0].native).max()) for f in frames] == [0, 0]
    assert any(loud.extract_dup(0, loud.get_size()))
    nbytes = sum(f.map("cpu").planes[0].info.nbytes for f in frames)
    assert sb.stats().copied_bytes == nbytes


def test_frames_that_the_function_keeps_stay_valid() -> None:
    kept: list[Any] = []

    @el.inplace(takes=el.Image("GRAY8", memory="cpu"))
    def keep(frame: Any) -> None:
        kept.append(frame.planes[0].native)

    name = sbg.register(keep, name="sb_keep")
    values = first_bytes(f"{SOURCE} ! sb_fill value=6 ! {name}")
    assert [int(array[0, 0]) for array in kept] == values == [6, 6, 6]
    # They are mapped, so those after it may not write.
    assert "AccessError" in error_of(f"{SOURCE} ! {name} ! sb_fill")
    kept.clear()


PROGRAM = """
import sys
import samebytes.elements as el, samebytes_gstreamer as sbg

@el.inplace(takes=el.Image("GRAY8", memory="cpu", access="rw"))
def fill(frame):
    frame.planes[0].native[...] = 1

sbg.register(fill)
from gi.repository import Gst
text = "videotestsrc is-live=true ! video/x-raw,format=GRAY8 ! fill"
"""


@pytest.mark.together
@pytest.mark.parametrize("where", ["here", "in a forked child"])
def test_the_interpreter_ends_while_elements_work(where: str) -> None:
    program = PROGRAM + (
        "pipeline = Gst.parse_launch(text + ' ! fakesink')\n"
        "pipeline.set_state(Gst.State.PLAYING)\n"
        "pipeline.get_state(Gst.CLOCK_TIME_NONE)\n"
    )
    if where != "here":
        program += (
            "import os, signal\n"
            "if child := os.fork():\n"
            "    assert os.waitpid(child, 0) == (child, 0)\n"
            "else:\n"
            "    signal.alarm(30)  # it may hang\n"
        )
    for _ in range(3):
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True,
            timeout=60, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.usefixtures("default_signals")
def test_ctrl_c_ends_a_program_while_elements_work() -> None:
    program = PROGRAM + (
        "with sbg.GStreamerSource(text) as source:\n"
        "    for frame in source:\n"
        "        print('frame', flush=True)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "frame\n"
        time.sleep(0.1)
        child.send_signal(signal.SIGINT)
        _, errors = child.communicate(timeout=30)
    assert child.returncode == -signal.SIGINT
    assert "KeyboardInterrupt" in errors


MEMORY = """
import os
from pathlib import Path

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

big = "video/x-raw,format=GRAY8,width=640,height=480"
for number in (100, 1000):
    before = resident()
    pipeline = Gst.parse_launch(f"videotestsrc num-buffers={number} ! {big} ! fill ! fakesink")
    pipeline.set_state(Gst.State.PLAYING)
    end = pipeline.get_bus().timed_pop_filtered(60 * Gst.SECOND, Gst.MessageType.EOS)
    assert end is not None
    pipeline.set_state(Gst.State.NULL)
print(resident() - before)
"""


def test_memory_stays_flat() -> None:
    """In its own process: in that of all tests, memory comes and goes that is not the buffers'."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM + MEMORY], capture_output=True, text=True, timeout=180,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 30_000_000  # a thousand buffers are 300 MB


@pytest.mark.parametrize(
    ("package", "memory", "access"),
    [("samebytes_gpu_opencl", "opencl", "rw"), ("samebytes_openvino", "openvino:GPU", "r")],
)
def test_devices_get_the_buffers_without_a_copy(package: str, memory: str, access: Any) -> None:
    missing = package.replace("_", "-")
    pytest.importorskip(package, reason=f"missing package {missing}: pip install {missing}")
    try:
        sb.context(memory)
    except SamebytesError:
        pytest.skip(missing_device("GPU"))
    seen = []

    @el.inplace(takes=el.Image("NV12", memory=memory, access=access))
    def look(frame: Any) -> None:
        seen.append(frame.context.memory_type)

    name = sbg.register(look, name=f"sb_on_{package}")
    big = "video/x-raw,format=NV12,width=64,height=64"
    # Those before are asked for whole pages, be it through other elements.
    for between in ("", "! sb_mark"):
        frames = frames_of(f"videotestsrc num-buffers=2 ! {big} {between} ! {name} ! sb_mark")
        assert [frame.regions[0].label for frame in frames] == ["thing", "thing"]
    assert seen == [memory.partition(":")[0]] * 4
    assert sb.stats().copies == 0


def test_an_element_that_changes_the_rate() -> None:
    class Doubles(el.Transform):
        takes = el.Image("GRAY8", memory="cpu")
        gives = el.Image("GRAY8", memory="cpu")

        def negotiate(self, given: el.FrameInfo) -> el.FrameInfo:
            assert given.rate == 30
            return replace(given, rate=Fraction(60000, 1001))

        def process(self, frame: Any) -> Any:
            made = sb.context("cpu").allocate_frame("GRAY8", 64, 48)
            made.native[0][...] = frame.planes[0].native
            return made

    name = sbg.register(Doubles, name="sb_doubles")
    rates = [frame.metadata["gstreamer"]["framerate"] for frame in frames_of(f"{SOURCE} ! {name}")]
    assert rates == [Fraction(60000, 1001)] * 3
