# SPDX-License-Identifier: Apache-2.0
"""The contents of a buffer or sample, and the places of its planes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gi.repository import Gst, GstVideo

import samebytes as sb
import samebytes_gstreamer as sbg
from samebytes import AudioInfo, TensorInfo
from samebytes.errors import (
    LayoutError,
    NoRouteError,
    RouteError,
    UnknownNameError,
    UnsupportedObjectError,
)

from .crop_metas import add_crop_meta

NV12 = "video/x-raw,format=NV12,width=318,height=238,framerate=30/1"


def buffer_with(*sizes: int) -> Any:
    """A buffer of memories of those sizes, whose bytes count up from one end to the other."""
    buffer = Gst.Buffer.new()
    start = 0
    for size in sizes:
        part = Gst.Buffer.new_wrapped(bytes((start + n) % 251 for n in range(size)))
        buffer.append_memory(part.get_memory(0))
        start += size
    return buffer


def bytes_from(start: int, count: int) -> np.ndarray[Any, Any]:
    return np.array([n % 251 for n in range(start, start + count)], np.uint8)


def sample_of(buffer: Any, caps: str) -> Any:
    return Gst.Sample.new(buffer, Gst.Caps.from_string(caps), None, None)


def add_video_meta(buffer: Any, name: str, size: tuple[int, int], offsets: list[int],
                   pitches: list[int]) -> None:  # fmt: skip
    rest = [0] * (4 - len(offsets))
    GstVideo.buffer_add_video_meta_full(
        buffer, 0, GstVideo.VideoFormat.from_string(name), *size, len(offsets), offsets + rest,
        pitches + rest,
    )  # fmt: skip


class TestCaps:
    @pytest.mark.parametrize("own", [None, "video/x-raw,format=I420,width=16,height=8"])
    def test_caps_instead_of_those_of_a_sample(self, own: str | None) -> None:
        caps = None if own is None else Gst.Caps.from_string(own)
        sample = Gst.Sample.new(buffer_with(192), caps, None, None)
        frame = sbg.frame_of(sample, "video/x-raw,format=GRAY8,width=16,height=8")
        for seen in (frame, frame.map("gstreamer")):
            assert [plane.shape for plane in seen] == [(8, 16)]
            assert seen.caps.get_structure(0).get_string("format") == "GRAY8"  # type: ignore[attr-defined]  # a GStreamerFrame

    def test_a_sample_says_what_it_holds(self) -> None:
        frame = sb.frame(sample_of(buffer_with(320 * 238 + 320 * 119), NV12))
        assert str(frame.image) == "NV12 318x238"
        assert [p.strides for p in frame] == [(320, 1), (320, 2, 1)]
        assert frame.metadata["gstreamer"]["framerate"] == 30
        y, uv = frame.map("cpu").native
        np.testing.assert_array_equal(y[1], bytes_from(320, 318))
        np.testing.assert_array_equal(uv[0].ravel(), bytes_from(320 * 238, 318))

    @pytest.mark.parametrize("by_format", [True, False])
    def test_a_buffer_needs_its_format(self, by_format: bool) -> None:
        buffer = buffer_with(320 * 238 + 320 * 119)
        with pytest.raises(UnsupportedObjectError, match="frame_of"):
            sb.frame(buffer)
        if by_format:
            frame = sbg.frame_of(buffer, format="NV12", width=318, height=238)
        else:
            frame = sbg.frame_of(buffer, NV12)
        assert [p.strides for p in frame] == [(320, 1), (320, 2, 1)]
        # A mapping to itself finds the layout again.
        assert [p.strides for p in frame.map("gstreamer")] == [(320, 1), (320, 2, 1)]

    def test_caps_are_parsed_once(self) -> None:
        caps = Gst.Caps.from_string(NV12)
        buffer = buffer_with(320 * 238 + 320 * 119)
        first = sbg.frame_of(buffer, caps).meta
        second = sbg.frame_of(buffer, caps).meta
        assert isinstance(first, type(second))
        assert first.description is second.description  # type: ignore[attr-defined]  # that class

    @pytest.mark.parametrize(
        ("caps", "reason"),
        [
            ("video/x-raw,format=v210,width=48,height=8,framerate=0/1", "v210"),
            ("video/x-raw,format=NV12,width=[1,9],height=8,framerate=0/1", "not fixed"),
            ("video/x-raw,format=NV12,height=8,framerate=0/1", "no picture"),
            (NV12 + ",interlace-mode=alternate", "one field"),
            ("audio/x-raw,format=S24LE,rate=8000,channels=2,layout=interleaved", "S24LE"),
            ("audio/x-raw,format=S16LE,rate=8000", "no sound"),
            ("other/tensors,num_tensors=1,types=uint9,dimensions=3:4", "uint9"),
            ("other/tensors,num_tensors=2,types=uint8,dimensions=(string)\"3:4,5:6\"", "layout"),
            ("nonsense,,", "parse"),
        ],
    )  # fmt: skip
    def test_caps_that_have_no_layout(self, caps: str, reason: str) -> None:
        with pytest.raises(LayoutError, match=reason):
            sbg.frame_of(buffer_with(4096), caps)

    def test_wrong_arguments(self) -> None:
        buffer = buffer_with(64)
        for wrong in (None, 3, np.zeros(3), Gst.Buffer, Gst.Caps.from_string(NV12)):
            for wrap in (sbg.frame_of, sbg.GStreamerFrame.wrap, sbg.GStreamerTensor.wrap):
                with pytest.raises(UnsupportedObjectError):
                    wrap(wrong)
        with pytest.raises(UnsupportedObjectError, match=r"Gst\.Caps"):
            sbg.frame_of(buffer, 7)
        with pytest.raises(LayoutError, match="pass caps="):
            sbg.frame_of(buffer, NV12, format="NV12", width=4, height=4)
        with pytest.raises(LayoutError, match="pass caps="):
            sbg.frame_of(buffer, format="NV12", width=4)
        with pytest.raises(UnknownNameError):
            sbg.frame_of(buffer, format="NV13", width=4, height=4)
        for size in (0, -4, "4", 4.0):
            with pytest.raises(LayoutError, match="positive"):
                sbg.frame_of(buffer, format="NV12", width=size, height=4)  # type: ignore[arg-type]  # the test
        with pytest.raises(LayoutError, match="no GStreamer format"):
            sbg.frame_of(buffer, format="GBRPF16", width=4, height=4)
        with pytest.raises(UnsupportedObjectError):
            sb.frame(buffer.get_memory(0))
        with pytest.raises(UnsupportedObjectError, match=r"frame\(\)"):
            sb.tensor(buffer)


class TestPlaces:
    def test_memories_are_not_merged(self) -> None:
        buffer = buffer_with(320 * 238, 320 * 119)
        frame = sb.frame(sample_of(buffer, NV12))
        y, uv = frame.map("cpu").native
        assert buffer.n_memory() == 2
        assert frame.planes[0].handle("gst_memory") != frame.planes[1].handle("gst_memory")
        np.testing.assert_array_equal(uv[0].ravel(), bytes_from(320 * 238, 318))
        np.testing.assert_array_equal(y[0], bytes_from(0, 318))

    def test_the_video_meta_wins(self) -> None:
        buffer = buffer_with(64 + 512 * 8 + 512 * 4)
        add_video_meta(buffer, "NV12", (16, 8), [64, 64 + 512 * 8], [512, 512])
        frame = sb.frame(
            sample_of(buffer, "video/x-raw,format=NV12,width=16,height=8,framerate=0/1")
        )
        assert [p.handle("offset") for p in frame] == [64, 64 + 512 * 8]
        np.testing.assert_array_equal(frame.map("cpu").native[0][1], bytes_from(64 + 512, 16))

    def test_planes_outside(self) -> None:
        buffer = buffer_with(512 * 8)
        add_video_meta(buffer, "NV12", (16, 8), [0, 512 * 8 - 8], [512, 512])
        with pytest.raises(LayoutError, match="past the end"):
            sb.frame(buffer)
        short = buffer_with(100)
        with pytest.raises(LayoutError, match="past the end"):
            sbg.frame_of(short, format="NV12", width=16, height=8)
        far = buffer_with(100)
        add_video_meta(far, "GRAY8", (4, 4), [1000], [4])
        with pytest.raises(LayoutError, match="outside a buffer of 100"):
            sb.frame(far)
        with pytest.raises(LayoutError, match="no memory"):
            sbg.frame_of(Gst.Buffer.new(), format="NV12", width=16, height=8)

    def test_planes_across_memories(self) -> None:
        with pytest.raises(LayoutError, match="across two memories"):
            sbg.frame_of(buffer_with(100, 92), format="NV12", width=16, height=8)

    def test_a_pitch_shorter_than_a_row(self) -> None:
        buffer = buffer_with(512)
        add_video_meta(buffer, "GRAY8", (16, 8), [0], [8])
        with pytest.raises(LayoutError, match="pitch"):
            sb.frame(buffer)

    def test_stored_bottom_up(self) -> None:
        buffer = buffer_with(64)
        add_video_meta(buffer, "GRAY8", (8, 8), [56], [-8])
        (array,) = sb.frame(buffer).map("cpu").native
        assert array.strides == (-8, 1)
        np.testing.assert_array_equal(array[7], bytes_from(0, 8))

    def test_a_sample_without_a_buffer(self) -> None:
        with pytest.raises(LayoutError, match="no buffer"):
            sb.frame(sample_of(None, NV12))


class TestCrop:
    def cropped(self, name: str, x: int, y: int, width: int, height: int) -> Any:
        caps = f"video/x-raw,format={name},width=32,height=16,framerate=0/1"
        size = GstVideo.VideoInfo.new_from_caps(Gst.Caps.from_string(caps)).size
        buffer = buffer_with(size)
        add_crop_meta(buffer, x, y, width, height)
        GstVideo.buffer_add_video_region_of_interest_meta(buffer, "cat", 6, 3, 2, 1)
        return sample_of(buffer, caps)

    def test_the_part_that_is_seen(self) -> None:
        frame = sb.frame(self.cropped("NV12", 4, 2, 9, 5))
        assert str(frame.image) == "NV12 9x5"
        y, uv = frame.map("cpu").native
        assert (y.shape, uv.shape) == ((5, 9), (3, 5, 2))
        np.testing.assert_array_equal(y[1], bytes_from(3 * 32 + 4, 9))
        np.testing.assert_array_equal(uv[2].ravel(), bytes_from(512 + 3 * 32 + 4, 10))

    def test_packed_pixels(self) -> None:
        (array,) = sb.frame(self.cropped("BGR", 3, 5, 7, 2)).map("cpu").native
        np.testing.assert_array_equal(array[1].ravel(), bytes_from(6 * 96 + 9, 21))
        (pairs,) = sb.frame(self.cropped("YUY2", 2, 1, 4, 1)).map("cpu").native
        np.testing.assert_array_equal(pairs[0].ravel(), bytes_from(64 + 4, 8))

    @pytest.mark.parametrize(("name", "x", "y"), [("NV12", 3, 2), ("I420", 2, 1), ("YUY2", 1, 0)])
    def test_a_cut_through_shared_samples(self, name: str, x: int, y: int) -> None:
        sample = self.cropped(name, x, y, 8, 4)
        with pytest.raises(LayoutError, match="crop=False"):
            sb.frame(sample)
        whole = sbg.frame_of(sample, crop=False)
        assert (whole.width, whole.height) == (32, 16)
        assert whole.map("gstreamer").planes[0].shape[:2] == (16, 32)

    def test_caps_say_the_whole_picture(self) -> None:
        sample = self.cropped("BGR", 4, 2, 9, 5)
        buffer = sample.get_buffer()
        frame = sbg.frame_of(buffer, sample.get_caps())
        assert (frame.width, frame.height) == (9, 5)
        assert "width=(int)32, height=(int)16" in frame.caps.to_string()
        assert "width=(int)9, height=(int)5" in frame_to_gstreamer(frame).caps.to_string()

    def test_outside_of_the_picture(self) -> None:
        for numbers in ((0, 0, 33, 4), (28, 0, 8, 4), (0, 0, 0, 4), (2**32 - 2, 0, 4, 4)):
            with pytest.raises(LayoutError, match="not inside"):
                sb.frame(self.cropped("BGR", *numbers))

    def test_regions_move_with_it(self) -> None:
        sample = self.cropped("BGR", 4, 2, 9, 5)
        (region,) = sb.frame(sample).regions
        assert (region.x, region.y) == (2, 1)
        (region,) = sbg.frame_of(sample, crop=False).regions
        assert (region.x, region.y) == (6, 3)


def frame_to_gstreamer(frame: sb.Frame) -> sbg.GStreamerFrame:
    """The picture in a new buffer, by way of the CPU."""
    mapped = frame.map("cpu").map("gstreamer")
    assert isinstance(mapped, sbg.GStreamerFrame)
    return mapped


class TestSound:
    def test_interleaved(self) -> None:
        caps = "audio/x-raw,format=S16LE,rate=8000,channels=2,layout=interleaved"
        frame = sb.frame(sample_of(buffer_with(400), caps))
        assert frame.audio == AudioInfo(100, 2, 8000, "int16", channel_layout="stereo")
        assert frame.map("cpu").native[0].shape == (100, 2)

    def test_planar(self) -> None:
        info = AudioInfo(100, 3, 8000, "float32", interleaved=False)
        arrays = [np.full(100, n, np.float32) for n in range(3)]
        buffer = sb.frame(arrays, audio=info).map("gstreamer", "rw")
        assert isinstance(buffer, sbg.GStreamerFrame)
        assert buffer.native.n_memory() == 3
        caps = buffer.caps.to_string()
        assert "non-interleaved" in caps
        again = sb.frame(sample_of(buffer.native, caps))
        assert again.audio == info
        for array, mapped in zip(arrays, again.map("cpu").native, strict=True):
            assert mapped.ctypes.data == array.ctypes.data

    def test_planes_that_do_not_fit(self) -> None:
        caps = "audio/x-raw,format=F32LE,rate=8000,channels=2,layout=non-interleaved"
        with pytest.raises(LayoutError, match="across two memories"):
            sb.frame(sample_of(buffer_with(300, 500), caps))

    def test_samples_that_gstreamer_lacks(self) -> None:
        sound = sb.frame(np.zeros((4, 2), np.int64), audio=AudioInfo(4, 2, 8000, "int64"))
        with pytest.raises(NoRouteError, match="int64"):
            sound.map("gstreamer")


class TestBytes:
    def test_other_caps_give_bytes(self) -> None:
        frame = sb.frame(sample_of(buffer_with(10, 20), "video/x-h264"))
        assert frame.media == "tensors"
        assert [a.shape for a in frame.map("cpu").native] == [(10,), (20,)]
        with pytest.raises(LayoutError, match="caps are made for those only"):
            _ = sbg.frame_of(buffer_with(4), "video/x-h264").caps
        with pytest.raises(NoRouteError, match="neither picture nor sound"):
            frame.map("cpu").map("gstreamer")

    def test_tensors(self) -> None:
        caps = 'other/tensors,num_tensors=2,types="uint8,float32",dimensions="3:4:5,7:1"'
        frame = sb.frame(sample_of(buffer_with(60, 28), caps))
        assert [p.info for p in frame] == [TensorInfo("uint8", (5, 4, 3)),
                                           TensorInfo("float32", (1, 7))]  # fmt: skip
        with pytest.raises(LayoutError, match="does not fit"):
            sb.frame(sample_of(buffer_with(60, 27), caps))
        with pytest.raises(LayoutError, match="name 2 tensors"):
            sb.frame(sample_of(buffer_with(60), caps))

    def test_a_memory_alone(self) -> None:
        tensor = sb.tensor(buffer_with(16).get_memory(0))
        assert tensor.info == TensorInfo("uint8", (16,))
        np.testing.assert_array_equal(tensor.map("cpu").native, bytes_from(0, 16))

    def test_a_plane_of_ones_own(self) -> None:
        memory = buffer_with(16).get_memory(0)
        plane = sbg.GStreamerPlane(memory, TensorInfo("uint8", (2, 3), (4, 1)), 5)
        np.testing.assert_array_equal(sb.tensor(plane).map("cpu").native[1], bytes_from(9, 3))
        for offset, reason in (
            (10, "takes bytes 10 to 17"),
            (-1, "takes bytes -1"),
            ("x", "number"),
        ):
            with pytest.raises(LayoutError, match=reason):
                sbg.GStreamerPlane(memory, plane.info, offset)  # type: ignore[arg-type]  # the test
        with pytest.raises(UnsupportedObjectError):
            sbg.GStreamerPlane(None, plane.info)


class TestLists:
    def test_a_batch(self) -> None:
        listed = Gst.BufferList.new()
        for _ in range(3):
            listed.insert(-1, buffer_with(24))
        caps = "video/x-raw,format=GRAY8,width=6,height=3,framerate=0/1"
        assert [str(f.image) for f in sbg.frames_of(listed, caps)] == ["GRAY8 6x3"] * 3
        sample = Gst.Sample.new(None, Gst.Caps.from_string(caps), None, None)
        sample.set_buffer_list(listed)
        assert len(sbg.frames_of(sample)) == 3
        said = sbg.frames_of(listed, format="GRAY8", width=8, height=3)
        assert [str(f.image) for f in said] == ["GRAY8 8x3"] * 3
        assert [str(f.image) for f in sbg.frames_of(sample, format="GRAY8", width=8, height=3)] == [
            "GRAY8 8x3"
        ] * 3
        with pytest.raises(LayoutError, match="pass caps=, or all of"):
            sbg.frames_of(listed, caps, format="GRAY8", width=6, height=3)
        with pytest.raises(LayoutError, match="frames_of"):
            sb.frame(sample)
        with pytest.raises(UnsupportedObjectError):
            sbg.frames_of(buffer_with(4))


class TestFromArrays:
    def test_planes_side_by_side_share_a_memory(self) -> None:
        frame = sb.context("cpu").allocate_frame("I420", 32, 16)
        assert frame.map("gstreamer").native.n_memory() == 1
        apart = sb.frame([np.zeros((16, 32), np.uint8), np.zeros((8, 16, 2), np.uint8)],
                         format="NV12")  # fmt: skip
        assert apart.map("gstreamer").native.n_memory() == 2

    @pytest.mark.parametrize(
        ("array", "format_", "reason"),
        [
            (np.zeros((8, 16, 3), np.uint8)[:, ::2], "BGR", "gaps"),
            (np.zeros((8, 16, 3), np.uint8)[::-1], "BGR", "-48 bytes apart"),
            (np.zeros((8, 16), np.float16), "GRAYF16", "no GStreamer format"),
        ],
    )
    def test_what_gstreamer_cannot_have(self, array: Any, format_: str, reason: str) -> None:
        with pytest.raises(RouteError, match=reason):
            sb.frame(array, format=format_).map("gstreamer")

    def test_tensors_that_gstreamer_cannot_have(self) -> None:
        for array, reason in (
            (np.zeros((0, 3)), "empty memory"),
            (np.lib.stride_tricks.as_strided(np.zeros(9), (3, 3), (0, 8)), "overlap"),
        ):
            with pytest.raises(RouteError, match=reason):
                sb.tensor(array).map("gstreamer")
