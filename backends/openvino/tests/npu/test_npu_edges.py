# SPDX-License-Identifier: Apache-2.0
"""The edges between the NPU's memory and DMA-BUFs, USM and arrays, and what they import."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import openvino
import pytest

import samebytes
from samebytes import Frame, FrameMeta, Tensor, Transfer
from samebytes.errors import CopyRequiredError, NoRouteError, RouteError

N = 4096
pytestmark = pytest.mark.usefixtures("npu")


@pytest.fixture
def dma() -> Any:
    """The dma plugin, and memory that stands in for DMA-BUFs where the kernel makes none."""
    return pytest.importorskip(
        "samebytes_dma", reason="missing package samebytes-dma: pip install samebytes-dma"
    )


@pytest.fixture
def memfd(dma: Any) -> Any:
    """The dma context whose new memory is not a DMA-BUF, but behaves as one."""
    assert dma.__name__ == "samebytes_dma"
    return samebytes.context("dma:memfd")


@pytest.fixture
def level_zero(npu: Any) -> Iterator[Any]:
    """Level Zero in the plugin's own ze_context."""
    pytest.importorskip(
        "samebytes_npu_level_zero",
        reason="missing package samebytes-npu-level-zero: pip install samebytes-npu-level-zero",
    )
    context = npu.derive("level_zero")
    yield context
    context.close()


def open_files() -> int:
    gc.collect()  # what earlier tests left to the collector would close its files at any moment
    return len(list(Path("/proc/self/fd").iterdir()))


def written(tensor: Tensor, values: Any) -> None:
    with tensor.map("cpu", "w") as view:
        view.native[...] = values


@pytest.mark.parametrize("access", ["r", "w", "rw"])
def test_a_dma_buf_to_the_npu(npu: Any, memfd: Any, access: Any) -> None:
    source = memfd.allocate((1, 100), "float32")
    samebytes.reset_stats()
    mapped = source.map("openvino:NPU", access)
    assert samebytes.stats().copies == 0
    assert samebytes.route(source, "openvino:NPU").hops[0].spec.transfer is Transfer.IMPORT
    assert (mapped.context, mapped.parent, mapped.readonly) == (npu, source, access == "r")
    written(source, 7)
    assert (mapped.host_array() == 7).all()
    if access != "r":
        mapped.host_array()[...] = 9
        assert (source.map("cpu").native == 9).all()


def test_inference_on_a_dma_buf(memfd: Any, infer: Any) -> None:
    source, result = memfd.allocate((1, 100)), memfd.allocate((1, 100))
    written(source, 4)
    infer(source.map("openvino:NPU").native, result.map("openvino:NPU", "w").native)
    assert (result.map("cpu").native == 8).all()


def test_planes_in_one_dma_buf(memfd: Any) -> None:
    """One import for the frame: the planes keep their distance."""
    frame = memfd.allocate_frame("NV12", 64, 32)
    mapped = frame.map("openvino:NPU", "rw")
    assert isinstance(mapped, Frame)
    y, uv = mapped.planes
    assert (y.shape, uv.shape) == ((1, 32, 64, 1), (1, 16, 32, 2))
    assert uv.handle("usm_ptr") - y.handle("usm_ptr") == 64 * 32
    y.host_array()[...], uv.host_array()[...] = 1, 2
    back = [p.native for p in frame.map("cpu")]
    assert [int(a.min()) for a in back] == [1, 2]
    assert [int(a.max()) for a in back] == [1, 2]


def test_planes_in_several_dma_bufs(dma: Any) -> None:
    sizes = (64 * 32, 64 * 16)
    fds = [os.memfd_create("plane") for _ in sizes]
    for fd, size in zip(fds, sizes, strict=True):
        os.ftruncate(fd, size)
    frame = dma.frame_from_fds(fds, "NV12", 64, 32, take_ownership=True)
    mapped = frame.map("openvino:NPU", "rw")
    for number, plane in enumerate(mapped):
        plane.host_array()[...] = number + 1
    assert [int(p.native.max()) for p in frame.map("cpu")] == [1, 2]
    held = mapped.planes[1].host_array()
    assert mapped.close() is False
    assert int(held.max()) == 2


