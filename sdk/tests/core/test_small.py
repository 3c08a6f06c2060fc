# SPDX-License-Identifier: Apache-2.0
"""The small parts: Fd, Device, handle keys, stats, access modes, errors."""

from __future__ import annotations

import gc
import os
import pickle
import sys
import threading
from typing import Any

import numpy as np
import pytest

import samebytes as sb
from samebytes import CpuTensor, Device, Fd, errors
from samebytes.errors import ClosedError, LayoutError, UnknownNameError
from samebytes.plugins import HandleKey, check_access, count_copy


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def test_fd_closes_once() -> None:
    read, write = os.pipe()
    with Fd(read) as fd:
        assert fd.fileno() == read
    assert not _is_open(read)
    again = os.dup(write)  # takes the freed number
    fd.close()
    assert _is_open(again)
    for number in (again, write):
        os.close(number)


def test_fd_is_closed_with_its_last_reference() -> None:
    number = os.open(os.devnull, os.O_RDONLY)
    fd = Fd(number)
    del fd
    assert not _is_open(number)


def test_fd_dup_borrow_detach() -> None:
    number = os.open(os.devnull, os.O_RDONLY)
    borrowed = Fd.borrow(number)
    assert borrowed.fileno() != number
    second = borrowed.dup()
    handed = borrowed.detach()
    assert borrowed.closed
    with pytest.raises(ClosedError):
        borrowed.fileno()
    del borrowed
    assert _is_open(handed)
    second.close()
    for left in (handed, number):
        os.close(left)


@pytest.mark.parametrize("number", [-1, -9])
def test_fd_of_a_negative_number(number: int) -> None:
    with pytest.raises(LayoutError, match="not a file descriptor"):
        Fd(number)
    with pytest.raises(LayoutError, match="not an open"):
        Fd.borrow(number)


def test_device_same() -> None:
    gpu = Device("GPU", pci="0000:03:00.0", uuid=b"1" * 16)
    assert gpu.same(Device("GPU", pci="0000:03:00.0")) is True
    assert gpu.same(Device("GPU", pci="0000:04:00.0", uuid=b"1" * 16)) is False
    assert gpu.same(Device("GPU", uuid=b"1" * 16)) is True
    assert gpu.same(Device("GPU")) is None
    assert gpu.same(Device("CPU")) is False


def test_handle_keys() -> None:
    tensor = sb.context("cpu").allocate((4,))
    assert tensor.handle("data") == tensor.native.__array_interface__["data"][0]
    assert tensor.handle() == tensor.handle("data")
    with pytest.raises(UnknownNameError, match="did you mean 'cl_mem'"):
        tensor.handle("clmem")
    with pytest.raises(UnknownNameError, match="handle of cpu"):
        tensor.handle("cl_mem")
    frame = sb.context("cpu").allocate_frame("GRAY8", 4, 4)
    with pytest.raises(UnknownNameError, match="handle of cpu"):
        frame.handle("cl_mem")
    for item in (tensor, frame, sb.context("cpu")):
        assert item.find_handle("cl_mem") is None
        with pytest.raises(UnknownNameError, match="did you mean 'cl_mem'"):
            item.find_handle("clmem")
    assert tensor.find_handle("data") == tensor.handle()
    with pytest.raises(UnknownNameError, match=r"known: data$"):
        tensor.handle("cl_mem")  # the keys that it has itself
    closed = sb.context("cpu").allocate((2,))
    closed.close()
    with pytest.raises(ClosedError):
        closed.find_handle("clmem")
    key = HandleKey("test_handle", "int", "tensor", "of this test")
    key.register()
    key.register()
    with pytest.raises(ValueError, match="already"):
        HandleKey("test_handle", "void*", "tensor", "of another").register()


def test_stats_count_from_many_threads() -> None:
    sb.reset_stats()

    def work() -> None:
        for _ in range(500):
            count_copy("a -> b", 10)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (sb.stats().copies, sb.stats().copied_bytes) == (4000, 40000)
    assert sb.stats().by_edge["a -> b"].copies == 4000
    sb.reset_stats()
    assert sb.stats().copies == 0


def test_access_modes() -> None:
    check_access("rw")
    with pytest.raises(UnknownNameError, match="access mode 'wr'"):
        check_access("wr")


def test_every_error_is_in_the_tree_and_its_drawing() -> None:
    drawing = errors.__doc__ or ""
    for name in errors.__all__:
        kind = getattr(errors, name)
        assert issubclass(kind, (errors.SamebytesError, DeprecationWarning))
        assert name in drawing


@pytest.mark.parametrize(
    "error",
    [
        errors.BusyError("busy"),
        UnknownNameError("fruit", "aple", ["apple"]),
        errors.NativeError("open", 5, "no"),
        errors.NoRouteError("a", "b", ["why"]),
        errors.CopyRequiredError("a", "b", "a -> b", ["why"]),
        errors.AmbiguousTargetError("a", "b", ["b:0", "b:1"]),
        errors.PluginLoadError("p", "broken"),
        errors.IncompatiblePluginError("p", (9, 0), (1, 0)),
        errors.MissingDependencyError("p", "av", "pip install av"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_cross_processes(error: errors.SamebytesError) -> None:
    twin = pickle.loads(pickle.dumps(error))
    assert type(twin) is type(error)
    assert str(twin) == str(error)
    assert vars(twin) == vars(error)


def test_memory_that_nobody_has() -> None:
    cpu = sb.context("cpu")
    with pytest.raises(LayoutError, match="larger than the address space"):
        cpu.allocate((1 << 40, 1 << 40))
    # The code of a call that has none says nothing.
    assert str(errors.NativeError("acquire", 0, "no slot is free")) == (
        "acquire failed: no slot is free"
    )
    with pytest.raises(errors.NativeError, match="no memory for"):
        cpu.allocate((1 << 50,))


def test_nearest_names() -> None:
    error = UnknownNameError("fruit", "aple", ["apple", "pear", "plum"])
    assert error.nearest[0] == "apple"
    assert "did you mean 'apple'" in str(error)
    assert "known: pear" in str(UnknownNameError("fruit", "zzz", ["pear"]))


def test_subclasses_may_have_constructors_of_their_own() -> None:
    class Named(CpuTensor):
        __slots__ = ("name",)

        def __init__(self, *arguments: Any, name: str = "none") -> None:
            super().__init__(*arguments)
            self.name = name

    class Further(Named):
        __slots__ = ()

    array = np.zeros(3)
    tensor = Further(array, sb.context("cpu"), array, None, False, name="own")
    assert (tensor.name, tensor.shape) == ("own", (3,))
    tensor.close()
    with pytest.raises(ClosedError):
        _ = tensor.name


def test_fd_of_a_cycle_is_closed_once() -> None:
    """Finalizers that the collector runs after the descriptor's own see it closed."""

    class Closing:
        fd: Fd
        itself: Closing

        def __del__(self) -> None:
            self.fd.close()

    errors: list[object] = []
    hook, sys.unraisablehook = sys.unraisablehook, errors.append
    try:
        for first in (True, False):
            closing = Closing()
            if first:
                closing.itself = closing
                closing.fd = Fd(os.dup(1))
            else:
                closing.fd = Fd(os.dup(1))
                closing.itself = closing
            number = closing.fd.fileno()
            del closing
            gc.collect()
            with pytest.raises(OSError, match="Bad file descriptor"):
                os.fstat(number)
    finally:
        sys.unraisablehook = hook
    assert not errors
