# SPDX-License-Identifier: Apache-2.0
"""The CPU's access to a DMA-BUF begins and ends; other memory is left alone.

The order of calls is shown on a memfd that is taken for a DMA-BUF, with the calls recorded; what
the kernel makes of them, in test_dma_bufs.py.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest

import samebytes
from samebytes import plugins
from samebytes.errors import NativeError, NoRouteError
from samebytes_dma import _abi, _cpu_access, frame_from_fds, from_fd
from samebytes_dma._abi import DMA_BUF_IOCTL_SYNC, dma_buf_sync

MakeMemfd = Callable[..., int]
READ, WRITE, END = 1, 2, 4  # linux/dma-buf.h


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Take every memfd for a DMA-BUF; the flags of each DMA_BUF_IOCTL_SYNC."""
    flags: list[int] = []

    def record(fd: int, request: int, argument: ctypes.Structure) -> int:
        assert fcntl.fcntl(fd, fcntl.F_GETFD) >= 0, "the descriptor is open"
        assert request == DMA_BUF_IOCTL_SYNC
        assert isinstance(argument, dma_buf_sync)
        flags.append(argument.flags)
        return 0

    monkeypatch.setattr(plugins, "is_dma_buf", lambda _: True)
    monkeypatch.setattr(_cpu_access, "ioctl", record)
    return flags


@pytest.mark.parametrize(("access", "bits"), [("r", READ), ("w", WRITE), ("rw", READ | WRITE)])
def test_an_access_begins_and_ends(
    memfd: MakeMemfd, calls: list[int], access: samebytes.Access, bits: int
) -> None:
    tensor = from_fd(memfd(), (16,))
    view = tensor.map("cpu", access)
    assert calls == [bits]
    view.flush()
    assert calls == [bits, bits | END, bits]
    view.close()
    assert calls == [bits, bits | END, bits, bits | END]


def test_the_access_ends_with_the_last_array(memfd: MakeMemfd, calls: list[int]) -> None:
    array = from_fd(memfd(), (16,)).map("cpu").native
    assert calls == [READ]
    del array
    assert calls == [READ, READ | END]


def test_a_frame_is_accessed_once_for_each_buffer(memfd: MakeMemfd, calls: list[int]) -> None:
    frame_from_fds(memfd(), "I420", 32, 32).map("cpu").close()
    assert calls == [READ, READ | END]
    calls.clear()
    frame_from_fds([memfd(), memfd()], "NV12", 32, 32).map("cpu").close()
    assert calls == [READ, READ, READ | END, READ | END]


def test_what_is_held_keeps_its_access(memfd: MakeMemfd, calls: list[int]) -> None:
    """It has a descriptor of its own, which flush() needs: `calls` sees that it is open."""
    view = frame_from_fds([memfd(), memfd()], "NV12", 32, 32).map("cpu", "rw")
    both, held = READ | WRITE, view.native[1]
    assert calls == [both, both]
    view.flush()
    assert calls == [both, both, both | END, both, both | END, both]
    calls.clear()
    assert view.close() is False
    assert calls == []
    del held
    assert calls == [both | END, both | END]


def test_stand_ins_have_no_such_calls(memfd: MakeMemfd, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_cpu_access, "ioctl", None)
    with from_fd(memfd(), (16,)) as tensor, tensor.map("cpu", "rw") as view:
        view.flush()


def test_an_exporter_that_refuses(
    memfd: MakeMemfd, calls: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_fd: int, _request: int, argument: dma_buf_sync) -> int:
        calls.append(argument.flags)
        if len(calls) > 1:
            raise OSError(errno.EIO, "Input/output error")
        return 0

    monkeypatch.setattr(_cpu_access, "ioctl", refuse)
    fds = [memfd(), memfd()]
    frame = frame_from_fds(fds, "NV12", 32, 32)
    with pytest.raises(NativeError, match="DMA_BUF_IOCTL_SYNC failed with 5"):
        frame.map("cpu")
    # What began is ended, even if that fails too, and nothing stays mapped.
    assert calls == [READ, READ, READ | END]
    files = {str(os.fstat(fd).st_ino) for fd in fds}
    mapped = [line.split()[4] for line in Path("/proc/self/maps").read_text().splitlines()]
    assert files.isdisjoint(mapped)


@pytest.mark.parametrize("code", [errno.EINTR, errno.EAGAIN])
def test_interrupted_calls_are_asked_again(monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    answers: list[int | OSError] = [OSError(code, "again"), OSError(code, "again"), 17]

    def ioctl(*_: object) -> int:
        answer = answers.pop(0)
        if isinstance(answer, OSError):
            raise answer
        return answer

    monkeypatch.setattr(fcntl, "ioctl", ioctl)
    assert _abi.ioctl(3, DMA_BUF_IOCTL_SYNC, dma_buf_sync(0)) == 17
    assert not answers


def test_an_exporter_without_mmap(
    memfd: MakeMemfd, calls: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> int | None:
        ctypes.set_errno(524)
        return _abi.MAP_FAILED

    monkeypatch.setattr(_abi, "mmap", fails)
    with (
        from_fd(memfd(), (16,)) as tensor,
        pytest.raises(NoRouteError, match=r"\(ENOTSUPP\): use it on a device"),
    ):
        tensor.map("cpu")
    assert calls == []


def test_no_memory_is_an_error_and_no_refusal(
    memfd: MakeMemfd, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> int | None:
        ctypes.set_errno(errno.ENOMEM)
        return _abi.MAP_FAILED

    monkeypatch.setattr(_abi, "mmap", fails)
    with from_fd(memfd(), (16,)) as tensor, pytest.raises(NativeError) as caught:
        tensor.map("cpu")
    assert (caught.value.call, caught.value.code) == ("mmap", errno.ENOMEM)
