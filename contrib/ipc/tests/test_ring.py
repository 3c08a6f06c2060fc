# SPDX-License-Identifier: Apache-2.0
"""A ring in one process: frames that arrive, readers that come and go, the end, and options."""

from __future__ import annotations

import threading
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import samebytes
from samebytes import Region, metadata
from samebytes.errors import AccessError, ClosedError, LayoutError, UnsupportedObjectError
from samebytes.testing import assert_no_garbage
from samebytes_ipc import (
    EndOfStreamError,
    MessageError,
    RingReader,
    RingRefusedError,
    RingTimeoutError,
    RingWriter,
)

from .both_ends import connect, join, pair, ring, sent, value_of


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


@pytest.mark.parametrize(
    ("pts", "base"),
    [
        (1 << 63, None), (1, Fraction(1 << 31)), (1, Fraction(1, 3_000_000_000)), (1, Fraction(-1)),
        (1.5, None), (1, 0.04), (1, (1, 25)),
    ],
)  # fmt: skip
def test_a_time_that_readers_would_refuse_is_not_sent(pts: Any, base: Any) -> None:
    with ring() as (writer, reader):
        frame = writer.acquire(target="cpu")
        frame.meta.pts, frame.meta.time_base = pts, base
        with pytest.raises(MessageError, match="into 31"):
            writer.send(frame)
        assert writer.statistics.accepted == 0
        frame.meta.pts, frame.meta.time_base = (1 << 63) - 1, Fraction(1, (1 << 31) - 1)
        assert writer.send(frame) == 1
        assert reader.read().meta.time_base == Fraction(1, (1 << 31) - 1)


@pytest.mark.together
@pytest.mark.parametrize("copy", [True, False], ids=["copied", "adopted"])
def test_packets_leave_nothing_to_the_garbage_collector(copy: bool) -> None:
    with ring(format="NV12") as (writer, reader):
        kept = samebytes.context("cpu" if copy else "dma").allocate_frame("NV12", 64, 16)

        def once() -> None:
            writer.send(kept, copy=copy)
            writer.serve()
            with reader.read() as got:
                assert got.metadata is not None
            writer.serve()

        for _ in range(100):
            once()
        assert_no_garbage(once)
    samebytes.reset_stats()


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
        assert not array.flags.writeable
        with pytest.raises(ValueError, match="WRITEABLE"):
            array.flags.writeable = True
        del array
        assert reader.statistics.held == 0
        # Who may write maps memory of his own, whose release close() can refuse.
        acquired = writer.acquire()
        with acquired.map("cpu") as view:
            assert view.storage is not acquired.storage
            assert not view.planes[0].native.flags.writeable


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


def test_a_slot_that_is_sent_again_and_again() -> None:
    """Frames that readers return are taken back by send(), where acquire() is not called."""
    with ring() as (writer, reader):
        frame = writer.acquire()
        for number in range(1, 21):
            assert writer.send(frame) == number
            got = reader.read()
            del got
        assert writer._server.accepted == 20
        (theirs,) = writer._server.readers
        assert len(theirs.held) <= 2


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


@pytest.mark.parametrize("frames", [0, 1])
def test_a_reader_that_joins_after_the_last_frame_reads_the_next_ring(
    frames: int, address: str
) -> None:
    """An empty stream would be what it gets else, by chance; one that was empty is one."""
    with RingWriter(address, format="GRAY8", width=16, height=8, timeout=20) as writer:
        first = connect(writer, address, timeout=20)
        for _ in range(frames):
            writer.send(writer.acquire())
        late = connect(writer, address, timeout=20)
        closing = threading.Thread(target=writer.close)
        closing.start()
        assert len(list(first)) == frames
        closing.join()
    if not frames:
        assert late.read() is None
        return
    with RingWriter(address, format="GRAY8", width=16, height=8, timeout=20) as writer:
        found: list[Any] = []
        reading = threading.Thread(target=lambda: found.extend(late))
        reading.start()
        writer.wait_for_readers(1)
        writer.send(writer.acquire())
        closing = threading.Thread(target=writer.close)
        closing.start()
        reading.join(60)
        closing.join()
        assert len(found) == 1
        found.clear()
    assert late.statistics.writers == 2


def test_a_reader_that_is_too_late_for_the_only_ring() -> None:
    """Nobody connects a socket again, so it gets the end."""
    with RingWriter(format="GRAY8", width=16, height=8) as writer:
        writer.send(writer.acquire())
        late = join(writer)
        closing = threading.Thread(target=writer.close)
        closing.start()
        assert late.read() is None
        closing.join()


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
    """Frames sent are read first, by iteration; then reading says that the stream is over."""
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
            while (frame := reader.read(60)) is not None:
                assert value_of(frame) == frame.pts
                seen.append(frame.pts)
                if len(seen) == 240:
                    reader.interrupt()  # the other one waits for more

        threads = [threading.Thread(target=run) for run in (write, write, read, read)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert sorted(seen) == list(range(240))
