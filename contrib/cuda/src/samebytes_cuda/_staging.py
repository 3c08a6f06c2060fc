# SPDX-License-Identifier: Apache-2.0
"""Pinned memory for downloads with a queue, which is used again.

NVIDIA's driver frees pinned memory (cuMemFreeHost) only when all work of the device is done, so
dropping a download would wait for work that others have enqueued. Allocating it does not wait. It
ends with the context, when that is closed.
"""

from __future__ import annotations

from functools import partial

from ._driver import Home, Pending, check, driver
from ._memory import allocate
from ._use import CudaStorage, give_back, owner

__all__ = ["free_spare", "staged"]

_STEP = 1 << 16
"""The unit to which sizes are rounded up, so that parts of one image share memory."""
_SPARE = 64 << 20
"""The most bytes of all blocks of a device together that wait to be used again."""

# (size, address) by the device's ordinal. Only lists' own atomic steps: a release may run in the
# garbage collector, which may run anywhere.
_spare: dict[int, list[tuple[int, int]]] = {}


def staged(context: Home, nbytes: int) -> tuple[int, CudaStorage]:
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
    address = _take(context, spare, size, pending)
    if address is None:
        address, pin = allocate(context, size, "pinned")
        steps = _putting_back(context, spare, (size, address))
        pin.release = partial(give_back, context, steps)
    pin.expose(address, nbytes)
    return address, pin


def free_spare(context: Home) -> None:
    """Free the blocks that wait to be used again on the context's device.

    Raises:
        NativeError: the driver fails.
    """
    spare = _spare.get(context.ordinal)
    if spare and context.is_primary:
        give_back(context, [partial(_trim, spare, 0)])


def _take(context: Home, spare: list[tuple[int, int]], size: int, pending: Pending) -> int | None:
    """A block of that size, which `pending` gives back."""
    for block in list(spare):
        if block[0] == size:
            try:
                spare.remove(block)
            except ValueError:  # another thread was faster
                continue
            pending += _putting_back(context, spare, block)
            return block[1]
    return None


def _putting_back(context: Home, spare: list[tuple[int, int]], block: tuple[int, int]) -> Pending:
    """The calls that keep a block for the next download. The last of the list runs first."""
    return [partial(_settle, context, spare), partial(spare.append, block)]


def _settle(context: Home, spare: list[tuple[int, int]]) -> None:
    """Free blocks above the limit, and all blocks of a context that was closed."""
    _trim(spare, 0 if context.closed else _SPARE)


def _trim(spare: list[tuple[int, int]], limit: int) -> None:
    """Free blocks if all together exceed the limit: those that do so alone, then the oldest."""
    while spare and sum(size for size, _ in list(spare)) > limit:
        try:
            block = next((block for block in list(spare) if block[0] > limit), spare[0])
            spare.remove(block)
        except (IndexError, ValueError):  # another thread was faster
            continue
        check("cuMemFreeHost", *driver.cuMemFreeHost(block[1]))
