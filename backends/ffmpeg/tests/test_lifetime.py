# SPDX-License-Identifier: Apache-2.0
"""Nothing dangles and nothing leaks, in any order of drops."""

from __future__ import annotations

import gc
import itertools
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from ctypes import byref, c_void_p
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

import samebytes as sb
from samebytes.errors import ClosedError
from samebytes.testing import assert_steady


class Memory:
    """Bytes that can be watched until they go."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.bytes = np.zeros(shape, np.uint8)
        self.__array_interface__ = self.bytes.__array_interface__


def _tracked(shape: tuple[int, ...]) -> tuple[np.ndarray[Any, Any], weakref.ref[Memory]]:
    memory = Memory(shape)
    return np.asarray(memory), weakref.ref(memory)


_TO_CPU = ("native", "frame", "mapped", "plane", "array", "slice")


@pytest.mark.pyav17
@pytest.mark.parametrize("order", list(itertools.permutations(_TO_CPU)), ids="-".join)
def test_ffmpeg_to_cpu_in_every_order_of_drops(
    order: tuple[str, ...], references: Callable[[], int]
) -> None:
    held: dict[str, Any] = {"native": av.VideoFrame(64, 48, "yuv420p")}
    held["frame"] = sb.frame(held["native"])
    held["mapped"] = held["frame"].map("cpu", "rw")
    held["plane"] = held["mapped"].planes[0]
    held["array"] = held["plane"].native
    held["slice"] = held["array"][1:5, 3:9]
    held["array"][...] = 21
    before = references()
    for name in order:
        del held[name]
        _reuse_freed_memory()
        for array in (held.get("array"), held.get("slice")):
            if array is not None:
                assert (array == 21).all()
    assert references() == before - 1


_TO_FFMPEG = ("array", "frame", "mapped", "native", "plane", "back")


@pytest.mark.parametrize("order", list(itertools.permutations(_TO_FFMPEG)), ids="-".join)
def test_cpu_to_ffmpeg_in_every_order_of_drops(
    order: tuple[str, ...], lent: Callable[[], int]
) -> None:
    held: dict[str, Any] = {}
    held["array"], gone = _tracked((48, 64))
    held["array"][...] = 33
    held["frame"] = sb.frame(held["array"], format="GRAY8")
    held["mapped"] = held["frame"].map("ffmpeg", "rw")
    held["native"] = held["mapped"].native
    held["plane"] = held["native"].planes[0]
    held["back"] = held["mapped"].map("cpu").native[0][2:4]
    for name in order:
        assert gone() is not None
        del held[name]
        _reuse_freed_memory()
        if "plane" in held:
            assert set(bytes(held["plane"])) == {33}
        if "back" in held:
            assert (held["back"] == 33).all()
    assert lent() == 0
    assert gone() is None


def _reuse_freed_memory() -> None:
    """If the bytes were given back by mistake, something else is in them now."""
    for _ in range(2):
        native = av.VideoFrame(64, 48, "yuv420p")
        memoryview(native.planes[0])[:] = bytes([255]) * native.planes[0].buffer_size


def test_frames_outlive_their_container(clip: Path) -> None:
    container = av.open(str(clip))
    frames = [sb.frame(f) for f in itertools.islice(container.decode(video=0), 6)]
    mapped = [f.map("cpu") for f in frames]
    kept = [[a.copy() for a in m.native] for m in mapped]
    container.close()
    del container, frames
    gc.collect()
    for frame, copies in zip(mapped, kept, strict=True):
        for array, copy in zip(frame.native, copies, strict=True):
            np.testing.assert_array_equal(array, copy)


def test_arrays_alone_keep_a_decoded_picture(clip: Path) -> None:
    with av.open(str(clip)) as container:
        decoding = container.decode(video=0)
        first = sb.frame(next(decoding)).map("cpu").native[0]
        copy = first.copy()
        addresses = {f.planes[0].buffer_ptr for f in decoding}
    assert first.ctypes.data not in addresses
    np.testing.assert_array_equal(first, copy)


@pytest.mark.pyav17
def test_closing_drops_the_reference(references: Callable[[], int]) -> None:
    native = av.VideoFrame(64, 48, "nv12")
    before = references()
    with sb.frame(native).map("cpu") as mapped:
        assert references() == before + 1
        array = mapped.native[0]
    assert mapped.closed
    assert array.shape == (48, 64)
    del array
    assert references() == before


def test_cpu_memory_cannot_end_while_ffmpeg_has_it(lent: Callable[[], int]) -> None:
    memory = sb.context("cpu").allocate_frame("NV12", 64, 48)
    mapped = memory.map("ffmpeg", "rw")
    kept = mapped.native
    mapped.close()
    end = weakref.ref(memory.storage)
    assert memory.close() is False
    assert end() is not None
    del kept
    lent()
    assert end() is None


class TestClosingWhatWasMappedOnTheWay:
    """From "dma", through an mmap that map() made: close() ends it."""

    def _mapped(self, target: str) -> sb.Frame:
        pytest.importorskip(
            "samebytes_dma", reason="missing package samebytes-dma: pip install samebytes-dma"
        )
        memory = sb.context("dma:memfd").allocate_frame("NV12", 64, 48)
        mapped = memory.map(target, "rw")
        for number, array in enumerate(sb.frame(mapped.native).map("cpu", "rw").native):
            array[...] = 40 + number
        return mapped

    def test_nobody_holds_it(self, lent: Callable[[], int]) -> None:
        with self._mapped("ffmpeg") as mapped:
            assert mapped.planes[0].info.shape == (48, 64)
        assert mapped.closed
        assert lent() == 0

    def test_somebody_holds_the_frame(self, lent: Callable[[], int]) -> None:
        mapped = self._mapped("ffmpeg")
        native, plane = mapped.native, mapped.planes[1]
        assert mapped.close() is False
        assert (np.asarray(native.planes[1]) == 41).all()
        del native
        assert lent() == 0
        with pytest.raises(ClosedError):
            plane.info  # noqa: B018

    def test_ffmpeg_holds_the_buffers(self, lent: Callable[[], int], avutil: Any) -> None:
        mapped = self._mapped("ffmpeg")
        other = c_void_p(avutil.frame_clone(mapped.handle("av_frame")))
        assert mapped.close() is False
        assert lent() > 0
        avutil.frame_free(byref(other))
        assert lent() == 0

    def test_an_array_holds_the_bytes(self, lent: Callable[[], int]) -> None:
        mapped = self._mapped("ffmpeg")
        array = mapped.map("cpu").native[1][3:]
        assert mapped.close() is False
        assert (array == 41).all()
        del array
        assert lent() == 0

    def test_only_a_storage_is_held(self, lent: Callable[[], int]) -> None:
        mapped = self._mapped("ffmpeg")
        storage = mapped.storage
        assert mapped.close() is False
        assert (np.asarray(storage)[:64] == 40).all()
        del storage
        assert lent() == 0


def test_an_encoder_keeps_what_it_was_given(lent: Callable[[], int]) -> None:
    """png with frame threads refers to its input until a thread has encoded it."""
    codec = av.CodecContext.create("png", "w")
    codec.width, codec.height, codec.pix_fmt = 64, 48, "gray"
    codec.time_base = Fraction(1, 30)
    codec.thread_type, codec.thread_count = "FRAME", 2
    given, packets = [], []
    for number in range(8):
        array, gone = _tracked((48, 64))
        array[...] = number * 20
        frame = sb.frame(array, format="GRAY8")
        frame.meta.pts = number
        packets += codec.encode(frame.map("ffmpeg").native)
        given.append(gone)
        del array, frame
    packets += codec.encode(None)
    decoder = av.CodecContext.create("png", "r")
    pictures = [f for p in packets for f in decoder.decode(p)]
    assert [int(p.to_ndarray().mean()) for p in pictures] == [n * 20 for n in range(8)]
    del codec
    assert lent() == 0
    assert not any(ref() is not None for ref in given)


def test_a_long_list_is_given_back_although_few_calls_can_be_pending(
    lent: Callable[[], int],
) -> None:
    tracked = [_tracked((8, 8)) for _ in range(700)]
    gone = [ref for _, ref in tracked]
    natives = [sb.frame(a, format="GRAY8").map("ffmpeg").native for a, _ in tracked]
    assert lent() == 700
    del tracked
    natives.clear()
    assert lent() == 0
    assert not any(ref() is not None for ref in gone)


@pytest.mark.together
def test_ten_thousand_mappings_leave_nothing(
    references: Callable[[], int], lent: Callable[[], int]
) -> None:
    native = av.VideoFrame(320, 240, "yuv420p")
    frame = sb.frame(native)
    array = np.zeros((240, 320, 3), np.uint8)
    memory = sb.frame(array, format="BGR")

    def both_ways() -> None:
        frame.map("cpu", "rw")
        memory.map("ffmpeg", "rw").map("cpu")

    def counts() -> dict[str, int]:
        return {"references": references(), "held": lent()}

    assert_steady(both_ways, counts=counts)  # one lost frame in ten would be 100 MB


_AT_EXIT = {
    "to_cpu": """
        native = av.VideoFrame(64, 48, "yuv420p")
        mapped = sb.frame(native).map("cpu", "rw")
        array = mapped.native[0][3:]
    """,
    "to_ffmpeg": """
        array = np.zeros((48, 64, 3), np.uint8)
        mapped = sb.frame(array, format="BGR").map("ffmpeg", "rw")
        native = mapped.native
        plane = native.planes[0]
    """,
    "there_and_back": """
        memory = sb.context("cpu").allocate_frame("NV12", 64, 48)
        mapped = memory.map("ffmpeg", "rw").map("cpu", "rw").map("ffmpeg", "rw")
        native = mapped.native
    """,
    "in_a_cycle": """
        class Holder: pass
        holder = Holder()
        holder.me = holder
        holder.frames = [
            sb.frame(np.zeros((48, 64), np.uint8), format="GRAY8").map("ffmpeg") for _ in range(99)
        ]
        holder.back = [f.map("cpu") for f in holder.frames]
    """,
    "in_an_encoder": """
        codec = av.CodecContext.create("png", "w")
        codec.width, codec.height, codec.pix_fmt = 1920, 1080, "rgb24"
        codec.time_base, codec.thread_type, codec.thread_count = Fraction(1, 30), "FRAME", 2
        noise = np.random.default_rng(0)
        for number in range(3):
            picture = noise.integers(0, 256, (1080, 1920, 3), np.uint8)
            native = sb.frame(picture, format="RGB").map("ffmpeg").native
            native.pts = number
            codec.encode(native)
    """,
    "made_in_an_exit_handler": """
        kept = []
        def late():
            kept.append(sb.frame(np.zeros((8, 8), np.uint8), format="GRAY8").map("ffmpeg"))
            kept.append(sb.frame(kept[0].native).map("cpu"))
        import atexit
        atexit.register(late)
        class Last:
            def __del__(self, late=late):
                late()
        last = Last()
    """,
}


@pytest.mark.parametrize("case", _AT_EXIT)
def test_the_interpreter_ends_with_living_mappings(case: str) -> None:
    import textwrap

    program = (
        "import sys, av, numpy as np, samebytes as sb\nfrom fractions import Fraction\n"
        + textwrap.dedent(_AT_EXIT[case])
    )
    ended = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", program],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.together
def test_freeing_a_codec_in_the_middle_of_its_work_ends() -> None:
    """PyAV waits for the codec's threads with the interpreter held.

    A release function in Python would wait for the interpreter in those threads, forever.
    """
    program = """
import av, gc, numpy as np, samebytes as sb
from fractions import Fraction
from samebytes_ffmpeg._loans import held_count
noise = np.random.default_rng(0).integers(0, 256, (1080, 1920, 3), np.uint8)
for _ in range(3):
    codec = av.CodecContext.create("png", "w")
    codec.width, codec.height, codec.pix_fmt = 1920, 1080, "rgb24"
    codec.time_base, codec.thread_type, codec.thread_count = Fraction(1, 30), "FRAME", 4
    for number in range(4):
        frame = sb.frame(noise.copy(), format="RGB")
        frame.meta.pts = number
        codec.encode(frame.map("ffmpeg").native)
        del frame
    del codec
    assert held_count() == 0
"""
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, "")


def test_another_thread_knows_what_ffmpeg_gave_back() -> None:
    """The main thread drops it, which waits here for that other one."""
    memory = sb.context("cpu").allocate_frame("GRAY8", 64, 48)
    held = [memory.map("ffmpeg").native]
    seen: list[bool | None] = []

    def close() -> None:
        held.clear()
        seen.append(memory.close())

    thread = threading.Thread(target=close)
    thread.start()
    thread.join()
    assert seen == [True]
