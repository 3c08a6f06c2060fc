# SPDX-License-Identifier: Apache-2.0
"""The writer's slots: its own memory, and memory of others that is sent where it lies."""

from __future__ import annotations

import fcntl
import os
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING

from samebytes.errors import NativeError
from samebytes.plugins import Storage

from .. import _abi
from .._buffer import DMABuffer
from .._descriptor import seals_of
from .._kept import KeptMapping

if TYPE_CHECKING:
    from .._allocators import Allocator

__all__ = ["Slot", "SlotUse", "allocate", "memory_of", "readers_can_write"]


class Slot:
    """A numbered place for frames.

    Attributes:
        number: as readers know it.
        version: how often its memory was replaced.
        buffer: the memory, or None while there is none.
        owner: of memory of others: leads to the storage by which it is known again.
        users: the numbers of those who use it here: frames that acquire() gave, calls of send().
        deliveries: how many accepted frames of it some reader has or awaits.
    """

    __slots__ = ("buffer", "deliveries", "number", "owner", "users", "version")

    def __init__(self, number: int) -> None:
        self.number = number
        self.version = 0
        self.buffer: DMABuffer | None = None
        self.owner: weakref.ref[Storage] | None = None
        self.users: set[int] = set()
        self.deliveries = 0

    @property
    def free(self) -> bool:
        """Whether nobody uses it."""
        return not (self.users or self.deliveries)

    def put(self, buffer: DMABuffer | None, owner: Storage | None = None) -> None:
        """Give it other memory, which readers are to be sent."""
        self.buffer = buffer
        self.owner = None if owner is None else weakref.ref(owner)
        self.version += 1


class SlotUse(Storage):
    """The owner of a frame in a slot, on either side: it keeps the memory, and ends with the frame.

    Attributes:
        slot: of the writer's, if it is there.
        memory: the storage of the slot's own buffer, which it keeps.

    Args:
        buffer: of the slot.
        ended: called once, when the use ends; None for a use that has not begun: set its
            `release` when it does.
        slot: of the writer's, if it is there.
        readonly: it is a reader's.
    """

    __slots__ = ("memory", "slot")

    def __init__(
        self,
        buffer: DMABuffer,
        ended: Callable[[], object] | None,
        slot: Slot | None = None,
        *,
        readonly: bool = False,
    ) -> None:
        self.slot = slot
        memory = self.memory = buffer.storage
        super().__init__(
            ended, nbytes=buffer.size, keep=memory, wait=memory.wait, readonly=readonly
        )


def memory_of(buffer: DMABuffer) -> Storage:
    """By which the memory of a buffer is known again, whatever use of it the buffer is for."""
    owner = buffer.storage
    return owner.memory if isinstance(owner, SlotUse) else owner


def allocate(allocator: Allocator, nbytes: int) -> DMABuffer:
    """New memory for a slot, which stays mapped here, and which readers cannot write if possible.

    Its pages are there: writing to it later cannot fail for want of memory.

    Raises:
        NativeError: the system has no memory for it.
        LayoutError: more bytes than there are addresses.
    """
    fd = allocator.allocate(nbytes)
    buffer = DMABuffer(fd, kept=KeptMapping(writable=True))
    if not buffer.is_dma_buf:
        try:
            os.posix_fallocate(fd.fileno(), 0, buffer.size)
        except OSError as error:
            raise NativeError(
                "posix_fallocate", error.errno or 0, f"{error.strerror}, for {nbytes} bytes"
            ) from error
        assert buffer.kept is not None
        buffer.kept.of(buffer)
        _seal(fd.fileno())
    return buffer


def readers_can_write(buffer: DMABuffer) -> bool:
    """Whether the kernel lets whoever has the descriptor write, whatever was agreed on."""
    return not seals_of(buffer.fileno()) & (fcntl.F_SEAL_WRITE | _abi.F_SEAL_FUTURE_WRITE)


def _seal(number: int) -> None:
    """No new writable mapping, and no write(), for anybody; those that exist go on.

    Linux 5.1 and later know the seal. Older kernels leave the memory as that of any memfd.
    """
    try:
        fcntl.fcntl(number, fcntl.F_ADD_SEALS, _abi.F_SEAL_FUTURE_WRITE | fcntl.F_SEAL_SEAL)
    except OSError:
        fcntl.fcntl(number, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SEAL)
