# SPDX-License-Identifier: Apache-2.0
"""Devices of FFmpeg: which libavutil, opening, contexts, pools, and the copies to and fro."""

from __future__ import annotations

import ctypes
import gc
import subprocess
import sys
from collections.abc import Iterator
from ctypes import byref, c_void_p
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

import samebytes as sb
import samebytes.elements as el
from samebytes.errors import (
    ClosedError,
    CopyRequiredError,
    LayoutError,
    MissingDependencyError,
    NativeError,
    NoRouteError,
    UnknownNameError,
    UnsupportedObjectError,
)
from samebytes_ffmpeg import FFmpegHardwareFrame, HardwareDevice, HardwareFrame
from samebytes_ffmpeg._avutil import PYAV, AVFrame, get_pix_fmt
from samebytes_ffmpeg._hardware import libraries
from samebytes_ffmpeg._hardware.described import describe
from samebytes_ffmpeg._hardware.frame import place_of
from samebytes_ffmpeg._hardware.hwcontext_abi import (
    DEVICE_CONTEXTS,
    FRAMES_CONTEXTS,
    AVDRMFrameDescriptor,
    AVHWFramesConstraints,
)

SIZE = (64, 48)


def _software(value: int = 0) -> av.VideoFrame:
    native = av.VideoFrame(*SIZE, "nv12")
    for number, array in enumerate(sb.frame(native).map("cpu", "rw").native):
        array[...] = value + number
    return native


def _descriptors() -> int:
    gc.collect()
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.fixture
def device(request: pytest.FixtureRequest) -> HardwareDevice:
    request.getfixturevalue("vaapi")
    found = sb.context("ffmpeg:VAAPI")
    assert isinstance(found, HardwareDevice)
    return found


class TestLibraries:
    def test_pyavs_own_is_taken_where_it_has_the_type(self) -> None:
        for kind in libraries.device_types(PYAV):
            assert libraries.library_for(kind) is PYAV

    def test_vaapi_is_the_systems_where_pyav_lacks_it(self, vaapi: None) -> None:
        found = libraries.library_for("vaapi")
        assert "vaapi" in libraries.device_types(found)
        assert (found is PYAV) == ("vaapi" in libraries.device_types(PYAV))

    def test_a_library_is_one_object(self, system_avutil: None) -> None:
        system = libraries.system_library()
        assert libraries.system_library() is system
        assert libraries.library_at(PYAV.path) is PYAV

    def test_a_library_that_is_none(self) -> None:
        for path in ("libnothing.so.1", __file__):
            with pytest.raises(MissingDependencyError, match="libavutil"):
                HardwareDevice.open("drm", library=path)
        with pytest.raises(MissingDependencyError, match="avutil_version"):
            HardwareDevice.open("drm", library="libc.so.6")

    def test_unknown_versions_are_refused_by_name(self) -> None:
        program = (
            "import samebytes_ffmpeg._hardware.hwcontext_abi as abi\n"
            "from ctypes import Structure, c_void_p\n"
            "for table in (abi.FRAMES_CONTEXTS,):\n"
            "    for major, known in list(table.items()):\n"
            "        fields = (('new', c_void_p), *known._fields_)\n"
            "        table[major] = type('Other', (Structure,), {'_fields_': fields})\n"
            "from samebytes_ffmpeg import HardwareDevice\n"
            "try:\n    HardwareDevice.open('drm')\n"
            "except Exception as error: print(type(error).__name__, error)\n"
        )
        ended = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
        )
        assert "MissingDependencyError" in ended.stdout
        assert "contexts have the layout" in ended.stdout

    def test_the_place_of_hw_frames_ctx_is_checked(self) -> None:
        program = (
            "import samebytes_ffmpeg._avframe_abi as abi\n"
            "from ctypes import Structure\n"
            "for major, known in list(abi.AVFRAMES.items()):\n"
            "    other = {'hw_frames_ctx': 'opaque_ref', 'opaque_ref': 'hw_frames_ctx'}\n"
            "    fields = [(other.get(name, name), kind) for name, kind in known._fields_]\n"
            "    abi.AVFRAMES[major] = type('Other', (Structure,), {'_fields_': fields})\n"
            "from samebytes_ffmpeg import HardwareDevice\n"
            "try:\n    HardwareDevice.open('drm')\n"
            "except Exception as error: print(type(error).__name__, error)\n"
        )
        ended = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
        )
        assert "contexts have the layout" in ended.stdout


