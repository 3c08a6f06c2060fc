# SPDX-License-Identifier: Apache-2.0
"""ffmpeg -> cpu: the same bytes, for every software format."""

from __future__ import annotations

from contextlib import suppress
from ctypes import c_int
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import av.video.format
import numpy as np
import pytest
from av.audio.plane import AudioPlane

import samebytes as sb
from samebytes.errors import LayoutError
from samebytes.formats import AudioInfo, ImageFormat, ImageInfo


def _mapped() -> list[str]:
    found = []
    for name in sorted(vars(av.video.format)["names"]):  # left out of PyAV's stubs
        try:
            native = av.VideoFrame(16, 16, name)
        except (ValueError, OSError):  # FFmpeg makes no frames of devices
            continue
        with suppress(LayoutError):
            sb.frame(native)
            found.append(name)
    assert len(found) > 100
    return found


SIZES = [(64, 48), (35, 17), (5, 3), (2, 1), (1, 1)]


class FrameToCpu:
    """The tests for every av frame that can be mapped. Subclasses make the frames."""

    def make(self) -> Any:
        """A new av frame."""
        raise NotImplementedError

    def test_pointers_are_equal(self) -> None:
        native = self.make()
        frame = sb.frame(native)
        mapped = frame.map("cpu")
        assert [p.handle() for p in mapped] == [p.handle() for p in frame]
        count = len(mapped.planes)
        assert [a.ctypes.data for a in mapped.native] == [
            p.buffer_ptr for p in native.planes[:count]
        ]

    def test_writes_to_the_arrays_are_seen_by_ffmpeg(self) -> None:
        native = self.make()
        mapped = sb.frame(native).map("cpu", "rw")
        for number, array in enumerate(mapped.native):
            array[...] = number + 3
            raw = bytes(native.planes[number])
            used = array.dtype.type(number + 3).tobytes()
            assert raw[: len(used)] == used

    def test_writes_of_ffmpeg_are_seen_in_the_arrays(self) -> None:
        native = self.make()
        mapped = sb.frame(native).map("cpu", "r")
        for number, array in enumerate(mapped.native):
            plane = native.planes[number]
            memoryview(plane)[:] = bytes([17 + number]) * plane.buffer_size
            assert set(array.tobytes()) == {17 + number}

    def test_reading_gives_arrays_that_cannot_be_written(self) -> None:
        mapped = sb.frame(self.make()).map("cpu", "r")
        assert mapped.readonly
        for array in mapped.native:
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 0

    def test_planes_map_one_by_one(self) -> None:
        frame = sb.frame(self.make())
        for plane in frame.planes:
            one = plane.map("cpu", "rw")
            assert one.handle() == plane.handle()
            assert one.info == plane.info
            one.native.flat[0] = 9
            assert np.asarray(plane).flat[0] == 9

    def test_nothing_is_copied(self) -> None:
        sb.frame(self.make()).map("cpu").close()
        assert sb.stats().copies == 0

    def test_the_mapping_shares_meta_and_parent(self) -> None:
        native = self.make()
        native.pts, native.time_base = 42, Fraction(1, 90000)
        frame = sb.frame(native)
        mapped = frame.map("cpu")
        assert mapped.parent is frame
        assert mapped.meta is frame.meta
        assert (mapped.pts, mapped.meta.time_base) == (42, Fraction(1, 90000))


@pytest.mark.parametrize("name", _mapped())
class TestEveryFormat(FrameToCpu):
    @pytest.fixture(autouse=True)
    def _given(self, name: str) -> None:
        self.name = name

    def make(self) -> av.VideoFrame:
        return av.VideoFrame(35, 17, self.name)

    def test_every_size_has_the_layout_of_the_format(self) -> None:
        format_ = sb.frame(self.make()).format
        for size in SIZES:
            native = av.VideoFrame(*size, self.name)
            mapped = sb.frame(native).map("cpu", "rw")
            info = ImageInfo(format_, *size)
            assert mapped.meta.info == info
            for number, (array, layout) in enumerate(
                zip(mapped.native, info.plane_layouts(), strict=True)
            ):
                assert (array.shape, array.dtype) == (layout.shape, np.dtype(layout.dtype))
                assert array.ctypes.data == native.planes[number].buffer_ptr
                array[...] = 1


