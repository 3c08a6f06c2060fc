# SPDX-License-Identifier: Apache-2.0
"""Exceptions out of the blue, as a signal handler raises them, at a chosen line of samebytes."""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from types import CodeType, FrameType
from typing import Any

__all__ = ["InterruptedByFuzzerError", "interrupted", "traced_throughout"]


class InterruptedByFuzzerError(BaseException):
    """Raised between two lines, as KeyboardInterrupt would be."""


@contextmanager
def interrupted(line: int, struck: Callable[[], object]) -> Iterator[bool]:
    """Raise at the given line of samebytes' code, counted as they run; ends quietly either way.

    `struck` is called if the block did run so many lines.

    The block gets True: what it does may not be done.

    Finalisers are left out: what is raised in one never reaches its caller.
    """
    left = line

    def trace(frame: FrameType, event: str, _argument: object) -> Any:
        nonlocal left
        if "/samebytes" not in frame.f_code.co_filename or frame.f_code.co_name == "__del__":
            return None
        if event == "line" and frame.f_lasti not in _never_interrupted(frame.f_code):
            left -= 1
            if left == 0:
                raise InterruptedByFuzzerError
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield True
    except InterruptedByFuzzerError:
        pass
    finally:
        sys.settrace(before)
        if left <= 0:
            struck()


@contextmanager
def traced_throughout() -> Iterator[None]:
    """A tracer that does nothing, for a whole run with interrupts.

    CPython 3.11 hangs when calls are pending under a tracer and run Python code. Loans that are
    made under a tracer make no such calls.
    """
    before = sys.gettrace()
    sys.settrace(lambda *_: None)
    try:
        yield
    finally:
        sys.settrace(before)


@cache
def _never_interrupted(code: CodeType) -> frozenset[int]:
    """The offsets where no signal handler can run, though a tracer can raise.

    There `__exit__` of a `with` is about to be called, or an `except` begins or ends.
    CPython looks for signals after calls, at backward jumps and where functions begin. A tracer can
    raise between the last instruction of the block and the call too, which leaves a lock locked.
    The compiler calls `__exit__(None, None, None)`; no other code loads that before such a call.

    Args:
        code: of a function.
    """
    found: set[int] = set()
    steps = list(dis.get_instructions(code))
    for place, step in enumerate(steps):
        if step.opname in _IN_BETWEEN:
            found.add(step.offset)
        if step.opname != "CALL":
            continue
        first = place - 1 if steps[place - 1].opname == "PRECALL" else place  # only 3.11 has it
        loads = steps[max(first - 3, 0) : first]
        exits = step.arg in _EXIT_ARGUMENTS and len(loads) == 3
        if exits and all(s.opname == "LOAD_CONST" and s.argval is None for s in loads):
            start = first - 3
            # SWAP: the block ends by `return`, and its value is put aside.
            while start and steps[start - 1].opname in ("NOP", "SWAP"):
                start -= 1
            found.update(s.offset for s in steps[start : place + 1])
    return frozenset(found)


# The first of the three stands where a method has its object, until Python 3.14.
_EXIT_ARGUMENTS = (2, 3)
# Python raises in none of these, and the exception that is handled there would stay the current
# one for as long as the thread lives.
_IN_BETWEEN = ("PUSH_EXC_INFO", "WITH_EXCEPT_START", "POP_EXCEPT")
