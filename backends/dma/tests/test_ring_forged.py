# SPDX-License-Identifier: Apache-2.0
"""A hostile reader, and a hostile writer: each is refused by name, and harms nobody else."""

from __future__ import annotations

import fcntl
import json
import os
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from samebytes_dma import EndOfStreamError, MessageError, RingReader, RingRefusedError, RingWriter

from .both_ends import join, pair, ring, sent, served, value_of, wait

CREDENTIALS = 2
GREETING = struct.Struct("<c4sHH")
NUMBER = struct.Struct("<cH")
FRAME = struct.Struct("<cHHQBqII")
DONE = struct.Struct("<cHQ")

PLANE: dict[str, Any] = {
    "buffer": 0, "dtype": "uint8", "shape": [16, 64], "strides": [64, 1], "offset": 0,
    "pitch": None, "modifier": 0,
}  # fmt: skip
META: dict[str, Any] = {"regions": [], "metadata": {}, "entries": []}


def layout(**changes: Any) -> bytes:
    """The description of a gray picture of 64 x 16."""
    frame = {
        "planes": [{**PLANE, **changes}],
        "image": {"format": "GRAY8", "width": 64, "height": 16},
        "pts": None, "time_base": None, **META,
    }  # fmt: skip
    return json.dumps({"readonly": True, "frame": frame}).encode()


def memfd(size: int = 4096, seals: int = fcntl.F_SEAL_SHRINK) -> int:
    number = os.memfd_create("forged", os.MFD_ALLOW_SEALING | os.MFD_CLOEXEC)
    os.ftruncate(number, size)
    fcntl.fcntl(number, fcntl.F_ADD_SEALS, seals)
    return number


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - a count


# A hostile reader.


@pytest.fixture
def hostile() -> Iterator[tuple[RingWriter, RingReader, socket.socket]]:
    """A writer, an honest reader, and the socket of another one that has joined."""
    with ring(slots=4, timeout=20) as (writer, honest):
        ours, theirs = pair()
        with theirs:
            writer.add(ours)
            theirs.settimeout(20)
            theirs.send(GREETING.pack(b"J", b"SBRG", 1, 0))
            assert served(writer, lambda: len(writer.statistics.readers) == 2)
            assert theirs.recv(100)[:5] == b"WSBRG"
            yield writer, honest, theirs


def take(sock: socket.socket) -> list[int]:
    """Read packets up to a frame, and say which: slot, layout and sequence."""
    while True:
        packet, fds, _, _ = socket.recv_fds(sock, 1 << 17, 64)
        for fd in fds:
            os.close(fd)
        if packet[:1] == b"F":
            _, slot, number, sequence, *_ = FRAME.unpack_from(packet)
            return [slot, number, sequence]


def refused(writer: RingWriter, honest: RingReader, field: str) -> None:
    """The hostile one is gone, its frames are back, and the honest one goes on."""
    before = len(writer.departures)
    assert served(writer, lambda: len(writer.departures) > before)
    departure = writer.departures[-1]
    assert departure.error is not None
    assert departure.error.field == field, departure.reason
    assert departure.statistics.held == departure.statistics.waiting == 0
    while honest.statistics.received < writer.statistics.accepted:
        honest.read()
    for number in range(8):
        sent(writer, number)
        assert value_of(honest.read()) == number


@pytest.mark.parametrize(
    ("packet", "field"),
    [
        (lambda slot, sequence: DONE.pack(b"D", slot + 1, sequence), "done.slot"),
        (lambda slot, sequence: DONE.pack(b"D", 65535, sequence), "done.slot"),
        (lambda slot, sequence: DONE.pack(b"D", slot, sequence + 1), "done.sequence"),
        (lambda slot, sequence: DONE.pack(b"D", slot, 0), "done.sequence"),
        (lambda slot, sequence: DONE.pack(b"D", slot, (1 << 64) - 1), "done.sequence"),
        (lambda slot, sequence: DONE.pack(b"D", slot, sequence) + b"x", "done"),
        (lambda slot, sequence: b"D", "done"),
        (lambda slot, sequence: b"D" + b"x" * 100_000, "done"),
        (lambda slot, sequence: NUMBER.pack(b"X", 1) + struct.pack("<Q", sequence + 1), "leave"),
        (lambda slot, sequence: NUMBER.pack(b"X", 2) + struct.pack("<Q", sequence), "leave"),
        (lambda slot, sequence: NUMBER.pack(b"X", 65535), "leave"),
        (lambda slot, sequence: b"X", "leave"),
        (lambda slot, sequence: GREETING.pack(b"J", b"SBRG", 1, 0), "packet"),
        (lambda slot, sequence: FRAME.pack(b"F", slot, 0, sequence, 0, 0, 0, 0), "packet"),
        (lambda slot, sequence: b"\0", "packet"),
    ],
)
def test_a_forged_packet_of_a_reader(
    hostile: tuple[RingWriter, RingReader, socket.socket],
    packet: Callable[[int, int], bytes],
    field: str,
) -> None:
    writer, honest, theirs = hostile
    sent(writer, 1)
    slot, _, sequence = take(theirs)
    theirs.send(packet(slot, sequence))
    refused(writer, honest, field)


