# SPDX-License-Identifier: Apache-2.0
"""The NPU's memory in the suites that every backend inherits."""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np
import openvino
import pytest

import samebytes
from samebytes import Frame, FrameMeta, ImageInfo, Storage, Tensor, TensorInfo, Transfer
from samebytes.testing import (
    ArrayMemory,
    ContextSuite,
    FrameSuite,
    MapperSuite,
    Memory,
    TensorSuite,
)
from samebytes_openvino.intel_npu import ZeroBufferTensor

Array = np.ndarray[Any, Any]
pytestmark = pytest.mark.usefixtures("npu")


class Lying:
    """Bytes at an address, and what keeps them there."""

    def __init__(self, address: int, info: TensorInfo, keep: object) -> None:
        self.keep = keep
        self.__array_interface__ = {
            "shape": info.shape,
            "typestr": np.dtype(info.dtype.carrier).str,
            "data": (address, False),
            "version": 3,
        }


class NpuMemory(Memory):
    """Remote tensors that OpenVINO allocates, and ordinary ones inside memory of the plugin's."""

    memory_type = "openvino"
    node = "openvino:NPU"
    readonly_enforced = False
    allocates = True
    allocates_frames = True

    def region(self, native: Any, begin: int, end: int) -> Any:
        shape = list(native.get_shape())
        corners = [begin, *[0] * (len(shape) - 1)], [end, *shape[1:]]
        kind: Any = (
            openvino.Tensor if isinstance(native, openvino.Tensor) else openvino.RemoteTensor
        )
        return kind(native, *map(openvino.Coordinate, corners))

    def plane_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """NHWC."""
        return (1, *shape) if len(shape) == 3 else (1, *shape, 1)

    def make(self, info: TensorInfo) -> Any:
        remote: Any = self.context().native  # type: ignore[attr-defined]  # a RemoteContext
        element = openvino.Type(np.dtype(info.dtype.carrier))
        return remote.create_tensor(element, openvino.Shape(info.shape), {})

    def view(self, native: Any) -> Array:
        if isinstance(native, openvino.Tensor):
            view: Array = native.data
            return view
        address = int(native.get_params()["MEM_HANDLE"].astype(str), 16)
        tensor = samebytes.tensor(native)
        return np.asarray(Lying(address, tensor.info, native))

    def tensor(self, native: Any) -> Tensor:
        made = samebytes.tensor(native)
        assert isinstance(made, ZeroBufferTensor)
        return made.as_()

    def make_frame(self, image: ImageInfo) -> Any:
        return self.context().allocate_frame(image.format, image.width, image.height).native

    def views(self, native: Any) -> tuple[Array, ...]:
        """The planes as the format shapes them, without the axes that NHWC adds."""
        return tuple(a[0, :, :, 0] if a.shape[-1] == 1 else a[0] for a in map(self.view, native))

    def frame(self, native: Any, image: ImageInfo) -> Frame:
        context = self.context()
        return context.frame_class.borrowed(
            native, context, FrameMeta(image), keep=Storage(keep=native)
        )


class PageMemory(ArrayMemory):
    """Arrays on their own whole pages, whatever their size."""

    def make(self, info: TensorInfo) -> Array:
        return np.ndarray(info.shape, info.dtype.carrier, _pages(info.nbytes), 0, info.strides)

    def make_frame(self, image: ImageInfo) -> Any:
        layouts = image.packed_layouts()
        pages = _pages(max(p.offset + p.span for p in layouts))
        return tuple(
            np.ndarray(p.shape, TensorInfo(p.dtype, p.shape).dtype.carrier, pages, p.offset,
                       p.strides)
            for p in layouts
        )  # fmt: skip


class UnguardedPages(PageMemory):
    """The same for cases that are not whole pages, which memory watched by the suite cannot be."""

    over = Memory.over
    frame_over = Memory.frame_over


def _pages(nbytes: int) -> Array:
    size = -(-nbytes // mmap.PAGESIZE) * mmap.PAGESIZE
    return np.frombuffer(mmap.mmap(-1, size), np.uint8)


class NpuImports(NpuMemory):
    """Ordinary tensors inside memory that the plugin imported, which they hold."""


NPU, IMPORTED = NpuMemory(), NpuImports()
ODD = (TensorInfo("uint8", (1, 6, 8, 3)), TensorInfo("float32", (1, 3, 5, 4)))
WHOLE = (TensorInfo("uint8", (1, 4096)), TensorInfo("float16", (2, 4, 1024)))


class TestPagesToNpu(MapperSuite):
    source = PageMemory()
    target = IMPORTED
    cases = WHOLE
    refused = (
        (TensorInfo("uint8", (20, 32), (-32, 1)), "dense tensors only"),
        (TensorInfo("uint8", (20, 32), (64, 1)), "pitch must be the length of a row"),
        (TensorInfo("uint8", (0, 4)), "is empty"),
        (TensorInfo("complex64", (512,)), "no element type for complex64"),
    )

    def item(self, case: Any) -> Tensor | Frame:
        if case.size and case.is_contiguous:
            return super().item(case)
        return self.source.tensor(ArrayMemory().make(case))


class TestArraysToNpu(MapperSuite):
    """Arrays that begin or end within a page of their memory."""

    source = UnguardedPages()
    target = IMPORTED
    cases = ODD


class TestNpuToCpu(MapperSuite):
    source = NPU
    target = ArrayMemory()
    cases = ODD


IMAGES = (ImageInfo.of("NV12", 64, 32), ImageInfo.of("I420", 48, 32), ImageInfo.of("P010", 16, 8))


class TestFramesToNpu(MapperSuite):
    source = UnguardedPages()
    target = IMPORTED
    cases = IMAGES


class TestNpuFramesToCpu(MapperSuite):
    source = IMPORTED
    target = ArrayMemory()
    cases = IMAGES


class TestContext(ContextSuite):
    memory = NPU
    singleton = False


class TestTensor(TensorSuite):
    memory = NPU
    cases = ODD


class TestFrame(FrameSuite):
    memory = IMPORTED
    cases = IMAGES


class TestCopiedToNpu(MapperSuite):
    source = ArrayMemory()
    target = NPU
    mapper = "samebytes_openvino.intel_npu._mappers:CpuToNpuCopy"
    transfer = Transfer.COPY
    accesses = ("r",)
    cases = ODD


class TestFramesCopiedToNpu(MapperSuite):
    source = ArrayMemory()
    target = IMPORTED
    mapper = "samebytes_openvino.intel_npu._mappers:CpuFrameToNpuCopy"
    transfer = Transfer.COPY
    accesses = ("r",)
    cases = IMAGES


class TestNpuCopiedToCpu(MapperSuite):
    source = NPU
    target = ArrayMemory()
    mapper = "samebytes_openvino.intel_npu._mappers:NpuToCpuCopy"
    transfer = Transfer.COPY
    accesses = ("r",)
    cases = ODD