class TestAudioFrame(FrameToCpu):
    def make(self) -> av.AudioFrame:
        native = av.AudioFrame("s16p", "5.1", 300)
        native.sample_rate = 48000
        return native


class TestDecoded:
    def test_pitches_of_a_decoded_frame(self, clip: Path) -> None:
        with av.open(str(clip)) as container:
            native = next(container.decode(video=0))
            mapped = sb.frame(native).map("cpu")
        y, u, v = mapped.native
        assert (y.shape, u.shape, v.shape) == ((242, 322), (121, 161), (121, 161))
        assert [a.strides[0] for a in mapped.native] == [p.line_size for p in native.planes]
        assert y.strides[0] > 322
        np.testing.assert_array_equal(np.vstack([a.ravel()[None] for a in (u, v)]).ravel(),
                                      native.to_ndarray().ravel()[242 * 322 :])  # fmt: skip
        assert mapped.format == ImageFormat.of("I420")

    @pytest.mark.pyav17
    def test_ffmpegs_properties_are_in_the_metadata(self, clip: Path) -> None:
        with av.open(str(clip)) as container:
            frames = [sb.frame(f) for f in container.decode(video=0)]
        known = [f.map("cpu").metadata["ffmpeg"] for f in frames]
        assert known[0]["key_frame"] is True
        assert known[0]["pict_type"] == "I"
        assert {k["pict_type"] for k in known} >= {"P", "I"}
        assert {"color_range", "colorspace"} <= set(known[0])
        assert [f.pts for f in frames] == sorted(f.pts or 0 for f in frames)

    @pytest.mark.pyav17
    @pytest.mark.parametrize(
        ("format_", "number", "said"),
        [
            ("yuv420p", 0, None),
            ("yuv420p", 1, "limited"),
            ("yuv420p", 2, "full"),
            ("nv12", 2, "full"),
            ("yuvj420p", 0, "full"),
            ("yuvj422p", 2, "full"),
        ],
    )
    def test_range_of_the_numbers(self, format_: str, number: int, said: str | None) -> None:
        native = av.VideoFrame(16, 16, format_)
        native.color_range = number
        assert sb.frame(native).map("cpu").metadata.get("color_range") == said


class TestAudio:
    @pytest.mark.parametrize("name", ["u8", "s16", "s32", "s64", "flt", "dbl"])
    @pytest.mark.parametrize("planar", [False, True])
    @pytest.mark.parametrize("channels", [1, 2, 6, 8])
    def test_samples_are_the_same_bytes(self, name: str, planar: bool, channels: int) -> None:
        native = av.AudioFrame(name + "p" * planar, f"{channels}c", 301, 32)
        native.sample_rate = 48000
        frame = sb.frame(native)
        mapped = frame.map("cpu", "rw")
        assert mapped.media == "audio"
        info = mapped.meta.info
        assert isinstance(info, AudioInfo)
        assert (info.samples, info.channels, info.rate) == (301, channels, 48000)
        assert info.interleaved is not planar
        shape = (301,) if planar else (301, channels)
        assert [a.shape for a in mapped.native] == [shape] * (channels if planar else 1)
        for number, array in enumerate(mapped.native):
            # Not of native.planes, which PyAV 19 cannot list for eight planar channels.
            plane = AudioPlane(native, number)
            assert array.ctypes.data == plane.buffer_ptr
            array[...] = number + 1
            seen = np.frombuffer(memoryview(plane), array.dtype)[: array.size]
            np.testing.assert_array_equal(seen, number + 1)
            memoryview(plane)[: array.nbytes] = bytes(array.nbytes)
            assert not array.any()

    def test_padding_is_not_part_of_a_plane(self) -> None:
        native = av.AudioFrame("s16p", "stereo", 3, 64)
        native.sample_rate = 8000
        assert native.planes[0].buffer_size == 64
        assert [a.shape for a in sb.frame(native).map("cpu").native] == [(3,), (3,)]

    def test_decoded_sound(self, tmp_path: Path) -> None:
        path = tmp_path / "sound.flac"
        wave = (np.sin(np.arange(9000)[:, None] * [0.05, 0.07]) * 9000).astype(np.int16)
        with av.open(str(path), "w") as container:
            stream = container.add_stream("flac", rate=44100, layout="stereo", format="s16")
            source = av.AudioFrame.from_ndarray(wave.reshape(1, -1), "s16", "stereo")
            source.sample_rate = 44100
            container.mux(stream.encode(source))
            container.mux(stream.encode(None))
        with av.open(str(path)) as container:
            mapped = [sb.frame(f).map("cpu") for f in container.decode(audio=0)]
        np.testing.assert_array_equal(np.concatenate([m.native[0] for m in mapped]), wave)


