# SPDX-License-Identifier: Apache-2.0
"""Slots of a ring: who holds one, and what happens when none is free."""

from __future__ import annotations

import errno
import gc
import os
import threading
from typing import Any

import numpy as np
import pytest

import samebytes
from samebytes.errors import ClosedError, NativeError, UnsupportedObjectError
from samebytes_ipc import EndOfStreamError, RingTimeoutError, RingWriter

from .both_ends import join, memfds, ring, sent, served, value_of


def held(frame: Any, what: str) -> Any:
    """Something that holds a frame."""
    if what == "frame":
        return frame
    if what == "plane":
        return frame.planes[0]
    if what == "native":
        return frame.native[0]
    view = frame.map("cpu")
    if what == "mapped":
        return view
    array = view.planes[0].native
    return array[3:5, ::2] if what == "slice" else np.from_dlpack(array[1:])


@pytest.mark.parametrize("what", ["frame", "plane", "slice", "native", "capsule", "mapped"])
def test_the_last_holder_gives_the_slot_back(what: str) -> None:
    with ring() as (writer, reader):
        sent(writer, 1)
        frame = reader.read()
        holder = held(frame, what)
        del frame
        gc.collect()
        writer.serve()
        assert writer.statistics.readers[0].held == 1
        assert reader.statistics.held == 1
        del holder
        gc.collect()
        assert reader.statistics.held == 0
        writer.wait_until_read()
        assert writer.statistics.readers[0].done == 1


def test_a_slot_is_not_filled_again_while_a_reader_or_the_writer_has_it() -> None:
    with ring(slots=2, timeout=0.05) as (writer, reader):
        sent(writer, 1)
        first = reader.read()
        array = first.map("cpu").planes[0].native
        ours = writer.acquire()
        with pytest.raises(RingTimeoutError, match="no slot of 2 is free") as caught:
            writer.acquire()
        assert "this process holds 1 of the slots" in str(caught.value)
        del first
        with pytest.raises(RingTimeoutError):
            writer.acquire()
        assert (array == 1).all()
        del array
        again = writer.acquire()
        assert again.planes[0].handle("dma_fd") >= 0
        del ours, again


def test_a_reader_that_keeps_frames_is_named() -> None:
    with ring(slots=3, timeout=0.05) as (writer, reader):
        kept = []
        for number in range(3):
            sent(writer, number)
            kept.append(reader.read())
        with pytest.raises(RingTimeoutError) as caught:
            sent(writer, 3)
        assert caught.value.holders == {os.getpid(): 3}
        assert f"process {os.getpid()} has 3 of the slots" in str(caught.value)
        with pytest.raises(RingTimeoutError, match=r"readers did not finish within 0\.05 s"):
            writer.wait_until_read()
        with pytest.raises(RingTimeoutError, match="no frame came in time"):
            reader.read(0.05)
        assert writer.send_away(os.getpid())
        assert not writer.send_away(os.getpid())
        sent(writer, 3)  # there is room again
        (departure,) = writer.departures
        assert departure.reason == "sent away"
        assert (departure.statistics.lost, departure.statistics.held) == (3, 0)
        assert writer.statistics.unread == 1
        with pytest.raises(EndOfStreamError):
            reader.read()


def test_a_reader_knows_that_it_keeps_too_many() -> None:
    with ring(slots=8, when_full="drop-oldest") as (writer, reader):
        assert reader.frames == 6
        kept = []
        for number in range(6):
            sent(writer, number)
            kept.append(reader.read())
        sent(writer, 6)
        with pytest.raises(RingTimeoutError, match="this process holds 6, and the writer"):
            reader.read(0.05)
        kept.pop()
        writer.serve()
        assert value_of(reader.read()) == 6


def test_the_oldest_frame_is_left_out_for_the_slow_reader_alone() -> None:
    with ring(2, slots=6, when_full="drop-oldest") as (writer, slow, fast):
        first = None
        for number in range(1, 41):
            sent(writer, number)
            if number == 1:
                first = slow.read()
            assert value_of(fast.read()) == number
        assert first is not None
        assert value_of(first) == 1
        del first
        seen: list[int] = []
        while not seen or seen[-1] != 40:
            writer.serve()
            try:
                seen.append(value_of(slow.read(0.01)))
            except RingTimeoutError:
                continue
        assert seen == sorted(seen)
        assert len(seen) < 10
        writer.wait_until_read()
        about_slow, about_fast = writer.statistics.readers
        assert about_fast.dropped == 0
        assert about_fast.done == about_fast.offered == 40
        assert about_slow.dropped == 40 - 1 - len(seen) == slow.statistics.missed
        assert about_slow.done == 1 + len(seen)


