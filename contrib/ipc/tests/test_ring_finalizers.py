# SPDX-License-Identifier: Apache-2.0
"""Finalizers that use a ring in the middle of its own calls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import samebytes
from samebytes.errors import BusyError, ClosedError
from samebytes_ipc._ring import remote_reader
from samebytes_ipc._ring.packets import pack_frame, unpack_records
from samebytes_ipc._ring.sending import Sender
from samebytes_ipc._ring.slots import Slot

from .both_ends import (
    elsewhere,
    join,
    picture,
    ring,
    sent,
    served,
    value_of,
)


def test_memory_of_others_is_given_back_without_the_lock() -> None:
    """Its release may wait for a thread that uses the ring."""
    with ring() as (writer, reader):
        results: list[object] = []

        def release() -> None:
            with elsewhere(lambda: results.append(writer.statistics)) as thread:
                thread.join(5)
                results.append(thread.is_alive())
                if thread.is_alive():
                    raise AssertionError("the lock of the ring is held")

        item = picture(3)
        owner = samebytes.Storage(release, keep=item.storage)
        frame = samebytes.Frame.borrowed(
            tuple(plane.native for plane in item.planes), item.context, item.meta, keep=owner
        )
        writer.send(frame)
        del item, frame, owner
        assert value_of(reader.read()) == 3
        assert served(writer, lambda: results, 30)
        assert results[1:] == [False]


def test_a_finalizer_serves_while_a_frame_is_sent() -> None:
    """Each reader gets the frame once."""
    with ring(2) as (writer, *readers):
        for _ in range(8):  # each slot is known to the readers
            sent(writer, 1)
            assert [value_of(reader.read()) for reader in readers] == [1, 1]

        class Joined(list[Any]):
            def __iter__(self) -> Iterator[Any]:
                writer.serve()
                return super().__iter__()

        writer._server._joined = Joined(writer._server._joined)
        for value in (2, 3):
            sent(writer, value)
            assert [value_of(reader.read()) for reader in readers] == [value, value]
        writer.wait_until_read()
        assert [r.done for r in writer.statistics.readers] == [10, 10]


@pytest.mark.parametrize("name", ["unpack_join", "sender", "unpack_records"])
def test_a_finalizer_serves_while_readers_are_served(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each packet of a reader counts once, and each reader gets a frame once."""
    real, refused = getattr(remote_reader, name), list[str]()

    def serves(*arguments: Any) -> Any:
        monkeypatch.undo()
        writer.serve()
        for call in (writer.acquire, writer.wait_until_read):
            with pytest.raises(BusyError, match="is being used"):
                call(0)
            refused.append(call.__name__)
        return real(*arguments)

    with ring(slots=6, when_full="drop-oldest") as (writer, reader):
        monkeypatch.setattr(remote_reader, name, serves)
        other = join(writer, timeout=20)
        sent(writer, 1)
        sent(writer, 2)
        assert [value_of(reader.read()) for _ in range(2)] == [1, 2]
        assert [value_of(other.read()) for _ in range(2)] == [1, 2]
        writer.wait_until_read()
        other.close()
        writer.wait_for_readers(1)
        assert len(refused) == 2
        assert [(gone.reason, gone.statistics.done) for gone in writer.departures] == [("left", 2)]
        assert [about.done for about in writer.statistics.readers] == [2]
        assert all(slot.free for slot in writer._pool.own)


def test_a_finalizer_closes_a_ring_that_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    """It cannot wait until readers were sent everything: the call goes on after it."""
    with ring(slots=2, timeout=None) as (writer, reader):
        sent(writer, 1)

        def closes(*arguments: Any) -> Any:
            monkeypatch.undo()
            writer.close()
            return unpack_records(*arguments)

        monkeypatch.setattr(remote_reader, "unpack_records", closes)
        assert value_of(reader.read()) == 1
        writer.serve()
        with pytest.raises(ClosedError):
            writer.serve()


def test_a_finalizer_sends_nothing_while_a_frame_is_accepted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Readers would get both under one number, or in the wrong order."""
    with ring() as (writer, reader):
        frame, other = writer.acquire(target="cpu"), writer.acquire()

        def sends_another(*arguments: Any) -> bytes:
            monkeypatch.undo()
            with pytest.raises(BusyError, match="is being used"):
                writer.send(other)
            return pack_frame(*arguments)

        monkeypatch.setattr(f"{Sender.__module__}.pack_frame", sends_another)
        assert [writer.send(frame), writer.send(other)] == [1, 2]
        assert reader.read() is not None
        assert reader.read() is not None
        assert writer.statistics.accepted == 2


@pytest.mark.parametrize("target", ["dma", "cpu"])
def test_a_finalizer_gets_no_slot_that_is_being_taken(
    target: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ring(0, slots=4) as (writer,):
        free, taken = Slot.free, list[BusyError]()
        assert isinstance(free, property)

        def takes_one(slot: Slot) -> bool:
            monkeypatch.undo()
            for kind in ("dma", "cpu"):
                with pytest.raises(BusyError, match="is being used") as caught:
                    writer.acquire(target=kind)
                taken.append(caught.value)
            return slot.free

        writer.send(writer.acquire(target="cpu"))  # and the next one is prepared
        monkeypatch.setattr(Slot, "free", property(takes_one))
        frames = [writer.acquire(target=target), writer.acquire(target=target)]
        assert len(taken) == 2
        assert sum(slot.used_here for slot in writer._pool.own) == len(frames)