def test_a_slot_that_is_given_back_twice(
    hostile: tuple[RingWriter, RingReader, socket.socket],
) -> None:
    """The second time it may be another frame's: it would be filled while that is read."""
    writer, honest, theirs = hostile
    sent(writer, 1)
    slot, _, sequence = take(theirs)
    kept = honest.read()
    theirs.send(DONE.pack(b"D", slot, sequence))
    theirs.send(DONE.pack(b"D", slot, sequence))
    refused(writer, honest, "done.sequence")
    assert value_of(kept) == 1


def test_frames_of_another_reader(
    hostile: tuple[RingWriter, RingReader, socket.socket],
) -> None:
    """What it has given back itself and another one has, is not its own any more."""
    writer, honest, theirs = hostile
    sent(writer, 5)
    kept = honest.read()
    slot, _, sequence = take(theirs)
    theirs.send(DONE.pack(b"D", slot, sequence))
    theirs.send(NUMBER.pack(b"X", 1) + struct.pack("<Q", sequence))
    refused(writer, honest, "leave")
    assert value_of(kept) == 5


def test_a_flood(hostile: tuple[RingWriter, RingReader, socket.socket]) -> None:
    """It ends with the first packet that is wrong; what it sends after that is never read."""
    writer, honest, theirs = hostile
    theirs.setblocking(False)
    sent_packets = 0
    try:
        while sent_packets < 10_000:
            theirs.send(DONE.pack(b"D", 0, 1))
            sent_packets += 1
    except BlockingIOError:
        pass
    assert sent_packets > 100
    refused(writer, honest, "done.sequence")


def test_descriptors_that_a_reader_sends(
    hostile: tuple[RingWriter, RingReader, socket.socket],
) -> None:
    writer, honest, theirs = hostile
    sent(writer, 1)
    slot, _, sequence = take(theirs)
    before = descriptors()
    with open("/dev/null") as null:  # noqa: PTH123 - its descriptor is sent
        socket.send_fds(theirs, [DONE.pack(b"D", slot, sequence)], [null.fileno()] * 50)
    writer.serve()
    assert descriptors() == before
    assert value_of(honest.read()) == 1
    assert writer.statistics.readers[1].done == 1


@pytest.mark.parametrize(
    ("greeting", "field"),
    [
        (GREETING.pack(b"J", b"SBRX", 1, 0), "greeting"),
        (GREETING.pack(b"J", b"SBRG", 2, 0), "version"),
        (GREETING.pack(b"J", b"SBRG", 1, 1000), "join.credits"),
        (GREETING.pack(b"J", b"SBRG", 1, 0) + b"x", "greeting"),
        (DONE.pack(b"D", 0, 1), "packet"),
        (b"x" * 5000, "packet"),
    ],
)
def test_a_forged_greeting(greeting: bytes, field: str) -> None:
    with ring(slots=4) as (writer, honest):
        ours, theirs = pair()
        with theirs:
            writer.add(ours)
            theirs.send(greeting)
            refused(writer, honest, field)
            assert theirs.recv(10) == b""


def test_a_greeting_with_descriptors() -> None:
    with ring(slots=4) as (writer, honest):
        ours, theirs = pair()
        with theirs, open("/dev/null") as null:  # noqa: PTH123 - its descriptor is sent
            writer.add(ours)
            before = descriptors()
            greeting = GREETING.pack(b"J", b"SBRG", 1, 0)
            socket.send_fds(theirs, [greeting], [null.fileno()] * 3)
            assert served(writer, lambda: writer.departures)
            assert descriptors() == before - 1  # its socket
            (departure,) = writer.departures
            assert departure.error is not None
            assert departure.error.field == "descriptors"
            sent(writer, 3)
            assert value_of(honest.read()) == 3


