# SPDX-License-Identifier: Apache-2.0
"""cpu -> level_zero: pages of the application, and arrays that are USM already."""

from __future__ import annotations

import gc
import mmap
import signal
import sys
from itertools import count
from typing import Any

import numpy as np
import pytest

import samebytes
from samebytes.errors import RouteError
from samebytes_npu_level_zero import LevelZeroContext, copy

PAGE = mmap.PAGESIZE


def whole_pages(count: int) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    """Zeroed pages of the application."""
    return np.frombuffer(mmap.mmap(-1, count * PAGE), np.uint8)


def test_memory_of_the_cpu_context(context: LevelZeroContext) -> None:
    host = samebytes.context("cpu").allocate((5, 7), "float32")
    host.host_array()[...] = 2
    mapped = host.map("level_zero", "rw")
    assert mapped.handle("usm_ptr") == host.handle("data")
    assert context.inspect(mapped.handle())
    copied = context.allocate((5, 7), "float32")
    copy(copied, mapped)
    assert (copied.host_array() == 2).all()
    mapped.host_array()[0, 0] = 9
    assert host.host_array()[0, 0] == 9


@pytest.mark.usefixtures("device")
@pytest.mark.parametrize("format_", ["NV12", "I420", "RGBP"])
@pytest.mark.parametrize("size", [(64, 32), (64, 48), (640, 480), (1920, 1080)])
def test_planes_that_share_a_page(format_: str, size: tuple[int, int]) -> None:
    frame = samebytes.context("cpu").allocate_frame(format_, *size)
    planes = frame.map("level_zero")
    assert [p.handle() for p in planes] == [p.handle("data") for p in frame]
    rows = [np.zeros((2 * len(plane.native), *plane.shape[1:]), np.uint8)[::2] for plane in frame]
    planes = samebytes.frame(rows, format=format_).map("level_zero", copy=True)
    assert [p.shape for p in planes] == [p.shape for p in frame]


def test_mappings_of_one_array_share_the_import(context: LevelZeroContext) -> None:
    host = samebytes.tensor(whole_pages(2))
    address = host.handle("data")
    first, second = host.map("level_zero"), host.map("level_zero")
    assert first.handle() == second.handle() == address
    first.close()
    assert context.inspect(address)
    del second
    assert context.inspect(address) is None
    assert host.map("level_zero").handle() == address


def test_parts_of_what_is_mapped(context: LevelZeroContext) -> None:
    """A driver takes no page twice, so parts lie in the import of the whole."""
    array = whole_pages(4).reshape(4, PAGE)
    whole = samebytes.tensor(array).map(context, "rw")
    part = samebytes.tensor(array[2:3]).map(context)
    assert part.handle() - whole.handle() == 2 * PAGE
    array[2] = 5
    del whole, array
    gc.collect()
    assert part.native.array().sum() == 5 * PAGE


@pytest.mark.usefixtures("device")
def test_a_whole_of_which_a_part_is_mapped() -> None:
    array = whole_pages(4).reshape(4, PAGE)
    part = samebytes.tensor(array[:2]).map("level_zero")
    for rows in (array, array[1:]):
        with pytest.raises(RouteError, match="share a page with memory that is already mapped"):
            samebytes.tensor(rows).map("level_zero")
    part.close()
    assert samebytes.tensor(array).map("level_zero").handle() == array.ctypes.data


@pytest.mark.usefixtures("device")
def test_pages_outlive_their_import() -> None:
    array = whole_pages(1)
    array[...] = 4
    context = samebytes.context("level_zero")
    native = samebytes.tensor(array).map(context).native
    del array
    gc.collect()
    assert native.array().sum() == 4 * PAGE


@pytest.mark.parametrize(
    ("start", "stop", "step"), [(1, PAGE + 1, 1), (0, PAGE - 1, 1), (16, PAGE, 1), (0, PAGE, 2)]
)
@pytest.mark.usefixtures("device")
def test_arrays_that_are_not_whole_pages(start: int, stop: int, step: int) -> None:
    part = whole_pages(2)[start:stop:step]
    with pytest.raises(RouteError, match="not whole pages"):
        samebytes.tensor(part).map("level_zero")


@pytest.mark.usefixtures("device")
def test_an_empty_array() -> None:
    with pytest.raises(RouteError, match="no pages to import"):
        samebytes.tensor(np.zeros((0, 4), np.uint8)).map("level_zero")


def test_what_the_driver_refuses_is_a_reason(context: LevelZeroContext) -> None:
    soft = pytest.importorskip(
        "samebytes_softdevices", reason="missing package: samebytes-softdevices"
    )
    if "software" not in context.device.name:
        pytest.skip("calls of other drivers do not fail on request")
    pages = samebytes.tensor(whole_pages(1))
    soft.fail_call("zeMemAllocHost")
    try:
        with pytest.raises(RouteError, match="zeMemAllocHost failed"):
            pages.map(context)
    finally:
        soft.fail_call(None)
    assert pages.map(context).handle() == pages.handle("data")


def test_a_driver_that_imports_no_pages(
    context: LevelZeroContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(context), "maps_pages", lambda self: False)
    with pytest.raises(RouteError, match="cannot import pages"):
        samebytes.tensor(whole_pages(1)).map(context)


def test_an_array_over_usm_is_what_it_was(context: LevelZeroContext) -> None:
    tensor = context.allocate((3, 50))
    view = tensor.map("cpu", "rw")
    again = view.map("level_zero", "rw")
    assert again.handle() == tensor.handle()
    assert again.handle("offset") == 0
    again.host_array()[...] = 5
    assert (tensor.host_array() == 5).all()
    del tensor, view
    assert again.native.array().sum() == 750
    imported = samebytes.tensor(whole_pages(1)).map("level_zero")
    assert imported.map("cpu").map("level_zero").handle() == imported.handle()


def test_an_array_over_usm_of_another_context(
    context: LevelZeroContext, other: LevelZeroContext
) -> None:
    view = context.allocate((PAGE,)).map("cpu")
    mapped = view.map(other)
    assert mapped.context is other
    assert mapped.handle() == view.handle("data")


def test_a_release_that_an_exception_breaks_off_is_made_up_for(
    context: LevelZeroContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A signal handler's exception comes at any call; and a driver takes no page twice."""
    reported = list[Any]()
    monkeypatch.setattr(sys, "unraisablehook", lambda seen: reported.append(seen.exc_type))

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGUSR1, interrupt)
    host = samebytes.tensor(whole_pages(2))
    address = host.handle("data")
    try:
        for step in count():
            left, held = step, [host.map(context)]
            assert held[0].handle() == address

            def strike(_frame: Any, event: str, _: Any) -> None:
                nonlocal left
                left -= event == "call"
                if left < 0:
                    sys.setprofile(None)
                    signal.raise_signal(signal.SIGUSR1)

            sys.setprofile(strike)
            held.clear()
            sys.setprofile(None)
            if left >= 0:
                break
            assert reported == [KeyboardInterrupt]
            reported.clear()
            assert context.inspect(address) is None
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert step > 5
