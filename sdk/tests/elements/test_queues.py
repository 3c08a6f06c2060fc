# SPDX-License-Identifier: Apache-2.0
"""The queues between threads: what is left out is counted once, and the end of a stream stays."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from samebytes.elements import _channel
from samebytes.elements._channel import END, FAILED, STOP, Channel, Mark, Port, Stopped
from samebytes.elements._threads import _InOrder

MARKS = pytest.mark.parametrize("mark", [END, FAILED])


def full(frames: int = 1) -> tuple[Channel, Port]:
    """A queue that leaves out the oldest frame, with as many as it has room for."""
    channel = Channel()
    port = channel.port(frames, "drop-oldest")
    for number in range(frames):
        port.put((0, number))
    return channel, port


def rest(channel: Channel, count: int) -> list[Any]:
    return [channel.get()[1] for _ in range(count)]


def test_the_oldest_is_left_out() -> None:
    channel, port = full(2)
    assert port.put((0, "new"))
    assert rest(channel, 2) == [1, "new"]
    assert (port.dropped, port.lost) == (1, 0)


@MARKS
def test_the_end_is_not_left_out(mark: Mark) -> None:
    """One thread may end a stream while another puts a frame of it."""
    channel, port = full()
    channel.get()
    port.put_mark((0, mark))
    port.put((0, "behind"))
    port.put((0, "in its place"))
    assert rest(channel, 2) == [mark, "in its place"]
    assert (port.dropped, port.lost) == (1, 0)


@MARKS
def test_where_the_end_alone_waits_a_frame_waits_for_room(mark: Mark) -> None:
    """A reader takes a frame first, and makes room then."""
    channel, port = full()
    port.items.popleft()
    port._tickets.get()
    port.put_mark((0, mark))
    writer = threading.Thread(target=port.put, args=((0, "behind"),), daemon=True)
    writer.start()
    writer.join(0.05)
    assert [item[1] for item in port.items] == [mark]
    port._credits.put(None)
    writer.join(10)
    assert rest(channel, 2) == [mark, "behind"]
    assert (port.dropped, port.lost) == (0, 0)


def test_what_comes_while_it_stops_is_counted_once() -> None:
    """A writer that has its credit adds its frame, whatever happens meanwhile."""

    class Late(tuple[int, Any]):
        """An item that, when it is looked at, has another one come."""

        def __getitem__(self, at: Any) -> Any:
            if not late:
                late.append("late")
                port.put_mark((0, "late"))
            return super().__getitem__(at)

    late: list[str] = []
    channel = Channel()
    port = channel.port(1)
    port.put(Late((0, "first")))
    channel.stop()
    channel.stop()
    assert port.lost == 2
    assert channel.get() is STOP
    with pytest.raises(Stopped):
        port.put((0, "second"))
    assert port.lost == 3


def test_what_comes_before_who_waits_is_known_of_wakes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A writer that finds no listener wakes nobody: whoever waits looks once more."""
    monkeypatch.setattr(_channel, "LOOK", 1e3)  # nothing else would

    class Late(deque[Any]):
        """Another thread puts an item just before somebody is entered here."""

        def append(self, listener: Any) -> None:
            port.put((0, "frame"))
            super().append(listener)

    channel = Channel()
    channel._listeners = Late()
    port = Port(channel._tickets, deque(), 1, "wait")

    async def wait() -> None:
        await asyncio.wait_for(channel.wait(asyncio.get_running_loop()), 10)

    asyncio.run(wait())
    assert channel.get()[1] == "frame"
    assert not channel._listeners


def test_an_error_at_the_end_of_one_stream_ends_the_others() -> None:
    """The thread that meets it may have brought a frame of another stream."""

    def end(stream: int) -> Iterator[Any]:
        raise ValueError(f"at the end of stream {stream}")
        yield

    stage: Any = SimpleNamespace(end=end, abandon=lambda _: None)
    emitted: list[Any] = []
    raised: list[BaseException] = []
    order = _InOrder(stage, lambda *what: emitted.append(what), raised.append, threads=2)
    order.give(1, 1, END, raised=False)
    order.give(0, 0, [(0, "frame")], raised=False)
    order.give(2, 0, END, raised=False)
    assert emitted == [(0, "frame"), (1, FAILED), (0, FAILED)]
    assert [str(error) for error in raised] == ["at the end of stream 1"]
