# SPDX-License-Identifier: Apache-2.0
"""Exceptions at every step of a call, as a signal handler's may come at any."""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from types import CodeType, FrameType
from typing import Any

from samebytes._core.locks import held_here

__all__ = ["Interrupted", "at_each_step"]

_MOST_STEPS = 100_000


class Interrupted(KeyboardInterrupt):
    """What is raised."""


def at_each_step(work: Callable[[], object], *, opcodes: bool = False) -> Iterator[int]:
    """Call `work` again and again, and raise `Interrupted` one step later in each call.

    Steps are those of samebytes and its plugins: modules whose name begins with "samebytes", but
    for this kit. What `work` needs once (imports, compiled routes, caches) must have been made
    before. Between the end of a `with` block and the call of `__exit__` nothing is raised, since no
    signal handler runs there.

    Args:
        work: without arguments.
        opcodes: a step is an instruction of the interpreter, not a line.

    Yields:
        The number of the step at which `work` was interrupted, from 0. The exception is gone by
        then, and so is what its traceback held. It ends when a call was not interrupted.

    Raises:
        AssertionError: no end after 100,000 steps, or this thread still holds a lock of samebytes.
    """
    for step in range(_MOST_STEPS):
        with _raising_at(step, opcodes) as state:
            # In a function of its own, so that nothing of the exception is left here.
            _swallow(work)
        assert not held_here(), f"a lock is held after step {step}"
        if not state.raised:
            return
        yield step
    raise AssertionError(f"the call has not ended after {_MOST_STEPS} steps")


def _swallow(work: Callable[[], object]) -> None:
    with suppress(Interrupted):
        work()


class _Tracer:
    def __init__(self, step: int, opcodes: bool) -> None:
        self.left = step
        self.raised = False
        self.event = "opcode" if opcodes else "line"

    def __call__(self, frame: FrameType, event: str, argument: Any) -> Any:
        name = frame.f_globals.get("__name__", "")
        if not name.startswith("samebytes") or name.startswith("samebytes.testing"):
            return None
        frame.f_trace_opcodes = self.event == "opcode"
        return self._local

    def _local(self, frame: FrameType, event: str, argument: Any) -> Any:
        if (
            event == self.event
            and not self.raised
            and frame.f_lasti not in _on_the_way_out(frame.f_code)
        ):
            if self.left == 0:
                self.raised = True
                raise Interrupted
            self.left -= 1
        return self._local


@cache
def _on_the_way_out(code: CodeType) -> frozenset[int]:
    """Where `__exit__` of a `with` is about to be called, and no signal handler can run.

    CPython looks for signals after calls, at backward jumps and where functions begin. A tracer can
    raise between the last instruction of the block and the call too, which leaves a lock locked.
    The compiler calls `__exit__(None, None, None)`; no other code loads that before such a call.
    """
    found: set[int] = set()
    steps = list(dis.get_instructions(code))
    for place, step in enumerate(steps):
        if step.opname in ("PUSH_EXC_INFO", "WITH_EXCEPT_START"):
            found.add(step.offset)
        if step.opname != "CALL":
            continue
        first = place - 1 if steps[place - 1].opname == "PRECALL" else place  # only 3.11 has it
        loads = steps[max(first - 3, 0) : first]
        exits = step.arg in _EXIT_ARGUMENTS and len(loads) == 3
        if exits and all(s.opname == "LOAD_CONST" and s.argval is None for s in loads):
            start = first - 3
            while start and steps[start - 1].opname == "NOP":
                start -= 1
            found.update(s.offset for s in steps[start : place + 1])
    return frozenset(found)


# The first of the three stands where a method has its object, until Python 3.14.
_EXIT_ARGUMENTS = (2, 3)


@contextmanager
def _raising_at(step: int, opcodes: bool) -> Iterator[_Tracer]:
    tracer, before = _Tracer(step, opcodes), sys.gettrace()
    # In a finalizer, the exception goes to this hook, as with a real signal.
    hook = sys.unraisablehook
    sys.unraisablehook = lambda seen: None if seen.exc_type is Interrupted else hook(seen)
    sys.settrace(tracer)
    try:
        yield tracer
    finally:
        sys.settrace(before)
        sys.unraisablehook = hook
