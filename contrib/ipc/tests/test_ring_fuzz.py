# SPDX-License-Identifier: Apache-2.0
"""Any packets, to either side, give frames that can be read, or an error of samebytes."""

from __future__ import annotations

import copy
import fcntl
import gc
import json
import os
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from samebytes import Frame
from samebytes.errors import NoRouteError, SamebytesError
from samebytes_ipc import RingReader, RingWriter

from .both_ends import pair, sent
from .ring_packets import DONE, FRAME, GREETING, JOIN, LEAVES, NUMBER, VERSION, welcome, welcomed
from .test_passing_fuzz import DOCUMENTS, change

pytestmark = pytest.mark.together

META: dict[str, Any] = {
    "regions": [{"x": 0, "y": 0, "width": 1, "height": 1, "label": "", "confidence": None,
                 "metadata": {}, "entries": []}],
    "metadata": {"a": 1},
    "entries": DOCUMENTS[1]["frame"]["entries"],
}  # fmt: skip


def _memfd(size: int = 4096, seals: int = fcntl.F_SEAL_SHRINK) -> int:
    number = os.memfd_create("fuzz", os.MFD_ALLOW_SEALING | os.MFD_CLOEXEC)
    os.ftruncate(number, size)
    fcntl.fcntl(number, fcntl.F_ADD_SEALS, seals)
    return number


MAKERS: tuple[Callable[[], int], ...] = (
    lambda: _memfd(4096),
    lambda: _memfd(300),
    lambda: _memfd(4096, 0),
    lambda: os.open("/dev/zero", os.O_RDWR),
    lambda: os.eventfd(0),
)

small = st.integers(0, 3)
numbers = st.sampled_from([0] * 6 + [1, 2, 63, 64, 127, 128, 65535])
Packet = tuple[bytes, list[Callable[[], int]]]


@st.composite
def bodies(draw: st.DrawFn, whole: Any) -> bytes:
    """JSON with up to two values replaced, removed or added."""
    document = copy.deepcopy(whole)
    for _ in range(draw(st.integers(0, 2))):
        change(draw, document)
    return json.dumps(document).encode()


@st.composite
def packets(draw: st.DrawFn) -> Packet:
    """One packet of a writer, mostly one that could be."""
    kind = draw(st.sampled_from("SSLLFFFFFEx"))
    right_one, other = MAKERS[0], MAKERS[3]
    most: list[list[Callable[[], int]]] = [[]] * 6
    makers = draw(st.sampled_from([*most, [right_one], [right_one, right_one], [other]]))
    if kind == "S":
        right = draw(st.integers(0, 4))
        makers = [right_one] if right else draw(st.lists(st.sampled_from(MAKERS), max_size=2))
        return NUMBER.pack(b"S", draw(numbers)), makers
    if kind == "L":
        layout = {"readonly": True, "frame": {**DOCUMENTS[1]["frame"], "entries": []}}
        which = draw(st.sampled_from([layout, layout, DOCUMENTS[0]]))
        return NUMBER.pack(b"L", draw(numbers)) + draw(bodies(which)), makers
    if kind == "F":
        head = FRAME.pack(
            b"F", draw(numbers), draw(numbers), draw(st.integers(0, 40)),
            draw(st.sampled_from([0, 1, 2, 3, 3, 4, 255])), draw(st.integers(-9, 9)),
            draw(small), draw(small),
        )  # fmt: skip
        body = draw(st.just(b"") | bodies(META) | st.binary(max_size=9))
        return head + body, makers if body else draw(st.sampled_from([most[0], most[0], makers]))
    if kind == "E":
        return draw(st.sampled_from([b"E", b"EE"])), makers
    return draw(st.binary(min_size=1, max_size=40)), makers


@pytest.fixture(scope="module", autouse=True)
def nothing_waits_for_the_collector() -> None:
    """Collect the garbage of earlier modules, which could close its descriptors at any moment."""
    gc.collect()