class TestTables:
    @pytest.mark.parametrize(
        ("structure", "size"),
        [
            (DEVICE_CONTEXTS[57], 48),
            (DEVICE_CONTEXTS[60], 40),
            (FRAMES_CONTEXTS[57], 88),
            (FRAMES_CONTEXTS[60], 80),
            (AVHWFramesConstraints, 32),
            (AVDRMFrameDescriptor, 528),
        ],
    )
    def test_sizes(self, structure: type[ctypes.Structure], size: int) -> None:
        assert ctypes.sizeof(structure) == size

    def test_sizes_and_offsets_are_those_of_the_headers(self, tmp_path: Path) -> None:
        """Of the installed version, if its headers are."""
        from shutil import which

        header = next(Path("/usr/include").glob("**/libavutil/hwcontext_drm.h"), None)
        compiler = which("cc") or which("gcc")
        if header is None or compiler is None:
            pytest.skip("missing package libavutil-dev: apt install libavutil-dev gcc")
        names = {
            "AVHWFramesContext": ("sw_format", "width", "device_ctx", "pool"),
            "AVHWDeviceContext": ("type", "hwctx"),
            "AVFrame": ("buf", "hw_frames_ctx", "crop_right", "format", "pts"),
            "AVDRMFrameDescriptor": ("objects", "nb_layers", "layers"),
            "AVDRMLayerDescriptor": ("nb_planes", "planes"),
            "AVDRMPlaneDescriptor": ("offset", "pitch"),
            "AVDRMObjectDescriptor": ("size", "format_modifier"),
        }
        asked = [f"offsetof({s}, {f})" for s, fields in names.items() for f in fields]
        printed = "".join(f'printf("%zu ", (size_t) {a});' for a in asked)
        program = (
            "#include <stddef.h>\n#include <stdio.h>\n#include <libavutil/frame.h>\n"
            "#include <libavutil/hwcontext.h>\n#include <libavutil/hwcontext_drm.h>\n"
            f'int main(void) {{ printf("%d ", LIBAVUTIL_VERSION_MAJOR); {printed} }}\n'
        )
        source, built = tmp_path / "offsets.c", tmp_path / "offsets"
        source.write_text(program)
        subprocess.run([compiler, source, f"-I{header.parent.parent}", "-o", built], check=True)
        out = subprocess.run([built], capture_output=True, text=True, check=True).stdout
        major, *offsets = map(int, out.split())
        from samebytes_ffmpeg._avframe_abi import AVFRAMES
        from samebytes_ffmpeg._hardware import hwcontext_abi

        ours: dict[str, Any] = {
            **{n: getattr(hwcontext_abi, n) for n in names if hasattr(hwcontext_abi, n)},
            "AVFrame": AVFRAMES[major],
            "AVHWFramesContext": FRAMES_CONTEXTS[major],
            "AVHWDeviceContext": DEVICE_CONTEXTS[major],
        }
        assert offsets == [
            getattr(ours[s], f).offset for s, fields in names.items() for f in fields
        ]


