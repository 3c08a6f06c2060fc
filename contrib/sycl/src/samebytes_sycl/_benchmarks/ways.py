# SPDX-License-Identifier: Apache-2.0
"""USM to and from other memory."""

from __future__ import annotations

from typing import Any

import dpctl.memory
import numpy as np

import samebytes as sb
from samebytes.benchmarks import Ways, along

__all__ = [
    "back_to_usm", "copied", "device_to_cpu", "from_level_zero", "from_opencl", "to_cpu",
    "to_level_zero", "to_opencl",
]  # fmt: skip


def _context() -> Any:
    return sb.context("sycl")


def to_cpu(width: int, height: int) -> Ways:
    """USM that the CPU reads in place, once the queue is done."""
    context, cpu = _context(), sb.context("cpu")
    tensor = context.allocate((height, width, 3), kind="shared")
    theirs = dpctl.memory.MemoryUSMShared(width * height * 3)
    go, queue = along("sycl -> cpu tensor alias", tensor, cpu), theirs.sycl_queue

    def by_hand() -> object:
        queue.wait()
        return np.asarray(theirs)

    return Ways(ours=lambda: go(tensor), by_hand=by_hand, copying=lambda: np.asarray(theirs).copy())


def device_to_cpu(width: int, height: int) -> Ways:
    """A copy by the queue."""
    context, cpu = _context(), sb.context("cpu")
    tensor = context.allocate((height, width, 3), kind="device")
    theirs = dpctl.memory.MemoryUSMDevice(width * height * 3)
    go = along("sycl -> cpu tensor copy", tensor, cpu)
    return Ways(ours=lambda: go(tensor), by_hand=theirs.copy_to_host)


def back_to_usm(width: int, height: int) -> Ways:
    """The original USM pointer."""
    context = _context()
    array = context.allocate((height, width, 3), kind="shared").map("cpu", "rw")
    go = along("cpu -> sycl tensor alias", array, context)
    return Ways(ours=lambda: go(array))


def copied(width: int, height: int) -> Ways:
    """A copy of an array anywhere in memory."""
    context, array = _context(), np.ones((height, width, 3), np.uint8)
    tensor = sb.tensor(array)
    go = along("cpu -> sycl tensor copy", tensor, context)

    def by_hand() -> object:
        made = dpctl.memory.MemoryUSMShared(array.nbytes)
        made.copy_from_host(array.reshape(-1))
        return made

    return Ways(ours=lambda: go(tensor), by_hand=by_hand)


def _between(edge: str, source: Any, target: Any, shape: tuple[int, int], kind: str) -> Ways:
    tensor = source.allocate(shape, kind=kind)
    go, held = along(edge, tensor, target), source
    return Ways(ours=lambda: (go(tensor), held)[0])


def to_opencl(width: int, height: int) -> Ways:
    """USM in the same cl_context."""
    context = _context()
    return _between(
        "sycl -> opencl tensor alias", context, context.derive("opencl"), (height, width), "shared"
    )


def from_opencl(width: int, height: int) -> Ways:
    """The opposite direction."""
    context = _context()
    cl = context.derive("opencl")
    return _between("opencl -> sycl tensor alias", cl, context, (height, width), "usm_shared")


def to_level_zero(width: int, height: int) -> Ways:
    """The same pointer in Level Zero, if SYCL runs on it."""
    context = _context()
    target = context.derive("level_zero")
    return _between("sycl -> level_zero tensor alias", context, target, (height, width), "shared")


def from_level_zero(width: int, height: int) -> Ways:
    """The opposite direction."""
    context = _context()
    source = context.derive("level_zero")
    return _between("level_zero -> sycl tensor alias", source, context, (height, width), "shared")