def test_a_process_that_is_not_the_sender() -> None:
    """The number of a process comes from the kernel: nobody can say another one's."""
    ours, theirs = pair()
    with ours, theirs:
        wrong = struct.pack("iII", os.getppid(), os.getuid(), os.getgid())
        if os.geteuid():
            with pytest.raises(PermissionError):
                theirs.sendmsg([b"x"], [(socket.SOL_SOCKET, CREDENTIALS, wrong)])


def test_those_who_connect_and_do_not_join(tmp_path: Any) -> None:
    """They keep nobody from joining, and are only so many."""
    address = str(tmp_path / "ring")
    with RingWriter(address, format="GRAY8", width=64, height=16, timeout=20) as writer:
        silent = []
        try:
            for _ in range(40):
                sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
                silent.append(sock)
                sock.settimeout(20)
                sock.connect(address)
                writer.serve()
            closed = 0
            for sock in silent:
                sock.setblocking(False)
                try:
                    closed += sock.recv(1) == b""
                except BlockingIOError:
                    continue
            assert closed == 40 - 16
            reader = join(writer)
            sent(writer, 1)
            assert value_of(reader.read()) == 1
            reader.close()
        finally:
            for sock in silent:
                sock.close()


# A hostile writer.


@pytest.fixture
def victim() -> Iterator[tuple[RingReader, socket.socket]]:
    """A reader, and the socket of what it believes to be its writer."""
    ours, theirs = pair()
    with theirs:
        theirs.settimeout(20)
        theirs.send(GREETING.pack(b"W", b"SBRG", 1, 4))
        before = descriptors()
        with RingReader(ours, timeout=20) as reader:
            assert theirs.recv(100) == GREETING.pack(b"J", b"SBRG", 1, 0)
            yield reader, theirs
        del before


def slot(theirs: socket.socket, fd: int, number: int = 0) -> None:
    socket.send_fds(theirs, [NUMBER.pack(b"S", number)], [fd])
    os.close(fd)


def frame(sequence: int = 1, *, slot: int = 0, layout: int = 0, flags: int = 0, pts: int = 0,
          base: tuple[int, int] = (0, 0)) -> bytes:  # fmt: skip
    return FRAME.pack(b"F", slot, layout, sequence, flags, pts, *base)


def test_an_honest_forger(victim: tuple[RingReader, socket.socket]) -> None:
    """What the tests below change one thing of."""
    reader, theirs = victim
    slot(theirs, memfd())
    theirs.send(NUMBER.pack(b"L", 0) + layout())
    theirs.send(frame(flags=3, pts=9, base=(1, 30)) + json.dumps(META).encode())
    got = reader.read()
    assert (got.pts, str(got.meta.time_base), value_of(got)) == (9, "1/30", 0)
    del got
    assert theirs.recv(100) == DONE.pack(b"D", 0, 1)
    theirs.send(b"E")
    assert reader.read() is None


def bad(packets: Callable[[socket.socket], object]) -> Callable[[socket.socket], object]:
    return packets


def after_slot(*packets: bytes) -> Callable[[socket.socket], object]:
    def run(theirs: socket.socket) -> None:
        slot(theirs, memfd())
        for packet in packets:
            theirs.send(packet)

    return run


def after_layout(*packets: bytes) -> Callable[[socket.socket], object]:
    return after_slot(NUMBER.pack(b"L", 0) + layout(), *packets)


def with_descriptors(packet: bytes, *sizes: int) -> Callable[[socket.socket], object]:
    def run(theirs: socket.socket) -> None:
        slot(theirs, memfd())
        theirs.send(NUMBER.pack(b"L", 0) + layout())
        numbers = [memfd(size) for size in sizes]
        socket.send_fds(theirs, [packet], numbers)
        for number in numbers:
            os.close(number)

    return run


