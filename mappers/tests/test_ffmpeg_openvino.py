# SPDX-License-Identifier: Apache-2.0
"""ffmpeg -> openvino in one hop."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import samebytes
from samebytes import Frame, ImageInfo, TensorInfo
from samebytes.errors import AccessError, CopyRequiredError
from samebytes.testing import MapperSuite, Memory

av = pytest.importorskip("av", reason='missing package av: pip install "samebytes[ffmpeg]"')
openvino = pytest.importorskip(
    "openvino", reason='missing package openvino: pip install "samebytes[openvino]"'
)
pytest.importorskip(
    "samebytes_ffmpeg", reason='missing package samebytes_ffmpeg: pip install "samebytes[ffmpeg]"'
)
samebytes_openvino = pytest.importorskip(
    "samebytes_openvino",
    reason='missing package samebytes_openvino: pip install "samebytes[openvino]"',
)

Array = np.ndarray[Any, Any]


def address(array: Array) -> int:
    return int(array.__array_interface__["data"][0])


def plane_views(native: Any, image: ImageInfo) -> tuple[Array, ...]:
    """The planes by PyAV's own buffers."""
    layouts = image.plane_layouts([plane.line_size for plane in native.planes])
    return tuple(
        np.ndarray(layout.shape, layout.dtype, plane, 0, layout.strides)
        for layout, plane in zip(layouts, native.planes, strict=True)
    )


class FFmpegMemory(Memory):
    memory_type = "ffmpeg"
    readonly_enforced = False

    def make(self, info: TensorInfo) -> Any:
        raise NotImplementedError("the suites here map frames")

    def make_frame(self, image: ImageInfo) -> Any:
        return av.VideoFrame(image.width, image.height, image.format.ffmpeg_name)

    def view(self, native: Any) -> Array:
        return np.frombuffer(native, np.uint8)

    def views(self, native: Any) -> tuple[Array, ...]:
        image = ImageInfo.of(native.format.name, native.width, native.height)
        return plane_views(native, image)


class OpenVINOMemory(Memory):
    memory_type = "openvino"
    readonly_enforced = False

    def view(self, native: Any) -> Array:
        data: Array = native.data
        return data[0, :, :, 0] if data.shape[-1] == 1 else data[0]


class TestFFmpegToOpenVINO(MapperSuite):
    source = FFmpegMemory()
    target = OpenVINOMemory()
    cases = (
        ImageInfo.of("I420", 318, 238),
        ImageInfo.of("NV12", 64, 32),
        ImageInfo.of("P010", 34, 18),
        ImageInfo.of("BGR", 40, 24),
        ImageInfo.of("GBRP", 31, 17),
    )

    def test_what_is_known_of_a_frame_is_kept(self, case: Any) -> None:
        """As in the suite, but for the shapes of planes, which become NHWC."""
        frame = self.item(case)
        mapped = self.map(frame)
        assert isinstance(frame, Frame)
        assert isinstance(mapped, Frame)
        assert mapped.meta is frame.meta
        for theirs, layout in zip(mapped, case.plane_layouts(), strict=True):
            rows, columns, *channels = layout.shape
            assert theirs.shape == (1, rows, columns, *(channels or [1]))
            assert str(theirs.dtype) == layout.dtype


def test_it_is_the_route() -> None:
    route = samebytes.route("ffmpeg", "openvino", level="frame")
    assert len(route.hops) == 1
    assert not route.copies


@pytest.mark.parametrize("format_", ["yuv420p", "nv12", "yuv444p10le", "rgb24", "bgra", "rgb48le",
                                     "gray16le", "grayf32le", "gbrpf32le", "yuyv422"])  # fmt: skip
@pytest.mark.parametrize("width", [64, 318])
def test_formats(format_: str, width: int) -> None:
    native = av.VideoFrame(width, 18, format_)
    frame = samebytes.frame(native)
    mapped = frame.map("openvino", "rw")
    back = mapped.map("cpu", "rw")
    for tensor, array, view in zip(mapped, back, plane_views(native, frame.image), strict=True):
        assert address(tensor.native.data) == address(view) == address(array.native)
        tensor.native.data[...] = 3
        assert (view == 3).all()
        array.native[...] = 5
        assert (view == 5).all()
        assert (tensor.native.data == 5).all()


