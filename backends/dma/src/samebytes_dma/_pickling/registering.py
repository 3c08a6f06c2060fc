# SPDX-License-Identifier: Apache-2.0
"""What multiprocessing's pickler, and no other, does with memory of "dma"."""

from __future__ import annotations

from multiprocessing.reduction import ForkingPickler
from typing import Any

from samebytes import Frame

from .._tensor import DMATensor

__all__ = ["register"]


def register() -> None:
    """Let that pickler ask here; by exact class, as it does."""
    ForkingPickler.register(DMATensor, _reduced)
    ForkingPickler.register(Frame, _reduced)


def _reduced(item: Any) -> Any:
    from .._context import DMAContext
    from .._ring.slots import SlotUse
    from .offers import offer, opened

    if not isinstance(item.context, DMAContext):
        return item.__reduce_ex__(2)  # raises, and says what to do
    if type(item.storage) is SlotUse:
        raise TypeError(
            "a frame of a ring cannot be pickled: its slot goes back to the writer when it is "
            "dropped here. Send samebytes.copied(frame), or let the other process read the ring"
        )
    return opened, offer(item)
