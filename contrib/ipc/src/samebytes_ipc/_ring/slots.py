# SPDX-License-Identifier: Apache-2.0
"""The writer's slots: its own memory, and memory of others that is sent where it lies."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from samebytes import Storage
from samebytes.errors import NativeError
from samebytes.plugins import ImportCache, untrack
from samebytes_dma import F_SEAL_FUTURE_WRITE, DMABuffer, KeptMapping, seals_of

if TYPE_CHECKING:
    from samebytes_dma import DMAContext

__all__ = ["Slot", "SlotUse", "User", "allocate", "memory_of", "readers_can_write"]


class User:
    """A user of a slot in this process.

    The garbage collector does not track it: it clears weak references to what is in a reference
    cycle before it runs finalizers, and those may still use the slot.
    """

    __slots__ = ("__weakref__",)

    def __init__(self) -> None:
        untrack(self)


class Slot:
    """A numbered place for frames.

    Attributes:
        number: as readers know it.
        version: how often its memory was replaced.
        buffer: the memory, or None while there is none.
        bytes: those of its mapping, once arrays were wanted that can lie in it as they are.
        given: a reference to the frame or tensor that acquire(target="cpu") gave last.
        owner: of memory of others, a reference to the storage by which it is recognized.
        users: references to who uses it here: frames that acquire() gave, calls of send(). Each has
            a `User`, whose end needs no code, which a signal handler that raises could prevent.
        awaited: how many times a reader has, or awaits, an accepted frame of it.
    """

    __slots__ = (
        "awaited",
        "buffer",
        "bytes",
        "given",
        "number",
        "owner",
        "users",
        "version",
    )

    def __init__(self, number: int) -> None:
        self.number = number
        self.version = 0
        self.buffer: DMABuffer | None = None
        self.bytes: memoryview | None = None
        self.given: weakref.ref[Any] | None = None
        self.owner: weakref.ref[Storage] | None = None
        self.users: list[weakref.ref[Any]] = []
        self.awaited = 0

    @property
    def free(self) -> bool:
        """True if nobody uses it."""
        if self.awaited:
            return False
        for user in self.users:  # noqa: SIM110 - a generator takes longer than what it looks at
            if user() is not None:
                return False
        return True

    @property
    def used_here(self) -> bool:
        """True if this process uses it."""
        return any(user() is not None for user in self.users)

    def use(self) -> User:
        """Begin a use of it, which lasts until the returned object is dropped."""
        made = User()
        others = [user for user in self.users if user() is not None] if self.users else []
        self.users = [*others, weakref.ref(made)]
        return made

    def put(self, buffer: DMABuffer | None, owner: Storage | None = None) -> None:
        """Give it other memory, which readers are to be sent."""
        ref = None if owner is None else weakref.ref(owner)
        # All or nothing, as another buffer of the same version would not be sent: no call is made
        # here, and a signal handler's exception comes after these lines.
        self.bytes = None
        self.buffer = buffer
        self.owner = ref
        self.version += 1


class SlotUse(ImportCache.Lease):
    """The owner of a frame in a slot, on either side: it keeps the memory, and ends with the frame.

    Attributes:
        slot: the writer's slot; None in a reader.
        memory: the storage of the slot's own buffer, which it keeps.
        lent: a reference to the mapping that acquire() gave for it, if that is what will be sent.

    Args:
        buffer: of the slot.
        ended: called once, when the use ends; None for a use that has not begun: set its
            `release` when it does.
        slot: the writer's slot; None in a reader.
        readonly: whether it is a reader's.
    """

    __slots__ = ("lent", "memory", "slot")

    def __init__(
        self,
        buffer: DMABuffer,
        ended: Callable[[], object] | None,
        slot: Slot | None = None,
        *,
        readonly: bool = False,
    ) -> None:
        self.slot = slot
        self.lent: weakref.ref[Any] | None = None
        memory = self.memory = buffer.storage
        super().__init__(
            ended, nbytes=buffer.size, keep=memory, wait=memory.wait, readonly=readonly
        )


def memory_of(buffer: DMABuffer) -> Storage:
    """The storage by which a buffer's memory is recognized, whatever use the buffer is for."""
    owner = buffer.storage
    if isinstance(owner, SlotUse):
        return owner.memory
    if isinstance(owner, ImportCache.Lease) and isinstance(owner.keep, Storage):
        return owner.keep  # that of a camera, whose buffers come round
    return owner


def allocate(memory: DMAContext, nbytes: int) -> DMABuffer:
    """New memory for a slot, which stays mapped here, and which readers cannot write if possible.

    Its pages are there: writing to it later cannot fail for want of memory.

    Raises:
        NativeError: the system has no memory for it.
        LayoutError: more bytes than there are addresses.
    """
    fd = memory.allocate_fd(nbytes)
    buffer = DMABuffer(fd, kept=KeptMapping(writable=True))
    if not buffer.is_dma_buf:
        _check_available(buffer.size)
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


def _check_available(nbytes: int) -> None:
    """Refuse what the machine cannot have.

    A memfd has no limit of its own: asked for too many of its pages, the kernel makes room by
    ending processes, this one or others.

    Raises:
        NativeError: there is less memory.
    """
    try:
        text = Path("/proc/meminfo").read_text()
    except OSError:
        return
    # proc_meminfo(5): what can be had without swapping, and what swapping adds; in KiB.
    fields = dict(re.findall(r"^(MemAvailable|SwapFree): +(\d+) kB$", text, re.MULTILINE))
    available = sum(map(int, fields.values())) * 1024
    if "MemAvailable" in fields and nbytes > available:
        raise NativeError(
            "posix_fallocate", errno.ENOMEM,
            f"{nbytes} bytes are asked for, and {available} are available",
        )  # fmt: skip


def readers_can_write(buffer: DMABuffer) -> bool:
    """True if the kernel lets any holder of the descriptor write, whatever was agreed on."""
    return not seals_of(buffer.fileno()) & (fcntl.F_SEAL_WRITE | F_SEAL_FUTURE_WRITE)


def _seal(number: int) -> None:
    """Forbid new writable mappings and write() to everybody; mappings that exist go on.

    Linux 5.1 and later know the seal. Older kernels leave the memory writable, as with any memfd.
    """
    try:
        fcntl.fcntl(number, fcntl.F_ADD_SEALS, F_SEAL_FUTURE_WRITE | fcntl.F_SEAL_SEAL)
    except OSError:
        fcntl.fcntl(number, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SEAL)
