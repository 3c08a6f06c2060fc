# SPDX-License-Identifier: Apache-2.0
"""Resources that rings need of the kernel: memory, descriptors, room in sockets, guarded pages."""

from __future__ import annotations

import fcntl
import os
import resource
import select
import subprocess
from collections.abc import Callable

import pytest

import samebytes
from samebytes.errors import NativeError
from samebytes_ipc import RingTimeoutError, RingWriter

from .both_ends import join, ring, said, same_descriptors, sent, value_of, writer_at

F_SEAL_FUTURE_WRITE = 0x0010


def test_much_metadata_for_a_peer_that_does_not_read() -> None:
    """More than its socket takes: what is left waits with the writer, and arrives."""
    with ring(slots=16) as (writer, reader):
        for number in range(16):
            frame = writer.acquire()
            frame.metadata["text"] = ["x" * 4000] * 12
            frame.meta.pts = number
            writer.send(frame)
        del frame
        (about,) = writer.statistics.readers
        assert about.waiting > 0
        assert about.waiting + about.held == 16
        for number in range(16):
            got = reader.read()
            assert (got.pts, len(got.metadata["text"])) == (number, 12)
            writer.serve()


def test_room_in_a_socket_makes_the_ring_readable() -> None:
    """A program that waits for fileno() alone sends what had no room, and then sleeps."""
    with ring(slots=8) as (writer, reader):
        for _ in range(8):
            frame = writer.acquire()
            frame.metadata["text"] = ["x" * 4000] * 12
            writer.send(frame)
        del frame
        kept = list[object]()
        while len(kept) < 8:
            try:
                kept.append(reader.read(0))
            except RingTimeoutError:
                assert select.select([writer.fileno()], [], [], 20)[0]
                writer.serve()
        writer.serve()
        assert not select.select([writer.fileno()], [], [], 0)[0]


def kernel_guards() -> bool:
    """True if the kernel knows the seal, which is tried on memory of the test's own."""
    number = os.memfd_create("test", os.MFD_ALLOW_SEALING)
    try:
        fcntl.fcntl(number, fcntl.F_ADD_SEALS, F_SEAL_FUTURE_WRITE)
    except OSError:
        return False
    finally:
        os.close(number)
    return True


def test_readers_cannot_write_what_the_kernel_guards() -> None:
    with ring(memory="memfd") as (writer, reader):
        if not kernel_guards():
            pytest.skip("this kernel has no F_SEAL_FUTURE_WRITE: Linux 5.1 is needed")
        assert not writer.readers_can_write
        sent(writer, 7)
        frame = reader.read()
        number = frame.planes[0].handle("dma_fd")
        import mmap

        with pytest.raises(PermissionError):
            mmap.mmap(number, 0, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
        with pytest.raises(PermissionError):
            os.pwrite(number, b"x", 0)
        again = os.open(f"/proc/self/fd/{number}", os.O_RDWR)
        try:
            with pytest.raises(PermissionError):
                mmap.mmap(again, 0, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
            with pytest.raises(PermissionError):
                os.ftruncate(again, 0)
            with pytest.raises(PermissionError):
                fcntl.fcntl(again, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE)
        finally:
            os.close(again)
        assert value_of(frame) == 7
        sent(writer, 8)  # the writer goes on
        assert value_of(reader.read()) == 8


FULL = """
import resource, samebytes_ipc
from samebytes.errors import NativeError
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
try:
    samebytes_ipc.RingWriter(shape=(2 << 20,), memory="memfd")
except NativeError as error:
    print(error.call, error.code)
ring = samebytes_ipc.RingWriter(memory="memfd", slots=2)
import numpy, samebytes
try:
    ring.send(samebytes.tensor(numpy.zeros(2 << 20, "uint8")), copy=True)
except NativeError as error:
    print(error.call, error.code)
small = samebytes.tensor(numpy.zeros(1 << 19, "uint8"))
print(ring.send(small, copy=True), ring.statistics.accepted)
"""


def test_no_memory_for_slots(run: Callable[..., subprocess.Popen[str]]) -> None:
    """An error when slots are allocated, not a signal when they are written."""
    process = run(FULL)
    assert said(process, 3) == ["memfd_create 27", "memfd_create 27", "1 1"]
    assert process.wait(60) == 0


def test_no_descriptors_for_slots() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with same_descriptors():
        used = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - a count
        resource.setrlimit(resource.RLIMIT_NOFILE, (used + 3, hard))
        try:
            with pytest.raises((NativeError, OSError)):
                RingWriter(shape=(4096,), memory="memfd", slots=8)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_nothing_is_left_open(address: str) -> None:
    def once() -> None:
        with writer_at(address) as writer:
            reader = join(writer)
            for number in range(3):
                sent(writer, number)
                value_of(reader.read())
            reader.close()

    once()
    with same_descriptors():
        for _ in range(20):
            once()
    assert samebytes.stats().copies == 0