def test_what_comes_round_again_is_imported_once(memfd: Any) -> None:
    """DESIGN 7: remembered by the storage, not by the number of a descriptor."""
    first, second = memfd.allocate((1, N)), memfd.allocate((1, N))
    where = first.map("openvino:NPU").handle("usm_ptr")
    other = second.map("openvino:NPU").handle("usm_ptr")
    assert other != where
    assert first.map("openvino:NPU", "w").handle("usm_ptr") == where
    assert second.map("openvino:NPU").handle("usm_ptr") == other


def test_pitched_and_short_buffers(dma: Any, shared: Any) -> None:
    memory = shared(64 * 32)
    pitched = dma.from_fd(memory.fd, (32, 48), pitch=64)
    with pytest.raises(RouteError, match="pitch must be the length of a row"):
        pitched.map("openvino:NPU")
    tensor = dma.from_fd(memory.fd, (1, 2048))
    os.ftruncate(memory.fd, 1024)
    with pytest.raises(RouteError, match="ends at byte 2048 of memory that has 1024"):
        tensor.map("openvino:NPU")


def test_tiled_buffers(dma: Any, shared: Any) -> None:
    tiled = dma.from_fd(shared(8192).fd, (32, 128), modifier=(1 << 56) | 2)
    with pytest.raises(RouteError, match="tiled"):
        tiled.map("openvino:NPU")


def test_frames_that_are_not_images() -> None:
    """They have no rows, columns and channels, which the planes of the NPU's frames have."""
    array, cpu = np.zeros((2, 8), np.float32), samebytes.context("cpu")
    frame = Frame.borrowed((array,), cpu, FrameMeta(None), keep=array)
    with pytest.raises(RouteError, match="not an image"):
        frame.map("openvino:NPU")


def test_ten_thousand_imports_leak_nothing(npu: Any, shared: Any) -> None:
    """Import by the descriptor, and drop: neither descriptors nor memory of the driver stay."""
    memory = shared(N)
    for _ in range(100):
        npu.create_tensor("uint8", (1, N), memory.fd)
    before = open_files()
    in_use = npu.core.get_property("NPU", "NPU_DEVICE_ALLOC_MEM_SIZE")
    for _ in range(10_000):
        npu.create_tensor("uint8", (1, N), memory.fd)
    assert open_files() == before
    assert npu.core.get_property("NPU", "NPU_DEVICE_ALLOC_MEM_SIZE") == in_use


def test_exports_and_imports_leak_nothing(level_zero: Any) -> None:
    """Own exportable USM to the NPU and dropped: descriptors end with their memory."""

    def once() -> None:
        level_zero.allocate((1, N), exportable=True).map("openvino:NPU")

    for _ in range(10):
        once()
    before = open_files()
    for _ in range(1_000):
        once()
    assert open_files() == before


def test_usm_to_the_npu(npu: Any, level_zero: Any) -> None:
    """Exportable USM goes by its descriptor; other USM the plugin would copy."""
    exportable = level_zero.allocate((1, 100), "float32", exportable=True)
    mapped = exportable.map("openvino:NPU", "rw")
    exportable.host_array()[...] = 3
    assert (mapped.host_array() == 3).all()
    assert [h.spec.name for h in samebytes.route(exportable, npu).hops] == [
        "level_zero -> openvino:NPU"
    ]
    plain = level_zero.allocate((1, 100), "float32")
    with pytest.raises(RouteError, match="export"):
        plain.map("openvino:NPU")


def test_usm_frames_to_the_npu(level_zero: Any) -> None:
    frame = level_zero.allocate_frame("NV12", 64, 32, exportable=True)
    y, uv = frame.map("openvino:NPU", "rw").planes
    assert uv.handle("usm_ptr") - y.handle("usm_ptr") == 64 * 32
    uv.host_array()[...] = 5
    assert (frame.planes[1].host_array() == 5).all()


