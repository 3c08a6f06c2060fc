# SPDX-License-Identifier: Apache-2.0
"""Support for memory of "dma" in multiprocessing's pickler, and in no other."""

from __future__ import annotations

import multiprocessing
import sys
from multiprocessing.reduction import ForkingPickler
from multiprocessing.util import Finalize, register_after_fork
from typing import Any

from samebytes import Frame
from samebytes_dma import DMATensor

__all__ = ["register"]

_AFTER_THE_QUEUES = -100


def register() -> None:
    """Register both classes with that pickler, which looks for an object's exact class.

    samebytes-dma calls this.
    """
    ForkingPickler.register(DMATensor, _reduced)
    ForkingPickler.register(Frame, _reduced)
    _end_later(_end)
    register_after_fork(_end, _end_later)  # a worker begins without its parent's finalizers


def _end_later(end: Any) -> None:
    Finalize(None, end, exitpriority=_AFTER_THE_QUEUES)


def _end() -> None:
    """Let a worker that ends wait for processes that have its pickles, but not yet the memory.

    A pool with maxtasksperchild ends its workers right after their last result, and a queue pickles
    what was put into it when its process ends.
    """
    made = sys.modules.get("samebytes_ipc._pickle.offers")
    if made is not None and multiprocessing.parent_process() is not None:
        made.offers.wait_until_fetched()


def _reduced(item: Any) -> Any:
    from samebytes_dma import DMAContext

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
