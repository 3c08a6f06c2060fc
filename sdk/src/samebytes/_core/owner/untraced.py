# SPDX-License-Identifier: Apache-2.0
"""Python code that may run as a pending call, whoever traces or profiles the main thread.

If a thread is traced or profiled (pdb, coverage, cProfile), CPython 3.11 begins each function by
looking for pending calls, and looks again as long as there are any. While it runs one, it runs no
other. So a pending call that runs Python code hangs if another one was queued meanwhile
(Python/ceval.c, DO_TRACING and handle_eval_breaker). So tracing is off in such code there.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterable
from ctypes import c_void_p, py_object
from functools import partial
from itertools import product, starmap
from operator import call, getitem
from typing import Any

from .handles import bindable

__all__ = ["UntracedCall"]

_api = ctypes.pythonapi


class UntracedCall:
    """An object that calls a function when C asks whether it is true, which it is not.

    Until the function begins, only C code runs.

    Args:
        function: takes no arguments, and returns None. Its errors are raised to C, except for
            StopIteration.
    """

    def __new__(cls, function: Callable[[], None]) -> UntracedCall:
        """An object of a class of its own, since C looks for such methods in the class."""
        asked = _untraced(function) if sys.version_info < (3, 12) else staticmethod(_any(function))
        return super().__new__(type(cls.__name__, (cls,), {"__bool__": asked}))


def _iterated(make: Callable[[], Iterable[object]]) -> Any:
    """An object whose every iteration is what a function of C makes."""
    return type("_Iterated", (), {"__iter__": staticmethod(make)})()


def _any(*functions: Callable[[], object]) -> Callable[[], bool]:
    return partial(any, _iterated(partial(map, call, functions)))


def _untraced(function: Callable[[], None]) -> Any:
    """Return the `__bool__` that calls the function while the thread's tracing is off."""
    # PyThreadState_LeaveTracing is the finalizer of the state. The maker of the calls holds it, and
    # ends with any(), whatever is raised on the way; the function does not get it.
    state: Any = type("_ThreadState", (c_void_p,), {"__slots__": ()})
    enter, leave = _api["PyThreadState_EnterTracing"], _api["PyThreadState_LeaveTracing"]
    for switch in (enter, leave):
        switch.restype, switch.argtypes = None, (state,)
    state.__del__ = bindable(leave)
    this_thread = _api["PyThreadState_Get"]
    this_thread.restype = state
    # Making the calls may start the garbage collector, which runs Python code (finalizers, and
    # callbacks such as those of JAX). So the lookup of `__bool__`, a property, disables it; the
    # result, 1 if it was enabled, picks the calls that are made, of which one enables it again.
    disable, enable = _api["PyGC_Disable"], _api["PyGC_Enable"]
    enable.restype = None

    def calls(*steps: Any) -> Callable[[], bool]:
        # Of the pairs (step, state), the first step gets the state, and the others get nothing.
        pairs = _iterated(partial(product, steps, _iterated(partial(map, call, (this_thread,)))))
        given = slice(2), *[slice(1)] * (len(steps) - 1)
        called = _iterated(partial(map, getitem, pairs, given))
        return partial(any, _iterated(partial(starmap, call, called)))

    disable.argtypes = (py_object,)  # it takes no argument, and ignores this one
    disable.restype = (calls(enter, function), calls(enter, enable, function)).__getitem__
    return property(disable)
