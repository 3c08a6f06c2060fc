# SPDX-License-Identifier: Apache-2.0
"""Frame.convert by libswscale: its numbers, sizes, memory, and what is refused."""

from __future__ import annotations

import ctypes
import gc
import mmap
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any

import av
import numpy as np
import pytest
from av.video.reformatter import ColorRange, Colorspace, Interpolation

import samebytes as sb
from samebytes.errors import CopyRequiredError, UnsupportedObjectError
from samebytes.formats import LUMA_WEIGHTS
from samebytes.testing import assert_no_garbage

Array = np.ndarray[Any, Any]

FORMATS = ("I420", "NV12", "P010", "I420_10", "I422", "I444", "YUY2", "RGB", "BGRX", "GRAY8")
ONE_THREAD: dict[str, Any] = (
    {"threads": 1} if "threads" in (av.VideoFrame.reformat.__doc__ or "") else {}
)
"""With several, libswscale makes now and then other pixels where the part of a thread begins."""
METHODS = {
    "linear": Interpolation.BILINEAR,
    "cubic": Interpolation.BICUBIC,
    "area": Interpolation.AREA,
    "nearest": Interpolation.POINT,
}
BITS = {"P010": (10, 6), "I420_10": (10, 0)}


def noise(format_: str, width: int, height: int, **entries: str) -> sb.Frame[Any]:
    """A picture of random numbers, over an av frame."""
    depth, shift = BITS.get(format_, (8, 0))
    random = np.random.default_rng(width * height)
    frame = sb.context("ffmpeg").allocate_frame(format_, width, height, metadata=entries)
    for plane in frame.map("cpu", "w"):
        plane.native[...] = random.integers(0, 1 << depth, plane.shape) << shift
    return frame


def flat(
    format_: str, numbers: dict[str, int], width: int, height: int, **entries: str
) -> sb.Frame[Any]:
    """A picture of one colour; the numbers are of eight bits."""
    depth, shift = BITS.get(format_, (8, 0))
    frame = sb.context("cpu").allocate_frame(format_, width, height, metadata=entries)
    for plane, names in zip(frame, frame.format.plane_names, strict=True):
        values = np.array([numbers[name] << (depth - 8 + shift) for name in names])
        plane.native[...] = values if plane.native.ndim == 3 else values[0]
    return frame


def exact(numbers: dict[str, int], matrix: str, full: bool) -> Array:
    """The RGB of YUV of eight bits, by H.273."""
    kr, kb = LUMA_WEIGHTS[matrix]
    y = numbers["y"] / 255 if full else (numbers["y"] - 16) / 219
    u, v = ((numbers[name] - 128) / (255 if full else 224) for name in "uv")
    red, blue = y + 2 * (1 - kr) * v, y + 2 * (1 - kb) * u
    green = (y - kr * red - kb * blue) / (1 - kr - kb)
    rgb: Array = np.clip(255 * np.array([red, green, blue]), 0, 255)
    return rgb


