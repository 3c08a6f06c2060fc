# SPDX-License-Identifier: Apache-2.0
"""A ring in one process: slots, what frames hold, back-pressure, frames that are left out."""

from __future__ import annotations

import errno
import gc
import os
import threading
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import samebytes
from samebytes import Region, metadata
from samebytes.errors import (
    AccessError,
    ClosedError,
    CopyRequiredError,
    LayoutError,
    NativeError,
    UnsupportedObjectError,
)
from samebytes_dma import (
    EndOfStreamError,
    MessageError,
    RingReader,
    RingRefusedError,
    RingTimeoutError,
    RingWriter,
    _kept,
    _mapping,
    from_fd,
)

from .both_ends import join, memfds, pair, ring, sent, served, value_of


def test_a_frame_arrives_with_all_that_it_has() -> None:
    with ring(format="NV12") as (writer, reader):
        frame = writer.acquire()
        with frame.map("cpu", "w") as view:
            for number, plane in enumerate(view):
                plane.native[...] = 10 + number
            del plane
        frame.meta.pts, frame.meta.time_base = -5, Fraction(1001, 30000)
        frame.metadata["camera"] = {"name": "left", "gain": Fraction(1, 3), "raw": b"\0\1"}
        frame.regions.append(Region(1, 2, 3, 4, "cat", 0.5, {"a": 1}))
        metadata.add(frame, metadata.ObjectId(7))
        metadata.add(frame.regions[0], metadata.ObjectId(8))
        assert writer.send(frame) == 1
        got = reader.read()
        assert (str(got.image), got.memory_type, got.readonly) == ("NV12 64x16", "dma", True)
        assert (got.pts, got.meta.time_base) == (-5, Fraction(1001, 30000))
        assert got.metadata["camera"] == {"name": "left", "gain": Fraction(1, 3), "raw": b"\0\1"}
        assert metadata.find(got, metadata.ObjectId) == metadata.ObjectId(7)
        (region,) = got.regions
        assert (region.box, region.label, region.metadata["a"]) == ((1, 2, 3, 4), "cat", 1)
        assert metadata.find(region, metadata.ObjectId) == metadata.ObjectId(8)
        view = got.map("cpu")
        assert [int(plane.native.min()) for plane in view] == [10, 11]
        assert [int(plane.native.max()) for plane in view] == [10, 11]


def test_a_tensor() -> None:
    with RingWriter(shape=(3, 4), dtype="float32", slots=2) as writer:
        reader = join(writer)
        tensor = writer.acquire()
        with tensor.map("cpu", "w") as view:
            view.native[...] = 1.5
        writer.send(tensor)
        got = reader.read()
        assert (got.shape, str(got.dtype), got.readonly) == ((3, 4), "float32", True)
        assert (got.map("cpu").native == 1.5).all()
        reader.close()


def test_reading_a_memfd_makes_no_mapping_of_its_own() -> None:
    """The arrays of every read lie in the one mapping of the slot, and hold its use."""
    with ring(memory="memfd") as (writer, reader):
        sent(writer, 9)
        frame = reader.read()
        views = [frame.map("cpu"), frame.map("cpu"), frame.planes[0].map("cpu")]
        assert all(view.storage is frame.storage for view in views)
        array = views[0].planes[0].native
        assert len({views[n].planes[0].native.ctypes.data for n in (0, 1)}) == 1
        del frame, views
        assert reader.statistics.held == 1
        assert (array == 9).all()
        with pytest.raises(ValueError, match="WRITEABLE"):
            array.flags.writeable = True
        del array
        assert reader.statistics.held == 0
        # Who may write maps memory of his own, whose release close() can refuse.
        acquired = writer.acquire()
        with acquired.map("cpu") as view:
            assert view.storage is not acquired.storage
            assert not view.planes[0].native.flags.writeable


