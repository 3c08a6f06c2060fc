# SPDX-License-Identifier: Apache-2.0
"""Preparations of a ring's reader, while it waits, for frames that have not come."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import numpy as np
import pytest

import samebytes
from samebytes import Frame
from samebytes_ipc import RingTimeoutError, RingWriter

from .both_ends import join, memfds, ring, sent, value_of, wait


@pytest.fixture
def made(planes_made: list[int]) -> Iterator[list[int]]:
    """One entry for each set of planes that a reader makes."""
    yield planes_made
    samebytes.reset_stats()


def test_frames_are_prepared_while_a_reader_waits(made: list[int]) -> None:
    with ring(slots=2) as (writer, reader):
        for value in (1, 2):  # both slots, one after the other
            sent(writer, value)
        first, second = reader.read(), reader.read()
        assert (value_of(first), value_of(second), len(made)) == (1, 2, 2)
        del first, second
        wait(reader)
        assert len(made) == 4
        wait(reader)
        assert len(made) == 4, "they are there already"
        for value in (3, 4):
            sent(writer, value)
        frames = [reader.read(), reader.read()]
        assert len(made) == 4, "nothing was left to be made"
        assert [value_of(frame) for frame in frames] == [3, 4]
        with pytest.raises(RingTimeoutError):  # both are held here: their use has begun
            writer.acquire(0)
        frames.clear()
        writer.acquire(0)


def test_a_prepared_frame_does_not_use_its_slot() -> None:
    before = memfds()
    with ring(slots=2) as (writer, reader):
        for value in range(5):
            sent(writer, value)
            assert value_of(reader.read()) == value
            wait(reader)
            writer.wait_until_read(0)
            assert reader.statistics.held == 0
    del writer, reader
    gc.collect()
    assert memfds() == before


def test_slots_that_are_replaced_after_frames_were_prepared() -> None:
    with RingWriter(slots=2) as writer:
        reader = join(writer)
        for size in (8, 64, 640, 16, 640):
            for value in (1, 2):
                picture = samebytes.frame(np.full((size, size), value, np.uint8), format="GRAY8")
                writer.send(picture, copy=True)
                got = reader.read()
                assert (got.width, value_of(got)) == (size, value)
                del got
                wait(reader)
        reader.close()
    samebytes.reset_stats()


def test_frames_of_other_layouts_come_after_some_were_prepared(made: list[int]) -> None:
    with RingWriter(slots=2) as writer:
        reader = join(writer)
        for shape in ((4, 6), (6, 4), (6, 4), (4, 6)):
            picture = np.arange(24, dtype=np.uint8).reshape(shape)
            writer.send(samebytes.tensor(picture), copy=True)
            got = reader.read()
            assert got.shape == shape
            assert (got.map("cpu").native == picture).all()
            del got
            wait(reader)
            writer.wait_until_read(0)  # it takes the slot that was free first
        # Each layout was made once when it came, and once for the next; the third came prepared.
        assert len(made) == 7
        reader.close()
    samebytes.reset_stats()


def test_memory_is_prepared_for_the_cpu_where_the_cpu_has_read() -> None:
    with ring(slots=2) as (writer, reader):
        for reads in (False, True):
            sent(writer, 1)
            frame = reader.read()
            if reads:
                assert value_of(frame) == 1
            del frame
            wait(reader)
            writer.wait_until_read(0)  # it takes the slot that was free first
            ((_, item),) = reader._connection.received._ready.values()
            assert (item.planes[0].native.buffer.storage.holds is not None) is reads
            del item, _


def test_each_frame_has_its_own_metadata_and_arrays() -> None:
    with ring(slots=3) as (writer, reader):
        held: list[Frame] = []
        for value in range(3):
            sent(writer, value)
            frame = reader.read()
            frame.metadata["value"] = value
            held.append(frame)
            del frame
            wait(reader)
        assert [frame.metadata["value"] for frame in held] == [0, 1, 2]
        assert [value_of(frame) for frame in held] == [0, 1, 2]
        array = held.pop(1).map("cpu").planes[0].native
        held.clear()
        wait(reader)
        for value in (7, 8):
            sent(writer, value)
        with pytest.raises(RingTimeoutError):
            writer.acquire(0)
        assert array.max() == 1, "its slot is held by the array alone"