class TestPlanes:
    def test_a_plane_of_pyav_is_a_tensor(self) -> None:
        native = av.VideoFrame(64, 48, "nv12")
        plane = sb.tensor(native.planes[1])
        assert (plane.shape, plane.handle("plane_index")) == ((24, 32, 2), 1)
        assert plane.handle() == native.planes[1].buffer_ptr
        plane.map("cpu", "rw").native[...] = 5
        assert set(bytes(native.planes[1])) >= {5}

    def test_array_libraries_take_planes(self) -> None:
        native = av.VideoFrame(64, 48, "gray")
        (plane,) = sb.frame(native).planes
        assert np.asarray(plane).ctypes.data == native.planes[0].buffer_ptr
        taken = np.from_dlpack(plane)
        assert taken.ctypes.data == native.planes[0].buffer_ptr
        taken[3, 4] = 99
        assert bytes(native.planes[0])[3 * native.planes[0].line_size + 4] == 99

    def test_an_identity_keeps_the_planes(self) -> None:
        frame = sb.frame(av.VideoFrame(64, 48, "nv12"))
        same = frame.map("ffmpeg")
        assert same.native is frame.native
        assert same.readonly
        assert [p.handle() for p in same] == [p.handle() for p in frame]
        plane = frame.planes[1].map("ffmpeg", "rw")
        assert plane.handle("plane_index") == 1


def test_the_frame_gives_its_avframe() -> None:
    frame = sb.frame(av.VideoFrame(64, 48, "nv12"))
    # Eight pointers, eight numbers and another pointer come first in every version.
    assert c_int.from_address(frame.handle("av_frame") + 8 * 8 + 8 * 4 + 8).value == 64


@pytest.mark.parametrize("name", ["monow", "gray16be", "rgb4"])
def test_a_format_without_elements_is_refused_when_wrapped(name: str) -> None:
    with pytest.raises(LayoutError, match=name):
        sb.frame(av.VideoFrame(64, 48, name))
    with pytest.raises(LayoutError, match=name):
        sb.tensor(av.VideoFrame(64, 48, name).planes[0])


def test_empty_frames_are_refused_when_wrapped() -> None:
    with pytest.raises(LayoutError, match="width"):
        sb.frame(av.VideoFrame())
    with pytest.raises(LayoutError, match=r"sample_rate"):
        sb.frame(av.AudioFrame("s16", "stereo", 10))
    empty = av.AudioFrame("s16", "stereo", 0)
    empty.sample_rate = 8000
    with pytest.raises(LayoutError, match="samples"):
        sb.frame(empty)


def test_allocate_frame() -> None:
    context = sb.context("ffmpeg")
    for name, ffmpeg in (("NV12", "nv12"), ("yuv420p10le", "yuv420p10le"), ("pal8", "pal8")):
        frame = context.allocate_frame(name, 30, 20)
        assert frame.native.format.name == ffmpeg
        with frame.map("cpu", "w") as mapped:
            for array in mapped.native:
                array[...] = 1
    with pytest.raises(LayoutError, match="YV12"):
        context.allocate_frame("YV12", 30, 20)
    with pytest.raises(sb.errors.UnknownNameError, match="nv13"):
        context.allocate_frame("nv13", 30, 20)
    with pytest.raises(LayoutError):
        context.allocate_frame("NV12", 100_000, 100_000)
    with pytest.raises(LayoutError):
        context.allocate_frame("NV12", 0, 20)


def test_a_plane_that_is_indexed_names_a_way_to_its_array() -> None:
    """The native of a plane is PyAV's, which is not indexed either."""
    plane: Any = sb.frame(av.VideoFrame(64, 48, "yuv420p"))[0]
    with pytest.raises(TypeError, match=r'tensor\.map\("cpu"\)\.native is the array'):
        plane[0]
    assert plane.map("cpu").native[0].shape == (64,)
