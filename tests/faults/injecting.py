# SPDX-License-Identifier: Apache-2.0
"""Each native call of an operation fails in turn: what comes of it, and what is left."""

from __future__ import annotations

import gc
import sys
import traceback
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from samebytes import Storage
from samebytes.errors import SamebytesError
from samebytes.plugins import sweep_loans
from samebytes.testing import living_objects
from samebytes_softdevices import (
    call_failed,
    counted_calls,
    fail_call,
    gpu_live_imports,
    va_live,
)

from .operations import OPERATIONS, WrongBytesError

__all__ = ["Outcome", "faults_of"]

# What gives something back: where the driver refuses that, it stays, and an error says so.
RELEASES = frozenset({
    "clReleaseMemObject", "clReleaseCommandQueue", "clReleaseContext", "clMemFreeINTEL",
    "clMemBlockingFreeINTEL", "clEnqueueUnmapMemObject", "zeMemFree", "zeContextDestroy",
    "zeCommandListDestroy", "vaDestroySurfaces", "vaDestroyImage", "vaUnmapBuffer",
    "vaTerminate", "munmap",
})  # fmt: skip
_MOST_OF_ONE = 6
_REPEATS = 20
_ROUNDS = 6
_MOST_GROWTH = 2 << 20


@dataclass(frozen=True)
class Outcome:
    """The outcome of one call that failed.

    Attributes:
        function, place: which call: the number of calls of that function before it.
        how: "error", "another way" (it succeeded, with the right bytes), "reported" (in a
            finalizer, so that Python reported it), "never came", "kept" (OpenVINO keeps what it
            began, so that the same memory cannot be shared again, but other can), "ends" (the
            process ended in PyAV or OpenVINO, which use what they did not get), or "wrong".
        what: the error's class, or what is wrong.
    """

    operation: str
    function: str
    place: int
    how: str
    what: str


def faults_of(
    name: str, *, repeats: int = _REPEATS, leave_out: Collection[tuple[str, int]] = ()
) -> Iterator[Outcome]:
    """Let each native call of the operation fail, one in each run.

    Before a call fails, an outcome without a `how` says which one it will be.

    Args:
        name: of OPERATIONS.
        repeats: how often a call fails again, to see whether memory grows; 0: not at all.
        leave_out: functions and places.
    """
    operation = OPERATIONS[name]()
    for _ in range(3):  # caches and pools fill
        operation()
    fail_call(None)
    operation()
    calls = counted_calls()
    kept = []
    for function, number in calls.items():
        for place in range(min(number, _MOST_OF_ONE)):
            if (function, place) in leave_out:
                continue
            yield Outcome(name, function, place, "", "")
            outcome = _one(name, operation, function, place)
            if function in RELEASES or outcome.how in ("kept", "wrong"):
                # What the driver kept may be of this memory, so it is held, and other is taken.
                kept.append(operation)
                operation = OPERATIONS[name]()
                operation()
            if outcome.how != "wrong" and repeats and place == 0 and function not in RELEASES:
                outcome = _grown(outcome, operation, repeats)
            yield outcome
    fail_call(None)


def _one(name: str, operation: Callable[[], None], function: str, place: int) -> Outcome:
    def outcome(how: str, what: str = "") -> Outcome:
        return Outcome(name, function, place, how, what)

    before = _left()
    how, what = _run(operation, function, place)
    if how == "wrong":
        return outcome(how, what)
    if function not in RELEASES:
        # What another way needed may stay, as a descriptor that a surface keeps; once.
        counts = [before, _left()]
        while len(counts) < _ROUNDS and _more(*counts[-2:]):
            _run(operation, function, place)
            counts.append(_left())
        if more := _more(*counts[-2:]):
            return outcome("wrong", f"left, in each run: {more}")
    fail_call(None)
    if function in RELEASES:  # what the driver kept may be in the way: other memory must do
        return outcome(how, what)
    try:
        operation()
    except Exception as error:
        if "openvino" in name:
            # Its plugins keep what they began where a later call fails; other memory works.
            OPERATIONS[name]()()
            return outcome("kept", repr(error))
        return outcome("wrong", f"fails afterwards, too: {error!r}")
    return outcome(how, what)


def _run(operation: Callable[[], None], function: str, place: int) -> tuple[str, str]:
    reported: list[Any] = []
    hook, sys.unraisablehook = sys.unraisablehook, reported.append
    fail_call(function, place)
    try:
        operation()
        gc.collect()
        sweep_loans()
        came = call_failed()
    except (SamebytesError, OSError, MemoryError) as error:
        return "error", type(error).__name__
    except WrongBytesError as error:
        return "wrong", str(error)
    except Exception as error:
        where = "".join(traceback.format_tb(error.__traceback__)[-3:])
        return "wrong", f"{type(error).__module__}.{type(error).__name__}: {error}\n{where}"
    finally:
        fail_call(None)
        sys.unraisablehook = hook
    if reported:
        return "reported", type(reported[0].exc_value).__name__
    return ("another way" if came else "never came"), ""


def _grown(outcome: Outcome, operation: Callable[[], None], repeats: int) -> Outcome:
    for _ in range(3):
        _run(operation, outcome.function, outcome.place)
    before = _resident()
    for _ in range(repeats):
        _run(operation, outcome.function, outcome.place)
    growth = _resident() - before
    if growth > _MOST_GROWTH:
        what = f"memory grew by {growth >> 10} KiB in {repeats} runs"
        return Outcome(outcome.operation, outcome.function, outcome.place, "wrong", what)
    return outcome


def _more(before: dict[str, int], after: dict[str, int]) -> dict[str, int]:
    return {kind: n - before[kind] for kind, n in after.items() if n > before[kind]}


def _left() -> dict[str, int]:
    gc.collect()
    sweep_loans()
    mapped = Path("/proc/self/maps").read_text(errors="replace").splitlines()
    return {
        "descriptors": len([*Path("/proc/self/fd").iterdir()]),
        "storages": len(living_objects(Storage)),
        "mapped files": sum("memfd:" in line for line in mapped),
        "OpenCL imports": gpu_live_imports(),
        "VA objects": len(va_live()),
    }


def _resident() -> int:
    gc.collect()
    fields = Path("/proc/self/statm").read_text().split()
    return int(fields[1]) * 4096
