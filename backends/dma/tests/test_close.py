# SPDX-License-Identifier: Apache-2.0
"""close() of allocated memory, drops in any order, leaks of descriptors, another process."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Callable
from itertools import permutations
from typing import Any

import pytest

import samebytes
from samebytes.testing import assert_steady
from samebytes_dma import from_fd

MakeMemfd = Callable[..., int]
PARTS = ("tensor", "plane", "buffer", "view", "array")


@pytest.mark.parametrize("holder", ["plane", "buffer", "array"])
def test_what_is_held_outlives_close(holder: str) -> None:
    tensor = samebytes.context("dma:memfd").allocate((4, 6), "int16")
    tensor.map("cpu", "rw").native[...] = 3
    holders: dict[str, Callable[[], Any]] = {
        "plane": lambda: tensor.native,
        "buffer": lambda: tensor.native.buffer,
        "array": lambda: tensor.map("cpu").host_array()[1:],
    }
    held = holders[holder]()
    del holders
    number = tensor.handle()
    assert tensor.close() is False
    os.fstat(number)
    if holder == "plane":
        assert samebytes.tensor(held).map("cpu").native.sum() == 72
    if holder == "array":
        assert held.sum() == 54
    del held
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(number)


@pytest.mark.parametrize("holder", ["planes", "the second plane", "its buffer", "arrays"])
def test_the_descriptor_of_a_frame_goes_with_its_last_holder(holder: str) -> None:
    frame = samebytes.context("dma:memfd").allocate_frame("NV12", 64, 32)
    holders: dict[str, Callable[[], Any]] = {
        "planes": lambda: frame.native,
        "the second plane": lambda: frame.planes[1].native,
        "its buffer": lambda: frame.planes[1].native.buffer,
        "arrays": lambda: frame.map("cpu", "rw").native,
    }
    held = holders[holder]()
    del holders
    numbers = [plane.handle() for plane in frame.planes]
    assert frame.close() is False
    for number in numbers:
        os.fstat(number)
    del held
    for number in set(numbers):
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(number)


def test_drops_in_any_order() -> None:
    gc.disable()
    try:
        for order in permutations(PARTS):
            tensor = samebytes.context("dma:memfd").allocate((64,))
            number = tensor.handle()
            view = tensor.map("cpu", "rw")
            view.native[...] = 21
            parts: dict[str, Any] = {
                "tensor": tensor,
                "plane": tensor.native,
                "buffer": tensor.native.buffer,
                "view": view,
                "array": view.native[10:],
            }
            del tensor, view
            for name in order:
                os.fstat(number)
                del parts[name]
                if "array" in parts:
                    assert parts["array"].sum() == 54 * 21
                if "plane" in parts:
                    assert parts["plane"].buffer.size == 4096
            with pytest.raises(OSError, match="Bad file descriptor"):
                os.fstat(number)
    finally:
        gc.enable()


def test_nothing_stays_of_allocations() -> None:
    context = samebytes.context("dma:memfd")

    def once() -> None:
        frame = context.allocate_frame("NV12", 64, 32)
        with frame.map("cpu", "rw") as view:
            view.planes[1].native[...] = 1
        frame.close()

    assert_steady(once, 2_000)


def test_nothing_stays_of_wrapped_descriptors(memfd: MakeMemfd) -> None:
    fd = memfd()

    def once() -> None:
        array = from_fd(fd, (64, 64)).map("cpu").native
        assert array[5, 5] == 0

    assert_steady(once, 5_000)


def test_nothing_stays_of_what_is_refused(memfd: MakeMemfd) -> None:
    fd = memfd()

    def once() -> None:
        with pytest.raises(ValueError, match="of a buffer"):
            from_fd(fd, (5000,))

    assert_steady(once, 2_000)


_WRITER = """
import sys
from samebytes_dma import from_fd

with from_fd(int(sys.argv[1]), (16,)).map("cpu", "rw") as mine:
    assert mine.native.tolist() == [1] * 16
    mine.native[3:] = 2
"""


def test_a_child_process_writes_through_the_descriptor() -> None:
    tensor = samebytes.context("dma").allocate((16,), "uint8")
    view = tensor.map("cpu", "rw")
    view.native[...] = 1
    view.flush()
    fd = tensor.handle()
    # A separate process, not a fork: libraries that other tests load have threads.
    subprocess.run([sys.executable, "-c", _WRITER, str(fd)], pass_fds=[fd], check=True)
    view.flush()
    assert view.native.tolist() == [1] * 3 + [2] * 13
    view.close()
    tensor.close()