class TestOpening:
    def test_the_same_device_is_one_context(self, device: HardwareDevice) -> None:
        assert sb.context("ffmpeg:VAAPI") is device
        assert device.node == "ffmpeg:VAAPI"
        assert device.memory_type == "ffmpeg"
        assert device.handle("va_display")
        with pytest.raises(UnknownNameError):
            device.handle("drm_fd")

    def test_a_device_that_is_not_there(self) -> None:
        with pytest.raises((NativeError, MissingDependencyError), match="drm"):
            HardwareDevice.open("drm", "/dev/dri/nothing")
        for kind in ("nonsense", "dxva2", ""):
            with pytest.raises(UnknownNameError, match="device type"):
                HardwareDevice.open(kind)
        with pytest.raises((UnknownNameError, MissingDependencyError), match=r"nothing|libavutil"):
            sb.context("ffmpeg:VAAPI.nothing")
        with pytest.raises(UnknownNameError, match="ffmpeg:VAAPI"):
            sb.context("ffmpeg:VAAP")

    def test_a_device_of_somebody_elses(self, device: HardwareDevice) -> None:
        library = device.library
        found = HardwareDevice.from_pointer(device.reference, library.path)
        assert found is device
        assert HardwareDevice.from_pointer(c_void_p(device.reference), library.path) is device
        with pytest.raises(LayoutError, match="AVBufferRef"):
            HardwareDevice.from_pointer(0, library.path)
        with pytest.raises(LayoutError, match="not mapped"):
            HardwareDevice.from_pointer(4096, library.path)
        with pytest.raises(UnsupportedObjectError):
            HardwareDevice.from_pointer("x", library.path)

    def test_the_reference_is_given_back(self) -> None:
        count = PYAV.buffer_get_ref_count
        HardwareDevice.open("drm").close()  # one that others may still use
        first = HardwareDevice.open("drm")
        pointer = c_void_p(PYAV.buffer_ref(first.reference))
        first.close()
        with pytest.raises(ClosedError):
            first.pool("NV12", 64, 32)
        assert count(pointer) == 2
        again = HardwareDevice.open("drm")
        assert again is not first
        del first, again
        gc.collect()
        assert count(pointer) == 1
        PYAV.buffer_unref(byref(pointer))

    def test_the_bare_drm_device_has_no_descriptor(self) -> None:
        device = HardwareDevice.open("drm")
        with pytest.raises(UnknownNameError, match="drm_fd"):
            device.handle("drm_fd")


@pytest.mark.pyav17
def test_pyav_takes_what_the_readme_shows_for_decoding_to_surfaces() -> None:
    from av.codec.hwaccel import HWAccel

    accelerated = HWAccel(
        "vaapi", "/dev/dri/renderD128", is_hw_owned=True, allow_software_fallback=False
    )
    assert accelerated.is_hw_owned


class TestPools:
    def test_surfaces_are_used_again(self, device: HardwareDevice) -> None:
        pool = device.pool("NV12", *SIZE, size=2)
        frames = [pool.allocate(), pool.allocate()]
        surfaces = {f.planes[0].handle() for f in frames}
        assert len(surfaces) == 2
        with pytest.raises(NativeError, match="av_hwframe_get_buffer"):
            pool.get()
        frames.clear()
        assert {pool.allocate().planes[0].handle() for _ in range(5)} <= surfaces

    def test_frames_outlive_pool_and_device(self, vaapi: None) -> None:
        opened = sb.context("ffmpeg:VAAPI")
        assert isinstance(opened, HardwareDevice)
        pool = opened.pool("NV12", *SIZE)
        native = pool.get()
        del pool, opened
        gc.collect()
        frame = sb.frame(native)
        assert frame.context.node == "ffmpeg:VAAPI"
        frame.close()

    @pytest.mark.parametrize(
        ("name", "size", "why"),
        [
            ("GBRP", SIZE, "does not support frames of GBRP: it supports .*nv12"),
            ("YV12", SIZE, "FFmpeg has no pixel format"),
            ("NV12", (0, 48), "width"),
        ],
    )
    def test_what_the_device_lacks(
        self, device: HardwareDevice, name: str, size: tuple[int, int], why: str
    ) -> None:
        with pytest.raises(LayoutError, match=why):
            device.allocate_frame(name, *size)

    def test_drm_allocates_nothing(self) -> None:
        with pytest.raises(UnsupportedObjectError, match='allocate from "dma"'):
            HardwareDevice.open("drm").allocate_frame("NV12", *SIZE)


