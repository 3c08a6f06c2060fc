# SPDX-License-Identifier: Apache-2.0
"""A frame that the writer accepted and the readers have not all received yet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
        packet: is sent.
        slot: where it lies.
        layout: how it lies there.
        results: memory of inference results, whose descriptors go along.
        holds: what keeps memory of others alive, and a decoder from using it again.
        over: gets that when all readers are done.

    Attributes:
        holds: that, until then; None for a slot of the ring's own.
        readers: the ids of those who have it or await it. The slot is in use until it is empty.
    """

    __slots__ = (
        "_when_read",
        "holds",
        "layout",
        "packet",
        "readers",
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
        over: Callable[[object], object],
    ) -> None:
        self.sequence = sequence
        self.packet = packet
        self.slot = slot
        self.layout = layout
        self.results = results
        self.holds = holds
        self._when_read = over
        self.readers: dict[int, None] = {}

    def free_if_read(self) -> None:
        """Give up what it holds, if no reader has or awaits it any more.

        Where a signal handler keeps it from that, the slot is free all the same.
        """
        if not self.readers:
            self.slot.deliveries.pop(self.sequence, None)
            if self.holds is not None:
                self._when_read(self.holds)
                self.holds = None
