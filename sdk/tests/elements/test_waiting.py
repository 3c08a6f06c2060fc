# SPDX-License-Identifier: Apache-2.0
"""Frames that a decoder still reads, and frames of pools."""

from __future__ import annotations

import itertools
import threading
import time
import weakref
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import samebytes as sb
import samebytes.elements as el
from samebytes.errors import (
    CopyRequiredError,
    ElementError,
    PoolTimeoutError,
)

from .pictures import HEIGHT, WIDTH, Collect, Decoded, add, decoded, frame, frames, numbers

THREADS = pytest.mark.parametrize("threads", [0, 1, 3])


def values(out: Any) -> list[int]:
    return [int(picture.planes[0].native[0, 0]) for picture in out]


@THREADS
def test_writers_wait_for_the_decoder(threads: int) -> None:
    with el.Pipeline(decoded(9, 3), add()).start(threads=threads) as out:
        assert values(out) == list(range(1, 10))
    with pytest.raises(ElementError, match=r"still reads it after 2 newer frames.*hold=.*copy="):
        el.Pipeline(decoded(9, 4), add(), hold=2).run(threads=threads)
    Decoded.busy.clear()
    assert sb.stats().copies == 0
    with el.Pipeline(decoded(9, 4), add(), hold=2, copy=True).start(threads=threads) as out:
        assert values(out) == list(range(1, 10))
    assert sb.stats().copies > 0
    Decoded.busy.clear()


@THREADS
def test_copies_of_frames_that_somebody_reads_are_counted_by_the_element(threads: int) -> None:
    with el.Pipeline(decoded(9, 20), add(), hold=2, copy=True).start(threads=threads) as out:
        assert values(out) == list(range(1, 10))
        copied = out.statistics().of("add").copied_bytes
    assert copied == sb.stats().copied_bytes > 0
    Decoded.busy.clear()


@THREADS
def test_the_last_frames_are_released_after_the_end(threads: int) -> None:
    def read() -> Iterator[Any]:
        for picture in decoded(5, 2):
            yield picture
            last = picture.pts
        Decoded.busy.add(last)
        threading.Timer(0.05, Decoded.busy.clear).start()

    with el.Pipeline(read, add()).start(threads=threads) as out:
        assert values(out) == list(range(1, 6))
    assert sb.stats().copies == 0