class TestCopies:
    def test_up_and_down_are_counted_copies(self, device: HardwareDevice) -> None:
        native = _software(7)
        native.pts, native.time_base = 42, Fraction(1, 90_000)
        with pytest.raises(CopyRequiredError, match="ffmpeg -> ffmpeg:VAAPI"):
            sb.frame(native).map(device)
        up = device.upload(native)
        assert isinstance(up, FFmpegHardwareFrame)
        assert (up.pts, up.native.pts, up.image) == (42, 42, sb.frame(native).image)
        assert not up.readonly
        assert sb.stats().by_edge["ffmpeg -> ffmpeg:VAAPI"].copies == 1
        down = up.download()
        assert sb.stats().by_edge["ffmpeg:VAAPI -> ffmpeg"].nbytes == native_bytes()
        assert (down.native.pts, down.native.format.name) == (42, "nv12")
        for ours, theirs in zip(down.map("cpu", "rw").native, _arrays(native), strict=True):
            np.testing.assert_array_equal(ours, theirs)
            ours[...] = 99
        assert (_arrays(native)[0] == 7).all()

    def test_anything_can_be_uploaded(self, device: HardwareDevice) -> None:
        image = np.arange(48 * 64 * 4, dtype=np.uint8).reshape(48, 64, 4)
        up = device.upload(sb.frame(image[::-1], format="BGRA"))
        np.testing.assert_array_equal(up.download().map("cpu").native[0], image[::-1])
        picture = sb.frame(np.zeros((8, 8, 3), np.uint8), format="BGR")
        with pytest.raises(NoRouteError, match="does not support frames of BGR"):
            device.upload(picture)
        with pytest.raises(NoRouteError, match="does not support frames of BGR"):
            picture.map(device)  # and no copy is asked for
        with pytest.raises(UnsupportedObjectError):
            device.upload(object())

    def test_a_drm_frame_is_downloaded_by_the_cpu(self, dma_plugin: None) -> None:
        memory = sb.context("dma:memfd").allocate_frame("NV12", *SIZE)
        memory.map("cpu", "w").native[0][...] = 5
        frame = memory.map("ffmpeg:DRM")
        assert isinstance(frame, FFmpegHardwareFrame)
        down = frame.download()
        assert (down.map("cpu").native[0] == 5).all()
        assert sb.stats().by_edge["ffmpeg:DRM -> ffmpeg"].copies == 1


def native_bytes() -> int:
    return sb.ImageInfo.of("NV12", *SIZE).nbytes


def _arrays(native: av.VideoFrame) -> tuple[Any, ...]:
    return sb.frame(native).map("cpu").native  # type: ignore[no-any-return]  # a tuple of arrays


