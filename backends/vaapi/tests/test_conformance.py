# SPDX-License-Identifier: Apache-2.0
"""The VA-API backend in the suites that every backend inherits."""

from __future__ import annotations

import ctypes
import os
import weakref
from functools import cache
from typing import Any

import numpy as np
import pytest

import samebytes
from samebytes import Frame, ImageInfo, TensorInfo, Transfer
from samebytes.testing import (
    ArrayMemory,
    ContextSuite,
    FrameSuite,
    MapperSuite,
    Memory,
    PluginSuite,
    TensorSuite,
    array_in,
)
from samebytes_vaapi import VAAPIContext, VAPlane, VASurface
from samebytes_vaapi._abi import constants as va
from samebytes_vaapi._abi.structures import VADRMPRIMESurfaceDescriptor, VASurfaceAttrib
from samebytes_vaapi._formats import format_of
from samebytes_vaapi._library import LIBRARY_NAME

Array = np.ndarray[Any, Any]


@cache
def libva() -> ctypes.CDLL:
    """The library itself, beside the backend's own view of it."""
    return ctypes.CDLL(LIBRARY_NAME)


class Owner:
    """Destroys a surface when it is gone, and until then holds what it was made in."""

    def __init__(self, context: VAAPIContext) -> None:
        self.context = context


class Surfaces(Memory):
    """Surfaces that the application makes and destroys by itself, through libva.

    It sees their bytes by a descriptor that it exports, and maps for as long as arrays live.
    """

    memory_type = "vaapi"
    device = "VAAPI"
    host_visible = False
    readonly_enforced = False  # VA-API has no read-only surfaces
    opaque = True
    allocates_frames = True

    def vaapi(self) -> VAAPIContext:
        context = self.context()
        assert isinstance(context, VAAPIContext)
        return context

    def make_frame(self, image: ImageInfo) -> VASurface:
        library, context = libva(), self.vaapi()
        display, owner = ctypes.c_void_p(context.handle("va_display")), Owner(context)
        format_, made = format_of(image.format), ctypes.c_uint32()
        attribute = VASurfaceAttrib(
            type=va.VASurfaceAttribPixelFormat, flags=va.VA_SURFACE_ATTRIB_SETTABLE
        )
        attribute.value.type = va.VAGenericValueTypeInteger
        attribute.value.value.i = format_.fourcc
        size = (ctypes.c_uint32(image.width), ctypes.c_uint32(image.height))
        status = library.vaCreateSurfaces(
            display, format_.rt_format, *size, ctypes.byref(made), 1, ctypes.byref(attribute), 1
        )
        assert status == 0
        weakref.finalize(owner, library.vaDestroySurfaces, display, ctypes.byref(made), 1)
        return context.import_surface(made.value, image, keep=owner)

    def views(self, native: VASurface) -> tuple[Array, ...]:
        library, descriptor = libva(), VADRMPRIMESurfaceDescriptor()
        display = ctypes.c_void_p(native.display)
        flags = va.VA_EXPORT_SURFACE_READ_WRITE | va.VA_EXPORT_SURFACE_SEPARATE_LAYERS
        status = library.vaExportSurfaceHandle(
            display,
            native.id,
            va.VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2,
            flags,
            ctypes.byref(descriptor),
        )
        assert status == 0
        assert descriptor.num_objects == 1
        fd, size = descriptor.objects[0].fd, descriptor.objects[0].size
        layers = descriptor.layers[: descriptor.num_layers]
        layouts = native.image.plane_layouts(
            [layer.pitch[0] for layer in layers], [layer.offset[0] for layer in layers]
        )
        try:
            return tuple(
                array_in(fd, size, TensorInfo(p.dtype, p.shape, p.strides), p.offset, native)
                for p in layouts
            )
        finally:
            os.close(fd)

    def make(self, info: TensorInfo) -> VAPlane:
        """Luma of a gray surface, which alone has planes of any shape."""
        height, width = info.shape
        return VAPlane(self.make_frame(ImageInfo.of("GRAY8", width, height)), 0)

    def view(self, native: VAPlane) -> Array:
        return self.views(native.surface)[native.index]


