# SPDX-License-Identifier: Apache-2.0
"""Frames of devices in the suites that every backend inherits.

What lies in a frame is shown by FFmpeg itself: av_hwframe_map() of libavutil maps a surface, or a
DMA-BUF, as a software frame without copying it.
"""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from ctypes import byref, c_int, c_size_t, c_void_p
from functools import cache
from typing import Any

import av
import numpy as np
import pytest

import samebytes
from samebytes import Context, Frame, ImageInfo, TensorInfo, Transfer
from samebytes.testing import (
    ContextSuite,
    DeviceMemory,
    FrameSuite,
    MapperSuite,
    Memory,
    array_at,
    array_in,
)
from samebytes_ffmpeg import HardwareDevice

Array = np.ndarray[Any, Any]

# libavutil/hwcontext.h: AV_HWFRAME_MAP_READ, _WRITE and _DIRECT.
READ_WRITE_DIRECT = 1 << 0 | 1 << 1 | 1 << 3


@pytest.fixture(autouse=True, scope="module")
def nothing_left_over(references: Callable[[], int], lent: Callable[[], int]) -> Iterator[None]:
    """As the fixture of conftest.py, but once: collecting garbage takes longer than the tests."""
    gc.collect()
    before = references(), lent()
    yield
    gc.collect()
    assert (references(), lent()) == before


def place_of(native: Any) -> tuple[Any, int]:
    """The libavutil that a frame belongs to, and its AVFrame*."""
    frame = samebytes.frame(native)
    device = frame.context
    assert isinstance(device, HardwareDevice)
    return device.library, frame.handle("av_frame")


class Mapped(c_void_p):
    """A software frame that av_hwframe_map() made; it holds the frame that it shows."""

    library: Any

    def __del__(self, byref: Any = byref) -> None:
        self.library.frame_free(byref(self))


@cache
def hwframe_map(library: Any) -> Any:
    """FFmpeg's own way to look at a frame of a device."""
    return library.slow("av_hwframe_map", c_int, c_void_p, c_void_p, c_int)


@contextmanager
def uncounted(library: Any, address: int) -> Iterator[c_void_p]:
    """A frame like another one, which FFmpeg does not see as a reference to that one's buffer."""
    theirs = library.AVFrame.from_address(address)
    made = c_void_p(library.frame_alloc())
    ours = library.AVFrame.from_address(made.value or 0)
    ours.width, ours.height, ours.format = theirs.width, theirs.height, theirs.format
    ours.data[:] = theirs.data[:]
    ours.buf[0] = library.buffer_create(theirs.data[0], 1, library.unref_address, None, 0)
    ours.hw_frames_ctx = library.buffer_ref(theirs.hw_frames_ctx)
    yield made
    library.frame_free(byref(made))


class DeviceFrames(Memory):
    """Frames of a device, as FFmpeg's own mapping shows them."""

    memory_type = "ffmpeg"
    host_visible = False
    readonly_enforced = False
    opaque = True
    fork_safe = False

    def open(self) -> HardwareDevice:
        """The device, which stays the same while its context lives."""
        raise NotImplementedError

    def context(self) -> HardwareDevice:
        # Held, as an application holds the devices that it opens.
        self.opened = self.open()
        return self.opened

    def views(self, native: Any) -> tuple[Array, ...]:
        library, address = place_of(native)
        image = samebytes.frame(native).image
        call = hwframe_map(library)
        mapped = Mapped(library.frame_alloc())
        mapped.library = library
        shown = library.AVFrame.from_address(mapped.value or 0)
        assert image.format.ffmpeg_name is not None
        shown.format = library.pixel_format(image.format.ffmpeg_name)
        with uncounted(library, address) as source:
            assert call(mapped, source, READ_WRITE_DIRECT) == 0
        count = len(image.format.planes)
        arrays = []
        for layout, start in zip(
            image.plane_layouts(shown.linesize[:count]), shown.data[:count], strict=True
        ):
            info = TensorInfo(layout.dtype, layout.shape, layout.strides)
            arrays.append(array_at(start, info, (mapped, native)))
        return tuple(arrays)

    def view(self, native: Any) -> Array:
        planes: tuple[Array, ...] = self.views(native.frame)
        index: int = native.index
        return planes[index]


class Surfaces(DeviceFrames):
    """Frames of a pool of VA-API."""

    node = "ffmpeg:VAAPI"
    device = "VAAPI"

    def open(self) -> HardwareDevice:
        device = samebytes.context(self.node)
        assert isinstance(device, HardwareDevice)
        return device

    def make_frame(self, image: ImageInfo) -> Any:
        device = self.context()
        return device.pool(image.format, image.width, image.height).get()


class Descriptors(DeviceFrames):
    """Frames of DRM over memfds, in the libavutil of a device."""

    node = "ffmpeg:DRM"
    opaque = False
    library: str | None = None

    def open(self) -> HardwareDevice:
        return HardwareDevice.open("drm", library=self.library)

    def make_frame(self, image: ImageInfo) -> Any:
        buffers = samebytes.context("dma:memfd").allocate_frame(
            image.format, image.width, image.height
        )
        return buffers.map(self.context(), "rw").native