@pytest.mark.parametrize("threads", [0, 1])
def test_a_frame_that_somebody_reads_after_the_end(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As GStreamer's sinks behind a tee do, which keep the last frame."""
    clock = time.monotonic
    monkeypatch.setattr("time.monotonic", lambda: 100 * clock())  # a second is soon over

    def read() -> Iterator[Any]:
        yield from decoded(3, 1)
        Decoded.busy.add(2)

    with pytest.raises(ElementError, match=r"though its stream has ended; allow a copy \(copy="):
        el.Pipeline(read, add()).run(threads=threads)
    with el.Pipeline(read, add(), copy=True).start(threads=threads) as out:
        assert values(out) == [1, 2, 3]
    Decoded.busy.clear()


class Pooled(el.Source):
    """A source with a pool of surfaces, which fails if it has none left."""

    count: int = 20
    size: int = 4
    behind: int = 0

    def negotiate(self, wanted: el.FrameInfo | None) -> el.FrameInfo:
        return el.FrameInfo("image", "cpu", "GRAY8", WIDTH, HEIGHT, pool=self.size)

    def open(self, context: Any) -> None:
        self._frames = decoded(self.count, self.behind)
        self._out: weakref.WeakSet[Any] = weakref.WeakSet()

    def read(self) -> Any:
        assert len(self._out) < self.size, "a decoder without a surface"
        made = next(self._frames, None)
        if made is not None:
            self._out.add(made)
        return made

    def close(self) -> None:
        Decoded.busy.clear()


@pytest.mark.parametrize("threads", [0, 1])
def test_a_fixed_pool_does_not_deadlock_with_the_queues(threads: int) -> None:
    pipe = el.Pipeline(Pooled(), add(), Collect())
    assert pipe.run(threads=threads, queue=50, pool_timeout=5).of("Collect").frames_in == 20
    # More frames wait for the decoder than there are: the pipeline says so and does not hang.
    with pytest.raises(ElementError, match="still reads it after 3 newer frames"):
        el.Pipeline(Pooled(behind=9), add()).run(threads=threads, pool_timeout=5)


@THREADS
def test_a_run_keeps_no_frame_while_the_next_one_is_read(threads: int) -> None:
    """As of a decoder, or a reader of a ring, that has one frame at a time."""
    done = el.Pipeline(Pooled(size=1), add()).run(threads=threads, pool_timeout=5)
    assert done.of("Pooled").frames_out == 20


@pytest.mark.parametrize("threads", [0, 1])
def test_frames_that_the_program_keeps(threads: int) -> None:
    kept: list[Any] = []
    with (
        pytest.raises(PoolTimeoutError, match=r"'Pooled'.*all 4 frames of its pool are in use"),
        el.Pipeline(Pooled()).start(threads=threads, pool_timeout=0.2) as out,
    ):
        kept.extend(out)
    assert len(kept) == 4


def test_a_pool_of_frames() -> None:
    made = []

    def make() -> Any:
        made.append(frame())
        return made.pop()

    pool = el.FramePool(make, maximum=2, timeout=0.2, name="scale")
    first = pool.acquire()
    first.planes[0].native[...] = 5
    array, address = first.planes[0].native[2:], first.planes[0].native.ctypes.data
    del first
    second = pool.acquire()
    assert second.planes[0].native.ctypes.data != address  # the array keeps it
    with pytest.raises(PoolTimeoutError, match="'scale': all 2 frames"):
        pool.acquire()
    second.metadata["own"] = 1
    del array
    third = pool.acquire()
    assert third.planes[0].native.ctypes.data == address
    del second, third
    assert not pool.acquire().metadata
    assert len(pool) == 2


def test_a_frame_of_a_pool_knows_nothing_of_its_last_use() -> None:
    pool = el.FramePool(frame, maximum=1, timeout=1)
    first = pool.acquire()
    address = first.planes[0].native.ctypes.data
    first.metadata["own"] = 1
    first.meta.pts, first.meta.time_base = 7, Fraction(1, 25)
    first.meta.regions.append(sb.Region(0, 0, 4, 4))
    del first
    again = pool.acquire()
    assert again.planes[0].native.ctypes.data == address
    meta = again.meta
    assert (meta.pts, meta.time_base, list(meta.regions), dict(meta.metadata)) == (
        None,
        None,
        [],
        {},
    )


def test_a_frame_outlives_its_pool() -> None:
    made: list[weakref.ref[Any]] = []

    def make() -> Any:
        picture = frame(7)
        made.append(weakref.ref(picture.storage))
        return picture

    pool = el.FramePool(make, maximum=1)
    array = pool.acquire().planes[0].native[1:]
    pool.close()
    (owner,) = made
    assert owner() is not None
    assert (array == 7).all()
    del array
    assert owner() is None


def test_a_pool_of_memory_that_has_no_arrays_is_filled_again() -> None:
    """Its frame itself is given away, and must not be held by the pool besides."""

    class NotForEverybody(np.ndarray[Any, Any]):
        pass

    def make() -> Any:
        storage = sb.Storage()
        native = np.zeros((HEIGHT, WIDTH), np.uint8).view(NotForEverybody)
        meta = sb.FrameMeta(sb.ImageInfo.of("GRAY8", WIDTH, HEIGHT))
        return sb.Frame.borrowed((native,), sb.context("cpu"), meta, keep=storage)

    pool = el.FramePool(make, maximum=1, timeout=0.2)
    first = pool.acquire()
    with pytest.raises(PoolTimeoutError):
        pool.acquire()
    del first
    assert pool.acquire() is not None
    assert len(pool) == 1


def test_a_frame_that_waited_in_vain_has_the_missing_copy_as_its_cause() -> None:
    with pytest.raises(ElementError, match="still reads it after 0 newer") as caught:
        el.Pipeline(decoded(3, 2), add(), hold=0).run(threads=0)
    assert isinstance(caught.value.__cause__, CopyRequiredError)
    Decoded.busy.clear()
    with pytest.raises(ValueError, match="hold=-1"):
        el.Pipeline(frames(1), hold=-1)


class Rest:
    """A pause of the program, as long as the source has been seen to wait in vain for a while."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.looks = threading.Semaphore(0)
        looked = el.Clock.is_over

        def is_over(clock: Any) -> bool:
            over = looked(clock)
            self.looks.release()
            return over

        monkeypatch.setattr(el.Clock, "is_over", is_over)

    def until(self, looks: int) -> None:
        """Pause until somebody has looked so often whether his wait is over."""
        for _ in range(looks):
            assert self.looks.acquire(timeout=60)


def scaled(pool: el.FramePool) -> Any:
    """An element that gives new frames of a pool."""

    @el.transform(takes=el.Image("GRAY8", memory="cpu"), gives=el.Image("GRAY8", memory="cpu"))
    def scale(picture: Any) -> Any:
        made = pool.acquire()
        made.meta.pts = picture.meta.pts
        return made

    return scale()


@pytest.mark.parametrize("threads", [1, 3])
def test_a_pause_of_the_program_keeps_no_frame(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rest = Rest(monkeypatch)
    pools = [Pooled(), numbers(count=20)]
    for source, element in zip(pools, (add(), scaled(el.FramePool(frame, maximum=3))), strict=True):
        with el.Pipeline(source, element).start(threads=threads, pool_timeout=0.2) as out:
            came = [next(out).meta.pts]
            rest.until(16)  # each of them 25 ms after the one before: twice the time-out
            came += [picture.meta.pts for picture in out]
        assert came == list(range(20))


def test_a_long_call_keeps_no_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    rest = Rest(monkeypatch)

    def waits(picture: Any) -> Any:
        if picture.pts == 2:
            rest.until(16)
        return picture

    pipe = el.Pipeline(Pooled(), waits)
    assert pipe.run(pool_timeout=0.2).of("waits").frames_in == 20


def test_stopping_ends_a_wait_that_has_no_end(monkeypatch: pytest.MonkeyPatch) -> None:
    rest = Rest(monkeypatch)
    out = el.Pipeline(Pooled()).start(queue=9, pool_timeout=0.02)
    rest.until(12)
    out.stop()
    assert out.statistics().lost == 4


@pytest.mark.parametrize("threads", [0, 1, 3])
def test_frames_of_an_elements_pool_that_the_program_keeps(threads: int) -> None:
    """The frames before the element cannot help: it waits itself."""
    pipe = el.Pipeline(Pooled(), scaled(el.FramePool(frame, maximum=2, name="scale")))
    kept: list[Any] = []
    with (
        pytest.raises(ElementError, match=r"all \d frames of its pool are in use") as caught,
        pipe.start(threads=threads, pool_timeout=0.5) as out,
    ):
        kept.extend(out)
    assert len(kept) == 2
    if threads:
        assert "in queues: " in str(caught.value)


def test_the_error_says_where_frames_wait() -> None:
    kept: list[Any] = []
    ahead = threading.Event()

    def runs_ahead() -> Iterator[Any]:
        for number in range(9):
            if number == 6:  # of those before, the program keeps one, and one waits in `scale`
                ahead.set()
            yield frame(number)

    acquired = itertools.count()

    class Patient(el.FramePool):
        def acquire(self) -> Any:
            assert next(acquired) == 0 or ahead.wait(60)
            return super().acquire()

    pipe = el.Pipeline(runs_ahead(), scaled(Patient(frame, maximum=1)))
    with (
        pytest.raises(PoolTimeoutError, match=r"in 0.5 s \(in queues: 4 before 'scale'\): drop"),
        pipe.start(pool_timeout=0.5) as out,
    ):
        kept.extend(out)
