# SPDX-License-Identifier: Apache-2.0
"""Each plane of a frame is found in the NPU's memory by its own bytes, however often mapped."""

from __future__ import annotations

import mmap
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import openvino
import pytest
from openvino import opset13 as ops

import samebytes
from samebytes import Frame, ImageInfo
from samebytes.errors import RouteError
from samebytes.formats import known_formats
from samebytes_openvino import InferRequest
from samebytes_openvino.intel_npu import PropertyError

pytestmark = pytest.mark.usefixtures("npu")

Array = np.ndarray[Any, Any]
PAGE = mmap.PAGESIZE
WIDTH, HEIGHT = 128, 64


@pytest.fixture
def filled() -> Callable[..., list[int]]:
    """Writes another number to each plane of a frame, and gives the addresses of the planes."""

    def fill(frame: Frame, first: int = 1) -> list[int]:
        with frame.map("cpu", "w") as view:
            for number, plane in enumerate(view.planes, first):
                plane.native[...] = number
            return [plane.handle("data") for plane in view.planes]

    return fill


def assert_planes(frame: Frame, addresses: list[int] | None, first: int = 1) -> None:
    """Each plane once, in order, at its own address, with its own bytes and no more."""
    info = frame.meta.info
    assert isinstance(info, ImageInfo)
    layouts = info.plane_layouts()
    assert len(frame.native) == len(frame.planes) == len(layouts)
    found = [plane.handle("usm_ptr") for plane in frame.planes]
    assert found == (addresses or found)
    for number, (plane, layout) in enumerate(zip(frame.planes, layouts, strict=True), first):
        assert -(-plane.info.size * plane.info.dtype.bits // 8) == plane.native.byte_size
        assert plane.info.size == np.prod(layout.shape)
        assert (plane.map("cpu").native == number).all()


def allocated(node: str, format_: str) -> Frame:
    """A frame of that memory; its planes lie in one piece."""
    if node == "level_zero":
        needs_level_zero()
        made: Any = samebytes.context("openvino:NPU").derive("level_zero")
        return cast(Frame, made.allocate_frame(format_, WIDTH, HEIGHT, exportable=True))
    if node == "dma:memfd":
        pytest.importorskip(
            "samebytes_dma", reason="missing package samebytes-dma: pip install samebytes-dma"
        )
    frame: Frame = samebytes.context(node).allocate_frame(format_, WIDTH, HEIGHT)
    return frame


def needs_level_zero() -> None:
    pytest.importorskip(
        "samebytes_npu_level_zero",
        reason="missing package samebytes-npu-level-zero: pip install samebytes-npu-level-zero",
    )


NODES = ("cpu", "openvino", "openvino:NPU", "dma:memfd", "level_zero")


@pytest.mark.parametrize("format_", [format_.name for format_ in known_formats()])
@pytest.mark.parametrize("node", NODES)
def test_every_format_from_every_memory_and_again(
    node: str, format_: str, filled: Callable[..., list[int]]
) -> None:
    frame = allocated(node, format_)
    filled(frame)
    samebytes.reset_stats()
    first = frame.map("openvino:NPU")
    addresses = [plane.handle("usm_ptr") for plane in first.planes]
    assert_planes(first, addresses)
    for on_the_way in ("cpu", "openvino"):
        assert_planes(first.map(on_the_way).map("openvino:NPU"), addresses)
    filled(frame, 11)
    assert_planes(first, addresses, 11)
    assert samebytes.stats().copies == 0


@pytest.mark.parametrize("format_", [format_.name for format_ in known_formats()])
@pytest.mark.parametrize("node", NODES)
def test_every_format_through_level_zero(
    node: str, format_: str, filled: Callable[..., list[int]]
) -> None:
    """Memory that can be exported is imported once more, at another address."""
    needs_level_zero()
    frame = allocated(node, format_)
    filled(frame)
    samebytes.reset_stats()
    again = frame.map("openvino:NPU").map("level_zero").map("openvino:NPU")
    assert_planes(again, None)
    filled(frame, 11)
    assert_planes(again, None, 11)
    assert samebytes.stats().copies == 0


@pytest.mark.parametrize("lie", ["on their own pages", "on common pages", "in one import"])
@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_planes_in_one_import_and_in_several(
    npu: Any, count: int, lie: str, filled: Callable[..., list[int]]
) -> None:
    format_ = {1: "GRAY8", 2: "NV12", 3: "I420", 4: "GBRAP"}[count]
    info = ImageInfo.of(format_, WIDTH, HEIGHT)
    arena = np.frombuffer(mmap.mmap(-1, 32 * PAGE), np.uint8)
    held = npu.import_memory(arena) if lie == "in one import" else None
    start, arrays = 0, []
    for layout in info.plane_layouts():
        nbytes = int(np.prod(layout.shape))
        whole = arena[start : start + nbytes]
        arrays.append(whole.reshape(layout.shape))
        start += nbytes if lie == "on common pages" else -(-nbytes // PAGE) * PAGE
    frame = samebytes.frame(tuple(arrays), format=format_, width=WIDTH, height=HEIGHT)
    addresses = filled(frame)
    first = frame.map(npu)
    assert_planes(first, addresses)
    assert_planes(first.map("cpu").map(npu), addresses)
    assert_planes(frame.map(npu), addresses)
    assert held is None or held.address == arena.ctypes.data


def test_padded_planes_are_refused_by_name_and_mapped_again_without_padding(npu: Any) -> None:
    pitch = 2 * WIDTH
    y, uv = np.zeros((HEIGHT, pitch), np.uint8), np.zeros((HEIGHT // 2, pitch // 2, 2), np.uint8)
    padded = samebytes.frame(
        (y[:, :WIDTH], uv[:, : WIDTH // 2]), format="NV12", width=WIDTH, height=HEIGHT
    )
    with pytest.raises(RouteError, match="the pitch must be the length of a row"):
        padded.map(npu)
    y[:, :WIDTH], uv[:, : WIDTH // 2] = 1, 2
    copied = padded.map(npu, copy=True)
    assert_planes(copied, [plane.handle("usm_ptr") for plane in copied.planes])
    again = copied.map("cpu").map(npu)
    assert_planes(again, [plane.handle("usm_ptr") for plane in copied.planes])


def _ways(npu: Any, part: Any, address: int) -> tuple[Callable[[], Any], ...]:
    """Tensors over one page of memory that the NPU holds already."""
    shape = (1, PAGE)
    return (
        lambda: npu.create_tensor("uint8", shape, part),
        lambda: npu.create_tensor("uint8", shape, address, mem_type="CPU_VA"),
        lambda: npu.import_memory(part).tensor("uint8", shape),
        lambda: samebytes.tensor(part).map(npu, "rw"),
    )


@pytest.mark.parametrize("whole", ["create_host_tensor", "create_l0_host_tensor", "import_memory"])
def test_tensors_over_pages_within_memory_that_the_npu_holds(npu: Any, whole: str) -> None:
    """The plugin gives the beginning of the whole memory for an address within it."""
    if whole == "import_memory":
        memory = np.frombuffer(mmap.mmap(-1, 4 * PAGE), np.uint8).reshape(4, PAGE)
        held = npu.import_memory(memory)
    else:
        held = getattr(npu, whole)("uint8", (4, PAGE))
        memory = held.host_array()
    memory[...] = np.arange(10, 14)[:, None]
    x = ops.parameter([1, PAGE], np.uint8, name="x")
    model = openvino.Model([ops.result(ops.multiply(x, ops.constant(np.uint8(2))))], [x])
    compiled = npu.compile_model(model)
    for row in range(4):
        address = memory[row].__array_interface__["data"][0]
        part = memory[row : row + 1]
        for make in _ways(npu, part, address):
            tensor: Any = make()
            assert tensor.handle("usm_ptr") == address
            assert (tensor.host_array() == 10 + row).all()
            (result,) = InferRequest(compiled).infer(tensor)
            assert (result.host_array() == 20 + 2 * row).all()
            del tensor, result
        writing = InferRequest(compiled)
        writing.set_output_tensor(0, npu.create_tensor("uint8", (1, PAGE), part))
        writing.infer(samebytes.context("cpu").allocate((1, PAGE)))
        assert [line[0] for line in memory] == [0 if i == row else 10 + i for i in range(4)]
        memory[row] = 10 + row
    assert held is not None


@pytest.mark.parametrize("known", [False, True])
def test_a_part_of_memory_that_the_npu_holds_imported_as_a_whole(npu: Any, known: bool) -> None:
    memory = np.frombuffer(mmap.mmap(-1, 4 * PAGE), np.uint8).reshape(4, PAGE)
    # The plugin knows the one by its own list of imports, this library the other too.
    held = npu.import_memory(memory) if known else npu.create_tensor("uint8", (4, PAGE), memory)
    memory[...] = np.arange(4)[:, None]
    inner = npu.import_memory(memory[1:3])
    assert inner.address == memory[1].__array_interface__["data"][0]
    assert inner.nbytes == 2 * PAGE
    assert inner.native.data.ctypes.data == inner.address
    assert [int(line[0]) for line in inner.tensor("uint8", (2, PAGE)).host_array()] == [1, 2]
    with pytest.raises(PropertyError, match="offset"):
        inner.tensor("uint8", (1, PAGE), 2 * PAGE)
    assert held is not None
