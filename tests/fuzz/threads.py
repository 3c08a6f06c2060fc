# SPDX-License-Identifier: Apache-2.0
"""Several threads over the same objects: they map, hold, read, close and drop whatever they find.

Nobody writes, so every byte that is read is known. An object that one thread closes is closed for
the others, which then get ClosedError: that, and BusyError, are all that a race may cause.
"""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from samebytes.errors import ClosedError, SamebytesError

from ..matrix.sources import TARGETS
from .model import MAKERS, arrays_of, contents, make, put

__all__ = ["run_threads"]

_THREADS = 4
_ROUNDS = 30
_OBJECTS = 5
_CONTEXTS_CLOSED = 0.3


def run_threads(seed: int, say: Callable[[str], None]) -> None:
    """Make some objects, and let the threads at them.

    Raises:
        AssertionError: wrong bytes, or an error that no race excuses.
    """
    rng = random.Random(seed)
    objects: list[tuple[Any, tuple[bytes, ...]]] = []
    for number in range(_OBJECTS):
        name, layout = rng.choice(MAKERS)
        say(f"make {name}, {layout}")
        item = make(name, layout)
        with suppress(SamebytesError):  # device memory that the CPU cannot write
            put(item, number, "w")
        objects.append((item, contents(item)))
    failures: list[BaseException] = []
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        workers = [
            threading.Thread(target=_work, args=(objects, seed * 10 + n, failures))
            for n in range(_THREADS)
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    finally:
        sys.setswitchinterval(interval)
    if failures:
        raise failures[0]


def _work(
    objects: list[tuple[Any, tuple[bytes, ...]]], seed: int, failures: list[BaseException]
) -> None:
    rng = random.Random(seed)
    held: list[tuple[Any, tuple[bytes, ...]]] = []
    try:
        for _ in range(_ROUNDS):
            pool = [*objects, *held]
            if not pool:
                return
            item, right = rng.choice(pool)
            _one(rng, item, right, held)
            if held and rng.random() < 0.4:
                held.pop(rng.randrange(len(held)))
            if objects and rng.random() < 0.05:
                with suppress(IndexError, ValueError):  # another thread took the last one
                    objects.pop(rng.randrange(len(objects)))
    except BaseException as error:
        failures.append(error)


def _one(
    rng: random.Random, item: Any, right: tuple[bytes, ...], held: list[tuple[Any, Any]]
) -> None:
    how = rng.choice(("read", "map", "arrays", "close", "wait", "repr", "close the context"))
    try:
        if how == "read":
            assert contents(item) == right, f"{item!r} reads other bytes"
        elif how == "map":
            held.append((item.map(rng.choice(TARGETS), "r"), right))
        elif how == "arrays" and item.context.node == "cpu":
            assert tuple(a.tobytes() for a in arrays_of(item)) == right
        elif how == "close":
            item.close()
        elif how == "wait":
            item.wait()
        elif how == "close the context" and rng.random() < _CONTEXTS_CLOSED:
            item.context.close()  # whatever is in it goes on, for all threads
        else:
            repr(item)
    except ClosedError:
        return
    except SamebytesError as error:
        # A refusal that has nothing to do with time: it is one every time.
        if how not in ("map", "read"):
            raise AssertionError(f"{how} raised {error!r}") from error
