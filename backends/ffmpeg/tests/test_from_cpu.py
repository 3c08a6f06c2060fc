# SPDX-License-Identifier: Apache-2.0
"""cpu -> ffmpeg: av frames on the arrays' own memory, for every software format."""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import av.video.format
import numpy as np
import pytest

import samebytes as sb
from samebytes import Frame, FrameMeta
from samebytes.errors import AccessError, CopyRequiredError, LayoutError, NoRouteError, RouteError
from samebytes.formats import AudioInfo, ImageFormat, ImageInfo, known_formats
from samebytes_ffmpeg import FFmpegFrame

Array = np.ndarray[Any, Any]


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


def _over(arrays: list[Array], info: ImageInfo | AudioInfo | None) -> Frame:
    """A cpu frame without the core's own checks of shapes, which are not what is tested here."""
    return Frame.borrowed(
        tuple(arrays),
        sb.context("cpu"),
        FrameMeta(info),
        keep=arrays,
        readonly=not all(a.flags.writeable for a in arrays),
    )


def _as_rgb(native: av.VideoFrame) -> Array | None:
    try:
        return native.reformat(format="rgb24").to_ndarray()
    except (ValueError, OSError):
        return None


class Memory:
    """The layout of the planes in memory. Subclasses differ only in that."""

    def array(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        """An array of that shape, zeroed."""
        raise NotImplementedError

    def planes(self, info: ImageInfo) -> list[Array]:
        return [self.array(p.shape, np.dtype(p.dtype)) for p in info.plane_layouts()]

    @pytest.fixture(params=_mapped())
    def info(self, request: pytest.FixtureRequest) -> ImageInfo:
        made = sb.frame(av.VideoFrame(35, 17, request.param))
        assert isinstance(made.format, ImageFormat)
        return ImageInfo(made.format, 35, 17)

    def test_the_planes_are_the_arrays(self, info: ImageInfo) -> None:
        arrays = self.planes(info)
        native = _over(arrays, info).map("ffmpeg", "rw").native
        assert sb.frame(native).format == info.format
        assert (native.width, native.height) == (35, 17)
        assert [p.buffer_ptr for p in native.planes] == [a.ctypes.data for a in arrays]
        for plane, array in zip(native.planes, arrays, strict=True):
            if array.shape != (256, 4):
                assert plane.line_size == array.strides[0]

    def test_writes_are_seen_on_the_other_side(self, info: ImageInfo) -> None:
        arrays = self.planes(info)
        frame = _over(arrays, info).map("ffmpeg", "rw")
        back = frame.map("cpu", "rw")
        for number, (array, seen) in enumerate(zip(arrays, back.native, strict=True)):
            array[...] = number + 1
            np.testing.assert_array_equal(seen, array)
            seen[...] = number + 7
            np.testing.assert_array_equal(array, seen)
        for plane, array in zip(frame.native.planes, arrays, strict=True):
            first = array.flat[0].tobytes()
            lowest = 0 if array.strides[0] > 0 else -array.strides[0] * (array.shape[0] - 1)
            assert bytes(plane)[lowest : lowest + len(first)] == first

    @pytest.mark.pyav17
    def test_ffmpeg_reads_what_was_written(self, info: ImageInfo) -> None:
        """swscale gives the same picture as from a copy, or takes neither."""
        if info.format.ffmpeg_name == "yaf32le":
            pytest.skip("swscale ends the process on yaf32le, on FFmpeg's own frames too")
        # Of an odd size, swscale reads Bayer patterns beyond their last column.
        info = ImageInfo(info.format, 36, 18)
        arrays = self.planes(info)
        noise = np.random.default_rng(1)
        for array in arrays:
            bits = noise.integers(0, 256, (array.size * array.itemsize,), np.uint8)
            array[...] = bits.view(array.dtype).reshape(array.shape)
            if array.dtype.kind == "f":
                array[...] = noise.random(array.shape)
        lent = _over(arrays, info).map("ffmpeg", "r").native
        copied = av.VideoFrame(36, 18, lent.format.name)
        for array, target in zip(arrays, sb.frame(copied).map("cpu", "w").native, strict=True):
            target[...] = array
        expected = _as_rgb(copied)
        np.testing.assert_array_equal(_as_rgb(lent), expected)


class TestDense(Memory):
    def array(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        return np.zeros(shape, dtype)


class TestPadded(Memory):
    """Rows with padding, as a region of a larger image has."""

    def array(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        if shape == (256, 4):
            return np.zeros(shape, dtype)
        return np.zeros((shape[0] + 2, shape[1] + 29, *shape[2:]), dtype)[1:-1, 13 : shape[1] + 13]


@pytest.mark.pyav17
class TestBottomUp(Memory):
    """Rows in falling order: FFmpeg's linesize is negative."""

    def array(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        if shape == (256, 4):
            return np.zeros(shape, dtype)
        return np.zeros((shape[0], shape[1] + 29, *shape[2:]), dtype)[::-1, : shape[1]]

    def test_the_data_pointer_is_the_first_row(self) -> None:
        image = np.arange(60, dtype=np.uint8).reshape(10, 6)
        native = sb.frame(image[::-1], format="GRAY8").map("ffmpeg").native
        assert native.planes[0].buffer_ptr == image.ctypes.data + 54
        assert native.planes[0].line_size == -6
        np.testing.assert_array_equal(sb.frame(native).map("cpu").native[0], image[::-1])


class TestReadOnly:
    def test_read_only_memory_stays_read_only(self) -> None:
        image = np.zeros((20, 30, 3), np.uint8)
        image.flags.writeable = False
        frame = sb.frame(image, format="BGR")
        mapped = frame.map("ffmpeg")
        assert mapped.readonly
        assert sb.frame(mapped.native).readonly
        with pytest.raises(AccessError, match=r"make_writable\(copy=True\)"):
            mapped.map("cpu", "rw")
        with pytest.raises(AccessError):
            frame.map("ffmpeg", "rw")
        assert not mapped.map("cpu").native[0].flags.writeable
        mapped.native.make_writable()
        assert mapped.native.planes[0].buffer_ptr != image.ctypes.data, "FFmpeg would write into it"

    def test_it_is_read_only_to_whoever_wraps_the_av_frame_too(self) -> None:
        image = np.zeros((20, 30, 3), np.uint8)
        native = sb.frame(image, format="BGR").map("ffmpeg", "r").native
        again = sb.frame(native)
        assert again.readonly
        held = again.map("cpu", "r")
        assert again.readonly
        with pytest.raises(AccessError):
            again.map("cpu", "rw")
        del held

    def test_ffmpeg_copies_before_it_writes(self) -> None:
        image = np.zeros((20, 30, 3), np.uint8)
        mapped = sb.frame(image, format="BGR").map("ffmpeg", "r")
        assert isinstance(mapped, FFmpegFrame)
        mapped.make_writable(copy=True)
        assert mapped.writable
        mapped.map("cpu", "rw").native[0][...] = 200
        assert not image.any()

    def test_writable_memory_is_writable(self) -> None:
        image = np.zeros((20, 30, 3), np.uint8)
        mapped = sb.frame(image, format="BGR").map("ffmpeg", "rw")
        assert not mapped.readonly
        assert not sb.frame(mapped.native).readonly
        mapped.native.make_writable()
        assert mapped.native.planes[0].buffer_ptr == image.ctypes.data, "FFmpeg copied it"


class TestWhatFFmpegCannotExpress:
    @pytest.mark.parametrize(
        ("array", "why"),
        [
            (np.zeros((20, 60, 3), np.uint8)[:, ::2], "gaps"),
            (np.zeros((20, 30, 4), np.uint8)[..., :3], "gaps"),
            (np.broadcast_to(np.zeros((1, 30, 3), np.uint8), (20, 30, 3)), "0 bytes apart"),
            (np.zeros((20, 30, 3), np.int8), r"not uint8\[20, 30, 3\]"),
            (np.zeros((20, 31, 3), np.uint8), r"not uint8\[20, 30, 3\]"),
        ],
    )
    def test_a_layout_is_refused_with_the_reason(self, array: Array, why: str) -> None:
        frame = _over([array], ImageInfo(ImageFormat.of("BGR"), 30, 20))
        with pytest.raises(RouteError, match=why):
            frame.map("ffmpeg")

    def test_a_missing_plane_is_refused(self) -> None:
        frame = _over([np.zeros((20, 30), np.uint8)], ImageInfo(ImageFormat.of("NV12"), 30, 20))
        with pytest.raises(RouteError, match=r"planes of .*: 2, of the frame: 1"):
            frame.map("ffmpeg")

    def test_a_format_that_ffmpeg_lacks_is_refused(self) -> None:
        planes = [np.zeros((4, 4), np.uint8), *(np.zeros((2, 2), np.uint8) for _ in "vu")]
        with pytest.raises(RouteError, match="no pixel format for YV12"):
            sb.frame(planes, format="YV12").map("ffmpeg")

    @pytest.mark.parametrize("format_", known_formats(), ids=str)
    def test_a_copy_is_asked_for_only_where_it_helps(self, format_: ImageFormat) -> None:
        frame = sb.context("cpu").allocate_frame(format_, 64, 48)
        mirrored = sb.frame([plane.native[:, ::-1] for plane in frame], format=format_)
        try:
            mirrored.map("ffmpeg")
        except CopyRequiredError:
            mirrored.map("ffmpeg", copy=True)
        except NoRouteError:
            with pytest.raises(NoRouteError, match="no pixel format"):
                mirrored.map("ffmpeg", copy=True)

    def test_a_list_of_tensors_is_not_a_frame_of_ffmpegs(self) -> None:
        with pytest.raises(NoRouteError, match="images or sound"):
            _over([np.zeros((3, 4))[:, ::2]], None).map("ffmpeg")

    def test_one_row_may_have_any_stride(self) -> None:
        row = np.zeros((9, 30), np.uint8)[::9]
        native = sb.frame(row, format="GRAY8").map("ffmpeg").native
        assert native.planes[0].line_size == 30


class TestAudio:
    @pytest.mark.parametrize("dtype", ["uint8", "int16", "int32", "int64", "float32", "float64"])
    @pytest.mark.parametrize("interleaved", [False, True])
    @pytest.mark.parametrize(
        "channels", [1, 2, 7, 8, pytest.param(12, marks=pytest.mark.pyav17), 24]
    )
    def test_sound_is_the_same_bytes(self, dtype: str, interleaved: bool, channels: int) -> None:
        info = AudioInfo(100, channels, 48000, dtype, interleaved)
        arrays = [np.zeros(p.shape, dtype) for p in info.plane_layouts()]
        frame = sb.frame(arrays if not interleaved else arrays[0], audio=info)
        mapped = frame.map("ffmpeg", "rw")
        native = mapped.native
        assert (native.samples, native.rate) == (100, 48000)
        said = sb.frame(native).meta.info
        assert isinstance(said, AudioInfo)
        assert said.channels == channels
        assert [p.buffer_ptr for p in native.planes] == [a.ctypes.data for a in arrays]
        assert len(mapped.planes) == len(arrays)
        back = mapped.map("cpu", "rw")
        for number, (array, seen) in enumerate(zip(arrays, back.native, strict=True)):
            array[...] = number + 1
            np.testing.assert_array_equal(seen, array)
            seen[...] = number + 50
            np.testing.assert_array_equal(array, seen)

    def test_pyav_reads_it(self) -> None:
        wave = np.arange(24 * 50, dtype=np.float32).reshape(24, 50)
        info = AudioInfo(50, 24, 8000, "float32", interleaved=False)
        native = sb.frame(list(wave), audio=info).map("ffmpeg").native
        np.testing.assert_array_equal(native.to_ndarray(), wave)
        resampled = av.AudioResampler("flt", "24c", 8000).resample(native)
        np.testing.assert_array_equal(resampled[0].to_ndarray().reshape(50, 24), wave.T)

    def test_the_channel_layout_is_kept(self) -> None:
        info = AudioInfo(50, 6, 8000, "int16", channel_layout="5.1(side)")
        frame = sb.frame(np.zeros((50, 6), np.int16), audio=info)
        assert frame.map("ffmpeg").native.layout.name == "5.1(side)"

    def test_layouts_that_ffmpeg_lacks_are_refused(self) -> None:
        info = AudioInfo(50, 2, 8000, "int16")
        gaps = np.zeros((50, 4), np.int16)[:, ::2]
        with pytest.raises(RouteError, match="gaps"):
            _over([gaps], info).map("ffmpeg")
        with pytest.raises(RouteError, match="not int16"):
            _over([np.zeros((50, 3), np.int16)], info).map("ffmpeg")
        with pytest.raises(RouteError, match=r"planes of .*: 1, of the frame: 2"):
            _over([np.zeros((50, 2), np.int16)] * 2, info).map("ffmpeg")
        odd = AudioInfo(50, 2, 8000, "uint16")
        for samples in (np.zeros((50, 2), np.uint16), np.zeros((50, 4), np.uint16)[:, ::2]):
            with pytest.raises(NoRouteError, match="no FFmpeg sample format for uint16"):
                _over([samples], odd).map("ffmpeg")


class TestMeta:
    def test_time_is_carried(self) -> None:
        frame = sb.frame(np.zeros((20, 30, 3), np.uint8), format="RGB")
        frame.meta.pts, frame.meta.time_base = 90, Fraction(1, 25)
        native = frame.map("ffmpeg").native
        assert (native.pts, native.time_base) == (90, Fraction(1, 25))

    def test_ffmpegs_properties_survive_the_way_through_the_cpu(self, clip: Path) -> None:
        with av.open(str(clip)) as container:
            source = next(container.decode(video=0))
        source.color_range, source.colorspace = 2, 1
        native = sb.frame(source).map("cpu").map("ffmpeg").native
        assert (native.pts, native.time_base) == (source.pts, source.time_base)
        assert (native.color_range, native.colorspace) == (2, 1)
        assert (native.key_frame, native.pict_type) == (source.key_frame, source.pict_type)

    def test_a_lent_frame_can_be_encoded(self, tmp_path: Path) -> None:
        path = tmp_path / "lent.mkv"
        pictures = np.random.default_rng(3).integers(0, 256, (5, 3, 48, 64), np.uint8)
        with av.open(str(path), "w") as container:
            stream = container.add_stream("ffv1", rate=25)
            stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv444p"
            for number, picture in enumerate(pictures):
                frame = sb.frame(list(picture), format="I444")
                frame.meta.pts, frame.meta.time_base = number, Fraction(1, 25)
                container.mux(stream.encode(frame.map("ffmpeg").native))
            container.mux(stream.encode(None))
        with av.open(str(path)) as container:
            decoded = [f.to_ndarray() for f in container.decode(video=0)]
        np.testing.assert_array_equal(decoded, pictures)
