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

Array = np.ndarray[Any, Any]


# va/va.h and va/va_drmcommon.h.
DRM_PRIME_2, READ_WRITE_IN_LAYERS = 0x40000000, 3 | 4
# VA_FOURCC and VA_RT_FORMAT of the formats that are tried here.
FORMATS = {
    "NV12": (b"NV12", 0x1), "I420": (b"I420", 0x1), "P010": (b"P010", 0x100),
    "BGRA": (b"BGRA", 0x20000), "GRAY8": (b"Y800", 0x10),
}  # fmt: skip


class VASurfaceAttrib(ctypes.Structure):
    """va/va.h, with an integer for the union."""

    _fields_ = (
        ("type", ctypes.c_int), ("flags", ctypes.c_uint32), ("value_type", ctypes.c_int),
        ("value", ctypes.c_int64),
    )  # fmt: skip


class VADRMPRIMESurfaceDescriptor(ctypes.Structure):
    """va/va_drmcommon.h, with plain numbers for its structures."""

    _fields_ = (
        ("head", ctypes.c_uint32 * 3), ("num_objects", ctypes.c_uint32),
        ("fd", ctypes.c_int), ("size", ctypes.c_uint32), ("modifiers", ctypes.c_uint64 * 7),
        ("num_layers", ctypes.c_uint32), ("layers", ctypes.c_uint32 * 14 * 4),
    )  # fmt: skip

    def places(self) -> list[tuple[int, int]]:
        """The offset and the pitch of each plane, where each is a layer of its own."""
        return [(layer[6], layer[10]) for layer in self.layers[: self.num_layers]]


@cache
def libva() -> ctypes.CDLL:
    """The library itself, beside the backend's own view of it."""
    return ctypes.CDLL("libva.so.2")


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
        (characters, rt_format), made = FORMATS[image.format.name], ctypes.c_uint32()
        fourcc = int.from_bytes(characters, "little")
        # VASurfaceAttribPixelFormat, settable, an integer.
        attribute = VASurfaceAttrib(1, 2, 1, fourcc)
        size = (ctypes.c_uint32(image.width), ctypes.c_uint32(image.height))
        status = library.vaCreateSurfaces(
            display, rt_format, *size, ctypes.byref(made), 1, ctypes.byref(attribute), 1
        )
        assert status == 0
        weakref.finalize(owner, library.vaDestroySurfaces, display, ctypes.byref(made), 1)
        return context.import_surface(made.value, image, keep=owner)

    def views(self, native: VASurface) -> tuple[Array, ...]:
        library, descriptor = libva(), VADRMPRIMESurfaceDescriptor()
        display = ctypes.c_void_p(native.display)
        status = library.vaExportSurfaceHandle(
            display,
            native.id,
            DRM_PRIME_2,
            READ_WRITE_IN_LAYERS,
            ctypes.byref(descriptor),
        )
        assert status == 0
        assert descriptor.num_objects == 1
        fd, size = descriptor.fd, descriptor.size
        offsets, pitches = zip(*descriptor.places(), strict=True)
        layouts = native.image.plane_layouts(pitches, offsets)
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
