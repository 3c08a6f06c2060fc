# SPDX-License-Identifier: Apache-2.0
"""GstMemory objects that carry a frame of samebytes through a pipeline.

GStreamer sees a memory of a size that it cannot map, so queues, tees and appsinks pass it on and
an element that wants its bytes fails cleanly. An allocator of our own would have to answer its
calls in Python, on streaming threads that would wait for the interpreter; so the memory is one of
GStreamer's, over a descriptor that cannot be read, and the frame is attached to it. There is one
memory for all planes: GStreamer merges several that cannot be mapped into new memory with whatever
it finds there.
"""

from __future__ import annotations

import os
from functools import cache

from samebytes import Frame
from samebytes.plugins import OwnedPointer

from .._abi.libraries import allocators, glib, gst
from .loans import attach_loan, fd_memory, held_by, new_loan

__all__ = ["carried_by", "carry"]


def carry(frame: Frame, nbytes: int) -> OwnedPointer:
    """A new GstMemory* of that size that carries a frame.

    Raises:
        Refused: GStreamer has no memory behind descriptors on this system.
    """
    # Another frame on the same memory: the user may close theirs.
    own = frame.map(frame.context, "r" if frame.readonly else "rw")
    # Its planes hold their memory as well. Made at the first mapping back, they would be taken for
    # somebody who holds it by close(), which has counted before.
    _ = own.planes
    memory = fd_memory(_allocator(), _no_memory(), nbytes)
    with new_loan(own) as loan:
        attach_loan(loan, memory, _quark())
    return memory


def carried_by(memory: int) -> Frame | None:
    """The frame that a GstMemory* carries, or None."""
    slot = gst.gst_mini_object_get_qdata(memory, _quark())
    held = held_by(slot) if slot else None
    return held if isinstance(held, Frame) else None


@cache
def _quark() -> int:
    quark: int = glib.g_quark_from_string(b"samebytes-carried")
    return quark


@cache
def _allocator() -> int:
    allocator: int = allocators.gst_fd_allocator_new()
    return allocator


@cache
def _no_memory() -> int:
    """A descriptor that cannot be read, written or mapped: open(2), O_PATH."""
    return os.open("/", os.O_PATH | os.O_CLOEXEC)
