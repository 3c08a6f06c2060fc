# SPDX-License-Identifier: Apache-2.0
"""Attachments of a hostile sender: other descriptors than announced, or not of sealed memory."""

from __future__ import annotations

import fcntl
import os
import select
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from samebytes import Fd
from samebytes_dma import DMATensor
from samebytes_ipc import MessageError, receive

from .both_ends import same_descriptors
from .forged_messages import FRAME, TENSOR, changed, message, refused
from .through_sockets import MakeMemfd, Sockets


@pytest.mark.parametrize("count", [0, 2, 64, 65, 253])
def test_other_descriptors_than_were_announced(
    sockets: Sockets, sealed: MakeMemfd, count: int
) -> None:
    assert refused(sockets, message(TENSOR), [sealed()] * count).field == "descriptors"


def test_descriptors_that_nothing_lies_in(sockets: Sockets, sealed: MakeMemfd) -> None:
    error = refused(sockets, message(TENSOR, 3), [sealed(), sealed(), sealed()])
    assert error.field == "descriptors[1]"


def test_descriptors_all_along_a_message(streams: Sockets, sealed: MakeMemfd) -> None:
    """A sender could attach some to every byte: no more are taken than a message may have."""
    ours, theirs = streams
    fds = [sealed() for _ in range(40)]
    sent = message(TENSOR)
    with same_descriptors():
        for start in range(0, len(sent), 50):
            socket.send_fds(ours, [sent[start : start + 50]], fds)
        with pytest.raises(MessageError) as caught:
            receive(theirs)
        assert caught.value.field == "descriptors"


def test_a_process_without_room_for_descriptors(sockets: Sockets, sealed: MakeMemfd) -> None:
    """MSG_CTRUNC: the kernel closes those that it could not hand out."""
    import resource

    fds = [sealed() for _ in range(3)]
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(int(p.name) for p in Path("/proc/self/fd").iterdir())
    socket.send_fds(sockets[0], [message(TENSOR, 3)], fds)
    taken = [os.dup(0) for _ in range(highest + 20 - len(os.listdir("/proc/self/fd")))]  # noqa: PTH208 - a count
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(taken) + 2, hard))
        with pytest.raises(MessageError, match="more than this process may open"):
            receive(sockets[1])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for fd in taken:
            os.close(fd)


@pytest.fixture
def odd_descriptors(tmp_path: Path) -> Iterator[dict[str, int]]:
    """Descriptors that are not memory, or memory that can change its size."""
    path = tmp_path / "bytes"
    path.write_bytes(bytes(4096))
    reader, writer = os.pipe()
    one, other = socket.socketpair()
    epoll = select.epoll()
    made = {
        "a pipe": reader,
        "a pipe's other end": writer,
        "a socket": one.detach(),
        "another socket": other.detach(),
        "a directory": os.open(tmp_path, os.O_RDONLY),
        "a device": os.open("/dev/zero", os.O_RDWR),
        "a file of /proc": os.open("/proc/self/maps", os.O_RDONLY),
        "a file": os.open(path, os.O_RDWR),
        "a path": os.open(path, os.O_PATH),
        "a file for writing": os.open(path, os.O_WRONLY),
        "an eventfd": os.eventfd(0),
        "an epoll": os.dup(epoll.fileno()),
        "a pidfd": os.pidfd_open(os.getpid()),
    }
    if Path("/dev/shm").is_dir():
        shared = Path("/dev/shm") / f"samebytes-test-{os.getpid()}"
        shared.write_bytes(bytes(4096))
        made["a file in memory"] = os.open(shared, os.O_RDWR)
        shared.unlink()
    epoll.close()
    yield made
    for fd in made.values():
        os.close(fd)


def test_descriptors_that_are_not_memory(sockets: Sockets, odd_descriptors: dict[str, int]) -> None:
    for what, fd in odd_descriptors.items():
        error = refused(sockets, message(TENSOR), [fd])
        assert error.field == "descriptors[0]", what
        assert "neither a DMA-BUF nor a memfd that is sealed" in str(error)


def test_trust_is_in_sizes_alone(sockets: Sockets, odd_descriptors: dict[str, int]) -> None:
    for what, fd in odd_descriptors.items():
        if what in ("a file", "a file in memory"):
            socket.send_fds(sockets[0], [message(TENSOR)], [fd])
            assert receive(sockets[1], trusted=True).map("cpu").native.sum() == 0, what
        else:
            error = refused(sockets, message(TENSOR), [fd], trusted=True)
            assert error.field == "descriptors[0]", what


def test_memfds_that_are_not_sealed(sockets: Sockets, memfd: MakeMemfd) -> None:
    fd = memfd()
    for seals in (0, fcntl.F_SEAL_GROW, fcntl.F_SEAL_WRITE):
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, seals)
        error = refused(sockets, message(TENSOR), [fd])
        assert error.field == "descriptors[0]"
        assert "F_SEAL_SHRINK" in str(error)
    socket.send_fds(sockets[0], [message(TENSOR)], [fd])
    trusting = receive(sockets[1], trusted=True)
    assert trusting.readonly  # F_SEAL_WRITE
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
    socket.send_fds(sockets[0], [message(TENSOR)], [fd])
    assert receive(sockets[1]).readonly


def test_nobody_can_cut_short_what_was_received(sockets: Sockets, sealed: MakeMemfd) -> None:
    """Reading on would be a SIGBUS."""
    fd = sealed()
    socket.send_fds(sockets[0], [message(TENSOR)], [fd])
    view = receive(sockets[1]).map("cpu")
    for size in (0, 4095):
        with pytest.raises(PermissionError):
            os.ftruncate(fd, size)
    assert view.native.sum() == 0


def test_memfds_of_huge_pages(sockets: Sockets) -> None:
    """A hole punched into one takes the page away, and reading it would be a SIGBUS."""
    try:
        number = os.memfd_create("samebytes-test", os.MFD_HUGETLB | os.MFD_ALLOW_SEALING)
    except OSError as error:
        pytest.skip(f"this kernel has no huge pages: {error}")
    with Fd(number):
        # Made, it takes no page yet: the machine need not have one.
        os.ftruncate(number, os.fstatvfs(number).f_bsize)
        fcntl.fcntl(number, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
        why = refused(sockets, message(TENSOR), [number])
        assert why.field == "descriptors[0]"
        assert "huge pages" in str(why)
        socket.send_fds(sockets[0], [message(TENSOR)], [number])
        assert isinstance(receive(sockets[1], trusted=True), DMATensor)


def test_names_of_files_do_not_write_to_the_terminal(sockets: Sockets, tmp_path: Path) -> None:
    path = tmp_path / "a\nb\x1b[2J"
    path.write_bytes(bytes(4096))
    with Fd(os.open(path, os.O_RDWR)) as fd:
        said = str(refused(sockets, message(TENSOR), [fd.fileno()]))
    assert said.isprintable()


def test_an_empty_memfd(sockets: Sockets, sealed: MakeMemfd) -> None:
    error = refused(sockets, message(TENSOR), [sealed(0)])
    assert error.field == "descriptors[0]"
    assert "no bytes" in str(error)


def test_one_bad_descriptor_among_good_ones(sockets: Sockets, sealed: MakeMemfd) -> None:
    second = changed(FRAME, "frame.planes.1.buffer", 1)
    reader, writer = os.pipe()
    with Fd(reader), Fd(writer):
        error = refused(sockets, message(second, 2), [sealed(), reader])
    assert error.field == "descriptors[1]"
