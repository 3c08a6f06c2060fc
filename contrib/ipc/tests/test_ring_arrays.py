# SPDX-License-Identifier: Apache-2.0
"""Slots of a ring as arrays at once: acquire(target="cpu") and RingReader(target="cpu")."""

from __future__ import annotations

import gc
import select
import threading
import time
from typing import Any

import numpy as np
import pytest

import samebytes
from samebytes import Frame, ImageInfo
from samebytes.errors import AccessError, ClosedError, CopyRequiredError, LayoutError
from samebytes_ipc import MessageError, RingReader, RingTimeoutError, RingWriter
from samebytes_ipc._ring import layouts, received_frames, slots

from .both_ends import connect, join, memfds, ring, sent, served, value_of, writer_at


def filled(writer: RingWriter, value: int) -> Any:
    frame = writer.acquire(target="cpu")
    frame.planes[0].native[...] = value
    return frame


def address_of(frame: Frame[Any]) -> int:
    return int(frame.native[0].ctypes.data)


@pytest.mark.parametrize("target", ["dma", "cpu"])
def test_what_is_written_is_read_where_it_lies(target: Any) -> None:
    before = memfds()
    with ring(0, slots=2) as (writer,):
        reader = join(writer, timeout=20, target=target)
        places: dict[str, set[int]] = {"there": set(), "here": set()}
        for value in range(1, 9):
            frame = filled(writer, value)
            places["there"].add(address_of(frame))
            frame.meta.pts = value * 10
            frame.metadata["value"] = value
            writer.send(frame)
            del frame
            got = reader.read()
            assert got.context.node == target
            assert (got.pts, got.metadata["value"], value_of(got)) == (value * 10, value, value)
            view = got.map("cpu")
            places["here"].add(address_of(view))
            del got, view
        assert all(len(found) <= 2 for found in places.values())
        assert not places["there"] & places["here"]
        reader.close()
    del writer, reader
    gc.collect()
    assert memfds() == before
    assert samebytes.stats().copies == 0


def test_what_was_sent_is_read_only() -> None:
    with ring() as (writer, reader):
        frame = filled(writer, 1)
        array = frame.planes[0].native
        writer.send(frame)
        assert frame.readonly
        assert frame.planes[0].readonly
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 2
        assert value_of(reader.read()) == 1


def test_an_array_alone_keeps_its_slot() -> None:
    with ring(slots=2) as (writer, reader):
        array = filled(writer, 1).planes[0].native[2:4]
        for value in (5, 6, 7):
            frame = filled(writer, value)
            writer.send(frame)
            del frame
            assert value_of(reader.read()) == value
            assert array.max() == 1
        other = writer.acquire(target="cpu")
        with pytest.raises(RingTimeoutError, match="this process holds 2 of the slots"):
            writer.acquire(0, target="cpu")
        del array
        writer.acquire(0, target="cpu")
        del other


def test_a_slot_that_is_given_up_wakes_who_waits() -> None:
    """And both ways of having a slot are of the same slots."""
    with ring(slots=2) as (writer, _):
        held = [writer.acquire(), writer.acquire(target="cpu")]
        for target in ("dma", "cpu"):
            with pytest.raises(RingTimeoutError):
                writer.acquire(0, target=target)
        waits = writer._server.waiting
        waits.add(writer)
        assert not select.select([writer], [], [], 0)[0]
        held.pop()
        assert select.select([writer], [], [], 0)[0], "whoever waits is woken"
        waits.clear()
        writer.acquire(0, target="cpu")


def test_only_the_whole_of_it_is_sent_where_it_lies() -> None:
    with ring() as (writer, reader), ring(0) as (other,):
        frame = filled(writer, 1)
        for part in (frame.crop(0, 0, 8, 8), frame.planes[0], samebytes.tensor(frame.native[0])):
            with pytest.raises(CopyRequiredError):
                writer.send(part)
        with pytest.raises(CopyRequiredError):
            other.send(frame)
        assert writer.send(frame.crop(0, 0, 8, 8), copy=True) == 1
        assert reader.read().width == 8
        frame.close()
        with pytest.raises(ClosedError):
            writer.send(frame)
    samebytes.reset_stats()


@pytest.mark.parametrize("dtype", ["uint8", "float32", "bfloat16", "int4"])
def test_tensors(dtype: str) -> None:
    with RingWriter(shape=(3, 8), dtype=dtype, slots=2) as writer:
        reader = join(writer, timeout=20, target="cpu")
        for value in (1, 2, 3):
            tensor = writer.acquire(target="cpu")
            assert (tensor.shape, str(tensor.dtype)) == ((3, 8), dtype)
            tensor.native[...] = value
            writer.send(tensor)
            del tensor
            got = reader.read()
            assert (got.shape, str(got.dtype), got.readonly) == ((3, 8), dtype, True)
            assert (np.asarray(got.native) == value).all()
            del got
        reader.close()


