# SPDX-License-Identifier: Apache-2.0
"""Exceptions at every step of a call, as a signal handler's may come at any."""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from types import CodeType, FrameType
from typing import Any

from samebytes._core.locks import held_here

__all__ = ["Interrupted", "at_each_step", "never_interrupted"]

_MOST_STEPS = 100_000


class Interrupted(KeyboardInterrupt):
    """What is raised."""


def at_each_step(
    work: Callable[[], object], *, opcodes: bool = False, finalizers: bool = True
) -> Iterator[int]:
    """Call `work` again and again, and raise `Interrupted` one step later in each call.

    Steps are those of samebytes and its plugins: modules whose name begins with "samebytes", but
    for this kit. What `work` needs once (imports, compiled routes, caches) must have been made
    before. Between the end of a `with` block and the call of `__exit__` nothing is raised, since no
    signal handler runs there.

    Args:
        work: without arguments.
        opcodes: a step is an instruction of the interpreter, not a line.
        finalizers: raise in `__del__` and what it calls, too, and in functions named `_ended`, as
            samebytes calls the callbacks of weak references. Such an exception never reaches the
            program, and Python gives nobody the rest to do.

    Yields:
        The number of the step at which `work` was interrupted, from 0. The exception is gone by
        then, and so is what its traceback held. It ends when a call was not interrupted.

    Raises:
        AssertionError: no end after 100,000 steps, no step at all, or this thread still holds a
            lock of samebytes.
    """
    for step in range(_MOST_STEPS):
        if opcodes and sys.version_info >= (3, 12):
            # It reports a function's instructions from the second call on, and after an exception
            # out of the tracer again from the second.
            with _raising_at(_MOST_STEPS, opcodes, finalizers) as state:
                _swallow(work, state)
        with _raising_at(step, opcodes, finalizers) as state:
            # In a function of its own, so that nothing of the exception is left here.
            _swallow(work, state)
        assert not held_here(), f"a lock is held after step {step}"
        if not state.raised:
            assert step, "the call ran no step of samebytes, so nothing was interrupted"
            return
        yield step
    raise AssertionError(f"the call has not ended after {_MOST_STEPS} steps")


def _swallow(work: Callable[[], object], tracer: _Tracer) -> None:
    # Where the __exit__ of contextlib.suppress begins, Python may run a call that is pending, such
    # as a sweep of loans, and what is raised there would get past it.
    try:  # noqa: SIM105
        work()
    except Interrupted:
        pass
    tracer.live = False


class _Tracer:
    def __init__(self, step: int, opcodes: bool, finalizers: bool) -> None:
        self.left = step
        self.finalizers = finalizers
        self.raised = False
        self.live = True
        self.event = "opcode" if opcodes else "line"

    def __call__(self, frame: FrameType, event: str, argument: Any) -> Any:
        name = frame.f_globals.get("__name__", "")
        if not name.startswith("samebytes") or name.startswith("samebytes.testing"):
            return None
        if not self.finalizers and _is_in_a_finalizer(frame):
            return None
        frame.f_trace_opcodes = self.event == "opcode"
        return self._local

    def _local(self, frame: FrameType, event: str, argument: Any) -> Any:
        if (
            event == self.event
            and self.live
            and not self.raised
            and frame.f_lasti not in never_interrupted(frame.f_code)
        ):
            if self.left == 0:
                self.raised = True
                raise Interrupted
            self.left -= 1
        return self._local


def _is_in_a_finalizer(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_name in ("__del__", "_ended"):
            return True
        frame = frame.f_back
    return False


@cache
def never_interrupted(code: CodeType) -> frozenset[int]:
    """The offsets where no signal handler can run, though a tracer can raise.

    There `__exit__` of a `with` is about to be called, or an `except` begins or ends. For tracers
    of your own; `at_each_step` leaves them out.

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


@contextmanager
def _raising_at(step: int, opcodes: bool, finalizers: bool) -> Iterator[_Tracer]:
    tracer, before = _Tracer(step, opcodes, finalizers), sys.gettrace()
    # In a finalizer, the exception goes to this hook, as with a real signal.
    hook = sys.unraisablehook
    sys.unraisablehook = lambda seen: None if seen.exc_type is Interrupted else hook(seen)
    sys.settrace(tracer)
    try:
        yield tracer
    finally:
        sys.settrace(before)
        sys.unraisablehook = hook
