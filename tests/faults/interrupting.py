# SPDX-License-Identifier: Apache-2.0
"""An exception, as a signal handler raises it, at each step of an operation: what is left."""

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

__all__ = ["PAIRS", "interrupts_of"]

PAIRS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "cl_mem": (
        ("clCreateBuffer", "clCreateSubBuffer", "clCreateImage", "clCreateBufferWithProperties",
         "clRetainMemObject"),
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
        After a step, what it left: by kind, how many more than when it is not interrupted.
    """
    operation = OPERATIONS[name]()
    for _ in range(3):  # caches and pools fill
        operation()
    # What lives from now on is not looked at each time that garbage is collected.
    gc.collect()
    gc.freeze()
    try:
        fail_call(None)
        operation()
        usual, streams = _left(), _streams()
        fail_call(None)
        for _ in at_each_step(operation, opcodes=opcodes, finalizers=False):
            left = _left() - usual
            if left:  # an exception's traceback may be in a cycle
                gc.collect()
                left = _left() - usual
            usual["descriptors"] += left["descriptors"]
            left["closed standard streams"] = len(streams) - len(streams & _streams())
            yield dict(+left)
            fail_call(None)
    finally:
        fail_call(None)
        gc.unfreeze()


def _streams() -> set[tuple[int, int]]:
    """Descriptors 0 to 2 and their files: a structure of C that is still zero names the first."""
    open_ones = (number for number in range(3) if Path(f"/proc/self/fd/{number}").exists())
    return {(number, os.fstat(number).st_ino) for number in open_ones}


def _left() -> Counter[str]:
    sweep_loans()
    calls = counted_calls()
    left = Counter(descriptors=len([*Path("/proc/self/fd").iterdir()]))
    for kind, (takes, gives) in PAIRS.items():
        taken = sum(calls.get(function, 0) for function in takes)
        left[kind] = taken - sum(calls.get(function, 0) for function in gives)
    return left