class SystemDescriptors(Descriptors):
    """The same in the system's libavutil."""

    library = "libavutil.so.57"


class Buffers(Memory):
    """Pictures in memfds, which stand in for DMA-BUFs."""

    memory_type = "dma"
    host_visible = False
    readonly_enforced = False
    allocates_frames = True

    def make_frame(self, image: ImageInfo) -> Any:
        context = samebytes.context("dma:memfd")
        return context.allocate_frame(image.format, image.width, image.height).native

    def views(self, native: Any) -> tuple[Array, ...]:
        return tuple(self.view(plane) for plane in native)

    def view(self, native: Any) -> Array:
        buffer = native.buffer
        return array_in(buffer.fileno(), buffer.size, native.info, native.offset, native)

    def frame(self, native: Any, image: ImageInfo) -> Frame:
        import samebytes_dma

        return samebytes_dma.frame_of_planes(native, image)


class VASurfaces(Memory):
    """Surfaces as samebytes-vaapi shows them, mapped as derived images."""

    memory_type = "vaapi"
    host_visible = False
    readonly_enforced = False
    opaque = True
    fork_safe = False

    def context(self) -> Context:
        return SURFACES.context().derive("vaapi")

    def views(self, native: Any) -> tuple[Array, ...]:
        return tuple(np.asarray(p) for p in samebytes.frame(native).map("cpu", "rw"))


class Software(Memory):
    """Frames in memory, as PyAV shows them."""

    memory_type = "ffmpeg"
    readonly_enforced = False

    def make_frame(self, image: ImageInfo) -> Any:
        return av.VideoFrame(image.width, image.height, str(image.format.ffmpeg_name))

    def views(self, native: Any) -> tuple[Array, ...]:
        image = ImageInfo.of(native.format.name, native.width, native.height)
        return tuple(
            np.ndarray(
                layout.shape,
                layout.dtype,
                memoryview(plane),
                strides=(plane.line_size, *layout.strides[1:]),
            )
            for plane, layout in zip(native.planes, image.plane_layouts(), strict=True)
        )


class Pools(Surfaces):
    """Contexts of VA-API allocate frames."""

    allocates_frames = True


@cache
def _primary() -> tuple[Any, c_void_p]:
    library, context = ctypes.CDLL("libcuda.so.1"), c_void_p()
    assert library.cuInit(0) == 0
    assert library.cuDevicePrimaryCtxRetain(byref(context), 0) == 0
    return library, context


def libcuda() -> Any:
    """NVIDIA's driver, or the software one, with the primary context of its first device current.

    Without cuda-bindings, which these tests do not need.
    """
    library, context = _primary()
    assert library.cuCtxSetCurrent(context) == 0
    return library


class CudaMeans(DeviceMemory):
    """Memory of which `place` gives the address and the layout."""

    fork_safe = False

    def place(self, native: Any) -> tuple[int, TensorInfo]:
        """The place of a plane, as its framework says."""
        raise NotImplementedError

    def layout(self, native: Any) -> TensorInfo:
        return self.place(native)[1]

    def handle_of(self, native: Any) -> int:
        return self.place(native)[0]

    def read(self, native: Any) -> Array:
        return self._bytes_of(native)[1].copy()

    def write(self, native: Any, values: Array) -> None:
        data, elements = self._bytes_of(native)
        elements[...] = values
        start = c_void_p(self.handle_of(native))
        copy = libcuda().cuMemcpyHtoD_v2
        assert copy(start, c_void_p(data.ctypes.data), c_size_t(data.nbytes)) == 0
        assert libcuda().cuCtxSynchronize() == 0

    def _bytes_of(self, native: Any) -> tuple[Array, Array]:
        address, info = self.place(native)
        data = np.empty(info.extent[1], np.uint8)
        assert libcuda().cuCtxSynchronize() == 0
        copy = libcuda().cuMemcpyDtoH_v2
        assert copy(c_void_p(data.ctypes.data), c_void_p(address), c_size_t(data.nbytes)) == 0
        return data, np.ndarray(info.shape, info.dtype.carrier, data, 0, info.strides)


class CUDAFrames(CudaMeans):
    """FFmpeg's frames of a pool of CUDA."""

    memory_type = "ffmpeg"
    node = "ffmpeg:CUDA"
    device = "CUDA"

    def context(self) -> HardwareDevice:
        # Held, as an application holds the devices that it opens.
        self.opened = samebytes.context(self.node)
        assert isinstance(self.opened, HardwareDevice)
        return self.opened

    def make_frame(self, image: ImageInfo) -> Any:
        return self.context().pool(image.format, image.width, image.height).get()

    def planes(self, native: Any) -> Sequence[Any]:
        return [plane.native for plane in samebytes.frame(native).planes]

    def place(self, native: Any) -> tuple[int, TensorInfo]:
        library, address = place_of(native.frame)
        frame = library.AVFrame.from_address(address)
        layouts = samebytes.frame(native.frame).image.plane_layouts()
        layout, pitch = layouts[native.index], frame.linesize[native.index]
        info = TensorInfo(layout.dtype, layout.shape, (pitch, *layout.strides[1:]))
        return frame.data[native.index], info