def test_readers_have_their_own_places() -> None:
    with ring(3, slots=8) as (writer, *readers):
        for number in range(8):
            sent(writer, number)
        seen = [
            [value_of(reader.read()) for _ in range(n)]
            for reader, n in zip(readers, (8, 4, 1), strict=True)
        ]
        assert seen == [list(range(8)), list(range(4)), [0]]
        writer.serve()
        held = [s.held for s in writer.statistics.readers]
        assert held == [0, 4, 7]
        sent(writer, 8)  # slot 0 came back from all
        assert value_of(readers[0].read()) == 8


def test_frames_outlive_the_reader() -> None:
    """The slot comes back when they are dropped, not when the ring is closed."""
    with ring(slots=2) as (writer, reader):
        sent(writer, 1)
        sent(writer, 2)
        frame = reader.read()
        reader.close()
        assert served(writer, lambda: writer.statistics.readers[0].held == 1)
        assert writer.statistics.readers[0].lost == 1  # what it had not read
        sent(writer, 3)
        sent(writer, 4)
        assert value_of(frame) == 1
        del frame
        assert served(writer, lambda: not writer.statistics.readers)
        (departure,) = writer.departures
        assert (departure.reason, departure.statistics.done) == ("left", 1)
        gone = writer.statistics.gone
        assert (gone.offered, gone.done, gone.dropped, gone.lost) == (2, 1, 0, 1)


def test_an_acquired_frame_that_is_dropped_is_free_again() -> None:
    with ring(slots=2, timeout=0.05) as (writer, _):
        for _ in range(10):
            writer.acquire()
        arrays = [writer.acquire().map("cpu", "w").planes[0].native for _ in range(2)]
        with pytest.raises(RingTimeoutError):
            writer.acquire()
        del arrays
        writer.acquire()


def test_waiting_ends_when_another_thread_drops() -> None:
    with ring(slots=2) as (writer, _):
        held = [writer.acquire(), writer.acquire()]
        waiting = threading.Thread(target=held.clear)
        waiting.start()
        writer.acquire(timeout=20)
        waiting.join()


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.ENOMEM])
def test_no_memory_for_slots(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is an error of the call that allocates, which leaves nothing open."""

    def full(*_: int) -> None:
        raise OSError(number, os.strerror(number))

    before = memfds()
    frame = samebytes.frame(np.full((16, 64), 5, np.uint8), format="GRAY8")
    with RingWriter(memory="memfd") as writer:
        with monkeypatch.context() as patch:
            patch.setattr(os, "posix_fallocate", full)
            with pytest.raises(NativeError, match=r"posix_fallocate.*for 4096 bytes") as caught:
                RingWriter(format="GRAY8", width=64, height=64, memory="memfd")
            assert caught.value.code == number
            with pytest.raises(NativeError, match="posix_fallocate"):
                writer.send(frame, copy=True)
        reader = join(writer)
        writer.send(frame, copy=True)  # the slot was not lost
        assert (value_of(reader.read()), writer.statistics.accepted) == (5, 1)
        reader.close()
    del caught, reader, writer
    gc.collect()
    assert memfds() == before
    samebytes.reset_stats()


def test_a_slot_that_is_sent_after_the_end() -> None:
    with ring() as (writer, _):
        slot = writer.acquire()
    for wrong in (lambda: writer.send(slot), writer.fileno):
        with pytest.raises(ClosedError, match="this ring was closed"):
            wrong()


@pytest.mark.parametrize("what", [3, None, b"bytes"])
def test_nothing_but_frames_and_tensors_is_sent(what: Any) -> None:
    with ring() as (writer, _), pytest.raises(UnsupportedObjectError, match="sends tensors and"):
        writer.send(what)


@pytest.mark.parametrize("seconds", [None, 1e7, 1e300, float("inf")])
def test_who_waits_for_long_may_say_any_time(seconds: float | None) -> None:
    with ring(timeout=seconds) as (writer, reader):
        reader.timeout = seconds
        sending = threading.Timer(0.05, sent, (writer, 5))
        sending.start()
        assert value_of(reader.read()) == 5
        sending.join()
        writer.wait_until_read()
        writer.wait_for_readers()
        assert writer.acquire() is not None


def test_more_memory_than_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel would end processes instead of refusing it."""
    asked: list[Any] = []
    monkeypatch.setattr(os, "posix_fallocate", lambda *arguments: asked.append(arguments))
    with pytest.raises(NativeError, match=r"bytes are asked for, and \d+ are available") as caught:
        RingWriter(shape=(1 << 20, 1 << 20), slots=2)
    assert caught.value.code == errno.ENOMEM
    assert not asked