def test_arrays_that_are_read_are_read_only_and_keep_their_slot() -> None:
    with ring(0, slots=2) as (writer,):
        reader = join(writer, timeout=20, target="cpu")
        sent(writer, 3)
        frame = reader.read()
        with pytest.raises(AccessError):
            frame.map("cpu", "rw")
        array = frame.planes[0].native[1:]
        with pytest.raises(ValueError, match="WRITEABLE"):
            array.setflags(write=True)
        del frame
        writer.serve()
        assert writer.statistics.readers[0].held == 1
        reader.close()
        assert array.max() == 3
        del array
        assert served(writer, lambda: writer.statistics.gone.done == 1)


@pytest.mark.parametrize("part", ["frame", "plane", "array"])
def test_what_a_reader_has_is_sent_to_another_ring(part: str) -> None:
    with ring(0, slots=2) as (first,), ring() as (second, last):
        reader = join(first, timeout=20, target="cpu")
        for value in range(1, 5):  # each slot comes as arrays of its own once it was mapped
            sent(first, value)
            got = reader.read()
            plane = got.planes[0]
            item = {"frame": got, "plane": plane, "array": samebytes.tensor(plane.native)}[part]
            with pytest.raises(CopyRequiredError):
                second.send(item)
            second.send(item, copy=True)
            del got, plane, item
            view = last.read().map("cpu")
            assert (np.asarray(view.native) == value).all()
            del view
        reader.close()
    samebytes.reset_stats()


@pytest.mark.parametrize("target", ["dma", "cpu"])
def test_a_format_that_the_program_changes_arrives_or_is_refused(target: Any) -> None:
    with ring(format="RGB24") as (writer, reader):
        rgb, bgr, gray = (ImageInfo.of(name, 64, 16) for name in ("RGB24", "BGR24", "GRAY8"))
        for info in (rgb, bgr, rgb, gray, rgb):
            frame = writer.acquire(target=target)
            if info is not rgb:
                frame.meta.info = info
            if info is gray:
                with pytest.raises(MessageError, match="plane y of GRAY8"):
                    writer.send(frame)
            else:
                writer.send(frame)
                assert reader.read().meta.info == info
        assert writer.statistics.accepted == 4


def test_another_target() -> None:
    with ring(0) as (writer,), pytest.raises(LayoutError, match='"dma" or "cpu"'):
        writer.acquire(target="gpu")
    unknown: Any = "gpu"
    with pytest.raises(LayoutError, match='"dma" or "cpu"'):
        RingReader("@nobody", target=unknown)


