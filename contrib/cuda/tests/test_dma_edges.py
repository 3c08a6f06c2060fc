# SPDX-License-Identifier: Apache-2.0
"""Exports and imports of DMA-BUFs by the driver, and its refusals.

The suites of both edges are in test_conformance.py.
"""

from __future__ import annotations

import gc
import os
from typing import Any

import numpy as np
import pytest

import samebytes
from samebytes import Fd
from samebytes.errors import CopyRequiredError, LayoutError, NoRouteError, RouteError
from samebytes_cuda import CudaContext, Kind, _dma_edges
from samebytes_cuda._driver import attribute

from .conftest import Again, Gpu

IMPORTS = {"SOFTCUDA_DMA_BUF_IMPORT": "1"}


@pytest.fixture
def exported(dma: Any, context: CudaContext) -> Any:
    """A DMA-BUF of exportable memory, as a tensor."""
    assert dma
    tensor = context.allocate((64, 64), "uint8", "exportable")
    if not context.supports("DMA_BUF_SUPPORTED"):
        pytest.skip("the driver does not export memory as DMA-BUFs")
    return tensor.map("dma", "rw")


def test_the_descriptor_is_of_the_whole_allocation(exported: Any) -> None:
    assert exported.shape == (64, 64)
    assert exported.native.buffer.size >= 64 * 64
    assert exported.handle("offset") == 0
    part = exported.parent.native
    assert exported.native.buffer.mappable == bool(
        attribute("DMA_BUF_MMAP_SUPPORTED", part.context.ordinal)
    )


def test_the_cpu_maps_what_the_driver_says_it_can(gpu: Gpu, exported: Any) -> None:
    """NVIDIA's driver says that of integrated GPUs alone."""
    if gpu.is_software:
        assert not exported.native.buffer.mappable
    if not exported.native.buffer.mappable:
        with pytest.raises(NoRouteError, match="does not let the CPU map it"):
            exported.map("cpu")


def test_what_has_no_descriptor(context: CudaContext, dma: Any) -> None:
    assert dma
    kind: Kind
    for kind in ("pinned", "managed"):
        with pytest.raises(RouteError, match="exports only device memory"):
            context.allocate((4096,), "uint8", kind).map("dma")


def test_memory_that_was_not_made_to_be_exported(gpu: Gpu, lend: Any, dma: Any) -> None:
    """It is exported where it lies on pages of its own, else the refusal says how to make it."""
    assert dma
    array = lend(3 << 20)
    try:
        mapped = samebytes.tensor(array).map("dma")
    except NoRouteError as error:
        assert 'kind="exportable"' in str(error)  # noqa: PT017 - both answers are right
    else:
        assert mapped.native.buffer.size >= 3 << 20
    gpu.synchronize()


def test_memory_of_a_descriptor_lives_as_long_as_it(gpu: Gpu, exported: Any) -> None:
    """The descriptor holds what it was made of, which nobody frees meanwhile."""
    address = exported.parent.handle("cuda_ptr")
    gpu.write(address, np.full(4096, 7, np.uint8))
    native = exported.native
    del exported
    gc.collect()
    assert (gpu.read(address, 4096) == 7).all()
    del native


def test_a_driver_that_imports_no_dma_bufs_says_so(
    exported: Any, request: pytest.FixtureRequest
) -> None:
    if os.environ.get("SOFTCUDA_DMA_BUF_IMPORT"):
        pytest.skip("this driver was asked to import them")
    request.getfixturevalue("gpu")
    there = exported.native.buffer.plane(exported.info)
    tensor = samebytes.tensor(there)
    try:
        mapped = tensor.map("cuda")
    except (CopyRequiredError, NoRouteError) as error:
        assert "does not import DMA-BUFs here" in str(error)  # noqa: PT017 - both answers are right
    else:  # a driver that does
        assert mapped.shape == (64, 64)


def test_an_exported_descriptor_of_the_wrong_size(exported: Any, dma: Any) -> None:
    size = exported.native.buffer.size
    with Fd.borrow(exported.handle("dma_fd")) as fd:
        for shape, offset in (((size + 1,), 0), ((size,), 1), ((1 << 40,), 0)):
            with pytest.raises(LayoutError, match="of a buffer of"):
                dma.from_fd(fd, shape, offset=offset)
        assert dma.from_fd(fd, (size,)).shape == (size,)


def test_the_size_of_a_buffer_is_that_behind_its_descriptor(
    context: CudaContext, dma: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before Linux 5.3, fstat() says 0 of a DMA-BUF."""
    sizes = []

    def cuImportExternalMemory(description: Any) -> tuple[int]:  # noqa: N802 - the driver's name
        sizes.append(description.size)
        return (801,)

    monkeypatch.setattr(_dma_edges, "memory_size", lambda _: 1 << 20)
    call = "samebytes_cuda._dma_edges.driver.cuImportExternalMemory"
    monkeypatch.setattr(call, cuImportExternalMemory)
    fd = os.memfd_create("test")
    os.ftruncate(fd, 4096)
    tensor = dma.from_fd(fd, (4096,), take_ownership=True)
    assert tensor.map(context).handle(), "through the CPU"
    assert sizes == [1 << 20]


def test_a_descriptor_that_became_smaller(imports_buffers: None, dma: Any) -> None:
    """The driver looks at the size when it imports it."""
    assert imports_buffers is None
    fd = os.memfd_create("test")
    os.ftruncate(fd, 1 << 16)
    tensor = dma.from_fd(fd, (1 << 16,), take_ownership=True)
    os.ftruncate(fd, 1 << 12)
    with pytest.raises(NoRouteError, match="cuImportExternalMemory"):
        tensor.map("cuda")


def test_imported_memory_is_written_on_the_device(
    imports_buffers: None, gpu: Gpu, dma: Any
) -> None:
    assert imports_buffers is None
    fd = os.memfd_create("test")
    os.ftruncate(fd, 1 << 16)
    tensor = dma.from_fd(fd, (64, 64), offset=256, take_ownership=True)
    gc.collect()
    left = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - their number
    for _ in range(3):
        with tensor.map("cuda", "rw") as mapped:
            assert mapped.kind == "device"
            gpu.write(mapped.handle(), np.arange(4096, dtype=np.uint8))
            assert os.pread(fd, 4096, 256) == np.arange(4096, dtype=np.uint8).tobytes()
        del mapped
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) == left  # noqa: PTH208 - their number


@pytest.mark.together
@pytest.mark.slow
def test_where_the_driver_imports_dma_bufs(gpu: Gpu, again: Again, dma: Any) -> None:
    assert dma
    if not gpu.is_software:
        pytest.skip("this asks the software CUDA driver to import them; NVIDIA's does as it does")
    for file, chosen, least in (
        ("test_conformance.py", "TestDmaToCuda", 60),
        ("test_dma_edges.py", "not where_the_driver", 8),
    ):
        status, output = again(file, "-k", chosen, **IMPORTS)
        assert status == 0, output
        assert output.count("PASSED") >= least, output