@pytest.mark.parametrize("kind", ["remote", "in an import"])
def test_the_npus_memory_as_usm(npu: Any, level_zero: Any, shared: Any, kind: str) -> None:
    """The very pointer, in the plugin's ze_context; it keeps the memory alive."""
    made = (
        npu.allocate((1, N))
        if kind == "remote"
        else npu.import_memory(shared(N).fd).tensor("uint8", (1, N))
    )
    mapped = made.map(level_zero, "rw")
    assert mapped.handle("usm_ptr") == made.get()
    made.host_array()[...] = 6
    pointer = mapped.native
    del made, mapped
    assert (np.asarray(samebytes.tensor(pointer).host_array()) == 6).all()


@pytest.mark.usefixtures("level_zero")
def test_usm_of_another_context(npu: Any, edge: Any) -> None:
    own = samebytes.context("level_zero")
    assert own.handle("ze_context") != npu.get()
    mapper = edge("NpuToLevelZero", npu, own)
    with pytest.raises(NoRouteError, match="the pointer is valid in ze_context"):
        mapper.map(npu.allocate((1, N)))


@pytest.mark.usefixtures("level_zero", "dma")
def test_the_plugins_own_memory_cannot_be_exported(npu: Any) -> None:
    """The driver exports what was allocated for export, and nothing else."""
    with pytest.raises(RouteError, match="export"):
        npu.allocate((1, N)).map("dma")


def test_contexts_derive_from_each_other(npu: Any, level_zero: Any) -> None:
    assert level_zero.handle("ze_context") == npu.handle("ze_context")
    assert level_zero.derive("openvino:NPU") is npu
    assert npu.device.same(level_zero.device) is not False


def test_copies_into_the_plugins_memory(npu: Any) -> None:
    """Memory that cannot be imported is copied with copy=True, once, and the copy is counted."""
    array = np.arange(24, dtype=np.float32).reshape(1, 4, 6)[:, :, ::2]
    tensor = samebytes.tensor(array)
    with pytest.raises(CopyRequiredError):
        tensor.map("openvino:NPU")
    samebytes.reset_stats()
    copied = tensor.map("openvino:NPU", copy=True)
    assert samebytes.stats().copies == 1
    assert copied.context is npu
    assert np.array_equal(copied.host_array(), array)
    assert copied.readonly
    planes = np.zeros((4, 16), np.uint8)[:, :8], np.full((2, 4, 2), 3, np.uint8)
    frame = samebytes.frame(planes, format="NV12", width=8, height=4)
    y, uv = frame.map("openvino:NPU", copy=True).planes
    assert (y.shape, int(uv.host_array().min())) == ((1, 4, 8, 1), 3)


def test_read_only_views_do_not_make_an_import_read_only(infer: Any) -> None:
    """The plugin keeps one import of a page, whichever mapping asked first."""
    memory = samebytes.context("cpu").allocate((2, 100))
    memory.native[0] = 4
    x = memory.map("cpu").map("openvino:NPU")
    whole = memory.map("openvino:NPU", "rw")
    assert x.readonly
    kinds = [t.params["TENSOR_TYPE"] for t in (x, whole)]  # type: ignore[attr-defined]  # ours
    assert kinds == ["BINDED", "BINDED"]
    infer(x.native, whole.native)
    assert (memory.native[0] == 8).all()


def test_wrapped_natives(npu: Any, infer: Any) -> None:
    """A remote tensor that samebytes made is known again; the user's has no pointer by itself."""
    made = npu.allocate((1, 8))
    again: Any = samebytes.tensor(made.native)
    assert again.get() == made.get()
    del made
    target = npu.allocate((1, 8)).native
    infer(again.native, target)
    theirs = npu.native.create_tensor(openvino.Type.u8, openvino.Shape([1, 8]), {})
    wrapped: Any = samebytes.tensor(theirs)
    assert wrapped.native is theirs
    assert wrapped.as_().get() == int(theirs.get_params()["MEM_HANDLE"].astype(str), 16)
    wrapped.close()
    infer(theirs, target)
