# SPDX-License-Identifier: Apache-2.0
"""AV_PIX_FMT_DRM_PRIME frames: over DMA-BUFs, back to them, and descriptors that lie."""

from __future__ import annotations

import gc
import itertools
import os
import subprocess
import sys
import textwrap
import weakref
from collections.abc import Callable, Iterator
from contextlib import suppress
from ctypes import Structure, c_int, c_size_t, c_ssize_t, c_uint32, c_uint64, c_void_p
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

import samebytes as sb
from samebytes import Fd
from samebytes.errors import LayoutError, NoRouteError, RouteError, SamebytesError
from samebytes.formats import DRM_FORMAT_MOD_LINEAR, drm_layer_fourccs, image_format
from samebytes_ffmpeg import FFmpegHardwareFrame, HardwareDevice, HardwareFrame

pytestmark = pytest.mark.usefixtures("dma_plugin")

Y_TILED = 0x0100000000000002  # drm_fourcc.h: I915_FORMAT_MOD_Y_TILED
WIDTH, HEIGHT = 64, 48
PYAVS_OWN, SYSTEMS = None, "libavutil.so.57"


class AVDRMObjectDescriptor(Structure):
    """libavutil/hwcontext_drm.h, as are the three below."""

    _fields_ = (("fd", c_int), ("size", c_size_t), ("format_modifier", c_uint64))


class AVDRMPlaneDescriptor(Structure):
    _fields_ = (("object_index", c_int), ("offset", c_ssize_t), ("pitch", c_ssize_t))


class AVDRMLayerDescriptor(Structure):
    _fields_ = (("format", c_uint32), ("nb_planes", c_int), ("planes", AVDRMPlaneDescriptor * 4))


class AVDRMFrameDescriptor(Structure):
    _fields_ = (
        ("nb_objects", c_int), ("objects", AVDRMObjectDescriptor * 4),
        ("nb_layers", c_int), ("layers", AVDRMLayerDescriptor * 4),
    )  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def gpu_is_open() -> None:
    """OpenVINO's GPU plugin opens a pipe at its first use, which may be by routing in a test."""
    with suppress(SamebytesError):
        sb.context("openvino:GPU")


@pytest.fixture(autouse=True)
def no_descriptor_left(gpu_is_open: None) -> Iterator[None]:  # noqa: ARG001 - it comes before
    """Every test closes what it opened; drivers that routing asks open their own files."""

    def count() -> int:
        gc.collect()
        links = []
        for entry in Path("/proc/self/fd").iterdir():
            with suppress(FileNotFoundError):  # the listing has itself been a descriptor
                links.append(str(entry.readlink()))
        return sum(link.startswith(("/memfd:", "/dmabuf:", "pipe:")) for link in links)

    before = count()
    yield
    # There may be fewer: something of an earlier test went just now.
    assert count() <= before


@pytest.fixture(params=[PYAVS_OWN, SYSTEMS], ids=["pyav", "system"])
def device(request: pytest.FixtureRequest) -> HardwareDevice:
    if request.param is not None:
        request.getfixturevalue("system_avutil")
    return HardwareDevice.open("drm", library=request.param)


def _picture(name: str = "NV12", allocator: str = "memfd") -> sb.Frame:
    memory = sb.context(f"dma:{allocator}").allocate_frame(name, WIDTH, HEIGHT)
    with memory.map("cpu", "w") as view:
        for number in range(len(view)):
            view.native[number][...] = 10 + number
    return memory


def _descriptor(frame: sb.Frame) -> Any:
    return AVDRMFrameDescriptor.from_address(_data(frame).value or 0)


def _data(frame: sb.Frame) -> c_void_p:
    """AVFrame.data[0], the first field."""
    return c_void_p.from_address(frame.handle("av_frame"))


def _inode(fd: int) -> tuple[int, int]:
    status = os.fstat(fd)
    return status.st_dev, status.st_ino


