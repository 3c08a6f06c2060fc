# SPDX-License-Identifier: Apache-2.0
"""Pinned memory for downloads with a queue, which is used again.

NVIDIA's driver frees pinned memory (cuMemFreeHost) only when all work of the device is done:
whoever drops a download would wait for work that others have enqueued. To make it does not wait.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from samebytes.plugins import uninterrupted

from ._driver import Current, Pending, acquire, check, driver
from ._memory import PORTABLE, allocate
from ._use import CudaStorage, owner

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
    spare = _spare.setdefault(context.ordinal, [])
    pending: Pending = []
    pin = owner(context, pending)
    address = _take(spare, size, pending)
    if address is None:
        with Current(context.native):
            free = driver.cuMemFreeHost
            address = int(acquire(pending, free, driver.cuMemHostAlloc, size, PORTABLE))
        # From the last to the first, as all that is pending.
        pending[:] = partial(_trim, spare), partial(spare.append, (size, address))
    pin.expose(address, nbytes)
    return address, pin


def _take(spare: list[tuple[int, int]], size: int, pending: Pending) -> int | None:
    """A block of that size, which `pending` gives back."""
    for block in list(spare):
        if block[0] == size:
            steps = partial(_trim, spare), partial(spare.append, block)
            try:
                uninterrupted(partial(spare.remove, block), partial(pending.extend, steps))
            except ValueError:  # another thread was faster
                continue
            return block[1]
    return None


def _trim(spare: list[tuple[int, int]]) -> None:
    """Free the oldest blocks where there are too many."""
    while len(spare) > _SPARE:
        oldest = spare[0]
        free = partial(driver.cuMemFreeHost, oldest[1])
        try:
            _, (code,) = uninterrupted(partial(spare.remove, oldest), free)
        except ValueError:  # another thread was faster
            continue
        check("cuMemFreeHost", code)
