# SPDX-License-Identifier: Apache-2.0
"""Declaration of an edge by a plugin, the access modes, and the queue of map(queue=)."""

from __future__ import annotations

import enum
from contextvars import ContextVar, copy_context
from typing import Any, Literal, get_args

from ..._frozen import frozen
from ...errors import AccessError, NoRouteError, UnknownNameError

__all__ = [
    "ACCESS_MODES",
    "Access",
    "MapperSpec",
    "Transfer",
    "check_access",
    "map_in_order",
    "not_writable",
    "ordering",
    "ordering_queue",
]


Access = Literal["r", "w", "rw"]
"""The kind of access that a mapping gives.

"r" reads. "w" writes every byte: the old contents are undefined in the mapping. "rw" reads and
writes.
"""

ACCESS_MODES: tuple[Access, ...] = get_args(Access)


def check_access(access: str) -> None:
    """Raise UnknownNameError unless `access` is a mode.

    Args:
        access: "r", "w" or "rw".

    Raises:
        UnknownNameError: it is none of them.
    """
    if access not in ACCESS_MODES:
        raise UnknownNameError("access mode", str(access), ACCESS_MODES)


def not_writable(item: Any, access: str) -> AccessError:
    """The error for "w" or "rw" of a read-only object, with what its class advises."""
    why = getattr(type(item), "readonly_advice", None) or (
        f'it was mapped with access "r", or wrapped from read-only memory: map the original '
        f'with "{access}"'
    )
    return AccessError(f'access "{access}" to a read-only {item.memory_type} object: {why}')


class Transfer(enum.Enum):
    """The way in which an edge passes on the bytes."""

    ALIAS = "alias"
    """The same pointer."""
    IMPORT = "import"
    """The same memory under another handle."""
    MAP = "map"
    """The driver makes it host-visible; it may flush, or move bytes of its own accord."""
    COPY = "copy"
    """New memory. Only with copy=True, and counted."""


# An IMPORT costs a call into a driver, a MAP may flush caches, a COPY comes last by far.
_COSTS = {Transfer.ALIAS: 1.0, Transfer.IMPORT: 10.0, Transfer.MAP: 100.0, Transfer.COPY: 10_000.0}


@frozen(kw_only=True)
class MapperSpec:
    """An edge between two nodes.

    Attributes:
        source, target: nodes.
        mapper: "module:Class", a MemoryMapper class.
        transfer: what it does with the bytes.
        summary: how, in half a line, for `explain`: "ROI tensors over the pitched planes".
        level: "tensor" or "frame". A tensor edge also serves frames plane by plane unless
            `per_plane` is False.
        access: the modes it can serve. Default: "r", "w" and "rw". An edge that copies serves
            ("r",) alone, unless it copies back when the mapping is published and when it ends:
            what is written to a copy does not reach the source.
        formats: names of the only image formats it takes (frames), or None for all.
        opaque: it takes tensors without a linear layout.
        cost: what the router adds up; None for the transfer's usual cost.
        only: the memory of `source` that it takes, where that is not all: "whole pages", "memory
            that is a UMat's". A route between names through it depends on the object, and says so.
        requires: plugins it needs besides its own, with versions: "openvino>=0.1,<1".
    """

    source: str
    target: str
    mapper: str
    transfer: Transfer
    summary: str
    level: Literal["tensor", "frame"] = "tensor"
    per_plane: bool = True
    access: tuple[Access, ...] = ACCESS_MODES
    formats: tuple[str, ...] | None = None
    opaque: bool = False
    cost: float | None = None
    requires: tuple[str, ...] = ()
    only: str = ""

    @property
    def name(self) -> str:
        """ "source -> target"."""
        return f"{self.source} -> {self.target}"

    @property
    def weight(self) -> float:
        """The cost the router adds up."""
        return _COSTS[self.transfer] if self.cost is None else self.cost

    def serves(self, level: str) -> bool:
        """True if the edge maps objects of that level.

        Args:
            level: "tensor" or "frame".
        """
        return level == self.level or (level == "frame" and self.per_plane)


# The queue, whether an edge took it, and what is mapped. Not an argument of connect(): few edges
# have a use for it, and each hop would pay for it.
ordering: ContextVar[list[Any] | None] = ContextVar("samebytes_ordering", default=None)


def ordering_queue() -> Any:
    """The queue that the caller of map() passed, or None: then the edge must be synchronous.

    For `MemoryMapper.connect`. An edge that is given a queue enqueues there and does not wait; it
    keeps the queue for what it must enqueue when the mapping is flushed or released. To ask counts
    as doing so: map(queue=) raises NoRouteError where no edge has asked.
    """
    current = ordering.get()
    if current is None:
        return None
    current[1] = True
    return current[0]


def map_in_order(item: Any, target: Any, access: Any, copy: bool, queue: Any) -> Any:
    """`item.map(...)` with the hand-over left to the owner of `queue`.

    Raises:
        NoRouteError: no edge of the route uses a queue.
    """
    current = [queue, False, item]
    # In a copy, which ends with the call: no exception can leave the queue to later mappings.
    here = copy_context()
    here.run(ordering.set, current)
    mapped = here.run(item.map, target, access, copy=copy)
    # Where nothing was mapped, no edge was asked, and what is pending may still have to be ordered.
    unmoved = mapped.context is item.context
    if not current[1] and not (unmoved and item.context.order(item, queue)):
        nodes = item.context.node, mapped.context.node
        mapped.close()
        raise NoRouteError(*nodes, ["no edge of this route uses a queue: leave queue= out"])
    return mapped
