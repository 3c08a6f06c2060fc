# SPDX-License-Identifier: Apache-2.0
"""A frame that the writer accepted and the readers have not all received yet."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from samebytes_dma import DMABuffer

    from .layouts import Layout
    from .slots import Slot

__all__ = ["Delivery"]


class Delivery:
    """One accepted frame: it uses its slot until every reader is done with it.

    Args:
        sequence: its number among the frames that the writer accepted.
        packet: what is sent.
        slot: where it lies.
        layout: how it lies there.
        results: memory of inference results, whose descriptors go along.
        holds: what keeps memory of others alive, and a decoder from using it again.
        over: gets `holds` when all readers are done.

    Attributes:
        holds: the argument, until then; None for a slot of the ring's own.
        awaited: how many readers have it or await it, as its slot counts for all of its frames.
    """

    __slots__ = (
        "_over",
        "awaited",
        "holds",
        "layout",
        "packet",
        "results",
        "sequence",
        "slot",
    )

    def __init__(
        self,
        sequence: int,
        packet: bytes,
        slot: Slot,
        layout: Layout,
        results: Sequence[DMABuffer],
        holds: object,
        over: deque[object],
    ) -> None:
        self.sequence = sequence
        self.packet = packet
        self.slot = slot
        self.layout = layout
        self.results = results
        self.holds = holds
        self._over = over
        self.awaited = 0

    def lose_reader(self) -> None:
        """Note that one reader fewer has or awaits it."""
        # No call is made here: a signal handler's exception comes after these lines.
        self.awaited -= 1
        self.slot.awaited -= 1
        if not self.awaited:
            self.free()

    def free(self) -> None:
        """Give up what it holds, when no reader has or awaits it."""
        if self.holds is not None:
            self._over.append(self.holds)
            self.holds = None