class TestFrames:
    def test_what_a_frame_of_another_libavutil_says(self, device: HardwareDevice) -> None:
        native = device.pool("P010", *SIZE).get()
        frame = sb.frame(native)
        assert frame.handle("av_frame") == place_of(native)[1]
        assert frame.image == sb.ImageInfo.of("P010", *SIZE)
        assert [p.info.shape for p in frame] == [(48, 64), (24, 32, 2)]
        assert all(p.strides is None for p in frame)
        assert [p.handle("plane_index") for p in frame] == [0, 1]
        assert len({p.handle("va_surface") for p in frame}) == 1
        with pytest.raises(UnknownNameError):
            frame.planes[0].handle("dma_fd")
        if isinstance(native, HardwareFrame):
            assert (native.format, native.sw_format) == ("vaapi", "p010le")
            native.pts, native.time_base = 5, Fraction(1, 30)
            assert (native.pts, native.time_base) == (5, Fraction(1, 30))
            assert sb.frame(native).pts == 5
            native.pts = native.time_base = None
            assert (native.pts, native.time_base) == (None, None)
        else:
            assert native.format.name == "vaapi"

    def test_a_frame_by_its_pointer(self, device: HardwareDevice) -> None:
        native = device.pool("NV12", *SIZE).get()
        library, address = place_of(native)
        again = HardwareFrame.from_pointer(address, library.path)
        assert again.pointer != address
        assert describe(library, again.pointer).data == describe(library, address).data
        assert sb.frame(again).context is sb.frame(native).context
        other = HardwareFrame.from_pointer(c_void_p(address), library.path)
        assert describe(library, other.pointer).data == describe(library, address).data
        del again, other
        assert not sb.frame(native).readonly

    def test_what_is_not_a_frame(self, device: HardwareDevice) -> None:
        library = device.library.path
        for pointer, why in ((0, "an AVFrame"), (4096, "not mapped"), (id(library) & ~15, "no AV")):
            with pytest.raises(LayoutError, match=why):
                HardwareFrame.from_pointer(pointer, library)
        with pytest.raises(UnsupportedObjectError):
            HardwareFrame.from_pointer(None, library)
        with pytest.raises(UnsupportedObjectError):
            FFmpegHardwareFrame.wrap(object())
        with pytest.raises(LayoutError, match="knows no device whose frames have"):
            FFmpegHardwareFrame.wrap(_software())

    def test_a_frame_that_was_given_back(self, device: HardwareDevice) -> None:
        native = device.pool("NV12", *SIZE).get()
        library, address = place_of(native)
        frame = sb.frame(native)
        plane = frame.planes[0]
        library.quick("av_frame_unref", None, c_void_p)(address)
        for target in ("ffmpeg", "cpu"):
            with pytest.raises(LayoutError, match="the frame was returned"):
                frame.map(target, copy=True)
        with pytest.raises(LayoutError, match="the frame was returned"):
            plane.handle("va_surface")
        with pytest.raises(LayoutError, match="the frame was returned"):
            FFmpegHardwareFrame.wrap(native)

    def test_frames_without_their_context(self, device: HardwareDevice) -> None:
        native = device.pool("NV12", *SIZE).get()
        library, address = place_of(native)
        raw = library.AVFrame.from_address(address)
        kept, raw.hw_frames_ctx = raw.hw_frames_ctx, None
        try:
            with pytest.raises(LayoutError, match="hw_frames_ctx"):
                sb.frame(native)
        finally:
            raw.hw_frames_ctx = kept
        raw.crop_top = 2
        with pytest.raises(LayoutError, match=r"begins at pixel \(0, 2\)"):
            sb.frame(native)
        raw.crop_top, raw.width = 0, 66
        with pytest.raises(LayoutError, match="does not fit its surface"):
            sb.frame(native)

    def test_a_shared_surface_is_read_only(self, device: HardwareDevice) -> None:
        """As a decoder shares its references: FFmpeg counts them."""
        frame = device.allocate_frame("NV12", *SIZE)
        library, address = place_of(frame.native)
        assert not frame.readonly
        other = c_void_p(library.frame_clone(address))
        assert frame.readonly
        assert frame.planes[0].readonly
        library.frame_free(byref(other))
        assert not frame.readonly

    @pytest.mark.usefixtures("vaapi_plugin")
    def test_elements_that_write_wait_until_it_is_released(self, device: HardwareDevice) -> None:
        first, second = (device.upload(_software()) for _ in range(2))
        library, address = place_of(first.native)
        decoder = c_void_p(library.frame_clone(address))

        def source() -> Iterator[Any]:
            yield first
            library.frame_free(byref(decoder))
            yield second

        @el.inplace(takes=el.Image(memory="cpu", access="rw"))
        def fill(frame: Any) -> None:
            frame.planes[0].native[...] = 7

        pipe = el.Pipeline(source(), fill(), lambda frame: frame)
        for frame in pipe.start(threads=0):
            assert (frame.map("cpu").planes[0].native == 7).all()

    def test_nothing_is_left(self, device: HardwareDevice) -> None:
        before = _descriptors()
        for _ in range(20):
            device.upload(_software()).download()
        assert _descriptors() <= before + 1  # the pool keeps a surface


def test_new_surfaces_are_writable(device: HardwareDevice) -> None:
    """FFmpeg marks their buffers as read-only, until they come from the pool again."""
    held = [device.allocate_frame("NV12", *SIZE) for _ in range(5)]
    assert [frame.readonly for frame in held] == [False] * 5


def test_frames_of_a_device_are_refused_with_the_reason() -> None:
    frame = sb.frame(av.VideoFrame(64, 48, "nv12"))
    head = AVFrame.from_address(frame.handle("av_frame"))
    memory, head.format = head.format, get_pix_fmt(b"drm_prime")
    try:
        with pytest.raises(NoRouteError, match="drm_prime is a handle of a device"):
            frame.map("cpu")
        with pytest.raises(NoRouteError, match="drm_prime is a handle of a device"):
            frame.planes[0].map("cpu")
    finally:
        head.format = memory
