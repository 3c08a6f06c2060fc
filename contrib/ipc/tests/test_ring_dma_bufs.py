# SPDX-License-Identifier: Apache-2.0
"""Rings whose slots are DMA-BUFs, which no kernel seals: python3 dev.py lab."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import samebytes
from samebytes_dma import is_dma_buf
from samebytes_ipc import RingReader, RingWriter

from .both_ends import join, ring, sent, served, started, value_of

DEVICES = {"udmabuf": Path("/dev/udmabuf"), "heap": Path("/dev/dma_heap/system")}

pytestmark = pytest.mark.dmabuf


@pytest.fixture(params=DEVICES)
def memory(request: pytest.FixtureRequest) -> str:
    """The name of an allocator of DMA-BUFs that this kernel has."""
    name: str = request.param
    if not DEVICES[name].exists():
        pytest.skip(f"this kernel has no {DEVICES[name]}")
    return name


def file_of(frame: Any) -> int:
    """Return the inode of the memory, which is the same for every descriptor of it."""
    return os.fstat(frame.planes[0].handle()).st_ino


def test_slots_come_round_again(memory: str) -> None:
    with ring(memory=memory, slots=3) as (writer, reader):
        files = set()
        for number in range(9):
            sent(writer, number)
            frame = reader.read()
            assert is_dma_buf(frame.planes[0].handle())
            assert value_of(frame) == frame.pts == number
            files.add(file_of(frame))
            del frame
        assert 1 <= len(files) <= 3


def test_arrays_at_once(memory: str) -> None:
    """The access begins in acquire(), and ends in send(); a reader has one of its own."""
    with ring(0, memory=memory, slots=3) as (writer,):
        reader = join(writer, timeout=20, target="cpu")
        for number in range(1, 9):
            frame = writer.acquire(target="cpu")
            frame.planes[0].native[...] = number
            writer.send(frame)
            assert frame.closed
            got = reader.read()
            assert (got.context.node, got.readonly, value_of(got)) == ("cpu", True, number)
            del frame, got
        reader.close()


def test_it_says_that_readers_can_write(memory: str) -> None:
    """They are read-only to samebytes; the kernel would let a reader write."""
    with ring(memory=memory) as (writer, reader):
        assert writer.readers_can_write
        sent(writer, 7)
        frame = reader.read()
        assert frame.readonly
        with pytest.raises(samebytes.errors.AccessError):
            frame.map("cpu", "rw")
        view = frame.map("cpu")
        with pytest.raises(ValueError, match="read-only"):
            view.planes[0].native[0, 0] = 1


def test_other_frames_are_copied_into_a_slot(memory: str) -> None:
    picture = samebytes.frame(np.full((16, 64), 5, np.uint8), format="GRAY8")
    with ring(memory=memory) as (writer, reader):
        writer.send(picture, copy=True)
        assert value_of(reader.read()) == 5
        assert samebytes.stats().by_edge["cpu -> ring"].nbytes == 16 * 64
        samebytes.reset_stats()


def test_dma_bufs_of_others_go_where_they_lie(memory: str) -> None:
    frame = samebytes.context(f"dma:{memory}").allocate_frame("GRAY8", 64, 16)
    with frame.map("cpu", "w") as view:
        view.planes[0].native[...] = 9
    with ring(memory="memfd") as (writer, reader):
        writer.send(frame)
        got = reader.read()
        assert file_of(got) == file_of(frame)
        assert value_of(got) == 9
        del got
        assert served(writer, lambda: writer.statistics.readers[0].done == 1)


READER = """
import os, signal, sys
import samebytes_ipc
with samebytes_ipc.RingReader(sys.argv[1], timeout=300) as ring:
    for frame in ring:
        array = frame.map("cpu").planes[0].native
        assert array.min() == array.max() == frame.pts
        print(frame.pts, flush=True)
        if frame.pts == int(sys.argv[2]):
            os.kill(os.getpid(), signal.SIGKILL)
"""


def test_other_processes(memory: str, tmp_path: Path) -> None:
    """One is killed with a frame in its hands, whose slot comes back."""
    address = str(tmp_path / "ring")
    options: dict[str, Any] = {"format": "GRAY8", "width": 64, "height": 16, "slots": 2}
    with RingWriter(address, memory=memory, timeout=300, **options) as writer:
        first = started(READER, address, "3")
        second = started(READER, address, "-1")
        writer.wait_for_readers(2, timeout=300)  # the lab's CPUs are emulated
        for number in range(12):
            sent(writer, number)
    assert first.communicate(timeout=300)[0].split() == ["0", "1", "2", "3"]
    assert second.communicate(timeout=300)[0].split() == [str(n) for n in range(12)]
    assert second.returncode == 0


def test_frames_outlive_the_ring(memory: str) -> None:
    with ring(memory=memory) as (writer, reader):
        sent(writer, 4)
        frame = reader.read()
        assert isinstance(reader, RingReader)
    assert value_of(frame) == 4