class CUDAPools(CUDAFrames):
    """Contexts of CUDA allocate frames."""

    memory_type = "ffmpeg"
    node = "ffmpeg:CUDA"
    device = "CUDA"
    allocates_frames = True


class CUDAArrays(CudaMeans):
    """Arrays of samebytes-cuda."""

    memory_type = "cuda"
    dlpack_device = 2  # kDLCUDA

    def make_frame(self, image: ImageInfo) -> Any:
        made = samebytes.context("cuda").allocate_frame(image.format, image.width, image.height)
        return made.native

    def frame(self, native: Any, image: ImageInfo) -> Frame:
        import samebytes_cuda

        return samebytes_cuda.frame(native, image.format, image.width, image.height)

    def place(self, native: Any) -> tuple[int, TensorInfo]:
        found = native.__cuda_array_interface__
        info = TensorInfo(np.dtype(found["typestr"]), found["shape"], found["strides"])
        return found["data"][0], info


SURFACES, DESCRIPTORS, SYSTEM, BUFFERS = Surfaces(), Descriptors(), SystemDescriptors(), Buffers()
CUDA_FRAMES, CUDA_ARRAYS = CUDAFrames(), CUDAArrays()
IMAGES = (
    ImageInfo.of("NV12", 64, 32),
    ImageInfo.of("I420", 48, 32),
    ImageInfo.of("BGRA", 40, 24),
)
ODD = (ImageInfo.of("NV12", 47, 31), ImageInfo.of("P010", 16, 8), ImageInfo.of("BGRA", 40, 24))
IN_CUDA = (
    ImageInfo.of("NV12", 64, 32),
    ImageInfo.of("I420", 48, 32),
)
ONE = (ImageInfo.of("I420", 48, 32),)


class TestVAAPIContext(ContextSuite):
    memory = Pools()
    singleton = False


class TestVAAPIFrames(FrameSuite):
    memory = SURFACES
    cases = IMAGES


@pytest.mark.usefixtures("vaapi_plugin")
class TestToVAAPI(MapperSuite):
    source = SURFACES
    target = VASurfaces()
    transfer = Transfer.ALIAS
    cases = IMAGES


class TestUpload(MapperSuite):
    source = Software()
    target = SURFACES
    transfer = Transfer.COPY
    accesses = ("r",)
    cases = IMAGES


@pytest.mark.usefixtures("dma_plugin")
class TestDRMFrames(FrameSuite):
    memory = DESCRIPTORS
    cases = ODD


@pytest.mark.usefixtures("dma_plugin", "system_avutil")
class TestSystemDRMFrames(FrameSuite):
    memory = SYSTEM
    cases = ONE


class TestDRMContext(ContextSuite):
    memory = DESCRIPTORS
    singleton = False


@pytest.mark.usefixtures("dma_plugin")
class TestDRMToDMA(MapperSuite):
    source = DESCRIPTORS
    target = BUFFERS
    transfer = Transfer.IMPORT
    cases = ODD


@pytest.mark.usefixtures("dma_plugin")
class TestDMAToDRM(MapperSuite):
    source = BUFFERS
    target = DESCRIPTORS
    transfer = Transfer.IMPORT
    cases = ODD


@pytest.mark.usefixtures("dma_plugin", "system_avutil")
class TestSystemDRMToDMA(MapperSuite):
    source = SYSTEM
    target = BUFFERS
    transfer = Transfer.IMPORT
    cases = ONE


class TestCUDAContext(ContextSuite):
    memory = CUDAPools()
    singleton = False


class TestCUDAFrames(FrameSuite):
    memory = CUDA_FRAMES
    cases = IN_CUDA


@pytest.mark.usefixtures("cuda_plugin")
class TestToCUDA(MapperSuite):
    source = CUDA_FRAMES
    target = CUDA_ARRAYS
    transfer = Transfer.ALIAS
    cases = IN_CUDA


@pytest.mark.usefixtures("cuda_plugin")
class TestFromCUDA(MapperSuite):
    source = CUDA_ARRAYS
    target = CUDA_FRAMES
    transfer = Transfer.ALIAS
    cases = IN_CUDA


class TestCUDAUpload(MapperSuite):
    source = Software()
    target = CUDA_FRAMES
    transfer = Transfer.COPY
    accesses = ("r",)
    cases = IN_CUDA


class TestCUDADownload(MapperSuite):
    source = CUDA_FRAMES
    target = Software()
    transfer = Transfer.COPY
    accesses = ("r",)
    cases = IN_CUDA