def test_threads_that_map_a_slot_for_the_first_time_get_one_mapping(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What came second is unmapped, and nobody's array lies in it."""
    arrays: list[np.ndarray[Any, Any]] = []
    with ring(memory="memfd") as (writer, reader):
        sent(writer, 9)
        frame = reader.read()
        map_buffer = _mapping.map_buffer

        def meanwhile(*arguments: Any) -> None:
            monkeypatch.setattr(_kept, "map_buffer", map_buffer)
            other = threading.Thread(
                target=lambda: arrays.append(frame.map("cpu").planes[0].native)
            )
            other.start()
            other.join(20)
            map_buffer(*arguments)

        monkeypatch.setattr(_kept, "map_buffer", meanwhile)
        arrays.append(frame.map("cpu").planes[0].native)
        assert len({array.ctypes.data for array in arrays}) == 1
        assert all((array == 9).all() for array in arrays)
        arrays.clear()


def test_the_same_memory_again_and_again() -> None:
    """Descriptors are sent once, and the mappings stay: addresses come round again."""
    with ring(slots=3) as (writer, reader):
        addresses, files = set(), set()
        for number in range(30):
            sent(writer, number)
            frame = reader.read()
            assert value_of(frame) == number
            addresses.add(frame.map("cpu").planes[0].handle())
            files.add(frame.planes[0].handle("dma_fd"))
            del frame
        assert len(addresses) <= 3
        assert len(files) <= 3


def test_nothing_is_copied_but_what_may_be() -> None:
    with ring() as (writer, reader):
        picture = samebytes.frame(np.full((16, 64), 3, np.uint8), format="GRAY8")
        picture.meta.pts = 4
        with pytest.raises(CopyRequiredError, match="cpu to ring needs a copy"):
            writer.send(picture)
        writer.send(picture, copy=True)
        got = reader.read()
        assert (value_of(got), got.pts) == (3, 4)
        writer.send(samebytes.tensor(np.arange(12).reshape(3, 4).T), copy=True)
        tensor = reader.read()
        assert tensor.map("cpu").native.tolist() == np.arange(12).reshape(3, 4).T.tolist()
        edges = samebytes.stats().by_edge
        assert (edges["cpu -> ring"].copies, edges["cpu -> ring"].nbytes) == (2, 64 * 16 + 96)
        assert samebytes.stats().copies == 2
        samebytes.reset_stats()
        assert (writer.statistics.accepted, writer.statistics.copied) == (2, 2)


def test_slots_grow_with_what_is_copied() -> None:
    with RingWriter(slots=2) as writer:
        reader = join(writer)
        for size in (8, 64, 640, 16):
            picture = samebytes.frame(np.full((size, size), size % 251, np.uint8), format="GRAY8")
            writer.send(picture, copy=True)
            got = reader.read()
            assert (got.width, value_of(got)) == (size, size % 251)
        with pytest.raises(UnsupportedObjectError, match="made without a layout"):
            writer.acquire()
        reader.close()
    samebytes.reset_stats()


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
        with pytest.raises(RingTimeoutError, match="all 2 slots are in use") as caught:
            writer.acquire()
        assert "this process holds 1 slots" in str(caught.value)
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
        assert f"process {os.getpid()} has 3 frames" in str(caught.value)
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
        with pytest.raises(RingTimeoutError, match="this process holds 6 frames, and the writer"):
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


def test_a_reader_that_joins_late() -> None:
    with ring(1, slots=4) as (writer, early):
        for number in range(3):
            sent(writer, number)
        late = join(writer)
        sent(writer, 3)
        assert value_of(late.read()) == 3
        assert [value_of(early.read()) for _ in range(4)] == [0, 1, 2, 3]
        assert late.statistics.missed == 0
        late.close()


def test_too_many_readers() -> None:
    with ring(2, slots=4, most_readers=2) as (writer, *_):
        with pytest.raises(RingRefusedError, match="the ring has 2 readers already"):
            join(writer)
        assert len(writer.statistics.readers) == 2
    refused = pytest.raises(RingRefusedError, match="which is its limit")
    with ring(2, slots=4, when_full="drop-oldest") as (writer, *_), refused:
        join(writer)


def test_frames_without_readers_are_counted() -> None:
    with RingWriter(format="GRAY8", width=64, height=16, slots=2, timeout=0.05) as writer:
        for number in range(9):
            sent(writer, number)
        assert (writer.statistics.accepted, writer.statistics.unread) == (9, 9)
        with pytest.raises(RingTimeoutError, match=r"0 of 2 readers joined within 0\.05 s"):
            writer.wait_for_readers(2)


def test_the_end_of_the_stream() -> None:
    """What was sent is read first, by iteration; then reading says that it is over."""
    with RingWriter(format="GRAY8", width=64, height=16, slots=4) as writer:
        reader = join(writer)
        for number in range(4):
            sent(writer, number)
    assert [value_of(frame) for frame in reader] == [0, 1, 2, 3]
    assert reader.read() is None
    assert writer.statistics.readers == ()
    assert writer.statistics.gone.held == 4
    reader.close()
    with pytest.raises(ClosedError):
        reader.read()
    with pytest.raises(ClosedError):
        writer.acquire()
    writer.close()


def test_a_writer_that_was_dropped() -> None:
    writer = RingWriter(format="GRAY8", width=64, height=16)
    reader = join(writer)
    sent(writer, 5)
    del writer
    frame = reader.read()
    assert reader.read() is None
    assert value_of(frame) == 5
    del frame
    reader.close()


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


def test_what_was_sent_is_read_only() -> None:
    with ring() as (writer, reader):
        frame = writer.acquire()
        plane = frame.planes[0]
        writer.send(frame)
        for item in (frame, plane, frame.planes[0]):
            with pytest.raises(AccessError):
                item.map("cpu", "rw")
        got = reader.read()
        for item in (got, got.planes[0]):
            with pytest.raises(AccessError):
                item.map("cpu", "rw")
            with pytest.raises(AccessError):
                item.map("cpu", "w")
        array = got.map("cpu").planes[0].native
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 1
        with pytest.raises(ValueError, match="cannot set WRITEABLE"):
            array.flags.writeable = True


def test_openvino_does_not_write_what_was_sent() -> None:
    """It is mapped for reading alone: writing would be a signal, and is an error."""
    for package in ("openvino", "samebytes_openvino"):
        pytest.importorskip(
            package, reason=f"missing package {package}: pip install samebytes-openvino"
        )
    with ring(memory="memfd") as (writer, reader):
        sent(writer, 7)
        native = reader.read().map("openvino").planes[0].native
        with pytest.raises(ValueError, match="read-only"):
            native.data[...] = 1
        with pytest.raises(AccessError, match="copy_from"):
            native.copy_from(np.ones(tuple(native.shape), np.uint8))
        other = samebytes.tensor(np.ones(tuple(native.shape), np.uint8)).map("openvino").native
        with pytest.raises(AccessError, match="copy_to"):
            other.copy_to(native)
        assert (native.data == 7).all()
        del native


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


def test_interrupt() -> None:
    with ring(slots=2) as (writer, reader):
        results: list[Any] = []
        thread = threading.Thread(target=lambda: results.append(reader.read(60)))
        thread.start()
        reader.interrupt()
        thread.join(20)
        assert results == [None]
        assert reader.read() is None
        held = [writer.acquire(), writer.acquire()]
        timer = threading.Timer(0.05, writer.interrupt)
        timer.start()
        with pytest.raises(ClosedError, match="interrupted"):
            writer.acquire(60)
        timer.join()
        del held


def test_memory_of_dma_goes_where_it_lies() -> None:
    """Known again: its descriptor goes once."""
    with ring(adopt=2) as (writer, reader):
        frames = [samebytes.context("dma:memfd").allocate_frame("GRAY8", 64, 16) for _ in range(2)]
        numbers = set()
        for number in range(20):
            frame = frames[number % 2]
            with frame.map("cpu", "w") as view:
                view.planes[0].native[...] = number
            frame.meta.pts = number
            writer.send(frame)
            got = reader.read()
            assert (value_of(got), got.pts, got.readonly) == (number, number, True)
            numbers.add(got.planes[0].handle("dma_fd"))
            del got
            writer.wait_until_read()
        assert len(numbers) == 2
        assert writer.statistics.copied == 0


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


@pytest.mark.together
def test_memory_of_others_is_guarded_as_its_owner_made_it() -> None:
    with ring(memory="memfd") as (writer, reader):
        sent(writer, 1)
        number = reader.read().planes[0].handle("dma_fd")
        with pytest.raises(PermissionError):
            os.pwrite(number, b"x", 0)
        assert writer.readers_can_write is False
        frame = samebytes.context("dma:memfd").allocate_frame("GRAY8", 64, 16)
        writer.send(frame)
        assert writer.readers_can_write is True
        got = reader.read()
        assert os.pwrite(got.planes[0].handle("dma_fd"), b"x", 0) == 1
        assert frame.map("cpu").planes[0].native[0, 0] == ord("x")
        del got  # the writer's close() waits for it


def test_memory_of_others_is_held_until_readers_are_done() -> None:
    with ring(adopt=2, timeout=0.05) as (writer, reader):
        context = samebytes.context("dma:memfd")
        for _ in range(2):
            frame = context.allocate_frame("GRAY8", 64, 16)
            owner = frame.storage
            writer.send(frame)
            del frame
        references = len(gc.get_referrers(owner))
        assert references
        with pytest.raises(RingTimeoutError, match="all 2 slots are in use"):
            writer.send(context.allocate_frame("GRAY8", 64, 16))
        got = [reader.read(), reader.read()]
        del got
        writer.send(context.allocate_frame("GRAY8", 64, 16))
        reader.read()


def test_memory_that_readers_would_refuse(memfd: Callable[..., int]) -> None:
    """It could be cut short: it is copied, if that is allowed."""
    with ring() as (writer, reader):
        tensor = from_fd(memfd(), (16, 64))
        with pytest.raises(MessageError, match="can still cut short"):
            writer.send(tensor)
        writer.send(tensor, copy=True)
        assert reader.read().shape == (16, 64)
        assert writer.statistics.accepted == writer.statistics.copied == 1
        samebytes.reset_stats()


def test_frames_of_one_ring_go_on_in_another() -> None:
    """By descriptor; the slot of the first comes back when the second's readers are done."""
    with ring(slots=2) as (writer, reader), ring() as (second, last):
        for number in range(6):
            sent(writer, number)
            second.send(reader.read())
            writer.serve()
            assert writer.statistics.readers[0].held == 1
            assert value_of(last.read()) == number
            second.wait_until_read()
            writer.wait_until_read()


def test_memory_of_results_goes_along() -> None:
    with ring() as (writer, reader):
        result = samebytes.context("dma:memfd").allocate((2, 3), "float32")
        with result.map("cpu", "w") as view:
            view.native[...] = 2.5
        frame = writer.acquire()
        metadata.add(frame, metadata.InferenceResult(result))
        writer.send(frame)
        got = metadata.find(reader.read(), metadata.InferenceResult)
        assert got is not None
        assert got.tensor is not None
        assert got.tensor.memory_type == "dma"
        assert (got.tensor.map("cpu").native == 2.5).all()
        frame = writer.acquire()
        metadata.add(frame, metadata.InferenceResult(samebytes.tensor(np.ones(3, np.float32))))
        with pytest.raises(CopyRequiredError):
            writer.send(frame)
        writer.send(frame, copy=True)
        got = metadata.find(reader.read(), metadata.InferenceResult)
        assert got is not None
        assert got.array.tolist() == [1, 1, 1]
        samebytes.reset_stats()


def test_metadata_that_cannot_be_sent() -> None:
    with ring() as (writer, reader):
        frame = writer.acquire()
        frame.metadata["object"] = object()
        with pytest.raises(MessageError, match=r"frame\.metadata"):
            writer.send(frame)
        frame.metadata.clear()
        frame.metadata["long"] = ["x" * 4000] * 30
        with pytest.raises(MessageError):
            writer.send(frame)
        frame.metadata.clear()
        frame.meta.pts = 1 << 70
        with pytest.raises(MessageError, match=r"frame\.pts"):
            writer.send(frame)
        frame.meta.pts = 7
        writer.send(frame)
        assert reader.read().pts == 7
        assert writer.statistics.accepted == 1


def test_more_layouts_than_numbers() -> None:
    with RingWriter(shape=(4096,), slots=2) as writer:
        reader = join(writer)
        for size in (*range(1, 100), *range(1, 100)):
            writer.send(samebytes.tensor(np.full(size, size, np.uint8)), copy=True)
            assert reader.read().map("cpu").native.tolist() == [size] * size
        reader.close()
    samebytes.reset_stats()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"slots": 1}, "slots must be 2 to 64"),
        ({"slots": 65}, "slots must be 2 to 64"),
        ({"adopt": 0}, "adopt 1 to 64"),
        ({"when_full": "drop"}, '"wait" or "drop-oldest"'),
        ({"width": 3}, "pass all of them"),
        ({"format": "NV12", "width": 3, "height": 2, "shape": (3,)}, "not both"),
        ({"shape": (0, 3)}, "no elements"),
    ],
)
def test_options_that_cannot_be(options: dict[str, Any], said: str) -> None:
    with pytest.raises(LayoutError, match=said):
        RingWriter(**options)


