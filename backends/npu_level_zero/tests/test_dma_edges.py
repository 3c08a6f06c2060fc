# SPDX-License-Identifier: Apache-2.0
"""The edges to and from DMA-BUFs."""

from __future__ import annotations

import gc
import mmap
import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import pytest

import samebytes
from samebytes import Fd, Frame, FrameMeta, ImageInfo, Storage, TensorInfo, Transfer
from samebytes.errors import RouteError
from samebytes.testing import MapperSuite, Memory, assert_steady
from samebytes_npu_level_zero import LevelZeroContext, LevelZeroTensor, USMPointer

samebytes_dma = pytest.importorskip(
    "samebytes_dma", reason="missing package samebytes_dma: pip install samebytes-dma"
)

Array = np.ndarray[Any, Any]
NoneLeft = Callable[[], AbstractContextManager[None]]


class Mapping(mmap.mmap):
    """A mapping of one's own, which holds the plane as arrays of samebytes do."""

    plane: Any


class Buffers(Memory):
    """Memory behind descriptors, seen through a mapping that the test makes."""

    memory_type = "dma"
    host_visible = False
    readonly_enforced = False

    def make(self, info: TensorInfo) -> Any:
        number = os.memfd_create("buffer")
        os.truncate(number, max(info.extent[1], 1))
        return samebytes_dma.from_fd(
            number, info.shape, info.dtype, strides=info.strides, take_ownership=True
        ).native

    def view(self, native: Any) -> Array:
        memory = Mapping(native.buffer.fileno(), native.buffer.size)
        memory.plane = native
        info = native.info
        return np.ndarray(info.shape, info.dtype.carrier, memory, native.offset, info.strides)

    def make_frame(self, image: ImageInfo) -> Any:
        number = os.memfd_create("image")
        os.truncate(number, image.nbytes)
        with Fd(number) as fd:
            frame = samebytes_dma.frame_from_fds(
                fd.fileno(), image.format.name, image.width, image.height
            )
        return frame.native

    def frame(self, native: Any, image: ImageInfo) -> Any:
        return samebytes_dma.frame_of_planes(native, image)


class ExportableUSM(Memory):
    """Exportable host USM."""

    memory_type = "level_zero"
    readonly_enforced = False

    def level_zero(self) -> LevelZeroContext:
        context = self.context()
        assert isinstance(context, LevelZeroContext)
        return context

    def make(self, info: TensorInfo) -> Any:
        memory = self.level_zero().allocate((max(info.extent[1], 1),), exportable=True)
        return (
            self.level_zero()
            .wrap_pointer(
                memory.handle(), info.shape, info.dtype, strides=info.strides, keep=memory
            )
            .native
        )

    def view(self, native: USMPointer) -> Array:
        return native.array()

    def make_frame(self, image: ImageInfo) -> Any:
        frame = self.level_zero().allocate_frame(
            image.format, image.width, image.height, exportable=True
        )
        return frame.native

    def frame(self, native: Any, image: ImageInfo) -> Any:
        return Frame.borrowed(native, self.context(), FrameMeta(image), keep=Storage(keep=native))


CASES = (
    TensorInfo("uint8", (6, 8, 3)),
    TensorInfo("uint8", (20, 30), (64, 1)),
)
IMAGES = (ImageInfo.of("NV12", 64, 32),)


@pytest.mark.usefixtures("device")
class TestDmaToLevelZero(MapperSuite):
    source = Buffers()
    target = ExportableUSM()
    transfer = Transfer.IMPORT
    cases = CASES


@pytest.mark.usefixtures("device")
class TestLevelZeroToDma(MapperSuite):
    source = ExportableUSM()
    target = Buffers()
    transfer = Transfer.IMPORT
    cases = CASES


@pytest.mark.usefixtures("device")
class TestFramesFromDma(MapperSuite):
    source = Buffers()
    target = ExportableUSM()
    transfer = Transfer.IMPORT
    cases = IMAGES


@pytest.mark.usefixtures("device")
class TestFramesToDma(MapperSuite):
    source = ExportableUSM()
    target = Buffers()
    transfer = Transfer.IMPORT
    cases = IMAGES


def buffer_of(nbytes: int) -> Fd:
    fd = Fd(os.memfd_create("buffer"))
    os.truncate(fd.fileno(), nbytes)
    return fd