class TestTheWayThereAndBack:
    @pytest.mark.parametrize("name", ["NV12", "P010", "I420", "BGRX", "YUY2", "GRAY8"])
    def test_the_same_file_is_on_both_sides(self, device: HardwareDevice, name: str) -> None:
        memory = _picture(name)
        frame = memory.map(device, "rw")
        assert isinstance(frame, FFmpegHardwareFrame)
        said = _descriptor(frame)
        assert (said.nb_objects, said.nb_layers) == (1, 1)
        assert said.layers[0].format == image_format(name).fourcc
        assert said.objects[0].format_modifier == DRM_FORMAT_MOD_LINEAR
        back = sb.frame(frame.native).map("dma", "rw")
        files = {_inode(p.handle()) for p in (*memory, *back)} | {_inode(said.objects[0].fd)}
        assert len(files) == 1
        layouts = [[p.handle(k) for k in ("offset", "pitch")] for p in memory]
        assert [[p.handle(k) for k in ("offset", "pitch")] for p in back] == layouts
        assert [[p.handle(k) for k in ("offset", "pitch")] for p in frame] == layouts
        with back.map("cpu", "rw") as view:
            view.native[-1][...] = 77
        assert (memory.map("cpu").native[-1] == 77).all()
        assert sb.stats().copies == 0

    def test_pyav_shows_the_pixels(self) -> None:
        memory = _picture()
        native = memory.map("ffmpeg:DRM").native
        if HardwareDevice.open("drm").library.major < 60:
            pytest.skip("missing package av>=17: pip install av")
        assert isinstance(native, av.VideoFrame)
        assert (native.format.name, native.width, native.height) == ("drm_prime", WIDTH, HEIGHT)
        array = native.to_ndarray(format="nv12")
        assert (array[:HEIGHT] == 10).all()
        assert (array[HEIGHT:] == 11).all()

    def test_the_frame_is_of_the_devices_library(self, device: HardwareDevice, avutil: Any) -> None:
        native = _picture().map(device).native
        assert isinstance(native, HardwareFrame | av.VideoFrame)
        used = native.library if isinstance(native, HardwareFrame) else avutil
        assert used is device.library
        assert sb.frame(native).context is device
        if isinstance(native, HardwareFrame):
            assert (native.format, native.sw_format) == ("drm_prime", "nv12")

    def test_access(self, device: HardwareDevice) -> None:
        memory = _picture()
        reading = memory.map(device, "r")
        assert reading.readonly
        assert sb.frame(reading.native).readonly  # FFmpeg knows it too
        with pytest.raises(sb.errors.AccessError):
            sb.frame(reading.native).map("dma", "rw")
        writing = memory.map(device, "rw")
        assert not writing.readonly
        assert not sb.frame(writing.native).map("dma", "rw").readonly

    def test_several_buffers(self, device: HardwareDevice) -> None:
        import samebytes_dma

        fds = [os.memfd_create("plane") for _ in range(2)]
        for fd in fds:
            os.ftruncate(fd, 8192)
        memory = samebytes_dma.frame_from_fds(
            fds, "NV12", WIDTH, HEIGHT, offsets=(256, 512), pitches=(128, 64)
        )
        for fd in fds:
            os.close(fd)
        frame = memory.map(device, "rw")
        assert _descriptor(frame).nb_objects == 2
        back = sb.frame(frame.native).map("dma", "rw")
        assert [(p.handle("offset"), p.handle("pitch")) for p in back] == [(256, 128), (512, 64)]
        assert len({_inode(p.handle()) for p in back}) == 2
        with back.map("cpu", "w") as view:
            view.native[1][...] = 3
        assert (memory.map("cpu").native[1] == 3).all()

    def test_separate_layers(self, device: HardwareDevice) -> None:
        frame = _picture().map(device, "rw")
        said = _descriptor(frame)
        second = said.layers[0].planes[1]
        said.nb_layers = 2
        for layer, code in zip(said.layers, drm_layer_fourccs(frame.format), strict=False):
            layer.format, layer.nb_planes = code, 1
        place = said.layers[1].planes[0]
        place.object_index, place.offset, place.pitch = 0, second.offset, second.pitch
        view = sb.frame(frame.native).map("cpu").native
        assert (view[0] == 10).all()
        assert (view[1] == 11).all()

    def test_tiled_memory_goes_to_devices_alone(self, device: HardwareDevice) -> None:
        frame = _picture().map(device, "rw")
        _descriptor(frame).objects[0].format_modifier = Y_TILED
        tiled = sb.frame(frame.native)
        assert [p.strides for p in tiled] == [None, None]
        mapped = tiled.map("dma")
        assert {p.handle("drm_modifier") for p in mapped} == {Y_TILED}
        for copy in (False, True):
            with pytest.raises(NoRouteError, match=r"is tiled|not linear"):
                tiled.map("cpu", copy=copy)
        again = mapped.map(device)
        assert _descriptor(again).objects[0].format_modifier == Y_TILED

    def test_formats_that_drm_cannot_name(self, device: HardwareDevice) -> None:
        with pytest.raises(RouteError, match="DRM has no code for GBRP"):
            _picture("GBRP").map(device)


