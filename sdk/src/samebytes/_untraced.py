# SPDX-License-Identifier: Apache-2.0
"""Python code that may run as a pending call, whoever traces or profiles the main thread.

Where a thread is traced or profiled (pdb, coverage, cProfile), CPython 3.11 begins each function by
looking for pending calls, and looks again as long as there are any. While it runs one it runs no
other. So a pending call that runs Python code hangs if another one was queued meanwhile
(Python/ceval.c, DO_TRACING and handle_eval_breaker). There, nothing is traced in such code.
"""

from __future__ import annotations

import ctypes
import operator
import os
import sys
from collections.abc import Callable
from ctypes import c_void_p
from functools import partial

__all__ = ["UntracedCall"]


def _of_main_thread() -> int:
    """The PyThreadState of the main thread: of an interpreter's, the last one is the oldest."""
    api = ctypes.pythonapi
    main, first = api["PyInterpreterState_Main"], api["PyInterpreterState_ThreadHead"]
    following = api["PyThreadState_Next"]
    main.restype = first.restype = following.restype = c_void_p
    first.argtypes = following.argtypes = (c_void_p,)
    found: int = first(main())
    while older := following(found):
        found = older
    return found


def _switches() -> tuple[Callable[[], object], Callable[[], object]]:
    """Functions of C that switch the tracing of the main thread off, and on again. Both nest."""
    switches = []
    state = _of_main_thread()
    for name in ("PyThreadState_EnterTracing", "PyThreadState_LeaveTracing"):
        function = ctypes.pythonapi[name]
        function.restype, function.argtypes = None, (c_void_p,)
        switches.append(partial(function, state))
    off, on = switches
    return off, on


class UntracedCall:
    """The main thread calls the function when C asks whether this is true, and it is False.

    Until the function begins, nothing but C code runs.

    Args:
        function: takes no arguments, and returns None. What it raises, asking raises.
    """

    def __new__(cls, function: Callable[[], None]) -> UntracedCall:
        """An object of a class of its own, since C looks for such methods in the class."""
        steps: list[Callable[[], object]] = [function]
        if sys.version_info < (3, 12):
            _untrace(steps)
        every = type("_Steps", (), {"__iter__": staticmethod(partial(map, operator.call, steps))})
        return super().__new__(
            type(cls.__name__, (cls,), {"__bool__": staticmethod(partial(any, every()))})
        )


def _untrace(steps: list[Callable[[], object]]) -> None:
    """Have the one step run with the tracing switched off; in forked children, too."""
    (function,) = steps

    def call() -> None:
        try:
            function()
        except BaseException:  # then the last step is left out
            steps[2]()
            raise

    def renew() -> None:
        off, on = _switches()
        steps[:] = off, call, on

    renew()
    if hasattr(os, "register_at_fork"):  # not on Windows
        os.register_at_fork(after_in_child=renew)  # whose main thread is the one that forked
