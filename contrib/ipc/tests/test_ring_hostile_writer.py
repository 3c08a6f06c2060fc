# SPDX-License-Identifier: Apache-2.0
"""A hostile writer of a ring: its reader refuses it by name, and keeps nothing of what came."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress

import pytest

from samebytes_ipc import EndOfStreamError, MessageError, RingReader, RingRefusedError

from .both_ends import pair, value_of, wait
from .ring_packets import (
    DONE,
    FRAME,
    GREETING,
    JOIN,
    META,
    NUMBER,
    VERSION,
    WELCOME,
    descriptors,
    layout,
    memfd,
    pass_on,
    welcome,
)

Victim = tuple[RingReader, socket.socket, socket.socket]


@pytest.fixture
def victim() -> Iterator[Victim]:
    """A reader, and the sockets of what it believes to be its writer."""
    ours, theirs = pair()
    with theirs:
        theirs.settimeout(20)
        with welcome(theirs) as returns, RingReader(ours, timeout=20) as reader:
            assert theirs.recv(100) == JOIN
            yield reader, theirs, returns


def slot(theirs: socket.socket, fd: int, number: int = 0) -> None:
    socket.send_fds(theirs, [NUMBER.pack(b"S", number)], [fd])
    os.close(fd)


def frame(sequence: int = 1, *, slot: int = 0, layout: int = 0, flags: int = 0, pts: int = 0,
          base: tuple[int, int] = (0, 0)) -> bytes:  # fmt: skip
    return FRAME.pack(b"F", slot, layout, sequence, flags, pts, *base)


def test_an_honest_forger(victim: Victim) -> None:
    """The valid packets, of which each test below changes one thing."""
    reader, theirs, returns = victim
    slot(theirs, memfd())
    theirs.send(NUMBER.pack(b"L", 0) + layout())
    theirs.send(frame(flags=3, pts=9, base=(1, 30)) + json.dumps(META).encode())
    got = reader.read()
    assert (got.pts, str(got.meta.time_base), value_of(got)) == (9, "1/30", 0)
    del got
    assert returns.recv(100) == DONE.pack(0, 1)
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
        (lambda s: s.send(WELCOME), "packet"),
        (lambda s: s.send(DONE.pack(0, 1)), "packet"),
        (lambda s: s.send(b"L" + b"x" * 66_000), "packet"),
    ],
)  # fmt: skip
def test_a_forged_packet_of_a_writer(
    victim: Victim,
    packets: Callable[[socket.socket], object],
    field: str,
) -> None:
    reader, theirs, _ = victim
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


def test_frames_that_come_again(victim: Victim) -> None:
    reader, theirs, _ = victim
    slot(theirs, memfd())
    theirs.send(NUMBER.pack(b"L", 0) + layout())
    for number in (5, 7, 7):
        theirs.send(frame(number))
    got = [reader.read(), reader.read()]
    assert reader.statistics.missed == 1
    with pytest.raises(MessageError, match="7 comes after 7"):
        reader.read()
    assert [value_of(f) for f in got] == [0, 0]


def test_more_frames_than_a_reader_may_have(victim: Victim) -> None:
    """One that keeps them all would have more than it can say when it leaves."""
    reader, theirs, _ = victim
    slot(theirs, memfd())
    theirs.send(NUMBER.pack(b"L", 0) + layout())
    kept = []
    for sequence in range(1, 129):
        theirs.send(frame(sequence))
        kept.append(reader.read())
    theirs.send(frame(129))
    with pytest.raises(MessageError, match="frame: 129 is one more than the 128 of a reader"):
        reader.read()


def test_a_slot_that_is_replaced_while_a_frame_uses_it(
    victim: Victim,
) -> None:
    """The frame keeps the memory that it was checked with."""
    reader, theirs, _ = victim
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
    victim: Victim,
) -> None:
    """The next frame lies in the new memory, and the old one is given up."""
    reader, theirs, _ = victim
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
    victim: Victim,
) -> None:
    reader, theirs, _ = victim
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


def test_a_layout_that_is_replaced(victim: Victim) -> None:
    """It is checked against each slot again."""
    reader, theirs, _ = victim
    slot(theirs, memfd(1024))
    theirs.send(NUMBER.pack(b"L", 0) + layout())
    theirs.send(frame(1))
    assert value_of(reader.read()) == 0
    theirs.send(NUMBER.pack(b"L", 0) + layout(offset=1))
    theirs.send(frame(2))
    with pytest.raises(MessageError, match=r"frame\.planes\[0\]"):
        reader.read()


def test_slots_cannot_be_cut_short(victim: Victim) -> None:
    """Reading past the end of a file ends a process with SIGBUS."""
    reader, theirs, _ = victim
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
        (GREETING.pack(b"W", b"SBRX", VERSION, 4), MessageError),
        (GREETING.pack(b"W", b"SBRG", VERSION + 1, 4), MessageError),
        (GREETING.pack(b"W", b"SBRG", VERSION, 0), MessageError),
        (WELCOME + b"x", MessageError),
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


def _streams(stack: ExitStack, kind: socket.SocketKind = socket.SOCK_STREAM) -> list[int]:
    return [stack.enter_context(end).fileno() for end in socket.socketpair(type=kind)]


def _of_another_process(stack: ExitStack) -> list[int]:
    """A connection to a service: it would take this reader for who writes there."""
    code = (
        "import socket, sys; s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen();"
        "print(flush=True); sys.stdin.read()"
    )
    name = f"\0ring-{os.getpid()}"
    service = stack.enter_context(
        subprocess.Popen(
            [sys.executable, "-c", code.replace("sys.argv[1]", repr(name))],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )
    )  # fmt: skip
    assert service.stdout is not None
    service.stdout.readline()
    sock = stack.enter_context(socket.socket(socket.AF_UNIX))
    sock.connect(name)
    return [sock.fileno()]


@pytest.mark.parametrize(
    "passed",
    [
        lambda stack: [],
        _streams,
        lambda stack: _streams(stack, socket.SOCK_SEQPACKET)[:1],
        lambda stack: [stack.enter_context(socket.socket()).fileno()],
        lambda stack: [stack.enter_context(socket.socket(socket.AF_UNIX)).fileno()],
        lambda stack: [os.open("/dev/null", os.O_RDWR)],
        _of_another_process,
    ],
)
def test_a_welcome_with_other_descriptors(passed: Callable[[ExitStack], list[int]]) -> None:
    """Frames are given back through one stream, which the writer has made."""
    with ExitStack() as stack:
        numbers = passed(stack)
        ours, theirs = pair()
        stack.enter_context(theirs)
        before = descriptors()
        pass_on(theirs, WELCOME, numbers)
        with pytest.raises(MessageError) as caught:
            RingReader(ours, timeout=20)
        assert caught.value.field == "welcome.returns"
        del caught
        assert descriptors() == before - 1  # its socket


@pytest.mark.parametrize("does", ["closes it", "does not read it"])
def test_a_writer_that_takes_nothing_back(victim: Victim, does: str) -> None:
    """It stops nobody who drops a frame, though it has let what its reader has wait for room."""
    reader, theirs, returns = victim
    number = reader._connection.returns.fileno()  # type: ignore[union-attr]
    os.set_blocking(number, True)
    if does == "closes it":
        returns.close()
    else:
        with suppress(BlockingIOError), socket.socket(fileno=os.dup(number)) as full:
            while True:
                full.send(b"x" * 1000, socket.MSG_DONTWAIT)
    slot(theirs, memfd())
    theirs.send(NUMBER.pack(b"L", 0) + layout())
    for sequence in (1, 2):
        theirs.send(frame(sequence))
        assert value_of(reader.read()) == 0
    assert reader.statistics.held == 0
    if does == "does not read it":
        while len(returns.recv(1 << 20)) == 1 << 20:
            pass
    theirs.send(b"E")
    assert reader.read() is None


def test_a_writer_that_says_nothing() -> None:
    from samebytes_ipc import RingTimeoutError

    ours, theirs = pair()
    with theirs, pytest.raises(RingTimeoutError, match="did not let this reader join"):
        RingReader(ours, timeout=0.05)


def test_a_writer_that_ends_before_its_welcome() -> None:
    ours, theirs = pair()
    ending = threading.Timer(0.05, theirs.close)
    ending.start()
    with pytest.raises(EndOfStreamError):
        RingReader(ours, timeout=20)
    ending.join()


def test_a_writer_that_ends_all_connections(address: str) -> None:
    """As one of an earlier release does. The reader tries again, now and then."""
    from samebytes_ipc import RingTimeoutError

    came = 0
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(address)
        listener.listen()

        def end() -> None:
            nonlocal came
            while True:
                sock, _ = listener.accept()
                with sock:
                    if sock.recv(100) != JOIN:
                        return
                came += 1

        ending = threading.Thread(target=end)
        ending.start()
        with pytest.raises(RingTimeoutError, match="use one release of samebytes-ipc"):
            RingReader(address, timeout=1)
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as last:
            last.connect(address)
        ending.join()
    assert 1 <= came <= 51
