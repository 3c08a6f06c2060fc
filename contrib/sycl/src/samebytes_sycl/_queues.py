# SPDX-License-Identifier: Apache-2.0
"""Queues: waiting for one, and edges between two that share a native context."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import dpctl

from samebytes import Context, Tensor
from samebytes.plugins import KeyLocks, Refused, ordering_queue

__all__ = ["check_same", "wait_for", "waits_for"]

# SYCL lets several threads wait for a queue. Intel's OpenCL runtime for CPUs, on which SYCL runs
# there, ends the process now and then when two of them wait for one that runs out of order:
# OutOfOrderCommandQueue::AddDependentOnAll (2026.2).
_waiting = KeyLocks()


def waits_for(queue: dpctl.SyclQueue) -> Callable[[], None]:
    """A function that waits until all work enqueued on a queue is done."""
    return partial(_wait, queue)


def _wait(queue: dpctl.SyclQueue) -> None:
    with _waiting.of(queue):
        queue.wait()


def check_same(source: Context, target: Context, key: str) -> None:
    """Refuse unless both contexts have a native context `key`, and it is the same."""
    handles: list[int] = []
    for context in (source, target):
        handle = context.find_handle(key)
        if handle is None:
            backend = "opencl" if key == "cl_context" else "level_zero"
            raise Refused(
                f"{context!r} has no {key}, which SYCL's devices of {backend} have: "
                f'samebytes.context("sycl:{backend}:gpu")'
            )
        handles.append(handle)
    ours, theirs = handles
    if ours != theirs:
        other = source if target.node == "sycl" else target
        raise Refused(
            f"it belongs to the {key} {ours:#x}, the target is on {theirs:#x}: USM is valid only "
            f"in its own. Use the context sycl_context.derive({other.node!r})"
        )


def wait_for(item: Tensor, *queues: Callable[[], object]) -> None:
    """Wait for the work enqueued on both sides, unless the caller orders it."""
    if ordering_queue() is None:
        item.wait()
        for wait in queues:
            wait()
