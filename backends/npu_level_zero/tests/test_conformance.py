# SPDX-License-Identifier: Apache-2.0
"""The Level Zero backend in the suites that every backend inherits."""

from __future__ import annotations

import ctypes
import mmap
import weakref
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from samebytes import Frame, FrameMeta, ImageInfo, Storage, TensorInfo, Transfer
from samebytes.testing import (
    ArrayMemory,
    ContextSuite,
    FrameSuite,
    MapperSuite,
    Memory,
    PluginSuite,
    TensorSuite,
    array_at,
)
from samebytes_npu_level_zero import LevelZeroContext, USMPointer

Array = np.ndarray[Any, Any]
PAGE = mmap.PAGESIZE


@cache
def loader() -> ctypes.CDLL:
    """The library itself, beside the backend's own view of it."""
    return ctypes.CDLL("libze_loader.so.1")


class Description(ctypes.Structure):
    """ze_device_mem_alloc_desc_t, and ze_host_mem_alloc_desc_t, which has no ordinal."""

    _fields_ = (
        ("stype", ctypes.c_uint32),
        ("pNext", ctypes.c_void_p),
        ("flags", ctypes.c_uint32),
        ("ordinal", ctypes.c_uint32),
    )


DEVICE_DESC, HOST_DESC = 0x15, 0x16
"""ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC and ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC."""


class Owner:
    """Frees USM when it is gone, and until then holds what it was allocated in."""

    def __init__(self, context: LevelZeroContext) -> None:
        self.context = context


class HostUSM(Memory):
    """Host USM that the application allocates and frees by itself, through the loader."""

    memory_type = "level_zero"
    device = "NPU"
    allocates = True
    allocates_frames = True
    allocate_call = "zeMemAllocHost"

    def level_zero(self) -> LevelZeroContext:
        context = self.context()
        assert isinstance(context, LevelZeroContext)
        return context

    def allocate(self, nbytes: int) -> tuple[int, Owner]:
        """Memory, and what frees it when it is gone."""
        library, context = loader(), self.level_zero()
        handle = ctypes.c_void_p(context.handle("ze_context"))
        size, made = (ctypes.c_size_t(nbytes), ctypes.c_size_t(64)), ctypes.c_void_p()
        self.call(library, handle, size, ctypes.c_void_p(context.handle("ze_device")), made)
        owner = Owner(context)
        weakref.finalize(owner, library.zeMemFree, handle, made)
        return made.value or 0, owner

    def call(self, library: Any, handle: Any, size: Any, device: Any, made: Any) -> None:
        descriptor = Description(HOST_DESC)
        status = library.zeMemAllocHost(handle, ctypes.byref(descriptor), *size, ctypes.byref(made))
        assert status == 0

    def make(self, info: TensorInfo) -> USMPointer:
        address, owner = self.allocate(max(info.extent[1], 1))
        return self.pointer(address, info, owner)

    def pointer(self, address: int, info: TensorInfo, owner: object, offset: int = 0) -> USMPointer:
        tensor = self.level_zero().wrap_pointer(
            address, info.shape, info.dtype, strides=info.strides, offset=offset, keep=owner
        )
        return tensor.native

    def view(self, native: USMPointer) -> Array:
        return array_at(native.address, native.info, native, readonly=native.readonly)

    def make_frame(self, image: ImageInfo) -> tuple[USMPointer, ...]:
        layouts = image.packed_layouts()
        address, owner = self.allocate(max(p.offset + p.span for p in layouts))
        return tuple(
            self.pointer(address, TensorInfo(p.dtype, p.shape, p.strides), owner, p.offset)
            for p in layouts
        )

    def frame(self, native: Any, image: ImageInfo) -> Frame:
        return Frame.borrowed(native, self.context(), FrameMeta(image), keep=Storage(keep=native))


class SharedUSM(HostUSM):
    """Shared USM of the application."""

    allocates = False

    def call(self, library: Any, handle: Any, size: Any, device: Any, made: Any) -> None:
        host, descriptor = Description(HOST_DESC), Description(DEVICE_DESC)
        status = library.zeMemAllocShared(
            handle, ctypes.byref(descriptor), ctypes.byref(host), *size, device, ctypes.byref(made)
        )
        assert status == 0


class DeviceUSM(HostUSM):
    """Device USM of the application, which the CPU cannot read."""

    host_visible = False
    allocates = False
    allocates_frames = False

    def call(self, library: Any, handle: Any, size: Any, device: Any, made: Any) -> None:
        descriptor = Description(DEVICE_DESC)
        status = library.zeMemAllocDevice(
            handle, ctypes.byref(descriptor), *size, device, ctypes.byref(made)
        )
        assert status == 0


class WholePages(ArrayMemory):
    """Arrays that begin at a page, on pages of their own."""

    def make(self, info: TensorInfo) -> Array:
        pages = np.frombuffer(mmap.mmap(-1, -(-info.nbytes // PAGE) * PAGE), np.uint8)
        return np.ndarray(info.shape, info.dtype.carrier, pages, 0, info.strides)

    def frame_over(self, arrays: Sequence[Array], image: ImageInfo) -> Any:
        raise NotImplementedError


HOST = HostUSM()
CPU = ArrayMemory()
DENSE = (
    TensorInfo("uint8", (6, 8, 3)),
    TensorInfo("float32", (1, 3, 4, 4)),
)
PITCHED = TensorInfo("uint8", (20, 30), (64, 1))
WHOLE = (TensorInfo("uint8", (64, 64)), TensorInfo("float32", (2, 32, 32)))


class TestPlugin(PluginSuite):
    plugin = "level_zero"
    frameworks = ("samebytes_npu_level_zero._loader", "samebytes_npu_level_zero._context")


class TestContext(ContextSuite):
    memory = HOST
    singleton = False


class TestHostTensor(TensorSuite):
    memory = HOST
    cases = (*DENSE, PITCHED)


class TestSharedTensor(TensorSuite):
    memory = SharedUSM()
    cases = DENSE


class TestFrame(FrameSuite):
    memory = HOST


class TestHostToCpu(MapperSuite):
    source = HOST
    target = CPU
    cases = (DENSE[0], PITCHED)


class TestSharedToCpu(MapperSuite):
    source = SharedUSM()
    target = CPU
    cases = DENSE[1:2]


class TestFramesToCpu(MapperSuite):
    source = HOST
    target = CPU
    cases = (ImageInfo.of("NV12", 64, 32),)


class TestCpuToHost(MapperSuite):
    source = WholePages()
    target = HOST
    transfer = Transfer.IMPORT
    cases = WHOLE
