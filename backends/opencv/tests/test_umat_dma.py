# SPDX-License-Identifier: Apache-2.0
"""DMA-BUFs as UMats, with stand-ins for the calls of OpenCV's, which no released cv2 has."""

from __future__ import annotations

import gc
from typing import Any

import cv2
import numpy as np
import pytest

import samebytes as sb
from samebytes.errors import CopyRequiredError, NoRouteError
from samebytes.testing import missing_device

pytest.importorskip("pyopencl", reason="missing package pyopencl: pip install pyopencl")
pytest.importorskip(
    "samebytes_gpu_opencl", reason="missing package samebytes_gpu_opencl: pip install it"
)
dma = pytest.importorskip("samebytes_dma", reason="missing package samebytes_dma: pip install it")

EDGE = "dma -> opencv_umat"


@pytest.fixture(autouse=True)
def opencl() -> None:
    if not cv2.ocl.haveOpenCL():
        pytest.skip(missing_device("GPU"))
    if not cv2.ocl.Device.getDefault().isExtensionSupported("cl_khr_external_memory_dma_buf"):
        pytest.skip("the OpenCL device imports no DMA-BUFs")
    sb.reset_stats()


@pytest.fixture
def standing(monkeypatch: pytest.MonkeyPatch) -> Any:
    from .imported_umats import StandIn

    made = StandIn()
    for name, call in (
        ("createUMatFromDmaBuf", made.create),
        ("acquireExternalMemory", made.acquire),
        ("releaseExternalMemory", made.release),
    ):
        monkeypatch.setattr(cv2.ocl, name, call, raising=False)
    yield made
    gc.collect()
    assert made.calls.count("Acquire") == made.calls.count("Release")


def filled(shape: tuple[int, ...]) -> tuple[Any, np.ndarray[Any, Any]]:
    memory = sb.context("dma").allocate(shape)
    values = np.arange(memory.info.size, dtype=np.uint8).reshape(shape)
    with memory.map("cpu", "w") as view:
        view.native[...] = values
    return memory, values


def test_opencv_writes_into_the_dma_buf(standing: Any) -> None:
    memory, values = filled((64, 64, 3))
    umat = memory.map("opencv_umat", "rw")
    assert umat.info == memory.info
    np.testing.assert_array_equal(umat.native.get(), values)
    cv2.bitwise_not(umat.native, dst=umat.native)
    umat.close()
    np.testing.assert_array_equal(memory.map("cpu"), ~values)
    assert sb.stats().copies == 0
    assert standing.calls == ["Acquire", "Release"]


def test_a_write_on_either_side_is_seen_on_the_other(standing: Any) -> None:
    memory, values = filled((16, 32))
    with memory.map("opencv_umat", "rw") as umat:
        cv2.bitwise_not(umat.native, dst=umat.native)
        umat.flush()
        with memory.map("cpu", "rw") as view:
            np.testing.assert_array_equal(view.native, ~values)
            view.native[...] = 7
        again = memory.map("opencv_umat")
        assert again.native is umat.native
        assert (again.native.get() == 7).all()
        again.close()
    assert len(standing.imports) == 1


@pytest.mark.usefixtures("standing")
def test_padded_rows_and_a_plane_in_the_middle() -> None:
    # NV12 of 48x32 with rows of 64 bytes: the colours begin in the middle of the memory.
    memory, _ = filled((48, 64))
    rows = np.array(memory.map("cpu"))
    fd = memory.handle("dma_fd")
    whole = dma.from_fd(fd, (32, 48), pitch=64)
    colours = dma.from_fd(fd, (16, 24, 2), strides=(64, 2, 1), offset=32 * 64)
    with whole.map("opencv_umat") as luma, colours.map("opencv_umat", "rw") as chroma:
        np.testing.assert_array_equal(luma.native.get(), rows[:32, :48])
        np.testing.assert_array_equal(chroma.native.get(), rows[32:, :48].reshape(16, 24, 2))
        assert chroma.info == colours.info
        cv2.bitwise_not(chroma.native, dst=chroma.native)
    after = np.array(memory.map("cpu"))
    np.testing.assert_array_equal(after[32:, :48], ~rows[32:, :48])
    np.testing.assert_array_equal(after[:32], rows[:32])
    np.testing.assert_array_equal(after[32:, 48:], rows[32:, 48:])


def test_the_memory_outlives_the_tensor_it_came_from(standing: Any) -> None:
    memory, values = filled((16, 32))
    umat = memory.map("opencv_umat")
    del memory
    gc.collect()
    np.testing.assert_array_equal(umat.native.get(), values)
    assert standing.calls == ["Acquire"]


@pytest.mark.usefixtures("standing")
def test_kernels_reach_it_by_way_of_the_umat() -> None:
    memory, values = filled((16, 32))
    there = memory.map("opencv_umat", "rw").map("opencl", "rw")
    assert there.handle("cl_mem") == there.parent.handle("cl_mem")
    np.testing.assert_array_equal(there.map("cpu"), values)
    assert sb.stats().copies == 0


@pytest.mark.usefixtures("standing")
def test_what_opencv_refuses_is_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: int) -> None:
        raise cv2.error("no such memory")

    monkeypatch.setattr(cv2.ocl, "createUMatFromDmaBuf", refuse)
    memory, _ = filled((16, 32))
    with pytest.raises((NoRouteError, CopyRequiredError), match="no such memory"):
        memory.map("opencv_umat")


@pytest.mark.parametrize(
    ("shape", "strides", "offset", "message"),
    [
        ((4, 8, 3), (64, 3, 1), 64 * 2 + 1, "begins at byte 129"),
        ((4, 48), (64, 1), 32, "begins at byte 32"),
        ((8,), (1,), 0, "rows, columns"),
    ],
)
def test_places_where_no_umat_begins(
    standing: Any, shape: tuple[int, ...], strides: tuple[int, ...], offset: int, message: str
) -> None:
    memory, _ = filled((48, 64))
    part = dma.from_fd(memory.handle("dma_fd"), shape, strides=strides, offset=offset)
    with pytest.raises((NoRouteError, CopyRequiredError), match=message):
        part.map("opencv_umat")
    assert standing.imports == []


def test_this_cv2_has_no_such_call() -> None:
    """A copy is the way. Run the tests above without the stand-in once a cv2 has the call."""
    assert not hasattr(cv2.ocl, "createUMatFromDmaBuf")
    memory, values = filled((16, 32))
    with pytest.raises(CopyRequiredError):
        memory.map("opencv_umat")
    route = sb.route(memory, "opencv_umat", copy=True)
    assert EDGE not in [hop.spec.name for hop in route.hops]
    assert "has no createUMatFromDmaBuf" in route.explain()
    np.testing.assert_array_equal(memory.map("opencv_umat", copy=True).native.get(), values)