def test_options_of_readers_that_cannot_be() -> None:
    ours, theirs = pair()
    with ours, theirs:
        with pytest.raises(ValueError, match="frames=0"):
            RingReader(ours, frames=0)
        with pytest.raises(ValueError, match="needs an address"):
            RingReader(ours, live=True)
    ours, theirs = pair()
    theirs.close()
    with pytest.raises(EndOfStreamError):
        RingReader(ours)
    import socket

    stream, other = socket.socketpair()
    with stream, other, pytest.raises(UnsupportedObjectError, match="keeps packets apart"):
        RingReader(stream)


def test_threads_of_a_writer_and_of_a_reader() -> None:
    """Each frame once, with its bytes, whoever sends and reads it."""
    with ring(slots=4) as (writer, reader):
        numbers = iter(range(240))
        lock = threading.Lock()
        seen: list[int] = []

        def write() -> None:
            while True:
                with lock:
                    number = next(numbers, None)
                if number is None:
                    return
                sent(writer, number)

        def read() -> None:
            while True:
                try:
                    frame = reader.read(0.3)
                except RingTimeoutError:
                    return
                assert value_of(frame) == frame.pts
                seen.append(frame.pts)

        threads = [threading.Thread(target=run) for run in (write, write, read, read)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert sorted(seen) == list(range(240))
