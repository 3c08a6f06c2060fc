# SPDX-License-Identifier: Apache-2.0
"""Pinned memory for downloads with a queue, which is used again.

NVIDIA's driver frees pinned memory (cuMemFreeHost) only when all work of the device is done:
whoever drops a download would wait for work that others have enqueued. To make it does not wait.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from samebytes.plugins import Resumable

from ._driver import call, driver
from ._memory import allocate
from ._use import CudaStorage, give_back, owner

if TYPE_CHECKING:
    from ._context import CudaContext

__all__ = ["staged"]

_STEP = 1 << 16
"""Sizes are rounded up to this, so that parts of one image share memory."""
_SPARE = 8
"""Blocks that wait to be used again, of each device."""

# (size, address) by the device's ordinal. Only lists' own atomic steps: a release may run in the
# garbage collector, which may run anywhere.
_spare: dict[int, list[tuple[int, int]]] = {}


def staged(context: CudaContext, nbytes: int) -> tuple[int, CudaStorage]:
    """Pinned memory, whose contents are undefined, and its owner.

    Raises:
        NativeError: there is none.
    """
    if not context.is_primary:  # its memory may end with it
        return allocate(context, nbytes, "pinned")
    size = -(-max(nbytes, 1) // _STEP) * _STEP
    address = _take(_spare.setdefault(context.ordinal, []), size)
    if address is None:
        address, pin = allocate(context, size, "pinned")
        pin.nbytes = nbytes
    else:
        pin = owner(context, None, address=address, nbytes=nbytes)
    put = partial(_put, context.ordinal, size, address)
    pin.release = Resumable(give_back, context, [put])
    return address, pin


def _take(spare: list[tuple[int, int]], size: int) -> int | None:
    for block in list(spare):
        if block[0] == size:
            try:
                spare.remove(block)
            except ValueError:  # another thread was faster
                continue
            return block[1]
    return None


def _put(ordinal: int, size: int, address: int) -> None:
    """Keep a block for the next download; the oldest one is freed when there are too many."""
    spare = _spare.setdefault(ordinal, [])
    spare.append((size, address))
    if len(spare) > _SPARE:
        call(driver.cuMemFreeHost, spare.pop(0)[1])
