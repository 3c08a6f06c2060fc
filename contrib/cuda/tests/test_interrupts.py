# SPDX-License-Identifier: Apache-2.0
"""Signal handlers that raise (Ctrl-C): whatever the driver made has an owner, at every step."""

from __future__ import annotations

import gc
import math
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

pytestmark = pytest.mark.together

KINDS = ("device", "pinned", "managed", "registered", "vmm", "external", "event")
# NVIDIA's driver takes less than this from what it keeps, which its count of free memory hides.
LARGE = (32, 1 << 20)
SMALL = (64, 64)


class Live:
    """What lives in the driver, and the descriptors that are open.

    The software driver counts its objects. Of NVIDIA's only the device memory that is free is
    known: pinned and registered memory, events and contexts are not seen there.
    """

    def __init__(self, gpu: Gpu) -> None:
        self.gpu = gpu
        self.free_at_first = int(gpu.do("cuMemGetInfo")[0])
        if gpu.is_software:
            counters = pytest.importorskip(
                "samebytes_softdevices",
                reason="missing package samebytes-softdevices: pip install samebytes-softdevices",
            )
            self.count = counters.cuda_live

    @property
    def shape(self) -> tuple[int, int]:
        """Of device memory whose loss is seen."""
        return SMALL if self.gpu.is_software else LARGE

    def needs_counters(self, of: str) -> None:
        """Skip a test of what NVIDIA's driver does not count."""
        if not self.gpu.is_software:
            pytest.skip(f"NVIDIA's driver does not count {of}: pytest --softdevices=cuda")

    def __call__(self) -> Counter[str]:
        if self.gpu.is_software:
            found = Counter({kind: self.count(kind) for kind in KINDS})
        else:
            self.gpu.synchronize()
            lost = self.free_at_first - int(self.gpu.do("cuMemGetInfo")[0])
            found = Counter({"blocks of device memory": round(lost / math.prod(LARGE))})
        found["descriptors"] = len(list(Path("/proc/self/fd").iterdir()))
        return found


@pytest.fixture
def live(gpu: Gpu) -> Live:
    """What lives now."""
    return Live(gpu)


def _interrupted(work: Callable[[], object], live: Live) -> None:
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
def test_new_memory(kind: Kind, context: CudaContext, live: Live) -> None:
    if kind in ("pinned", "managed"):
        live.needs_counters(f"{kind} memory")
    _interrupted(lambda: context.allocate(live.shape, "uint8", kind), live)


def test_exported_descriptors(dma: Any, context: CudaContext, live: Live) -> None:
    assert dma
    tensor = context.allocate(SMALL, "uint8", "exportable")  # its descriptors are counted
    _interrupted(lambda: tensor.map("dma", "rw"), live)
    _interrupted(tensor.export_fd, live)


def test_imported_memory(dma: Any, live: Live) -> None:
    """With a driver that imports none, what was begun is undone."""
    assert dma
    tensor = samebytes.context("dma").allocate((64, 64), "uint8")

    def imported() -> None:
        with suppress(NoRouteError):
            tensor.map("cuda", "rw").close()

    _interrupted(imported, live)


def test_registered_pages(context: CudaContext, live: Live) -> None:
    live.needs_counters("registered pages")
    tensor = samebytes.context("cpu").allocate((16, 4096))
    _interrupted(lambda: tensor.map(context, "rw"), live)


def test_streams_that_are_ordered(gpu: Gpu, context: CudaContext, live: Live) -> None:
    live.needs_counters("events")
    tensor = context.allocate(SMALL, "uint8")
    stream = int(gpu.do("cuStreamCreate", 0))
    _interrupted(lambda: context.order(tensor, stream), live)
    gpu.do("cuStreamDestroy", stream)


def test_downloads_with_a_queue(gpu: Gpu, context: CudaContext, live: Live) -> None:
    """Blocks of pinned memory that are used again: none is lost, and none has two users."""
    live.needs_counters("pinned memory")
    tensor = context.allocate(SMALL, "uint8")
    stream = int(gpu.do("cuStreamCreate", 0))
    _interrupted(lambda: tensor.map("cpu", "r", copy=True, queue=stream).close(), live)
    found = [tensor.map("cpu", "r", copy=True, queue=stream) for _ in range(4)]
    assert len({np.asarray(item.native).ctypes.data for item in found}) == len(found)
    del found
    gpu.do("cuStreamDestroy", stream)


def test_a_release_that_is_called_again(context: CudaContext, live: Live) -> None:
    """Storage does so when the exception came between its steps: see Resumable."""

    def released() -> None:
        pin = context.allocate(live.shape, "uint8", "exportable").storage
        release = pin.release
        assert release is not None
        assert getattr(release, "func", None) is give_back
        made.append(release)
        pin.release = None
        release()

    made: list[Any] = []
    released()
    made.clear()
    gc.collect()
    before = live()
    for step in at_each_step(released, finalizers=False):
        for release in made:
            release()
        made.clear()
        gc.collect()
        assert live() == before, step
