# SPDX-License-Identifier: Apache-2.0
"""map(queue=): pass the caller's queue to the edges of a mapping."""

from __future__ import annotations

from contextvars import ContextVar, copy_context
from typing import Any

from ..errors import NoRouteError

__all__ = ["map_in_order", "ordering_queue"]


class _Ordering:
    __slots__ = ("queue", "taken")

    def __init__(self, queue: Any) -> None:
        self.queue = queue
        self.taken = False


# Not an argument of connect(): few edges have a use for it, and each hop would pay for it.
_current: ContextVar[_Ordering | None] = ContextVar("samebytes_ordering", default=None)


def ordering_queue() -> Any:
    """The queue that the caller of map() passed, or None: then the edge must be synchronous.

    For `MemoryMapper.connect`. An edge that is given a queue enqueues there and does not wait; it
    keeps the queue for what it must enqueue when the mapping is flushed or released.
    """
    ordering = _current.get()
    if ordering is None:
        return None
    ordering.taken = True
    return ordering.queue


def map_in_order(item: Any, target: Any, access: Any, copy: bool, queue: Any) -> Any:
    """`item.map(...)` with the hand-over left to the owner of `queue`.

    Raises:
        NoRouteError: no edge of the route uses a queue.
    """
    ordering = _Ordering(queue)
    # Set in a copy, which ends with the call: an exception of a signal handler before a reset would
    # leave the queue to all later mappings.
    here = copy_context()
    here.run(_current.set, ordering)
    mapped = here.run(item.map, target, access, copy=copy)
    # Where nothing was mapped, no edge was asked, and what is pending may still have to be ordered.
    unmoved = mapped.context is item.context
    if not ordering.taken and not (unmoved and item.context.order(item, queue)):
        node = mapped.context.node
        mapped.close()
        reason = "no edge of this route uses a queue: leave queue= out"
        raise NoRouteError(item.context.node, node, [reason])
    return mapped
