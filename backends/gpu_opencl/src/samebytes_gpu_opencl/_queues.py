# SPDX-License-Identifier: Apache-2.0
"""The queue of a mapping: the caller's, or the context's, which is waited for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyopencl

from samebytes.errors import DeviceMismatchError, UnsupportedObjectError
from samebytes.plugins import ordering_queue

from ._library import call

if TYPE_CHECKING:
    from ._devices import OnDevice

__all__ = ["WorkQueue", "check_queue", "working_queue"]


class WorkQueue:
    """A queue that a mapping works on, and whether its caller orders the work.

    Attributes:
        native: the pyopencl.CommandQueue, kept alive.
        context: its pyopencl.Context, kept alive.
        handle: its cl_command_queue.
        ordered: True if the caller passed it to map(queue=), so that nothing waits.
    """

    __slots__ = ("context", "handle", "native", "ordered")

    def __init__(self, native: pyopencl.CommandQueue, ordered: bool) -> None:
        self.native = native
        # There is a driver whose queues do not keep their cl_context.
        self.context = native.context
        self.handle = native.int_ptr
        self.ordered = ordered

    def finish(self) -> None:
        """Wait until all enqueued work is done.

        Never left out for a blocking call: there is a driver whose blocking writes return before
        they are complete.
        """
        call("clFinish", self.handle)

    def hand_over(self) -> None:
        """Make enqueued work visible to others: wait for it, or only flush an ordered queue."""
        call("clFlush" if self.ordered else "clFinish", self.handle)


def working_queue(context: OnDevice) -> WorkQueue:
    """The queue that the caller of map() passed, else the context's.

    Raises:
        UnsupportedObjectError: the object passed is not a pyopencl.CommandQueue.
        DeviceMismatchError: it is a queue of another cl_context.
    """
    queue = ordering_queue()
    if queue is None:
        return WorkQueue(context.queue, False)
    check_queue(queue, context)
    return WorkQueue(queue, True)


def check_queue(queue: Any, context: OnDevice) -> None:
    """Check that it is a queue of this cl_context."""
    if not isinstance(queue, pyopencl.CommandQueue):
        raise UnsupportedObjectError(
            "a queue for OpenCL memory must be a pyopencl.CommandQueue, not a "
            f"{type(queue).__name__}"
        )
    home = queue.context.int_ptr
    if home != context.handle("cl_context"):
        raise DeviceMismatchError(
            f"the queue belongs to the cl_context {home:#x}, the memory to "
            f"{context.handle('cl_context'):#x}: use a queue of the memory's own cl_context"
        )