@pytest.mark.parametrize(
    ("packets", "field"),
    [
        (lambda s: slot(s, os.open("/dev/zero", os.O_RDWR)), "slot[0]"),
        (lambda s: slot(s, os.open("/", os.O_RDONLY)), "slot[0]"),
        (lambda s: slot(s, memfd(seals=0)), "slot[0]"),
        (lambda s: slot(s, memfd(size=0)), "slot[0]"),
        (lambda s: slot(s, memfd(), number=128), "slot"),
        (lambda s: s.send(NUMBER.pack(b"S", 0)), "slot[0]"),
        (with_descriptors(NUMBER.pack(b"S", 1), 4096, 4096), "slot[1]"),
        (lambda s: s.send(b"S"), "slot"),
        (lambda s: s.send(NUMBER.pack(b"L", 64) + layout()), "layout"),
        (lambda s: s.send(NUMBER.pack(b"L", 0)), "layout"),
        (lambda s: s.send(NUMBER.pack(b"L", 0) + b"{}"), "description"),
        (lambda s: s.send(NUMBER.pack(b"L", 0) + layout(buffer=1)), "frame.planes[0].buffer"),
        (lambda s: s.send(NUMBER.pack(b"L", 0) + layout(dtype="u8")), "frame.planes[0].dtype"),
        (after_layout(frame(slot=1)), "frame.slot"),
        (after_layout(frame(slot=65535)), "frame"),
        (after_layout(frame(layout=1)), "frame.layout"),
        (after_layout(frame(layout=64)), "frame"),
        (after_layout(frame(flags=4)), "frame"),
        (after_layout(frame(flags=2, base=(1, 0))), "frame.time_base"),
        (after_layout(frame(flags=2, base=(1 << 31, 1))), "frame.time_base"),
        (after_layout(frame(0)), "frame.sequence"),
        (after_layout(frame()[:-1]), "frame"),
        (after_layout(b"F"), "frame"),
        (after_slot(NUMBER.pack(b"L", 0) + layout(offset=3073), frame()), "frame.planes[0]"),
        (after_slot(NUMBER.pack(b"L", 0) + layout(strides=[1, 1]), frame()), "frame.planes[0]"),
        (after_slot(NUMBER.pack(b"L", 0) + layout(shape=[16, 32]), frame()), "frame.planes"),
        (after_layout(frame() + b"{}"), "description"),
        (after_layout(frame() + b"["), "description"),
        (after_layout(frame() + json.dumps({**META, "metadata": {"samebytes": []}}).encode()),
         "metadata"),
        (with_descriptors(frame(), 4096), "descriptors"),
        (with_descriptors(frame() + json.dumps(META).encode(), 4096), "descriptors[0]"),
        (with_descriptors(NUMBER.pack(b"L", 1) + layout(), 4096), "descriptors"),
        (with_descriptors(b"E", 4096), "descriptors"),
        (lambda s: s.send(b"EE"), "end"),
        (lambda s: s.send(b"?"), "packet"),
        (lambda s: s.send(GREETING.pack(b"W", b"SBRG", 1, 4)), "packet"),
        (lambda s: s.send(DONE.pack(b"D", 0, 1)), "packet"),
        (lambda s: s.send(b"L" + b"x" * 66_000), "packet"),
    ],
)  # fmt: skip
def test_a_forged_packet_of_a_writer(
    victim: tuple[RingReader, socket.socket],
    packets: Callable[[socket.socket], object],
    field: str,
) -> None:
    reader, theirs = victim
    before = descriptors()
    packets(theirs)
    with pytest.raises(MessageError) as caught:
        reader.read()
    assert caught.value.field == field, caught.value
    # Nothing of what came is kept, and the connection is closed.
    del caught
    assert descriptors() <= before
    while theirs.recv(100):
        pass
    assert reader.read() is None


def test_frames_that_come_again(victim: tuple[RingReader, socket.socket]) -> None:
    reader, theirs = victim
    slot(theirs, memfd())
    theirs.send(NUMBER.pack(b"L", 0) + layout())
    for number in (5, 7, 7):
        theirs.send(frame(number))
    got = [reader.read(), reader.read()]
    assert reader.statistics.missed == 1
    with pytest.raises(MessageError, match="7 comes after 7"):
        reader.read()
    assert [value_of(f) for f in got] == [0, 0]


def test_a_slot_that_is_replaced_while_a_frame_uses_it(
    victim: tuple[RingReader, socket.socket],
) -> None:
    """The frame keeps the memory that it was checked with."""
    reader, theirs = victim
    slot(theirs, memfd())
    theirs.send(NUMBER.pack(b"L", 0) + layout())
    theirs.send(frame(1))
    got = reader.read()
    array = got.map("cpu").planes[0].native
    slot(theirs, memfd(512))
    theirs.send(frame(2))
    with pytest.raises(MessageError, match=r"frame\.planes\[0\]"):
        reader.read()
    assert array.sum() == 0
    assert value_of(got) == 0


