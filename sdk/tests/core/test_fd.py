# SPDX-License-Identifier: Apache-2.0
"""File descriptors between threads, and in reference cycles."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from samebytes._core import fd as module
from samebytes.errors import ClosedError
from samebytes.plugins import Fd

_MOST = 1000


def between_instructions(work: Callable[[], object], other: Callable[[], object], step: int) -> int:
    """Run `work`, and before one of its instructions `other`, as another thread would.

    Returns:
        How many instructions of the module of Fd there were.
    """
    count = 0

    def trace(frame: Any, event: str, _: object) -> Any:
        nonlocal count
        if frame.f_code.co_filename != module.__file__:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            count += 1
            if count == step:
                sys.settrace(None)
                other()
                sys.settrace(trace)
        return trace

    sys._getframe().f_trace_opcodes = True  # Python 3.12 traces none unless it is set before
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(None)
    return count


def is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def each_step(run: Callable[[int], int]) -> None:
    """Call `run(step)` with 1, 2 ... until it says that there are fewer steps."""
    for step in range(1, _MOST):
        if run(step) < step:
            assert step > 3, "no instruction of Fd ran"
            return
    raise AssertionError("it does not end")


def test_two_threads_close_it() -> None:
    """The number is another file's as soon as the first has closed it."""

    def run(step: int) -> int:
        fd = Fd(os.open(os.devnull, os.O_RDONLY))
        number, taken = fd.fileno(), []

        def other() -> None:
            fd.close()
            taken.append(os.open(os.devnull, os.O_RDONLY))

        count = between_instructions(fd.close, other, step)
        if taken:
            assert taken == [number], "the lowest free number is given to the next file"
            assert is_open(number), "closed twice: this was another file's"
            os.close(number)
        assert fd.closed
        assert not is_open(number)
        return count

    each_step(run)


def test_two_threads_take_it_over() -> None:
    def run(step: int) -> int:
        fd = Fd(os.open(os.devnull, os.O_RDONLY))
        taken: list[int] = []

        def take() -> None:
            try:
                taken.append(fd.detach())
            except ClosedError:
                taken.append(-1)

        count = between_instructions(take, take, step)
        given = [number for number in taken if number >= 0]
        assert len(given) == 1
        os.close(given[0])
        return count

    each_step(run)


def test_one_closes_it_while_another_duplicates_it() -> None:
    def run(step: int) -> int:
        fd = Fd(os.open(os.devnull, os.O_RDONLY))
        files: list[int] = []

        def duplicate() -> None:
            try:
                made = fd.dup()
            except ClosedError:
                return
            assert os.path.samestat(os.fstat(made.fileno()), Path(os.devnull).stat())

        def close() -> None:
            fd.close()
            files.append(os.open(os.curdir, os.O_RDONLY))

        count = between_instructions(duplicate, close, step)
        for number in files:
            os.close(number)
        return count

    each_step(run)


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