def _set(path: str, value: int) -> Callable[[Any], None]:
    """Sets a field of a descriptor, named as in C."""

    def change(said: Any) -> None:
        *steps, last = path.split(".")
        for step in steps:
            name, _, number = step.partition("[")
            said = getattr(said, name)
            if number:
                said = said[int(number[:-1])]
        setattr(said, last, value)

    return change


class TestForgedDescriptors:
    @pytest.mark.parametrize(
        ("change", "why"),
        [
            (_set("nb_objects", 0), "1 to 4 objects, but this one claims 0"),
            (_set("nb_objects", 5), "claims 5"),
            (_set("nb_objects", -1), "claims -1"),
            (_set("nb_layers", 0), "1 to 4 layers"),
            (_set("nb_layers", 1 << 30), "1 to 4 layers"),
            (_set("layers[0].nb_planes", 9), "1 to 4 planes of a layer"),
            (_set("layers[0].nb_planes", 1), "has 2 planes, but its layer has 1"),
            (_set("layers[0].format", 0x34325258), "BGRX has 1 plane, but its layer has 2"),
            (_set("layers[0].format", 0x3631564E), "is NV16, but the image was declared as NV12"),
            (_set("layers[0].format", 0x12345678), "unknown DRM fourcc"),
            (_set("layers[0].planes[1].object_index", 1), "is in buffer 1, and there are 1"),
            (_set("layers[0].planes[0].object_index", -1), "is in buffer -1"),
            (_set("layers[0].planes[1].offset", -8), "begins 8 bytes before"),
            (_set("layers[0].planes[1].offset", 1 << 40), "takes bytes"),
            (_set("layers[0].planes[0].pitch", 63), "rows of 64 bytes, pitch 63"),
            (_set("layers[0].planes[0].pitch", -64), "pitch -64"),
            (_set("layers[0].planes[1].pitch", 1 << 30), "takes bytes"),
            (_set("objects[0].size", 100), "of a buffer of 100"),
            (_set("objects[0].fd", -1), "descriptor -1"),
        ],
    )
    def test_what_contradicts_itself(
        self, device: HardwareDevice, change: Callable[[Any], None], why: str
    ) -> None:
        frame = _picture().map(device, "rw")
        before = sb.frame(frame.native)
        change(_descriptor(frame))
        with pytest.raises(LayoutError, match=why):
            sb.frame(frame.native)
        # What was wrapped before is looked at again.
        with pytest.raises(LayoutError, match=why):
            before.map("dma")

    def test_offsets_past_the_real_size(self, device: HardwareDevice) -> None:
        frame = _picture().map(device, "rw")
        said = _descriptor(frame)
        said.objects[0].size = 1 << 40
        with pytest.raises(RouteError, match=f"has {1 << 40} bytes, and it has"):
            sb.frame(frame.native).map("dma")
        said.objects[0].size = 0  # untold
        said.layers[0].planes[1].offset = 1 << 30
        with pytest.raises(RouteError, match="of a buffer of"):
            sb.frame(frame.native).map("dma")

    def test_ffmpegs_own_copy_does_not_read_past_a_file(self, device: HardwareDevice) -> None:
        frame = _picture().map(device, "rw")
        _descriptor(frame).objects[0].size = 1 << 40
        with pytest.raises(NoRouteError, match=f"not {1 << 40}"):
            sb.frame(frame.native).map("ffmpeg", copy=True)

    def test_descriptors_of_something_else(self, device: HardwareDevice) -> None:
        frame = _picture().map(device, "rw")
        said = _descriptor(frame)
        reader, writer = os.pipe()
        said.objects[0].fd = reader
        with pytest.raises(RouteError, match="a pipe"):
            sb.frame(frame.native).map("dma")
        os.close(reader)
        os.close(writer)
        with pytest.raises(RouteError, match="not an open"):
            sb.frame(frame.native).map("dma")

    def test_a_descriptor_that_may_only_be_read(
        self, device: HardwareDevice, tmp_path: Path
    ) -> None:
        path = tmp_path / "picture"
        path.write_bytes(bytes(range(256)) * 32)
        frame = _picture().map(device, "rw")
        with Fd(os.open(path, os.O_RDONLY)) as readable:
            _descriptor(frame).objects[0].fd = readable.fileno()
            wrapped = sb.frame(frame.native)
            with pytest.raises(RouteError, match="is read-only"):
                wrapped.map("dma", "rw")
            assert wrapped.map("cpu").native[0][0, 5] == 5

    def test_a_pointer_to_nothing(self, device: HardwareDevice) -> None:
        frame = _picture().map(device, "rw")
        data = _data(frame)
        for wrong in (None, 8, 4096):
            kept, data.value = data.value, wrong
            try:
                with pytest.raises(LayoutError, match="AVDRMFrameDescriptor"):
                    sb.frame(frame.native)
            finally:
                data.value = kept

    def test_a_frame_that_was_given_back(
        self, device: HardwareDevice, lent: Callable[[], int]
    ) -> None:
        frame = _picture().map(device, "rw")
        unref = device.library.quick("av_frame_unref", None, c_void_p)
        unref(frame.handle("av_frame"))
        with pytest.raises(LayoutError, match="the frame was returned"):
            frame.map("dma")
        assert lent() == 0


