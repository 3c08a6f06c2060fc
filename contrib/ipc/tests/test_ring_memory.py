# SPDX-License-Identifier: Apache-2.0
"""The memory that a frame of a ring lies in: of which ring, who may write it, and until when."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

import samebytes
from samebytes.errors import AccessError
from samebytes.plugins import ImportCache
from samebytes_dma import DMABuffer
from samebytes_ipc import RingWriter

from .both_ends import ring, sent, value_of


def test_a_frame_of_another_ring_of_this_process_lies_in_that_ones_memory() -> None:
    """Their slots have the same numbers."""
    with ring() as (first, _), ring() as (second, reader):
        sent(second, 1)
        assert value_of(reader.read()) == 1
        second.wait_until_read()
        frame = first.acquire()
        with frame.map("cpu", "w") as view:
            view.planes[0].native[...] = 9
        second.send(frame)
        assert value_of(reader.read()) == 9
        second.wait_until_read()


def buffer_of(frame: Any) -> DMABuffer:
    """The buffer of a frame of one plane."""
    found: DMABuffer = frame.planes[0].native.buffer
    return found


def sent_from(writer: RingWriter, value: int) -> DMABuffer:
    """Send a frame with that value; the buffer it is in."""
    frame = writer.acquire()
    with frame.map("cpu", "w") as view:
        view.planes[0].native[...] = value
    writer.send(frame)
    return buffer_of(frame)


def test_natives_of_a_reader_are_read_only_too() -> None:
    """Of memory whose descriptor allows writing, and whoever wraps them again."""
    with ring() as (writer, reader):
        frame = samebytes.context("dma:memfd").allocate_frame("GRAY8", 64, 16)
        writer.send(frame)
        got = reader.read()
        again = samebytes.tensor(got.planes[0].native)
        for access in ("w", "rw"):
            with pytest.raises(AccessError):
                again.map("cpu", access)
        assert (again.map("cpu").native == 0).all()
        del got, again
        writer.wait_until_read()


def test_a_driver_imports_each_slot_once() -> None:
    """On both sides, for however many frames; and no longer than the ring is there."""
    cache: ImportCache[object] = ImportCache()
    with ring(slots=2) as (writer, reader):
        for value in range(6):
            for buffer in (sent_from(writer, value), buffer_of(reader.read())):
                cache.of_source(buffer.storage, buffer.fileno(), object)
            del buffer
            writer.wait_until_read()
        assert len(cache) == 2, "one on each side, of the slot that was free again each time"
    del writer, reader
    gc.collect()
    assert len(cache) == 0


class Import:
    """An import by an address, which notes when it ends: before its memory is unmapped."""

    def __init__(self, order: list[str]) -> None:
        weakref.finalize(self, order.append, "import")


def test_imports_of_addresses_end_before_the_slots_are_unmapped() -> None:
    """Once for each slot too, as far as readers map it once."""
    cache: ImportCache[Import] = ImportCache()
    order: list[str] = []
    with ring(slots=2, memory="memfd") as (writer, reader):
        for count in range(3):
            for value in range(2):
                sent(writer, value)
            frames = [reader.read() for _ in range(2)]
            for frame in frames:
                source = frame.map("cpu").planes[0].storage
                cache.of_source(source, source.address, lambda: Import(order))
                if not count:
                    buffer = buffer_of(frame)
                    assert buffer.kept is not None
                    mapping = buffer.kept.of(buffer)
                    unmapped = partial(order.append, "unmap")
                    mapping.release = partial(_both, unmapped, mapping.release)
                    del buffer, mapping
            del frame, frames, source
            writer.wait_until_read()
        assert order == []
        assert len(cache) == 2
    del writer, reader
    gc.collect()
    assert order == ["import", "unmap"] * 2


def _both(first: Callable[[], object], second: Callable[[], object] | None) -> None:
    first()
    assert second is not None
    second()


def test_a_slot_in_a_cycle_is_used_until_those_are_finalized_that_use_it() -> None:
    """The collector finalizes in any order, and clears weak references before."""
    with ring(0, slots=2) as (writer,):

        class User:
            def __init__(self) -> None:
                self.frame: Any = writer.acquire()
                self.itself = self

            def __del__(self) -> None:
                used.append(sum(slot.used_here for slot in writer._pool.own))

        used: list[int] = []
        User()
        gc.collect()
        assert used == [1]
        assert not any(slot.used_here for slot in writer._pool.own)