def test_a_buffer_is_imported_once(context: LevelZeroContext) -> None:
    tensor = samebytes_dma.from_fd(buffer_of(8192), (16,), offset=4096 - 8)
    first = tensor.map("level_zero")
    address = first.handle() - first.handle("offset")
    first.close()
    assert context.inspect(address), "remembered as long as the buffer is in use"
    second = tensor.map("level_zero", "rw")
    assert second.handle() == address + 4088
    assert second.handle("offset") == 4088
    del second, tensor
    gc.collect()
    assert context.inspect(address) is None


def test_planes_are_views_in_one_import(context: LevelZeroContext) -> None:
    frame = samebytes_dma.frame_from_fds(buffer_of(64 * 48), "NV12", 64, 32)
    y, uv = frame.map("level_zero", "rw")
    assert uv.handle() - y.handle() == 2048
    assert context.inspect(y.handle()) == context.inspect(uv.handle())


def test_planes_of_several_allocations(context: LevelZeroContext) -> None:
    y = context.allocate((32, 64), exportable=True)
    uv = context.allocate((16, 32, 2), exportable=True)
    frame = ExportableUSM().frame((y.native, uv.native), ImageInfo.of("NV12", 64, 32))
    mapped = frame.map("dma", "rw")
    assert len({p.handle("dma_fd") for p in mapped}) == 2
    y.host_array()[3, 3] = 33
    with mapped.planes[0].map("cpu") as view:
        assert view.native[3, 3] == 33
    del view
    mapped.close()


def test_one_descriptor_for_all_planes_of_an_allocation(context: LevelZeroContext) -> None:
    mapped = context.allocate_frame("I420", 64, 32, exportable=True).map("dma")
    assert len({p.handle("dma_fd") for p in mapped}) == 1
    assert [p.handle("offset") for p in mapped] == [0, 2048, 2560]


def test_another_context_imports_it(context: LevelZeroContext, other: LevelZeroContext) -> None:
    tensor = context.allocate((64,), "uint16", exportable=True)
    there = tensor.map("dma", "rw").map(other, "rw")
    assert there.context is other
    there.host_array()[...] = 0x1234
    assert (tensor.host_array() == 0x1234).all()
    address = there.handle()
    del tensor
    there.close()
    gc.collect()
    assert other.inspect(address) is None


def test_what_cannot_be_exported(context: LevelZeroContext) -> None:
    with pytest.raises(RouteError, match="exportable=True"):
        context.allocate((64,)).map("dma")
    with pytest.raises(RouteError, match="exportable=True"):
        context.allocate_frame("BGR", 8, 8).map("dma")


def test_what_cannot_be_imported(context: LevelZeroContext) -> None:
    tiled = samebytes_dma.from_fd(buffer_of(8192), (32, 128), modifier=0x0100000000000001)
    with pytest.raises(RouteError, match="not linear"):
        tiled.map(context)
    shrunk = buffer_of(8192)
    tensor = samebytes_dma.from_fd(shrunk, (8192,))
    os.truncate(shrunk.fileno(), 4096)
    with pytest.raises(RouteError, match="the buffer has 4096"):
        tensor.map(context)


def test_device_memory_reaches_the_cpu_by_its_descriptor(context: LevelZeroContext) -> None:
    samebytes.reset_stats()
    tensor = context.allocate((64,), kind="device", exportable=True)
    route = samebytes.route(tensor, "cpu", access="w", via=["dma"])
    assert not route.copies
    with route.map(tensor) as view:
        view.native[...] = 8
    assert isinstance(tensor, LevelZeroTensor)
    with tensor.export_fd() as fd:
        assert mmap.mmap(fd.fileno(), 4096)[63] == 8
    assert samebytes.stats().copies == 0


@pytest.mark.slow
def test_ten_thousand_round_trips(context: LevelZeroContext) -> None:
    tensor = context.allocate((64,), exportable=True)

    def once() -> None:
        buffer = tensor.map("dma", "rw")
        buffer.map(context, "rw").close()
        buffer.close()

    assert_steady(once, 10_000)


def test_descriptors_are_closed(context: LevelZeroContext, no_descriptor_left: NoneLeft) -> None:
    tensor = context.allocate((64,), exportable=True)
    tensor.handle("dma_fd")
    with no_descriptor_left():
        buffer = tensor.map("dma")
        imported = buffer.map(context)
        del buffer
        assert imported.native.array().shape == (64,)
        del imported
