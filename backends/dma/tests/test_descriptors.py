# SPDX-License-Identifier: Apache-2.0
"""Descriptors: their kinds, and who closes them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from samebytes import Fd
from samebytes.errors import ClosedError, LayoutError
from samebytes_dma import DMABuffer, from_fd, is_dma_buf

MakeMemfd = Callable[..., int]


def test_what_is_not_a_dma_buf(memfd: MakeMemfd, tmp_path: Path) -> None:
    reader, writer = os.pipe()
    others = [
        Fd(reader),
        Fd(writer),
        Fd(os.eventfd(0)),
        Fd(os.open(tmp_path, os.O_RDONLY)),
        Fd(os.open("/dev/null", os.O_RDWR)),
        Fd.borrow(memfd()),
    ]
    assert not any(map(is_dma_buf, others))
    assert not is_dma_buf(others[-1].fileno())
    for fd in others:
        fd.close()
    with pytest.raises(LayoutError, match="is not an open file descriptor"):
        is_dma_buf(-1)


def test_kinds_of_what_is_not_a_dma_buf(memfd: MakeMemfd, tmp_path: Path) -> None:
    with from_fd(memfd(), (4,)) as tensor:
        assert tensor.kind == "memfd"
        assert "a stand-in: no DMA-BUF" in repr(tensor)
        buffer = tensor.native.buffer
        assert (buffer.size, buffer.is_dma_buf, buffer.readonly) == (4096, False, False)
        assert (buffer.exporter, buffer.name) == ("", "")
        del buffer
    path = tmp_path / "bytes"
    path.write_bytes(bytes(10))
    with Fd(os.open(path, os.O_RDWR)) as fd, from_fd(fd, (10,)) as tensor:
        assert tensor.kind == "file"
        assert tensor.native.buffer.size == 10
        assert tensor.map("cpu").native.tolist() == [0] * 10


def test_the_position_in_a_file_is_the_users(tmp_path: Path) -> None:
    path = tmp_path / "bytes"
    path.write_bytes(bytes(100))
    with path.open("r+b") as file:
        file.seek(7)
        with from_fd(file.fileno(), (100,)) as tensor:
            tensor.map("cpu").close()
        assert os.lseek(file.fileno(), 0, os.SEEK_CUR) == 7


def test_a_borrowed_descriptor_stays_the_users(memfd: MakeMemfd) -> None:
    fd = memfd()
    tensor = from_fd(fd, (16,))
    assert tensor.handle() == tensor.handle("dma_fd") != fd
    assert os.path.sameopenfile(tensor.handle(), fd)
    with tensor.map("cpu", "w") as view:
        view.native[...] = 9
    assert os.pread(fd, 4, 0) == b"\t" * 4
    tensor.close()
    os.fstat(fd)


def test_the_user_may_close_a_borrowed_descriptor_at_once(memfd: MakeMemfd) -> None:
    fd = os.dup(memfd())
    with from_fd(fd, (16,)) as tensor:
        os.close(fd)
        assert tensor.map("cpu").native.sum() == 0


@pytest.mark.parametrize("wrapped", [False, True])
def test_a_taken_descriptor_is_closed(memfd: MakeMemfd, wrapped: bool) -> None:
    number = os.dup(memfd())
    owner = Fd(number) if wrapped else None
    tensor = from_fd(owner or number, (16,), take_ownership=True)
    assert tensor.handle() == number
    if owner is not None:
        with pytest.raises(ClosedError):
            owner.fileno()
    array = tensor.map("cpu").native
    tensor.close()
    os.fstat(number)  # the array still uses it
    assert array.sum() == 0
    del array
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(number)


def test_a_native_keeps_its_memory(memfd: MakeMemfd) -> None:
    tensor = from_fd(memfd(), (16,))
    plane = tensor.native
    number = tensor.handle()
    tensor.close()
    assert os.path.sameopenfile(plane.buffer.fileno(), number)
    buffer = plane.buffer
    del plane
    with buffer.dup() as own:
        assert own.fileno() != buffer.fileno()
        assert os.path.sameopenfile(own.fileno(), buffer.fileno())
    del buffer
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(number)


def test_buffers_and_planes_are_immutable(memfd: MakeMemfd) -> None:
    with from_fd(memfd(), (16,)) as tensor:
        plane = tensor.native
        with pytest.raises(AttributeError):
            plane.offset = 4  # type: ignore[misc]  # that is the point
        with pytest.raises(AttributeError, match="immutable"):
            plane.buffer.size = 4
        with pytest.raises(AttributeError, match="immutable"):
            del plane.buffer.size
        del plane


def test_a_buffer_that_cannot_be_leaves_its_descriptor() -> None:
    reader, writer = os.pipe()
    with Fd(reader) as fd, Fd(writer):
        with pytest.raises(LayoutError):
            DMABuffer(fd)
        assert not fd.closed


def test_numpy_scalars_are_numbers_too(memfd: MakeMemfd) -> None:
    with from_fd(np.int64(memfd()), (16,), offset=np.uint8(8)) as tensor:  # type: ignore[arg-type]  # as they come out of arrays
        assert tensor.handle("offset") == 8
