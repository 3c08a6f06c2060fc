# SPDX-License-Identifier: Apache-2.0
"""Files and memory behind descriptors. The tests of samebytes-dma cover DMA-BUFs themselves."""

from __future__ import annotations

import errno
import os
import socket
from pathlib import Path

import pytest

from samebytes import Fd
from samebytes.errors import LayoutError
from samebytes.plugins import file_behind, file_identity, is_dma_buf, memory_size


def test_the_size_of_a_file_leaves_its_position_alone() -> None:
    with Fd(os.memfd_create("memory")) as fd:
        os.write(fd.fileno(), bytes(100))
        os.lseek(fd.fileno(), 7, os.SEEK_SET)
        assert memory_size(fd.fileno()) == 100
        assert os.lseek(fd.fileno(), 0, os.SEEK_CUR) == 7
        assert not is_dma_buf(fd.fileno())
        assert file_behind(fd.fileno()).startswith("/memfd:memory")


def test_which_file_it_is(tmp_path: Path) -> None:
    with Fd(os.memfd_create("one")) as one, Fd(os.memfd_create("one")) as other:
        assert file_identity(one.fileno()) != file_identity(other.fileno())
        with Fd(os.dup(one.fileno())) as same:
            assert file_identity(one.fileno()) == file_identity(same.fileno())
    path = tmp_path / "file"
    path.write_bytes(b"1")
    with Fd(os.open(path, os.O_RDONLY)) as reading, Fd(os.open(path, os.O_WRONLY)) as writing:
        assert file_identity(reading.fileno()) == file_identity(writing.fileno())


def test_what_has_no_memory_is_named(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    others = {
        reading: "is a pipe",
        writing: "is a pipe",
        os.open(tmp_path, os.O_RDONLY): "is a directory",
        os.open("/dev/null", os.O_RDWR): "is a character device",
        os.eventfd(0): r"is anon_inode:\[eventfd\]",
        os.memfd_create("empty"): "has no bytes",
        socket.socket().detach(): "is a socket",
    }
    for fd, what in others.items():
        with Fd(fd), pytest.raises(LayoutError, match=f"^descriptor {fd} {what}"):
            memory_size(fd)


def test_what_answers_as_a_dma_buf_and_has_no_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a seccomp notifier does, whose answers stand in for those of this kernel."""

    def invalid(*_: object) -> None:
        raise OSError(errno.EINVAL, "Invalid argument")

    def illegal(*_: object) -> None:
        raise OSError(errno.ESPIPE, "Illegal seek")

    with Fd(os.eventfd(0)) as fd:
        monkeypatch.setattr("fcntl.ioctl", invalid)
        assert is_dma_buf(fd.fileno())
        monkeypatch.setattr("os.lseek", illegal)
        with pytest.raises(LayoutError, match=r"eventfd\], which is not a DMA-BUF"):
            memory_size(fd.fileno())


@pytest.mark.parametrize("number", [-1, 1 << 20, 1 << 40])
def test_numbers_that_are_not_open_descriptors(number: int) -> None:
    for function in (memory_size, is_dma_buf, file_identity):
        with pytest.raises(LayoutError, match=f"^{number} is not an open file descriptor"):
            function(number)
    assert file_behind(number) == ""