def _descriptors() -> list[str]:
    return sorted(os.listdir("/proc/self/fd"))  # noqa: PTH208 - names alone


def _use(item: Any) -> None:
    """Read every byte; what has no rows says so."""
    try:
        view = item.map("cpu")
    except NoRouteError:
        return
    for array in view if isinstance(view, Frame) else (view,):
        assert array.native.sum() == 0


@settings(deadline=None, max_examples=250)
@given(sent=st.lists(packets(), max_size=12), usual=st.booleans())
def test_any_packets_of_a_writer(sent: list[Packet], usual: bool) -> None:
    begin: list[Packet] = []
    if usual:
        layout = {"readonly": True, "frame": {**DOCUMENTS[1]["frame"], "entries": []}}
        begin = [
            (NUMBER.pack(b"S", 0), [MAKERS[0]]),
            (NUMBER.pack(b"L", 0) + json.dumps(layout).encode(), []),
        ]
    before = _descriptors()
    ours, theirs = pair()
    with theirs, welcome(theirs), RingReader(ours, timeout=20) as reader:
        for packet, makers in [*begin, *sent]:
            fds = [make() for make in makers]
            socket.send_fds(theirs, [packet], fds)
            for fd in fds:
                os.close(fd)
        theirs.shutdown(socket.SHUT_WR)
        kept = []
        try:
            while (item := reader.read()) is not None:
                _use(item)
                kept.append(item)
        except SamebytesError:
            pass
        item = None
        for item in kept:  # they stay as they are
            _use(item)
        del item, kept
    assert _descriptors() == before


@st.composite
def answers(draw: st.DrawFn) -> list[tuple[bool, bytes]]:
    """Packets of a reader, many of them right if they come at the right time.

    Or records through its stream, some of them not whole.
    """

    def record() -> bytes:
        slot = draw(st.sampled_from([0, 0, 1, 2, 3, LEAVES]))
        return DONE.pack(slot, draw(st.integers(0, 9)))

    def records() -> bytes:
        whole = b"".join(record() for _ in range(draw(small)))
        return draw(st.sampled_from([whole] * 6 + [whole[:-1]]))

    def packet() -> bytes:
        greeting = GREETING.pack(b"J", b"SBRG", VERSION, draw(small))
        return draw(st.just(greeting) | st.binary(min_size=1, max_size=30))

    streams = draw(st.lists(st.sampled_from([True, True, False]), max_size=12))
    return [(stream, records() if stream else packet()) for stream in streams]


@settings(deadline=None, max_examples=250)
@given(sent_back=answers(), joins=st.booleans(), drops=st.booleans())
def test_any_packets_of_a_reader(
    sent_back: list[tuple[bool, bytes]], joins: bool, drops: bool
) -> None:
    """The writer's numbers always add up, and it goes on."""
    before = _descriptors()
    ours, theirs = pair()
    with theirs, RingWriter(
        format="GRAY8", width=16, height=4, slots=4, timeout=20,
        when_full="drop-oldest" if drops else "wait",
    ) as writer:  # fmt: skip
        writer.add(ours)
        if joins:
            theirs.send(JOIN)
        writer.serve()
        returns = welcomed(theirs) if joins else None
        for number, (stream, sent_now) in enumerate(sent_back):
            if number < 3:
                sent(writer, number)
            with suppress(BrokenPipeError, ConnectionResetError):
                (returns if returns is not None and stream else theirs).send(sent_now)
            writer.serve()
            for each in (*writer.statistics.readers, writer.statistics.gone):
                total = each.done + each.dropped + each.lost + each.waiting + each.held
                assert each.offered == total
                assert min(each.done, each.dropped, each.lost) >= 0
            held = sum(s.held + s.waiting for s in writer.statistics.readers)
            assert sum(slot.awaited for slot in writer._pool.own) == held
        theirs.close()
        if returns is not None:
            returns.close()
        for number in range(6):  # there is room for more than all slots
            sent(writer, number)
        assert writer.statistics.accepted == min(len(sent_back), 3) + 6
    assert _descriptors() == before