class TestNumbers:
    @pytest.mark.parametrize("matrix", LUMA_WEIGHTS)
    @pytest.mark.parametrize("full", [False, True])
    @pytest.mark.parametrize("format_", ["I420", "NV12", "I422", "I444", "P010", "I420_10"])
    def test_rgb_is_that_of_the_matrix_and_range(
        self, matrix: str, full: bool, format_: str
    ) -> None:
        said = {"color_matrix": matrix, "color_range": "full" if full else "limited"}
        for y, u, v in ((60, 90, 200), (128, 128, 128), (180, 100, 120), (235, 128, 128)):
            numbers = {"y": y, "u": u, "v": v}
            expected = exact(numbers, matrix, full)
            for size in ((), (20, 12)):
                made = flat(format_, numbers, 48, 32, **said).convert("RGB24", *size)
                wrong = np.abs(made[0].native - expected).max()
                # Its tables and registers of sixteen bits are so far off, at most.
                assert wrong <= 4, (size, y, u, v, wrong)

    @pytest.mark.parametrize("matrix", ["bt709", "smpte170m", "bt2020nc"])
    @pytest.mark.parametrize("full", [False, True])
    def test_yuv_is_that_of_the_arguments(self, matrix: str, full: bool) -> None:
        name = "full" if full else "limited"
        frame = flat("RGB", {"r": 200, "g": 40, "b": 90}, 48, 32)
        made = frame.convert("I444", color_matrix=matrix, color_range=name)
        numbers = {name: int(plane.native[0, 0]) for name, plane in zip("yuv", made, strict=True)}
        assert np.abs(exact(numbers, matrix, full) - [200, 40, 90]).max() <= 4

    def test_yuv_of_another_matrix(self) -> None:
        numbers = {"y": 120, "u": 90, "v": 170}
        frame = flat("I420", numbers, 48, 32, color_matrix="smpte170m")
        made = frame.convert("NV12", color_matrix="bt709")
        y, (u, v) = int(made[0].native[0, 0]), made[1].native[0, 0].tolist()
        found = exact({"y": y, "u": u, "v": v}, "bt709", False)
        assert np.abs(found - exact(numbers, "smpte170m", False)).max() <= 5

    @pytest.mark.parametrize("matrix", ["bt709", "smpte170m"])
    def test_gray_is_the_luma_whatever_the_matrix(self, matrix: str) -> None:
        frame = noise("I420", 48, 32, color_matrix=matrix, color_range="full")
        luma = frame.map("cpu")[0].native
        assert np.array_equal(frame.convert("GRAY8")[0].native, luma)
        limited = flat("I420", {"y": 126, "u": 90, "v": 200}, 48, 32, color_matrix=matrix)
        assert (limited.convert("GRAY8")[0].native == round((126 - 16) * 255 / 219)).all()
        kept = limited.convert("GRAY8", color_range="limited")
        assert (kept[0].native == 126).all()
        assert kept.metadata["color_range"] == "limited"

    @pytest.mark.parametrize("black", [True, False])
    def test_gray_of_limited_range(self, black: bool) -> None:
        """libswscale's ways for pictures that keep their size do not know it."""
        level = 16 if black else 235
        frame = flat("GRAY8", {"y": level}, 48, 32, color_range="limited")
        with pytest.raises(UnsupportedObjectError, match="convert to I420 of limited range first"):
            frame.convert("RGB24", by="ffmpeg")
        full = 0 if black else 255
        assert (frame.convert("I420").convert("RGB24")[0].native == full).all()
        assert (frame.convert("RGB24", 20, 12)[0].native == full).all()
        assert (frame.convert("I420")[0].native == level).all()
        assert (flat("GRAY8", {"y": level}, 48, 32).convert("RGB24")[0].native == level).all()
        with pytest.raises(UnsupportedObjectError, match="limited range first"):
            noise("I420", 48, 32, color_range="full").convert(
                "GRAY8", color_range="limited", by="ffmpeg"
            )

    def test_chroma_is_where_the_frame_says(self) -> None:
        """A step of chroma, scaled: the edge moves with the chroma location."""
        frames = {}
        for place in ("left", "center"):
            frame = flat("I420", {"y": 128, "u": 128, "v": 128}, 32, 16, chroma_location=place)
            frame[1].native[:, 8:] = 220
            frames[place] = frame.convert("RGB24", 64, 32)[0].native
        assert not np.array_equal(frames["left"], frames["center"])
        blue = {place: np.abs(found[8, :, 2].astype(int) - 200) for place, found in frames.items()}
        assert blue["left"].argmin() <= blue["center"].argmin()