class Buffers(Memory):
    """Pictures in memfds, which stand in for DMA-BUFs.

    samebytes_dma is imported late: the suites without it run where it is not installed.
    """

    memory_type = "dma"
    host_visible = False
    readonly_enforced = False
    allocates_frames = True

    def need(self) -> None:
        pytest.importorskip(
            "samebytes_dma", reason="missing package samebytes-dma: pip install samebytes-dma"
        )

    def make_frame(self, image: ImageInfo) -> Any:
        import samebytes_dma

        fd = samebytes.Fd(os.memfd_create("test"))
        os.ftruncate(fd.fileno(), image.nbytes)
        buffer = samebytes_dma.DMABuffer(fd)
        return tuple(
            buffer.plane(TensorInfo(p.dtype, p.shape, p.strides), offset=p.offset)
            for p in image.packed_layouts()
        )

    def make(self, info: TensorInfo) -> Any:
        import samebytes_dma

        fd = samebytes.Fd(os.memfd_create("test"))
        os.ftruncate(fd.fileno(), info.nbytes)
        return samebytes_dma.DMABuffer(fd).plane(info)

    def view(self, native: Any) -> Array:
        buffer = native.buffer
        return array_in(buffer.fileno(), buffer.size, native.info, native.offset, native)

    def frame(self, native: Any, image: ImageInfo) -> Frame:
        import samebytes_dma

        return samebytes_dma.frame_of_planes(native, image)


SURFACES, BUFFERS, CPU = Surfaces(), Buffers(), ArrayMemory()
IMAGES = (
    ImageInfo.of("NV12", 64, 32),
    ImageInfo.of("I420", 48, 32),
    ImageInfo.of("P010", 16, 8),
    ImageInfo.of("BGRA", 40, 24),
)
PLANES = (TensorInfo("uint8", (6, 8), opaque=True), TensorInfo("uint8", (32, 64), opaque=True))


class TestPlugin(PluginSuite):
    plugin = "vaapi"
    frameworks = ("samebytes_vaapi._library", "samebytes_vaapi._context", "numpy.ctypeslib")


class TestContext(ContextSuite):
    memory = SURFACES
    singleton = False


class TestTensor(TensorSuite):
    memory = SURFACES
    cases = PLANES


class TestFrame(FrameSuite):
    memory = SURFACES
    cases = IMAGES


class TestFramesToDma(MapperSuite):
    source = SURFACES
    target = BUFFERS
    transfer = Transfer.IMPORT
    cases = IMAGES


class TestPlanesToDma(MapperSuite):
    source = SURFACES
    target = BUFFERS
    transfer = Transfer.IMPORT
    cases = PLANES


class TestFramesFromDma(MapperSuite):
    source = BUFFERS
    target = SURFACES
    transfer = Transfer.IMPORT
    cases = IMAGES
    refused = ((ImageInfo.of("BGR", 40, 24), "image format of VA-API"),)


class TestFramesToCpu(MapperSuite):
    source = SURFACES
    target = CPU
    transfer = Transfer.MAP
    cases = IMAGES


class TestPlanesToCpu(MapperSuite):
    source = SURFACES
    target = CPU
    transfer = Transfer.MAP
    cases = PLANES


class TestFramesFromCpu(MapperSuite):
    source = CPU
    target = SURFACES
    transfer = Transfer.COPY
    accesses = ("r",)
    cases = IMAGES


class TestFramesCopiedToCpu(MapperSuite):
    source = SURFACES
    target = CPU
    mapper = "samebytes_vaapi._copies:VaapiFrameToCpuCopy"
    transfer = Transfer.COPY
    cases = IMAGES


class TestPlanesCopiedToCpu(MapperSuite):
    source = SURFACES
    target = CPU
    mapper = "samebytes_vaapi._copies:VaapiToCpuCopy"
    transfer = Transfer.COPY
    cases = PLANES