def test_padding_is_left_alone() -> None:
    native = av.VideoFrame(318, 238, "yuv420p")
    for plane in native.planes:
        memoryview(plane)[:] = bytes([9]) * plane.buffer_size
    for tensor in samebytes.frame(native).map("openvino", "w"):
        tensor.native.data[...] = 1
    for plane in native.planes:
        rows = np.frombuffer(plane, np.uint8).reshape(plane.height, plane.line_size)
        assert (rows[:, : plane.width] == 1).all()
        assert (rows[:, plane.width :] == 9).all()


def test_rows_that_are_not_whole_pixels() -> None:
    native = av.VideoFrame(21, 8, "rgb24")
    frame = samebytes.frame(native)
    linesize = ctypes.c_int.from_address(frame.handle("av_frame") + 8 * 8)  # after data[8]
    assert linesize.value == native.planes[0].line_size
    linesize.value = 64
    with pytest.raises(CopyRequiredError, match="64 bytes apart, which is not a whole number"):
        frame.map("openvino")
    samebytes.reset_stats()
    assert frame.map("openvino", copy=True).planes[0].shape == (1, 8, 21, 3)
    assert samebytes.stats().copies == 1


def test_sound_goes_over_cpu_memory() -> None:
    native = av.AudioFrame("fltp", "stereo", 256)
    native.sample_rate = 48_000
    mapped = samebytes.frame(native).map("openvino")
    assert [tensor.shape for tensor in mapped] == [(256,), (256,)]
    assert [address(t.native.data) for t in mapped] == [p.buffer_ptr for p in native.planes]


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten frames of MPEG-4, 318x238, whose decoder keeps reference frames."""
    path = tmp_path_factory.mktemp("clip") / "clip.mp4"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=30)
        stream.width, stream.height, stream.pix_fmt = 318, 238, "yuv420p"
        for index in range(10):
            frame = av.VideoFrame(318, 238, "yuv420p")
            for view in plane_views(frame, ImageInfo.of("I420", 318, 238)):
                view[...] = 20 * index
            frame.pts, frame.time_base = index, Fraction(1, 30)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path


def test_frames_of_a_decoder(clip: Path) -> None:
    mapped = []
    expected = []
    with av.open(str(clip)) as container:
        for native in container.decode(video=0):
            frame = samebytes.frame(native)
            if frame.readonly:
                with pytest.raises(AccessError):
                    frame.map("openvino", "rw")
            tensors = frame.map("openvino")
            assert tensors.pts == native.pts
            mapped.append([tensor.native for tensor in tensors])
            expected.append([v.copy() for v in plane_views(native, frame.image)])
            del frame, tensors, native
    assert len(mapped) == 10
    for tensors_, views in zip(mapped, expected, strict=True):
        for tensor, view in zip(tensors_, views, strict=True):
            np.testing.assert_array_equal(tensor.data[0, :, :, 0], view)


@pytest.mark.parametrize("width", [320, 318])
def test_inference_on_frames(width: int) -> None:
    """The planes of a frame and a copy of them give the same result."""
    from openvino import opset13 as ops

    height = 240
    node = ops.parameter([1, 3, height, width], np.float32, name="image")
    model = openvino.Model([ops.result(ops.relu(node))], [node], "image")
    built, names = samebytes_openvino.yuv_inputs(model, "yuv420p", width, height)
    compiled = openvino.Core().compile_model(built, "CPU")
    native = av.VideoFrame(width, height, "yuv420p")
    generator = np.random.default_rng(1)
    views = plane_views(native, ImageInfo.of("I420", width, height))
    for view in views:
        view[...] = generator.integers(16, 236, view.shape, np.uint8)
    request = samebytes_openvino.InferRequest(compiled)
    padded = native.planes[0].line_size != width
    request.set_frame(samebytes.frame(native), names, copy=padded)
    image = np.asarray(request.infer().planes[0]).copy()
    assert {b.placement for b in request.bindings()[:3]} == {"copied" if padded else "in place"}
    dense = [np.ascontiguousarray(view)[None, :, :, None] for view in views]
    np.testing.assert_array_equal(np.asarray(request.infer(dense).planes[0]), image)


def test_declaring_needs_neither_backend() -> None:
    """The edge says what it needs; without it, the others still work."""
    code = (
        "import samebytes\n"
        "try: samebytes.route('ffmpeg', 'openvino', level='frame')\n"
        "except samebytes.SamebytesError as error: print(error)\n"
        "print(samebytes.route('cpu', 'cpu'))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False,
        env={"SAMEBYTES_DISABLE": "ffmpeg"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "ffmpeg" in done.stdout
