# SPDX-License-Identifier: Apache-2.0
"""Pages of the host that the driver registers: each once, whoever maps them."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import samebytes
import samebytes_cuda
from samebytes.errors import CopyRequiredError
from samebytes_cuda import CudaContext


def test_whole_pages_are_registered(gpu: Any) -> None:
    pages = samebytes.context("cpu").allocate((8192,))
    pages.native[...] = 7
    samebytes.reset_stats()
    with pages.map("cuda", "rw") as mapped:
        assert isinstance(mapped, samebytes_cuda.CudaTensor)
        assert mapped.kind == "pinned"
        assert mapped.handle() == pages.handle("data")
        np.testing.assert_array_equal(gpu.read(mapped.handle(), 8192), pages.native)
        gpu.write(mapped.handle(), np.full(8192, 9, np.uint8))
        # What is registered is known: it is not registered again.
        with pages.map("cuda") as again:
            assert again.handle() == mapped.handle()
    assert (pages.native == 9).all()
    assert samebytes.stats().copies == 0
    small = np.zeros(100, np.uint8)
    with pytest.raises(CopyRequiredError, match="whole pages"):
        samebytes.tensor(small).map("cuda")


def test_a_registration_outlives_the_mapping_that_made_it(gpu: Any) -> None:
    pages = samebytes.context("cpu").allocate((8192,))
    pages.native[...] = 7
    first = pages.map("cuda")
    second = pages.map("cuda")
    first.close()
    np.testing.assert_array_equal(gpu.read(second.handle(), 8192), pages.native)


@pytest.mark.parametrize(("width", "height"), [(64, 32), (1920, 1080), (3840, 2160)])
@pytest.mark.parametrize("name", ["NV12", "I420"])
def test_planes_that_have_pages_in_common(
    gpu: Any, context: CudaContext, name: str, width: int, height: int
) -> None:
    """A plane of 1080p ends within a page, and the next one begins there; of 4K some do."""
    frame = samebytes.context("cpu").allocate_frame(name, width, height)
    for number, plane in enumerate(frame.planes):
        plane.native[...] = number
    samebytes.reset_stats()
    for order in (1, -1):
        mapped = frame.map(context, "rw")
        for there, own in zip(mapped.planes, frame.planes, strict=True):
            assert there.handle() == own.handle("data")
            data = gpu.read(there.handle(), own.info.nbytes)
            np.testing.assert_array_equal(data, own.native.reshape(-1))
            gpu.write(there.handle(), data + 1)
        for number, plane in enumerate(frame.planes):
            assert (plane.native == number + 1).all()
            plane.native[...] = number
        planes = list(mapped.planes)[::order]
        del mapped, there
        while planes:  # whichever ends first, the pages of the others stay registered
            last = planes.pop()
            gpu.read(last.handle(), 16)
            del last
    assert samebytes.stats().copies == 0


def test_threads_map_planes_of_one_frame(context: CudaContext) -> None:
    frame = samebytes.context("cpu").allocate_frame("I420", 1920, 1080)
    failed: list[Exception] = []

    def use(plane: Any) -> None:
        try:
            for _ in range(50):
                start.wait(10)
                mapped = plane.map(context, "rw")
                start.wait(10)  # all are mapped before any is closed
                mapped.close()
        except Exception as error:
            failed.append(error)
            start.abort()

    start = threading.Barrier(3)
    threads = [threading.Thread(target=use, args=(plane,)) for plane in frame.planes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not failed


def test_of_much_memory_a_small_part_is_registered(gpu: Any, context: CudaContext) -> None:
    whole = samebytes.context("cpu").allocate_frame("GRAY8", 4096, 64)
    start = whole.planes[0].handle("data")
    for part, rows in ((whole.crop(16, 8, 32, 2), (8, 10)), (whole.crop(0, 20, 4096, 4), (20, 24))):
        with part.map(context, "rw"):
            there = [gpu.knows(start + row * 4096) for row in range(64)]
        assert there == [rows[0] <= row < rows[1] for row in range(64)]


def test_pages_beside_those_that_the_application_registered(gpu: Any, context: CudaContext) -> None:
    whole = samebytes.context("cpu").allocate((4 * 4096,))
    at = whole.handle("data") + 2 * 4096
    gpu.do("cuMemHostRegister", at, 4096, 0)
    try:
        part = samebytes.tensor(whole.native[:4096])
        assert part.map(context, "rw").handle() == whole.handle("data")
    finally:
        gpu.do("cuMemHostUnregister", at)


def test_pages_whose_registration_was_lost_are_not_used(gpu: Any) -> None:
    """As where Ctrl-C strikes in a finalizer: the device uses the pages that were there then."""
    pages = samebytes.context("cpu").allocate((8192,))
    pages.native[...] = 3
    at = pages.handle("data")
    with pages.map("cuda") as mapped:
        kept: Any = mapped.storage.keep
        (registration,) = (one for one in kept if one is not pages.storage)
        registration.release = None
        del kept, registration
    assert gpu.knows(at)
    with pytest.raises(CopyRequiredError, match="for memory that was there before"):
        pages.map("cuda")
    with pages.map("cuda", copy=True) as copied:
        assert (gpu.read(copied.handle(), 8192) == 3).all()
    gpu.do("cuMemHostUnregister", at)
    with pages.map("cuda") as mapped:
        assert mapped.handle() == at
