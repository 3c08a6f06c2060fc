# SPDX-License-Identifier: Apache-2.0
"""Exceptions out of the blue, as a signal handler raises them, at a chosen line of samebytes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from samebytes.testing import never_interrupted

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
        if event == "line" and frame.f_lasti not in never_interrupted(frame.f_code):
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
