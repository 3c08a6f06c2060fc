# SPDX-License-Identifier: Apache-2.0
"""Write access: refused while a decoder, or another frame, refers to the same bytes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path

import av
import numpy as np
import pytest

import samebytes as sb
from samebytes.errors import AccessError, ClosedError, CopyRequiredError
from samebytes_ffmpeg import FFmpegFrame


def _decode(clip: Path) -> Iterator[av.VideoFrame]:
    with av.open(str(clip)) as container:
        container.streams.video[0].thread_type = "NONE"
        yield from container.decode(video=0)


def _wrap(native: av.VideoFrame | av.AudioFrame) -> FFmpegFrame:
    frame = sb.frame(native)
    assert isinstance(frame, FFmpegFrame)
    return frame


class TestDecoded:
    def test_a_frame_that_the_decoder_refers_to_is_read_only(self, clip: Path) -> None:
        decoding = _decode(clip)
        frame = _wrap(next(decoding))
        assert frame.readonly
        assert not frame.writable
        assert all(p.readonly for p in frame.planes)
        assert not frame.map("cpu").native[0].flags.writeable
        said = r"has released.*make_writable\(copy=True\).*map the frame itself again"
        for access in ("w", "rw"):
            with pytest.raises(AccessError, match=said):
                frame.map("cpu", access)
            with pytest.raises(AccessError, match=said):
                frame.planes[0].map("cpu", access)
        assert not np.asarray(frame.planes[0]).flags.writeable

    def test_it_can_be_written_once_the_decoder_has_let_go(self, clip: Path) -> None:
        decoding = _decode(clip)
        frame = _wrap(next(decoding))
        assert frame.readonly
        deque(decoding, maxlen=0)
        assert frame.writable
        frame.map("cpu", "rw").native[0][...] = 1
        assert set(bytes(frame.native.planes[0])[:322]) == {1}

    def test_frames_that_wait_long_enough_are_writable(self, clip: Path) -> None:
        waiting: deque[av.VideoFrame] = deque()
        writable = []
        for native in _decode(clip):
            waiting.append(native)
            if len(waiting) > 24:
                writable.append(_wrap(waiting.popleft()).writable)
        assert len(writable) > 20
        assert all(writable)

    def test_writing_to_a_copy_leaves_the_later_frames_as_they_are(self, clip: Path) -> None:
        def sums(write: bool) -> list[int]:
            found = []
            for number, native in enumerate(_decode(clip)):
                frame = _wrap(native)
                if write and number % 3 == 0:
                    frame.make_writable(copy=True)
                    for array in frame.map("cpu", "rw").native:
                        array[...] = 255
                else:
                    found.append((number, sum(int(a.sum()) for a in frame.map("cpu").native)))
            return [s for n, s in found if n % 3]

        assert sums(write=True) == sums(write=False)

    def test_without_the_refusal_later_frames_would_change(self, clip: Path) -> None:
        """The danger is real: PyAV's own planes let the reference be overwritten."""

        def sums(write: bool) -> list[int]:
            found = []
            for number, native in enumerate(_decode(clip)):
                if number % 3:
                    found.append(int(_wrap(native).map("cpu").native[0].sum()))
                elif write:
                    memoryview(native.planes[0])[:] = bytes(native.planes[0].buffer_size)
            return found

        assert sums(write=True) != sums(write=False)


class TestOwnReferences:
    """A mapping refers to the buffers too; that alone must not make a frame read-only."""

    @pytest.mark.pyav17
    def test_reading_first_does_not_prevent_writing(self, references: Callable[[], int]) -> None:
        frame = _wrap(av.VideoFrame(64, 48, "yuv420p"))
        reading = frame.map("cpu", "r")
        again = frame.map("cpu", "r")
        assert references() >= 2
        writing = frame.map("cpu", "rw")
        writing.native[0][...] = 7
        assert (reading.native[0] == 7).all()
        assert (again.native[0] == 7).all()

    def test_nor_through_another_frame_over_the_same_av_frame(self) -> None:
        native = av.VideoFrame(64, 48, "yuv420p")
        reading = _wrap(native).map("cpu", "r")
        assert _wrap(native).writable
        assert _wrap(native).planes[0].map("cpu", "rw").native.base is not reading.native[0].base

    def test_make_writable_sees_that_no_copy_is_needed(self) -> None:
        frame = _wrap(av.VideoFrame(64, 48, "yuv420p"))
        reading = frame.map("cpu", "r")
        before = frame.planes[0].handle()
        frame.make_writable()
        assert frame.planes[0].handle() == before == reading.planes[0].handle()
        assert sb.stats().copies == 0

    def test_another_av_frame_on_the_same_buffers_does(self, clip: Path) -> None:
        decoding = _decode(clip)
        native = next(decoding)
        reading = [_wrap(native).map("cpu") for _ in range(4)]
        frame = _wrap(native)
        assert frame.readonly
        del reading
        assert frame.readonly

    def test_sound_of_pyavs_own_is_writable(self) -> None:
        native = av.AudioFrame("fltp", "stereo", 100)
        native.sample_rate = 8000
        frame = _wrap(native)
        reading = frame.map("cpu")
        frame.map("cpu", "rw").native[1][...] = 2
        assert (reading.native[1] == 2).all()

    @pytest.mark.pyav17
    def test_lent_memory_with_many_channels(self) -> None:
        info = sb.AudioInfo(10, 12, 8000, "int16", interleaved=False)
        arrays = [np.zeros(10, np.int16) for _ in range(12)]
        native = sb.frame(arrays, audio=info).map("ffmpeg", "rw").native
        frame = _wrap(native)
        reading = frame.map("cpu")
        assert frame.writable
        frame.map("cpu", "rw").native[11][...] = 4
        assert (reading.native[11] == 4).all()
        assert (arrays[11] == 4).all()


