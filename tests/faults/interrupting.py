# SPDX-License-Identifier: Apache-2.0
"""An exception, as a signal handler raises it, at each step of an operation: what it leaks."""

from __future__ import annotations

import gc
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from samebytes.plugins import sweep_loans
from samebytes.testing import at_each_step
from samebytes_softdevices import counted_calls, fail_call

from .operations import OPERATIONS

__all__ = ["PAIRS", "interrupts_of", "owed"]

PAIRS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "cl_mem": (
        ("clCreateBuffer", "clCreateSubBuffer", "clCreateImage", "clCreateBufferWithProperties",
         "clRetainMemObject", "clCreateFromVA_APIMediaSurfaceINTEL"),
        ("clReleaseMemObject",),
    ),
    "OpenCL mapping": (
        ("clEnqueueMapBuffer", "clEnqueueMapImage"), ("clEnqueueUnmapMemObject",)
    ),
    "external memory": (
        ("clEnqueueAcquireExternalMemObjectsKHR",), ("clEnqueueReleaseExternalMemObjectsKHR",)
    ),
    "cl_command_queue": (("clCreateCommandQueueWithProperties",), ("clReleaseCommandQueue",)),
    "USM": (
        ("zeMemAllocHost", "zeMemAllocDevice", "zeMemAllocShared"), ("zeMemFree",)
    ),
    "ze_context": (("zeContextCreate",), ("zeContextDestroy",)),
    "surface": (("vaCreateSurfaces",), ("vaDestroySurfaces",)),
    "image": (("vaDeriveImage", "vaCreateImage"), ("vaDestroyImage",)),
    "image mapping": (("vaMapBuffer",), ("vaUnmapBuffer",)),
}  # fmt: skip
"""What drivers are asked for: by which calls, and by which it is given back."""


def interrupts_of(name: str, *, opcodes: bool = False) -> Iterator[dict[str, int]]:
    """Interrupt an operation at each step, and compare what it took with what it gave back.

    Finalizers are left out: what is raised in one never reaches the program.

    Args:
        name: of OPERATIONS.
        opcodes: steps are instructions, not lines.

    Yields:
        First what the operation keeps after a few runs, then what there is after each interrupted
        one: by kind, how much was taken and not given back. Below zero it was given back twice.
    """
    fail_call(None)
    begin = _left()
    operation = OPERATIONS[name]()
    for _ in range(3):  # caches and pools fill
        operation()
    # What lives from now on is not looked at each time that garbage is collected.
    gc.collect()
    gc.freeze()
    try:
        streams = _streams()
        yield dict(before := _since(begin))
        for _ in at_each_step(operation, opcodes=opcodes, finalizers=False):
            left = _since(begin)
            if left != before:  # an exception's traceback may be in a cycle
                gc.collect()
                left = _since(begin)
            assert streams <= _streams(), "a standard stream was closed"
            yield dict(before := left)
    finally:
        fail_call(None)
        gc.unfreeze()


def owed() -> dict[str, int]:
    """What drivers gave since calls are counted, less what was given back; and descriptors."""
    return dict(_left())


def _streams() -> set[tuple[int, int]]:
    """Descriptors 0 to 2 and their files: a structure of C that is still zero names the first."""
    open_ones = (number for number in range(3) if Path(f"/proc/self/fd/{number}").exists())
    return {(number, os.fstat(number).st_ino) for number in open_ones}


def _since(begin: Counter[str]) -> dict[str, int]:
    now = _left()
    return {kind: now[kind] - begin[kind] for kind in now}


def _left() -> Counter[str]:
    sweep_loans()
    calls = counted_calls()
    left = Counter(descriptors=len([*Path("/proc/self/fd").iterdir()]))
    for kind, (takes, gives) in PAIRS.items():
        taken = sum(calls.get(function, 0) for function in takes)
        left[kind] = taken - sum(calls.get(function, 0) for function in gives)
    return left
