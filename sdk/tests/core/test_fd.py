# SPDX-License-Identifier: Apache-2.0
"""File descriptors between threads, and in reference cycles."""

from __future__ import annotations

import gc
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from samebytes.errors import ClosedError
from samebytes.plugins import Fd

ROUNDS = 300


def at_once(*calls: Callable[[], object]) -> None:
    """Make calls in threads of their own, at the same time."""
    ready = threading.Barrier(len(calls))

    def run(call: Callable[[], object]) -> None:
        ready.wait()
        call()

    threads = [threading.Thread(target=run, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.fixture(autouse=True)
def quick_switches() -> Iterator[None]:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def test_threads_close_it_once() -> None:
    """The number is another file's as soon as the first has closed it."""
    for _ in range(ROUNDS):
        fd = Fd(os.open(os.devnull, os.O_RDONLY))
        taken: list[int] = []

        def close(fd: Fd = fd, taken: list[int] = taken) -> None:
            fd.close()
            taken.append(os.open(os.devnull, os.O_RDONLY))

        at_once(close, close, close)
        assert len(set(taken)) == 3, "closed twice: another thread's file was, too"
        for number in taken:
            os.close(number)
        assert fd.closed


def test_one_thread_takes_it_over() -> None:
    for _ in range(ROUNDS):
        fd = Fd(os.open(os.devnull, os.O_RDONLY))
        taken: list[int] = []

        def take(fd: Fd = fd, taken: list[int] = taken) -> None:
            with suppress(ClosedError):
                taken.append(fd.detach())

        at_once(take, take, fd.close)
        assert len(taken) <= 1
        for number in taken:
            os.close(number)


def test_one_closes_it_while_another_duplicates_it() -> None:
    null = Path(os.devnull).stat()
    for _ in range(ROUNDS):
        fd = Fd(os.open(os.devnull, os.O_RDONLY))
        made: list[Fd] = []
        files: list[int] = []

        def duplicate(fd: Fd = fd, made: list[Fd] = made) -> None:
            with suppress(ClosedError):
                made.append(fd.dup())

        def close(fd: Fd = fd, files: list[int] = files) -> None:
            fd.close()
            files.append(os.open(os.curdir, os.O_RDONLY))

        at_once(duplicate, close)
        assert all(os.path.samestat(os.fstat(one.fileno()), null) for one in made)
        os.close(files[0])


@pytest.mark.parametrize("first", ["descriptor", "user"])
def test_in_a_cycle_it_is_closed_after_those_who_use_it(first: str) -> None:
    """The collector finalizes in the order in which objects were made, or in any other."""

    class User:
        fd: Fd
        itself: User

        def __del__(self) -> None:
            seen.append(is_open(self.fd.fileno()))

    def make() -> int:
        user = User() if first == "user" else None
        fd = Fd(os.open(os.devnull, os.O_RDONLY))
        user = user or User()
        user.fd, user.itself = fd, user
        return fd.fileno()

    seen: list[bool] = []
    number = make()
    gc.collect()
    assert seen == [True]
    assert not is_open(number)
