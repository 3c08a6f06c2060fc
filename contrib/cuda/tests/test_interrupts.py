# SPDX-License-Identifier: Apache-2.0
"""Signal handlers that raise (Ctrl-C): whatever the driver made has an owner, at every step."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import samebytes
from samebytes.errors import NoRouteError
from samebytes.testing import at_each_step
from samebytes_cuda import CudaContext, Kind
from samebytes_cuda._use import give_back

from .conftest import Gpu

KINDS = ("device", "pinned", "managed", "registered", "vmm", "external", "event")


@pytest.fixture
def live(gpu: Gpu) -> Callable[[], Counter[str]]:
    """How many objects live in the driver, and how many descriptors are open."""
    if not gpu.is_software:
        pytest.skip("NVIDIA's driver does not say what lives in it: pytest --softdevices=cuda")
    from samebytes_softdevices import cuda_live

    def count() -> Counter[str]:
        found = Counter({kind: cuda_live(kind) for kind in KINDS})
        found["descriptors"] = len(list(Path("/proc/self/fd").iterdir()))
        return found

    return count


def _interrupted(work: Callable[[], object], live: Callable[[], Counter[str]]) -> None:
    for _ in range(3):  # caches fill
        work()
    gc.collect()
    before, steps = live(), 0
    for step in at_each_step(work, finalizers=False):
        if live() != before:  # the exception's traceback may be in a cycle
            gc.collect()
        assert live() == before, step
        steps += 1
    assert steps > 20


@pytest.mark.parametrize("kind", ["device", "pinned", "managed", "exportable"])
def test_new_memory(kind: Kind, context: CudaContext, live: Callable[[], Counter[str]]) -> None:
    _interrupted(lambda: context.allocate((64, 64), "uint8", kind), live)


def test_exported_descriptors(
    dma: Any, context: CudaContext, live: Callable[[], Counter[str]]
) -> None:
    assert dma
    tensor = context.allocate((64, 64), "uint8", "exportable")
    _interrupted(lambda: tensor.map("dma", "rw"), live)
    _interrupted(tensor.export_fd, live)


def test_imported_memory(dma: Any, live: Callable[[], Counter[str]]) -> None:
    """With a driver that imports none, what was begun is undone."""
    assert dma
    tensor = samebytes.context("dma").allocate((64, 64), "uint8")

    def imported() -> None:
        with suppress(NoRouteError):
            tensor.map("cuda", "rw").close()

    _interrupted(imported, live)


def test_registered_pages(context: CudaContext, live: Callable[[], Counter[str]]) -> None:
    tensor = samebytes.context("cpu").allocate((16, 4096))
    _interrupted(lambda: tensor.map(context, "rw"), live)


def test_streams_that_are_ordered(
    gpu: Gpu, context: CudaContext, live: Callable[[], Counter[str]]
) -> None:
    tensor = context.allocate((64, 64), "uint8")
    stream = int(gpu.do("cuStreamCreate", 0))
    _interrupted(lambda: context.order(tensor, stream), live)
    gpu.do("cuStreamDestroy", stream)


def test_downloads_with_a_queue(
    gpu: Gpu, context: CudaContext, live: Callable[[], Counter[str]]
) -> None:
    """Blocks of pinned memory that are used again: none is lost, and none has two users."""
    tensor = context.allocate((64, 64), "uint8")
    stream = int(gpu.do("cuStreamCreate", 0))
    _interrupted(lambda: tensor.map("cpu", "r", copy=True, queue=stream).close(), live)
    found = [tensor.map("cpu", "r", copy=True, queue=stream) for _ in range(4)]
    assert len({np.asarray(item.native).ctypes.data for item in found}) == len(found)
    del found
    gpu.do("cuStreamDestroy", stream)


def test_a_release_that_is_called_again(
    context: CudaContext, live: Callable[[], Counter[str]]
) -> None:
    """Storage does so when the exception came between its steps: see Resumable."""
    before = live()

    def released() -> None:
        pin = context.allocate((64, 64), "uint8", "exportable").storage
        release = pin.release
        assert release is not None
        assert getattr(release, "func", None) is give_back
        made.append(release)
        pin.release = None
        release()

    made: list[Any] = []
    for step in at_each_step(released, finalizers=False):
        for release in made:
            release()
        made.clear()
        gc.collect()
        assert live() == before, step