_PARTS = ("memory", "frame", "native", "wrapped", "back", "array")


class TestLifetimes:
    @pytest.mark.parametrize("order", list(itertools.permutations(_PARTS))[::7], ids="-".join)
    def test_orders_of_drops(
        self, order: tuple[str, ...], references: Callable[[], int], lent: Callable[[], int]
    ) -> None:
        held: dict[str, Any] = {"memory": _picture()}
        held["frame"] = held["memory"].map("ffmpeg:DRM", "rw")
        held["native"] = held["frame"].native
        held["wrapped"] = sb.frame(held["native"])
        held["back"] = held["wrapped"].map("dma", "rw")
        held["array"] = held["back"].map("cpu", "rw").native[1]
        for name in order:
            del held[name]
            for _ in range(3):
                _picture()
            if "array" in held:
                assert (held["array"] == 11).all()
            if "native" in held:
                assert (sb.frame(held["native"]).map("cpu").native[0] == 10).all()
        assert (references(), lent()) == (0, 0)

    def test_memory_does_not_end_while_ffmpeg_has_it(
        self, device: HardwareDevice, lent: Callable[[], int]
    ) -> None:
        memory = _picture()
        frame = memory.map(device)
        kept = frame.native
        frame.close()
        end = weakref.ref(memory.storage)
        assert memory.close() is False
        assert end() is not None
        del kept
        lent()  # gives back what FFmpeg has let go
        assert end() is None

    def test_a_frame_stays_with_its_pool_while_mapped(
        self, device: HardwareDevice, references: Callable[[], int]
    ) -> None:
        frame = _picture().map(device, "rw")
        native = frame.native
        back = sb.frame(native).map("dma", "rw")
        assert references() == 1
        assert not sb.frame(native).readonly  # the reference is ours
        back.close()
        assert references() == 0

    @pytest.mark.parametrize("library", [PYAVS_OWN, SYSTEMS], ids=["pyav", "system"])
    def test_the_interpreter_ends_with_living_frames(
        self, library: str | None, request: pytest.FixtureRequest
    ) -> None:
        if library:
            request.getfixturevalue("system_avutil")
        program = f"""
            import samebytes as sb
            from samebytes_ffmpeg import HardwareDevice
            device = HardwareDevice.open("drm", library={library!r})
            class Holder: pass
            holder = Holder()
            holder.me = holder
            memory = sb.context("dma:memfd").allocate_frame("NV12", 64, 48)
            holder.frames = [memory.map(device, "rw") for _ in range(9)]
            holder.back = [sb.frame(f.native).map("dma") for f in holder.frames]
            native = holder.frames[0].native
        """
        ended = subprocess.run(
            [sys.executable, "-X", "faulthandler", "-c", textwrap.dedent(program)],
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert (ended.returncode, ended.stderr) == (0, "")


@pytest.fixture(params=["udmabuf", "heap"])
def allocator(request: pytest.FixtureRequest) -> str:
    """The name of an allocator of DMA-BUFs; the test is skipped if this kernel lacks it."""
    nodes = {"udmabuf": Path("/dev/udmabuf"), "heap": Path("/dev/dma_heap/system")}
    if not nodes[request.param].exists():
        pytest.skip("this kernel makes no DMA-BUFs: python3 dev.py lab")
    return str(request.param)


@pytest.mark.dmabuf
def test_a_dma_buf_through_ffmpeg(allocator: str) -> None:
    dma_buf = _picture(allocator=allocator)
    frame = dma_buf.map("ffmpeg:DRM", "rw")
    back = sb.frame(frame.native).map("dma", "rw")
    assert len({_inode(p.handle()) for p in (*dma_buf, *back)}) == 1
    with back.map("cpu", "w") as view:
        view.native[0][...] = 42
    assert isinstance(frame, FFmpegHardwareFrame)
    assert (frame.download().map("cpu").native[0] == 42).all()
    assert np.asarray(dma_buf.planes[0].map("cpu"))[0, 0] == 42
