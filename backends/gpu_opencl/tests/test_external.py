# SPDX-License-Identifier: Apache-2.0
"""Memory of other APIs: DMA-BUFs in both directions, NT handles as far as arguments go."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import samebytes
import samebytes_gpu_opencl as sbo
from samebytes import Fd
from samebytes.errors import LayoutError, NoRouteError, UnsupportedObjectError
from samebytes.plugins import MapperSpec
from samebytes_gpu_opencl import _dma, _external
from samebytes_gpu_opencl._abi.external_memory import CL_MEM_ALLOCATION_HANDLE_INTEL
from samebytes_gpu_opencl._handles import mem_info

ADD = "kernel void run(global uchar* a) { a[get_global_id(0)] += 1; }"


@pytest.fixture
def dma(opencl: Any) -> Any:
    """Memory behind a descriptor that this device can import."""
    pytest.importorskip(
        "samebytes_dma", reason="missing package samebytes_dma: pip install samebytes-dma"
    )
    if "cl_khr_external_memory_dma_buf" not in opencl.native_device.extensions.split():
        pytest.skip("device has no cl_khr_external_memory_dma_buf")
    context = samebytes.context("dma")
    made: Any = context.allocate((4096,))
    if (
        not made.native.buffer.is_dma_buf
        and "shim" not in opencl.native_device.name
        and ("software" not in opencl.native_device.name.lower())
    ):
        pytest.skip("no DMA-BUF on this machine: sudo modprobe udmabuf")
    return context


def open_descriptors() -> int:
    gc.collect()  # what earlier tests left to the collector would close its own at any moment
    return len(list(Path("/proc/self/fd").iterdir()))


def test_a_kernel_on_a_dma_buf(opencl: Any, dma: Any, kernel: Callable[..., Any]) -> None:
    source = dma.allocate((64, 64))
    with source.map("cpu", "w") as view:
        view.native[...] = 7
    samebytes.reset_stats()
    tensor = source.map(opencl, "rw")
    run = kernel(opencl, ADD)
    run(opencl.queue, (4096,), None, tensor.native)
    tensor.flush()
    assert np.unique(source.map("cpu").native).tolist() == [8]
    run(opencl.queue, (4096,), None, tensor.native)
    tensor.close()
    assert np.unique(source.map("cpu").native).tolist() == [9]
    assert samebytes.stats().copies == 0


def test_acquired_and_released_once(opencl: Any, dma: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    hand = _external._hand

    def watched(*arguments: Any) -> None:
        calls.append(arguments[3].removeprefix("clEnqueue")[:7])
        hand(*arguments)

    monkeypatch.setattr(_external, "_hand", watched)
    source = dma.allocate((4096,))
    first = source.map(opencl, "rw")
    assert calls == ["Acquire"]
    second = source.map(opencl)  # the same import, and what was written meanwhile is seen
    assert calls == ["Acquire", "Release", "Acquire"]
    first.close()
    assert calls[3:] == []
    second.close()
    assert calls[3:] == ["Release"]


def test_a_flush_that_was_broken_off_releases_nothing_twice(
    opencl: Any, dma: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    hand = _external._hand

    def interrupted(*arguments: Any) -> None:
        name = arguments[3].removeprefix("clEnqueue")[:7]
        if name == "Acquire" and calls[-1:] == ["Release"]:
            calls.append("Ctrl-C")
            raise KeyboardInterrupt
        calls.append(name)
        hand(*arguments)

    monkeypatch.setattr(_external, "_hand", interrupted)
    tensor = dma.allocate((4096,)).map(opencl, "rw")
    with pytest.raises(KeyboardInterrupt):
        tensor.flush()
    tensor.flush()
    tensor.close()
    assert calls == ["Acquire", "Release", "Ctrl-C", "Acquire", "Release"]


def test_planes_are_parts_of_one_import(opencl: Any, dma: Any) -> None:
    frame = dma.allocate_frame("NV12", 64, 32)
    for plane, value in zip(frame, (1, 2), strict=True):
        with plane.map("cpu", "w") as view:
            view.native[...] = value
    mapped = frame.map(opencl)
    y, uv = mapped.native
    assert y.associated_memobject.int_ptr == uv.associated_memobject.int_ptr
    assert [np.unique(p.map("cpu").native).tolist() for p in mapped] == [[1], [2]]
    del y, uv
    mapped.close()
    frame.close()


def test_descriptors_do_not_leak(opencl: Any, dma: Any) -> None:
    source = dma.allocate((4096,))
    source.map(opencl).close()
    before = open_descriptors()
    for _ in range(50):
        source.map(opencl).close()
    assert open_descriptors() == before
    native = source.map(opencl).native
    del source
    assert sbo.tensor(native).map("cpu").native.size == 4096


@pytest.mark.parametrize("takes", [False, True])
def test_who_closes_the_descriptor(
    opencl: Any, dma: Any, monkeypatch: pytest.MonkeyPatch, takes: bool
) -> None:
    """Once for each driver it is found out whether it closes what it imports."""
    made, others = list[int](), list[int]()
    make, null = _external._make, Fd(os.open(os.devnull, os.O_RDONLY))

    def driver(
        context: Any, nbytes: int, readonly: bool, properties: tuple[int, ...]
    ) -> Callable[[Any], None]:
        import_ = make(context, nbytes, readonly, properties)

        def import_and_close(cell: Any) -> None:
            import_(cell)
            made.append(properties[1])
            if takes:  # and another file gets the number, which nobody else may close now
                os.dup2(null.fileno(), properties[1])
                others.append(properties[1])

        return import_and_close

    monkeypatch.setattr(_external, "_taking", {})
    monkeypatch.setattr(_external, "_make", driver)
    source = dma.allocate((4096,))
    before = open_descriptors()
    for _ in range(3):
        with source.map(opencl, "rw"):
            pass
    assert list(_external._taking.values()) == [takes]
    assert len(others) == (4 if takes else 0)
    for number in others:
        os.close(number)
    assert open_descriptors() == before
    own = source.handle("dma_fd")
    assert [number == own for number in made] == [False] + [not takes] * 3
    os.fstat(own)


@pytest.mark.parametrize(
    ("handles", "reason"),
    [
        ({"drm_modifier": 1 << 56 | 1}, "is not linear"),
        ({"drm_modifier": 0x0100000000000002}, "is not linear"),
        ({"offset": 4000}, "needs 4096 bytes, and the DMA-BUF after byte 4000 has 96"),
        ({"offset": 4096}, "has 0"),
    ],
)
def test_what_cannot_be_imported(
    opencl: Any, foreign: Callable[..., Any], handles: dict[str, int], reason: str
) -> None:
    fd = Fd(os.memfd_create("small"))
    os.ftruncate(fd.fileno(), 4096)
    given = {"dma_fd": fd.fileno(), "offset": 0, "drm_modifier": 0, **handles}
    tensor = foreign(0, samebytes.TensorInfo("uint8", (4096,)), **given)
    with pytest.raises(NoRouteError, match=reason):
        importer(opencl, tensor).map(tensor)


def test_an_unknown_layout_is_taken_for_rows(
    opencl: Any, dma: Any, foreign: Callable[..., Any]
) -> None:
    """As the CPU takes it: DRM_FORMAT_MOD_INVALID is what exporters without tiling leave."""
    memory = dma.allocate((4096,))
    with memory.map("cpu", "w") as view:
        view.native[...] = 6
    given = {"dma_fd": memory.handle("dma_fd"), "offset": 0, "drm_modifier": (1 << 56) - 1}
    tensor = foreign(0, memory.info, **given)
    mapped = importer(opencl, tensor).map(tensor)
    assert np.unique(mapped.map("cpu").native).tolist() == [6]


def importer(opencl: Any, tensor: Any) -> Any:
    spec = MapperSpec(
        source="foreign", target="opencl", mapper="x:X", transfer=samebytes.Transfer.IMPORT,
        summary="",
    )  # fmt: skip
    return _dma.DmaToOpenCL(spec, tensor.context, opencl)


def test_a_pipe_has_no_size(opencl: Any, foreign: Callable[..., Any]) -> None:
    reading, writing = (Fd(number) for number in os.pipe())
    info = samebytes.TensorInfo("uint8", (16,))
    tensor = foreign(0, info, dma_fd=reading.fileno(), offset=0, drm_modifier=0)
    with pytest.raises(NoRouteError, match="is a pipe"):
        importer(opencl, tensor).map(tensor)
    writing.close()


def test_the_position_in_a_file_is_the_users(opencl: Any, dma: Any) -> None:
    memory = dma.allocate((4096,))
    if memory.native.buffer.is_dma_buf:
        pytest.skip("DMA-BUFs have no position: this is of files that stand in for them")
    fd = memory.handle("dma_fd")
    os.lseek(fd, 7, os.SEEK_SET)
    memory.map(opencl).close()
    assert os.lseek(fd, 0, os.SEEK_CUR) == 7


def test_a_device_without_the_extension(
    opencl: Any, foreign: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_external, "has_extension", lambda *_: False)
    fd = Fd(os.memfd_create("memory"))
    os.ftruncate(fd.fileno(), 4096)
    info = samebytes.TensorInfo("uint8", (4096,))
    tensor = foreign(0, info, dma_fd=fd.fileno(), offset=0, drm_modifier=0)
    with pytest.raises(NoRouteError, match="cl_khr_external_memory_dma_buf on"):
        importer(opencl, tensor).map(tensor)


def test_export(opencl: Any, dma: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A descriptor that a driver reports for a buffer stays the driver's."""
    tensor = opencl.allocate((4096,))
    with pytest.raises(NoRouteError, match="reports no descriptor"):
        tensor.map("dma")
    memory = dma.allocate((8192,))
    reported = memory.handle("dma_fd")
    ask = mem_info

    def driver(handle: int, key: int, type_: Any = None) -> int:
        if key == CL_MEM_ALLOCATION_HANDLE_INTEL:
            return int(reported)
        return ask(handle, key, type_) if type_ else ask(handle, key)

    monkeypatch.setattr(_dma, "mem_info", driver)
    exported = tensor.sub(2048, (16,)).map("dma", "rw")
    assert exported.handle("offset") == 2048
    assert exported.handle("dma_fd") != reported
    with exported.map("cpu", "w") as view:
        view.native[...] = 3
    exported.close()
    os.fstat(reported)
    assert memory.map("cpu").native[2048:2064].tolist() == [3] * 16
    with pytest.raises(NoRouteError):
        opencl.allocate((16, 16), kind="image").map("dma")


def test_nt_handle_properties() -> None:
    assert sbo.nt_handle_properties(0x1A4) == (0x2061, 0x1A4, 0)
    for bad in (0, -1, (1 << 64) - 1, 1 << 64, None):
        with pytest.raises(LayoutError, match="not an NT handle"):
            sbo.nt_handle_properties(bad)  # type: ignore[arg-type]  # that is the point


@pytest.mark.skipif(sys.platform == "win32", reason="these are the errors of other systems")
def test_nt_handles_are_windows_s(opencl: Any) -> None:
    with pytest.raises(UnsupportedObjectError, match="Windows"):
        sbo.import_nt_handle(opencl, 0x1A4, (64, 64), "float32")
    with pytest.raises(LayoutError, match="NT handle"):
        sbo.import_nt_handle(opencl, 0, (64, 64))
    with pytest.raises(LayoutError, match="empty"):
        sbo.import_nt_handle(opencl, 0x1A4, (0,))
