# SPDX-License-Identifier: Apache-2.0
"""File descriptors between threads, and in reference cycles."""

from __future__ import annotations

import gc
import os
import resource
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from samebytes import Fd
from samebytes.errors import ClosedError, LayoutError

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


def test_what_is_handed_over_stays_open() -> None:
    number = os.open(os.devnull, os.O_RDONLY)
    fd = Fd(number)
    assert fd.detach() == number
    assert fd.closed
    with pytest.raises(ClosedError):
        fd.detach()
    fd.close()
    del fd
    assert is_open(number)
    os.close(number)


def test_duplicates_are_closed_with_their_owners() -> None:
    owners = [Fd(opened()), Fd.borrow(0)]
    owners.append(owners[0].dup())
    numbers = [owner.fileno() for owner in owners]
    assert len(set(numbers)) == 3
    kept = owners[0].dup()
    owners.clear()
    assert not any(map(is_open, numbers))
    assert is_open(kept.fileno())
    kept.close()


def test_a_number_that_no_descriptor_has() -> None:
    for number in (-1, 1 << 31, 1 << 40):
        with pytest.raises(LayoutError, match="is not a file descriptor"):
            Fd(number)
        with pytest.raises(LayoutError, match="is not an open file descriptor"):
            Fd.borrow(number)


def test_no_descriptor_is_left() -> None:
    """The number has no part in that."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with Fd(os.open(os.devnull, os.O_RDONLY)) as fd:
        lowest = os.dup(fd.fileno())
        os.close(lowest)
        resource.setrlimit(resource.RLIMIT_NOFILE, (lowest, hard))
        try:
            with pytest.raises(OSError, match="Too many open files"):
                Fd.borrow(fd.fileno())
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_one_thread_takes_it_over() -> None:
    took = 0
    for turn in range(ROUNDS):
        fd = Fd(os.open(os.devnull, os.O_RDONLY))
        taken: list[int] = []

        def take(fd: Fd = fd, taken: list[int] = taken) -> None:
            with suppress(ClosedError):
                taken.append(fd.detach())

        calls = deque([take, take, fd.close])
        calls.rotate(turn)  # the last one to come goes on first
        at_once(*calls)
        assert len(taken) <= 1
        took += len(taken)
        for number in taken:
            os.close(number)
    assert took


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


def opened() -> int:
    return os.open(os.devnull, os.O_RDONLY)


@pytest.mark.parametrize("make_fd", [lambda: Fd(opened()), lambda: Fd.borrow(0)])
@pytest.mark.parametrize("first", ["descriptor", "user"])
def test_in_a_cycle_it_is_closed_after_those_who_use_it(
    first: str, make_fd: Callable[[], Fd]
) -> None:
    """The collector finalizes in the order in which objects were made, or in any other."""

    class User:
        fd: Fd
        itself: User

        def __del__(self) -> None:
            seen.append(is_open(self.fd.fileno()))

    def make() -> int:
        user = User() if first == "user" else None
        fd = make_fd()
        user = user or User()
        user.fd, user.itself = fd, user
        return fd.fileno()

    seen: list[bool] = []
    number = make()
    gc.collect()
    assert seen == [True]
    assert not is_open(number)
