# SPDX-License-Identifier: Apache-2.0
"""Waiting for a queue, one thread at a time."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import dpctl

from samebytes.plugins import KeyLocks

__all__ = ["waits_for"]

# SYCL lets several threads wait for a queue. Intel's OpenCL runtime for CPUs, on which SYCL runs
# there, ends the process now and then when two of them wait for one that runs out of order:
# OutOfOrderCommandQueue::AddDependentOnAll (2026.2).
_waiting = KeyLocks()


def waits_for(queue: dpctl.SyclQueue) -> Callable[[], None]:
    """A function that returns when all that is enqueued on a queue is done."""
    return partial(_wait, queue)


def _wait(queue: dpctl.SyclQueue) -> None:
    with _waiting.of(queue):
        queue.wait()