class TestMakeWritable:
    def test_it_copies_only_when_allowed_and_counts(self, clip: Path) -> None:
        decoding = _decode(clip)
        frame = _wrap(next(decoding))
        before = frame.planes[0].handle()
        with pytest.raises(CopyRequiredError, match="make_writable"):
            frame.make_writable()
        assert frame.planes[0].handle() == before
        frame.make_writable(copy=True)
        assert frame.planes[0].handle() != before
        assert sb.stats().by_edge["ffmpeg -> ffmpeg (make_writable)"].nbytes == (
            322 * 242 + 2 * 161 * 121
        )
        frame.make_writable(copy=True)
        assert sb.stats().copies == 1

    def test_mappings_keep_the_old_bytes(self, clip: Path) -> None:
        decoding = _decode(clip)
        frame = _wrap(next(decoding))
        old = frame.map("cpu")
        kept = [a.copy() for a in old.native]
        frame.make_writable(copy=True)
        new = frame.map("cpu", "rw")
        for array in new.native:
            array[...] = 0
        deque(decoding, maxlen=0)
        for array, copy in zip(old.native, kept, strict=True):
            np.testing.assert_array_equal(array, copy)

    def test_so_they_do_when_pyavs_own_call_moves_the_frame(self, clip: Path) -> None:
        decoding = _decode(clip)
        native = next(decoding)
        frame = _wrap(native)
        plane = frame.planes[1]
        old, array = frame.map("cpu").native, np.asarray(plane)
        kept = [a.copy() for a in old]
        native.make_writable()
        assert array.ctypes.data == old[1].ctypes.data != native.planes[1].buffer_ptr
        assert plane.handle() == native.planes[1].buffer_ptr
        assert frame.writable
        frame.map("cpu", "rw").native[1][...] = 0
        deque(decoding, maxlen=0)
        for before, copy in zip(old, kept, strict=True):
            np.testing.assert_array_equal(before, copy)
        np.testing.assert_array_equal(array, kept[1])

    def test_the_planes_follow_a_new_pitch(self) -> None:
        image = np.zeros((20, 31, 3), np.uint8)
        frame = sb.frame(image, format="BGR").map("ffmpeg", "r")
        assert isinstance(frame, FFmpegFrame)
        native, plane = frame.native, frame.planes[0]
        assert isinstance(native, av.VideoFrame)
        assert plane.strides == (93, 3, 1)
        frame.make_writable(copy=True)
        assert plane.strides == (native.planes[0].line_size, 3, 1)
        assert plane.strides != (93, 3, 1)

    def test_then_its_planes_can_be_written_one_by_one(self) -> None:
        image = np.zeros((20, 32, 3), np.uint8)
        frame = sb.frame(image, format="BGR").map("ffmpeg", "r")
        assert isinstance(frame, FFmpegFrame)
        assert frame.planes[0].readonly
        frame.make_writable(copy=True)
        assert not frame.planes[0].readonly
        frame.planes[0].map("cpu", "rw").native[...] = 7
        assert (frame.map("cpu").native[0] == 7).all()
        assert not image.any()

    def test_a_closed_frame_says_so(self) -> None:
        frame = _wrap(av.VideoFrame(64, 48, "nv12"))
        frame.close()
        for use in (
            lambda: frame.writable,
            lambda: frame.readonly,
            frame.make_writable,
            lambda: frame.map("cpu"),
            lambda: frame.handle("av_frame"),
        ):
            with pytest.raises(ClosedError):
                use()
        assert repr(frame) == "<FFmpegFrame closed>"
