# SPDX-License-Identifier: Apache-2.0
"""Frames that a decoder still reads, and frames of pools."""

from __future__ import annotations

import weakref
from typing import Any

import pytest

import samebytes as sb
import samebytes.elements as el
from samebytes.errors import (
    CopyRequiredError,
    ElementError,
    PoolTimeoutError,
)

from .pictures import HEIGHT, WIDTH, Collect, Decoded, add, decoded, frame, frames

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


def test_a_frame_that_waited_in_vain_has_the_missing_copy_as_its_cause() -> None:
    with pytest.raises(ElementError, match="still reads it after 0 newer") as caught:
        el.Pipeline(decoded(3, 2), add(), hold=0).run(threads=0)
    assert isinstance(caught.value.__cause__, CopyRequiredError)
    Decoded.busy.clear()
    with pytest.raises(ValueError, match="hold=-1"):
        el.Pipeline(frames(1), hold=-1)