def test_readers_that_keep_up_are_looked_at_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look takes what they gave back, where the next slot is not known to be free."""
    with ring(slots=4) as (writer, reader):
        slots = [writer.acquire(target="cpu") for _ in range(4)]
        slots.clear()
        looks = list[str]()

        def note(name: str) -> None:
            look = getattr(writer._server, name)

            def noted() -> None:
                looks.append(name)
                look()

            monkeypatch.setattr(writer._server, name, noted)

        note("take_back")
        note("serve")
        monkeypatch.setattr(writer._server, "fresh_until", float("inf"))
        for value in range(4):
            writer.send(filled(writer, value))
            reader.read()
        assert looks == ["take_back"], "before the first, no slot's turn was known"
        assert writer.statistics.readers[0].held == 4
        writer.send(filled(writer, 4))
        assert looks == ["take_back"] * 2
        assert writer.statistics.readers[0].done == 4
        assert value_of(reader.read()) == 4
        monkeypatch.setattr(writer._server, "fresh_until", 0.0)
        writer.send(filled(writer, 5))
        assert looks == ["take_back"] * 2, "nobody has come or gone"
        reader.close()
        monkeypatch.setattr(writer._server, "fresh_until", 0.0)
        writer.send(filled(writer, 6))
        assert not writer.statistics.readers


def test_a_reader_that_has_all_it_may_have_is_looked_at_for_each_frame() -> None:
    with ring(0, slots=4) as (writer,):
        reader = join(writer, timeout=20, frames=1)
        for value in range(4):
            writer._server.fresh_until = float("inf")
            writer.send(filled(writer, value))
            assert value_of(reader.read(0)) == value
        reader.close()


def test_a_reader_joins_while_frames_are_sent(address: str) -> None:
    with writer_at(address) as writer:
        first = connect(writer, address, timeout=20)
        made: list[Any] = []
        joining = threading.Thread(target=lambda: made.append(RingReader(address, timeout=20)))
        joining.start()
        while len(writer.statistics.readers) < 2:
            writer.send(filled(writer, 1))
            assert value_of(first.read()) == 1
        joining.join()
        first.close()
        made[0].close()


def test_memory_whose_accesses_begin_and_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """As DMA-BUFs: it is mapped for each use, on both sides, and send() ends the writer's."""
    monkeypatch.setattr(slots, "_seal", lambda _: None)
    with ring(0, slots=2) as (writer,):
        for slot in writer._pool.own:
            object.__setattr__(slot.buffer, "kept", None)
            slot.bytes = None
        monkeypatch.setattr(received_frames, "KeptMapping", lambda *, writable: None)
        reader = join(writer, timeout=20, target="cpu")
        for value in (1, 2, 3):
            frame = filled(writer, value)
            inside = frame.crop(0, 0, 8, 8)
            with pytest.raises(CopyRequiredError):
                writer.send(inside)
            del inside
            frame.meta.pts = value
            writer.send(frame)
            assert frame.closed
            del frame
            got = reader.read()
            assert (got.context.node, got.pts, value_of(got), got.readonly) == (
                "cpu", value, value, True,
            )  # fmt: skip
            del got
        writer.send(filled(writer, 4))
        array = reader.read().planes[0].native
        writer.serve()
        assert writer.statistics.readers[0].held == 1
        del array
        assert served(writer, lambda: writer.statistics.readers[0].held == 0)
        reader.close()


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One entry for each frame that is made over arrays in a slot."""
    made = list[int]()
    item_of = layouts.SlotLayout.item_of

    def noted(*arguments: Any) -> Any:
        made.append(1)
        return item_of(*arguments)

    monkeypatch.setattr(layouts.SlotLayout, "item_of", noted)
    return made


def test_the_arrays_of_the_next_frames_are_made_when_one_was_sent(made: list[int]) -> None:
    """They use no slot, and each is for one frame alone."""
    with ring(slots=4) as (writer, reader):
        for value in range(1, 9):
            before = len(made)
            frame = filled(writer, value)
            assert len(made) == before + (value == 1)
            array = frame.native[0]
            writer.send(frame)
            assert len(made) == 1 + 3 * ((value + 2) // 3), "one, then three others' at a time"
            del frame
            assert value_of(reader.read()) == value
            assert array.max() == value
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 0
            del array
            writer.wait_until_read()
        assert all(slot.free for slot in writer._pool.own)


@pytest.mark.parametrize("when_full", ["wait", "drop-oldest"])
def test_arrays_are_made_for_no_more_frames_than_there_are_slots_free(
    made: list[int], when_full: Any
) -> None:
    """A reader that holds its frames costs the writer none that nobody gets."""
    with ring(slots=8, when_full=when_full) as (writer, reader):
        kept = []
        for value in range(6):
            writer.send(filled(writer, value))
            kept.append(reader.read())
        before = len(made)
        for value in range(20):
            writer.send(filled(writer, value))
            if when_full == "wait":
                assert value_of(reader.read()) == value
        assert len(made) <= before + 21


def test_a_ring_that_is_closed_while_arrays_are_made_keeps_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with ring(0, slots=4) as (writer,):
        frame = filled(writer, 1)
        item_of = layouts.SlotLayout.item_of

        def closing(*arguments: Any) -> Any:
            writer.close()
            return item_of(*arguments)

        monkeypatch.setattr(layouts.SlotLayout, "item_of", closing)
        writer.send(frame)
        assert not writer._arrays._made


def test_who_waits_to_join_gets_the_next_frame_of_a_slow_writer(address: str) -> None:
    """It is due then to look at readers, and that comes before the frame."""
    got: list[int] = []

    def read() -> None:
        with RingReader(address, timeout=20, target="cpu") as reader:
            got.extend(frame.metadata["value"] for frame in reader)

    with writer_at(address) as writer:
        reading = threading.Thread(target=read)
        for value in (1, 2, 3):
            frame = filled(writer, value)
            frame.metadata["value"] = value
            if value == 2:
                reading.start()
                assert select.select([writer.fileno()], [], [], 20)[0]
                time.sleep(0.1)  # longer than readers that join may go unnoticed
            writer.send(frame)
            del frame
    reading.join(20)
    assert got == [2, 3]


def test_frames_that_are_not_sent_leave_nothing_in_their_slots() -> None:
    with ring(0, slots=2) as (writer,):
        for _ in range(20):
            assert len(writer.acquire(target="cpu")) == 1
        assert max(len(slot.users) for slot in writer._pool.own) <= 2


def test_a_closed_tensor_is_not_sent() -> None:
    """Its slot may be another one's."""
    with RingWriter(shape=(4,), slots=2, memory="memfd", timeout=0) as writer:
        tensor, others = writer.acquire(target="cpu"), [writer.acquire(target="cpu")]
        tensor.close()
        others.append(writer.acquire())
        with pytest.raises(ClosedError, match="this tensor was closed"):
            writer.send(tensor)
        assert writer.statistics.accepted == 0
