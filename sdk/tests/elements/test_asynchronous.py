# SPDX-License-Identifier: Apache-2.0
"""Pipelines in an event loop: what a cancelled wait, a block and its end do to them."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest

import samebytes.elements as el
from samebytes.errors import ElementError

from .pictures import HEIGHT, WIDTH, Collect, Log, frame, frames, numbers


class Gate(el.Sink):
    """Its close() waits until the event loop has gone on."""

    takes = el.Image()

    def __init__(self) -> None:
        super().__init__()
        self._closing, self._go_on = threading.Event(), threading.Event()

    def write(self, picture: Any) -> None: ...

    def close(self) -> None:
        self._closing.set()
        assert self._go_on.wait(60)

    async def let_close(self) -> None:
        """Runs in the event loop, which must go on while the element is being closed."""
        while not self._closing.is_set():
            await asyncio.sleep(0)
        self._go_on.set()


def test_a_wait_that_is_over_loses_nothing() -> None:
    """As with asyncio.wait_for(), which cancels what it waited for."""
    more = threading.Semaphore(0)

    def camera() -> Iterator[Any]:
        for number in range(3):
            assert more.acquire(timeout=60)
            yield frame(number)

    async def takes() -> None:
        async with el.Pipeline(camera, Collect()).start() as out:
            for number in range(3):
                for _ in range(20):
                    with pytest.raises(asyncio.TimeoutError):
                        await asyncio.wait_for(anext(out), 0.001)
                more.release()
                assert (await anext(out)).pts == number
                assert not out._workers.output._listeners  # type: ignore[union-attr]  # has threads
            with pytest.raises(StopAsyncIteration):
                await anext(out)

    asyncio.run(takes())


def test_a_cancelled_task_stops_its_pipeline() -> None:
    calls: list[str] = []
    going_on = threading.Event()

    def waiting() -> Iterator[Any]:
        yield frame()
        going_on.wait(60)

    async def work() -> None:
        took = asyncio.Event()

        async def take() -> None:
            async for _ in el.Pipeline(waiting(), Log(calls)).start():
                took.set()

        task = asyncio.create_task(take())
        await asyncio.wait_for(took.wait(), 60)
        task.cancel()
        going_on.set()  # the source has no interrupt()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(work())
    assert calls[-1] == "close"


@pytest.mark.parametrize("cancelled", [False, True])
def test_a_block_stops_without_blocking_the_loop(cancelled: bool) -> None:
    gate = Gate()

    async def takes() -> None:
        async with el.Pipeline(numbers(count=10_000), gate).start() as out:
            async for _ in out:
                if cancelled:
                    task = asyncio.current_task()
                    assert task is not None
                    task.cancel()
                    await asyncio.sleep(0)
                break
        assert out.stopped

    async def both() -> None:
        other = asyncio.create_task(gate.let_close())
        try:
            with suppress(asyncio.CancelledError):
                await asyncio.create_task(takes())
        finally:
            await other

    asyncio.run(both())


class SlowToClose(el.Source):
    """Its close() waits until it may return."""

    gives = el.Image("GRAY8", memory="cpu", width=WIDTH, height=HEIGHT)

    def __init__(self, count: int) -> None:
        super().__init__()
        self._frames = frames(count)
        self.may_close, self.closing = threading.Event(), threading.Event()

    def read(self) -> Any:
        return next(self._frames, None)

    def close(self) -> None:
        self.closing.set()
        assert self.may_close.wait(60)


@pytest.mark.parametrize("times", [1, 2, 3])
@pytest.mark.parametrize("busy", [False, True])
@pytest.mark.parametrize("count", [2, 10_000])
def test_who_is_cancelled_while_it_stops_leaves_nothing_running(
    times: int, busy: bool, count: int
) -> None:
    """As by a time-out around a group of tasks; with the threads of the event loop idle or busy."""
    source, others = SlowToClose(count), threading.Event()
    before = set(threading.enumerate())

    async def takes() -> None:
        async with el.Pipeline(source, lambda picture: picture).start() as out:
            running.append(out)
            async for _ in out:
                await asyncio.sleep(0)

    async def work() -> None:
        loop = asyncio.get_running_loop()
        loop.set_default_executor(ThreadPoolExecutor(1))
        if busy:
            loop.run_in_executor(None, others.wait, 60)
        task = asyncio.create_task(takes())
        while not running or (count == 2 and not source.closing.is_set()):
            await asyncio.sleep(0)
        for _ in range(times):
            task.cancel()
            for _ in range(5):
                await asyncio.sleep(0)
        if times == 1:
            source.may_close.set()
        with suppress(asyncio.CancelledError):
            await task
        source.may_close.set()
        others.set()

    running: list[el.Running] = []
    asyncio.run(work())
    assert source.closing.wait(60)
    for thread in set(threading.enumerate()) - before:
        thread.join(60)
    assert running[0].stopped
    assert set(threading.enumerate()) <= before


def test_a_block_raises_what_ended_it() -> None:
    def fails(_: Any) -> Any:
        raise ZeroDivisionError

    async def waits() -> None:
        async with el.Pipeline(numbers(), fails).start():
            pass

    async def raises() -> None:
        async with el.Pipeline(numbers(), Collect()).start() as out:
            running.append(out)
            raise KeyError

    async def without_threads() -> None:
        running.append(el.Pipeline(numbers(), Collect()).start(threads=0))
        async with running[-1]:
            pass

    running: list[el.Running] = []
    with pytest.raises(KeyError):
        asyncio.run(raises())
    assert running[0].stopped
    with pytest.raises(ElementError, match="needs threads"):
        asyncio.run(without_threads())
    assert running[1].stopped  # and its elements are closed
    with suppress(ElementError):  # if the element was faster than the block
        asyncio.run(waits())


class Connects(el.Source):
    """Its open() waits until it is interrupted, and does not notice the first time."""

    gives = el.Image("GRAY8", memory="cpu", width=WIDTH, height=HEIGHT)

    def __init__(self, *, heeds: bool = True) -> None:
        super().__init__()
        self.opening, self.closed = threading.Event(), False
        self._heeds = heeds
        self._interrupts = threading.Semaphore(0)

    def open(self, context: Any) -> None:
        self.opening.set()
        for _ in range(2):
            assert self._interrupts.acquire(timeout=60)
        if self._heeds:
            raise OSError("interrupted")

    def read(self) -> Any:
        return None

    def interrupt(self) -> None:
        self._interrupts.release()

    def close(self) -> None:
        self.closed = True


@pytest.mark.parametrize("heeds", [False, True])
def test_what_opens_ends_when_its_task_is_cancelled(
    heeds: bool, caplog: pytest.LogCaptureFixture
) -> None:
    source = Connects(heeds=heeds)
    before = set(threading.enumerate())

    async def cancelled() -> None:
        pipe = el.Pipeline(source, lambda picture: picture)
        task = asyncio.create_task(pipe.start_async())
        while not source.opening.is_set():
            await asyncio.sleep(0)  # the event loop goes on
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert source.closed
    for thread in set(threading.enumerate()) - before:
        thread.join(60)
        assert not thread.is_alive()
    gc.collect()
    assert not caplog.records


class Waits(el.Sink):
    """Waits in one of its methods until `go_on` is set."""

    takes = el.Image()

    def __init__(self, where: str) -> None:
        super().__init__()
        self._where, self._waits = where, threading.Event()
        self.go_on = threading.Event()

    def open(self, context: Any) -> None:
        self._wait("open")

    def write(self, picture: Any) -> None: ...

    def close(self) -> None:
        self._wait("close")

    def _wait(self, where: str) -> None:
        if where == self._where:
            self._waits.set()
            assert self.go_on.wait(20), "the signal's handler was not called"

    def send_signal(self) -> None:
        """Send it once the element waits, and the event loop sleeps or will."""
        self._waits.wait(20)
        time.sleep(0.1)
        os.kill(os.getpid(), signal.SIGUSR1)


@pytest.mark.usefixtures("default_signals")
@pytest.mark.parametrize("where", ["open", "close"])
def test_a_signal_that_another_thread_gets_is_handled_while_an_element_waits(where: str) -> None:
    """As one that comes just before the event loop sleeps, it does not end that sleep."""
    sink = Waits(where)

    async def run() -> None:
        async with await el.Pipeline(numbers(count=2), sink).start_async() as out:
            async for _ in out:
                pass

    before = signal.signal(signal.SIGUSR1, lambda *_: sink.go_on.set())
    other = threading.Thread(target=sink.send_signal)  # before the mask, which threads inherit
    other.start()
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    try:
        asyncio.run(run())
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGUSR1})
        other.join()
        signal.signal(signal.SIGUSR1, before)


def test_a_start_in_a_thread_gives_the_frames_and_raises_the_errors() -> None:
    async def takes() -> list[int | None]:
        async with await el.Pipeline(numbers(count=5), Collect()).start_async(queue=1) as out:
            return [picture.pts async for picture in out]

    assert asyncio.run(takes()) == list(range(5))

    class Fails(el.Sink):
        takes = el.Image()

        def open(self, context: Any) -> None:
            raise OSError("is away")

        def write(self, picture: Any) -> None: ...

    with pytest.raises(ElementError, match="is away"):
        asyncio.run(el.Pipeline(numbers(count=5), Fails()).start_async())
    with pytest.raises(ElementError, match="threads=1"):
        asyncio.run(el.Pipeline(numbers(count=5), Collect()).start_async(threads=0))
    with pytest.raises(ValueError, match="queue=0"):
        asyncio.run(el.Pipeline(numbers(count=5), Collect()).start_async(queue=0))