class TestAsPyAV:
    @pytest.mark.parametrize("source", FORMATS)
    @pytest.mark.parametrize("target", ["RGB", "BGRX", "NV12", "I420", "P010", "I444"])
    def test_the_same_bytes(self, source: str, target: str) -> None:
        for number, (method, flag) in enumerate(METHODS.items()):
            for size in ((64, 48), (40, 30), (100, 62)):
                matrix = ("bt709", "smpte170m")[number % 2]
                ours = ("limited", "full")[number // 2] if source != "GRAY8" else "full"
                frame = noise(source, 64, 48, color_matrix=matrix, color_range=ours)
                made = frame.convert(target, *size, method=method)
                if made.parent is frame:
                    continue
                spaces = {"bt709": Colorspace.ITU709, "smpte170m": Colorspace.ITU601}
                ranges = {"limited": ColorRange.MPEG, "full": ColorRange.JPEG}
                assert isinstance(frame.native, av.VideoFrame)
                theirs = frame.native.reformat(
                    *size,
                    made.format.ffmpeg_name,
                    src_colorspace=spaces[matrix],
                    dst_colorspace=spaces[made.metadata.get("color_matrix", matrix)],
                    src_color_range=ranges["full" if source in ("RGB", "BGRX") else ours],
                    dst_color_range=ranges[made.metadata.get("color_range", "full")],
                    interpolation=flag,
                    **ONE_THREAD,
                )
                if source == "GRAY8":  # it takes a matrix of gray to mean something
                    theirs = frame.native.reformat(
                        *size,
                        made.format.ffmpeg_name,
                        src_colorspace=Colorspace.ITU601,
                        dst_colorspace=Colorspace.ITU601,
                        src_color_range=ColorRange.JPEG,
                        dst_color_range=ranges[made.metadata.get("color_range", "full")],
                        interpolation=flag,
                    )
                for one, other in zip(made, sb.frame(theirs).map("cpu"), strict=True):
                    assert np.array_equal(one.native, other.native), (method, size)

    @pytest.mark.parametrize("source", ["I420", "I422", "BGRX", "RGB"])
    @pytest.mark.parametrize("target", ["BGR", "RGBX"])
    @pytest.mark.parametrize("width", [1, 2, 7, 33, 45, 63, 71, 113])
    def test_rows_of_any_width(self, source: str, target: str, width: int) -> None:
        """libswscale writes behind rows whose width is not that of its registers."""
        whole = noise(source, 128, 26, color_range="full")
        planes = whole.map("cpu").planes
        shifts = [plane.x_shift for plane in whole.format.planes]
        parts = [
            plane.native[:, : -(-width >> shift)]
            for plane, shift in zip(planes, shifts, strict=True)
        ]
        part = sb.frame(
            parts, format=source, width=width, height=26, metadata={"color_range": "full"}
        )
        made, expected = part.convert(target), whole.convert(target)
        assert made.width == width
        assert np.array_equal(made[0].native, expected[0].native[:, :width])


class TestMemory:
    def test_the_frame_is_not_held(self) -> None:
        frame = noise("I420", 64, 48)
        made = frame.convert("RGB24")
        assert isinstance(frame, type(sb.frame(frame.native)))
        frame[0].map("cpu", "w")  # nobody else has a reference
        assert made[0].native.shape == (48, 64, 3)

    def test_a_read_only_frame(self) -> None:
        frame = noise("I420", 64, 48).map("ffmpeg", "r")
        assert frame.readonly
        assert frame.convert("RGB24").width == 64

    def test_upside_down(self) -> None:
        pixels = np.random.default_rng(0).integers(0, 256, (48, 64, 3), np.uint8)
        made = sb.frame(pixels[::-1], format="RGB").convert("BGR24")
        assert np.array_equal(made[0].native, pixels[::-1, :, ::-1])

    def test_rows_with_gaps_need_a_copy(self) -> None:
        pixels = np.random.default_rng(0).integers(0, 256, (48, 64, 2, 3), np.uint8)
        frame = sb.frame(pixels[:, :, 0], format="RGB")
        with pytest.raises(CopyRequiredError, match="the elements of a row have gaps"):
            frame.convert("BGR24", by="ffmpeg")
        made = frame.convert("BGR24", by="ffmpeg", copy=True)
        assert np.array_equal(made[0].native, pixels[:, :, 0, ::-1])

    @pytest.mark.skipif(sys.platform != "linux", reason="needs mprotect")
    @pytest.mark.parametrize("format_", ["I420", "NV12", "YUY2", "RGB", "GRAY8", "P010", "I422"])
    def test_nothing_is_read_behind_memory_that_ends_with_the_frame(self, format_: str) -> None:
        """The page behind each plane can be neither read nor written."""
        done = subprocess.run(
            [sys.executable, "-c", _AT_THE_END, format_],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 0, (done.returncode, done.stderr)

    def test_threads(self) -> None:
        frames = [noise("I420", 64 + 2 * n, 48) for n in range(4)]
        expected = [frame.convert("RGB24")[0].native.copy() for frame in frames]

        def many(number: int) -> bool:
            frame = frames[number % 4]
            return all(
                np.array_equal(frame.convert("RGB24")[0].native, expected[number % 4])
                for _ in range(200)
            )

        with ThreadPoolExecutor(8) as pool:
            assert all(pool.map(many, range(16)))

    def test_nothing_stays_of_a_thousand_frames(self) -> None:
        native = av.VideoFrame(64, 48, "yuv420p")

        def once() -> None:
            assert sb.frame(native).convert("RGB24", 32, 24).width == 32

        once()
        assert_no_garbage(once, times=1_000)
        gc.collect()

    def test_memory_is_used_again(self) -> None:
        native = av.VideoFrame(64, 48, "yuv420p")
        places = {sb.frame(native).convert("RGB24")[0].handle() for _ in range(20)}
        assert len(places) == 1

    def test_each_of_several_that_are_held_is_written(self) -> None:
        """Frames in turn of av frames and of arrays, which the same converters write."""
        native = noise("I420", 64, 48).map("ffmpeg").native
        frames = [sb.frame(native), sb.frame(native).map("cpu")]
        made = [frame.convert("RGB24")[0].native for _ in range(3) for frame in frames]
        assert len({one.ctypes.data for one in made}) == 6
        assert made[0].any()
        assert all(np.array_equal(one, made[0]) for one in made)

    def test_an_array_keeps_the_memory_from_being_used_again(self) -> None:
        """Also one that numpy made of what lies behind it."""
        native = av.VideoFrame(64, 48, "yuv420p")
        behind = np.frombuffer(sb.frame(native).convert("RGB24")[0].native.base, np.uint8)
        assert sb.frame(native).convert("RGB24")[0].handle() != behind.ctypes.data


class TestRefusals:
    def test_a_matrix_that_it_does_not_compute(self) -> None:
        frame = noise("I420", 64, 48, color_matrix="ycgco")
        with pytest.raises(UnsupportedObjectError, match="matrix 'ycgco', only bt709, fcc"):
            frame.convert("RGB24", by="ffmpeg")
        with pytest.raises(UnsupportedObjectError, match="matrix 'ictcp'"):
            noise("RGB", 64, 48).convert("NV12", color_matrix="ictcp", by="ffmpeg")

    def test_a_format_that_it_does_not_write(self) -> None:
        with pytest.raises(UnsupportedObjectError, match="ffmpeg: libswscale does not write"):
            noise("I420", 64, 48).convert("GRAYF16", by="ffmpeg")

    def test_chroma_that_it_leaves_out(self) -> None:
        with pytest.raises(UnsupportedObjectError, match="leaves out the last row or column"):
            noise("I420", 65, 31).convert("P010", by="ffmpeg")

    def test_formats_of_ffmpeg_alone_are_read(self) -> None:
        native = av.VideoFrame(64, 48, "bayer_rggb8")
        assert sb.frame(native).convert("RGB24").format.name == "RGB"


def test_frames_that_say_different_things_may_take_turns() -> None:
    """Each is converted as it says itself, and not as the last one was."""
    native = {name: av.VideoFrame(64, 48, name) for name in ("yuv420p", "yuvj420p")}
    for one in native.values():
        for plane in one.planes:
            ctypes.memset(plane.buffer_ptr, 128, plane.buffer_size)
    for _ in range(2):
        full = sb.frame(native["yuvj420p"])
        assert (full.convert("RGB24")[0].native == 128).all()
        assert full.convert("RGB24", 32, 24)[0].native.shape == (24, 32, 3)
        limited = sb.frame(native["yuv420p"]).convert("RGB24")[0].native
        assert (abs(limited.astype(int) - (128 - 16) * 255 / 219) < 2).all()


def test_what_the_av_frame_says_counts() -> None:
    native = av.VideoFrame(64, 48, "yuvj420p")
    native.pts, native.time_base = 7, Fraction(1, 25)
    for plane in native.planes:
        ctypes.memset(plane.buffer_ptr, 128, plane.buffer_size)
    made = sb.frame(native).convert("RGB24")
    assert (made[0].native == 128).all()  # of full range
    assert (made.pts, made.meta.time_base) == (7, Fraction(1, 25))
    assert "color_range" not in made.metadata
    assert native.planes[0].buffer_ptr


_AT_THE_END = """
import ctypes, mmap, sys
import numpy as np
import samebytes as sb
from samebytes.errors import CopyRequiredError, UnsupportedObjectError
from samebytes.formats import ImageInfo

libc = ctypes.CDLL(None, use_errno=True)
libc.mprotect.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
kept = []

def array_at_the_end(layout):
    nbytes = layout.span
    size = -(-nbytes // mmap.PAGESIZE) * mmap.PAGESIZE
    pages = np.frombuffer(mmap.mmap(-1, size + mmap.PAGESIZE), np.uint8)
    address = pages.__array_interface__["data"][0]
    assert libc.mprotect(address + size, mmap.PAGESIZE, 0) == 0
    kept.append(pages)
    return np.ndarray(layout.shape, layout.dtype, pages[: size], size - nbytes, layout.strides)

random = np.random.default_rng(0)
for width, height in (64, 48), (63, 31), (5, 3), (1280, 34), (18, 100), (1, 1), (6, 1), (200, 19):
    planes = [array_at_the_end(l) for l in ImageInfo.of(sys.argv[1], width, height).plane_layouts()]
    for plane in planes:
        plane[...] = random.integers(0, 256, plane.shape)
    frame = sb.frame(planes, format=sys.argv[1], width=width, height=height)
    safe = sb.context("cpu").allocate_frame(sys.argv[1], width, height)
    for plane, one in zip(safe, planes):
        plane.native[...] = one
    for target in "RGB", "BGRX", "GRAY8", "NV12", "I420", "I444", "P010":
        for size in (width, height), (32, 20), (77, 51):
            try:
                made, expected = (f.convert(target, *size, by="ffmpeg") for f in (frame, safe))
            except UnsupportedObjectError as error:
                assert "leaves out" in str(error) or "beyond it" in str(error), error
                continue
            for one, other in zip(made, expected):
                assert np.array_equal(one.native, other.native), (width, height, target, size)
"""


def test_no_format_ends_the_process() -> None:
    """libswscale says of some formats that it reads them, and aborts."""
    child = """
import av
import samebytes as sb
from samebytes.errors import SamebytesError
done = 0
for name in sorted(av.video.format.names):
    try:
        frame = sb.frame(av.VideoFrame(32, 24, name))
    except (SamebytesError, av.FFmpegError):
        continue
    for target in "I420", "RGB", "GRAY8":
        try:
            frame.convert(target)
        except SamebytesError:
            pass
        else:
            done += 1
print(done)
"""
    made = subprocess.run(
        [sys.executable, "-c", child], check=False, capture_output=True, text=True, timeout=120
    )
    assert made.returncode == 0, made.stderr
    assert int(made.stdout) > 300


def test_palettes_wherever_they_lie() -> None:
    """Sizes that end with a page are among them: nothing is read behind it."""
    held = []
    for number in range(300):
        native = av.VideoFrame(32, 24, "pal8")
        for plane in native.planes:
            np.asarray(memoryview(plane))[...] = number % 256
        held.append(native)
        assert np.all(sb.frame(native).convert("RGB")[0].native == number % 256)


@pytest.mark.parametrize("size", [(33, 24), (32, 25), (33, 25)])
@pytest.mark.parametrize("target", ["RGB", "BGRA", "GRAY8", "NV12"])
def test_palettes_of_odd_sizes(target: str, size: tuple[int, int]) -> None:
    native = av.VideoFrame(*size, "pal8")
    random = np.random.default_rng(0)
    for plane in native.planes:
        pixels = np.asarray(memoryview(plane))
        pixels[...] = random.integers(0, 256, pixels.shape)
    name = {"RGB": "rgb24", "GRAY8": "gray"}.get(target, target.lower())
    expected = native.reformat(format=name, interpolation=Interpolation.BILINEAR, **ONE_THREAD)
    made = sb.frame(native).convert(target)
    for plane, one in zip(made, sb.frame(expected).map("cpu"), strict=True):
        np.testing.assert_array_equal(plane.native, one.native)


@pytest.mark.parametrize(
    ("target", "size", "color_matrix"),
    [("I420", (64, 48), "bt2020nc"), ("RGB", (3, 2), None), ("NV12", (32, 24), "bt709")],
)
def test_what_is_converted_whole_may_end_with_its_page(
    target: str, size: tuple[int, int], color_matrix: str | None
) -> None:
    """libswscale reads beyond the last row, and takes no parts here: another matrix, or much less
    pixels."""
    nbytes = 64 * 72
    room = mmap.mmap(-1, -(-nbytes // mmap.PAGESIZE) * mmap.PAGESIZE)
    at_end = np.frombuffer(room, np.uint8)[-nbytes:].reshape(72, 64)
    at_end[...] = np.random.default_rng(3).integers(16, 235, (72, 64))
    inside = np.zeros((nbytes + 128,), np.uint8)[:nbytes].reshape(72, 64)
    inside[...] = at_end
    made = [
        sb.frame(array, format="NV12").convert(target, *size, color_matrix=color_matrix)
        for array in (at_end, inside)
    ]
    for one, other in zip(*made, strict=True):
        assert np.array_equal(one.native, other.native)


@pytest.mark.parametrize("size", [(50_000, 50_000), (64, 1 << 25), (1 << 25, 64)])
def test_pictures_for_which_libswscale_ends_the_process(size: tuple[int, int]) -> None:
    picture = sb.frame(np.zeros((48, 64, 3), np.uint8), format="RGB")
    with pytest.raises(UnsupportedObjectError, match="counts the bytes of a plane in 31 bits"):
        picture.convert("I420", *size)