def test_a_slot_that_is_replaced_when_a_frame_of_it_was_prepared(
    victim: tuple[RingReader, socket.socket],
) -> None:
    """The next frame lies in the new memory, and the old one is given up."""
    reader, theirs = victim
    theirs.send(NUMBER.pack(b"L", 0) + layout())
    open_before = descriptors()
    for sequence in range(1, 6):
        number = memfd()
        os.pwrite(number, bytes([sequence]) * 4096, 0)
        slot(theirs, number)
        theirs.send(frame(sequence))
        assert value_of(reader.read()) == sequence
        wait(reader)
        assert descriptors() == open_before + 1
    slot(theirs, memfd(512))
    theirs.send(frame(6))
    with pytest.raises(MessageError, match=r"frame\.planes\[0\]"):
        reader.read()


def test_a_layout_that_is_replaced_when_a_frame_of_it_was_prepared(
    victim: tuple[RingReader, socket.socket],
) -> None:
    reader, theirs = victim
    number = memfd()
    os.pwrite(number, b"".join(bytes([row]) * 64 for row in range(64)), 0)
    slot(theirs, number)
    for sequence, row in enumerate((0, 16, 3), 1):
        theirs.send(NUMBER.pack(b"L", 0) + layout(offset=row * 64))
        theirs.send(frame(sequence))
        array = reader.read().map("cpu").planes[0].native
        assert array[:, 0].tolist() == list(range(row, row + 16))
        wait(reader)
    theirs.send(NUMBER.pack(b"L", 0) + layout(offset=4096 - 64))
    theirs.send(frame(4))
    with pytest.raises(MessageError, match=r"frame\.planes\[0\]"):
        reader.read()


def test_a_layout_that_is_replaced(victim: tuple[RingReader, socket.socket]) -> None:
    """It is checked against each slot again."""
    reader, theirs = victim
    slot(theirs, memfd(1024))
    theirs.send(NUMBER.pack(b"L", 0) + layout())
    theirs.send(frame(1))
    assert value_of(reader.read()) == 0
    theirs.send(NUMBER.pack(b"L", 0) + layout(offset=1))
    theirs.send(frame(2))
    with pytest.raises(MessageError, match=r"frame\.planes\[0\]"):
        reader.read()


def test_slots_cannot_be_cut_short(victim: tuple[RingReader, socket.socket]) -> None:
    """Reading past the end of a file ends a process with SIGBUS."""
    reader, theirs = victim
    number = memfd()
    slot(theirs, os.dup(number))
    theirs.send(NUMBER.pack(b"L", 0) + layout())
    theirs.send(frame(1))
    got = reader.read()
    for size in (0, 100):
        with pytest.raises(PermissionError):
            os.ftruncate(number, size)
    os.close(number)
    assert value_of(got) == 0


@pytest.mark.parametrize(
    ("welcome", "error"),
    [
        (GREETING.pack(b"W", b"SBRX", 1, 4), MessageError),
        (GREETING.pack(b"W", b"SBRG", 2, 4), MessageError),
        (GREETING.pack(b"W", b"SBRG", 1, 0), MessageError),
        (GREETING.pack(b"W", b"SBRG", 1, 4) + b"x", MessageError),
        (b"F" * 40, MessageError),
        (b"R\xff\xfe" + b"no" * 2000, RingRefusedError),
    ],
)
def test_a_forged_welcome(welcome: bytes, error: type[Exception]) -> None:
    before = descriptors()
    ours, theirs = pair()
    with theirs:
        theirs.send(welcome)
        with pytest.raises(error) as caught:
            RingReader(ours, timeout=20)
        assert len(str(caught.value)) < 2500
    assert descriptors() == before


def test_a_writer_that_says_nothing() -> None:
    from samebytes_dma import RingTimeoutError

    ours, theirs = pair()
    with theirs, pytest.raises(RingTimeoutError):
        RingReader(ours, timeout=0.05)


def test_a_writer_that_ends_before_its_welcome() -> None:
    ours, theirs = pair()
    ending = threading.Timer(0.05, theirs.close)
    ending.start()
    with pytest.raises(EndOfStreamError):
        RingReader(ours, timeout=20)
    ending.join()
