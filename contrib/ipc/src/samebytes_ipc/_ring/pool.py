# SPDX-License-Identifier: Apache-2.0
"""The slots of a ring: finds one for each frame, and reports who has the others.

The wait for a free one is the ring's back-pressure.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from samebytes import Frame, Storage, Tensor
from samebytes.plugins import deferred
from samebytes_dma import DMAPlane, DMATensor

from .._errors import RingTimeoutError
from .._wire.memory import buffer_behind, is_dma
from .calls import Calls
from .items import buffer_of
from .layouts import SlotLayout
from .slots import Slot, SlotUse, User, allocate, memory_of

if TYPE_CHECKING:
    from samebytes_dma import DMAContext

    from .arrays import ArraySlots

__all__ = ["Pool"]


class Pool:
    """The slots of one ring.

    Args:
        calls: of that ring.
        memory: where slots of its own come from.
        own: slots for memory of its own.
        adopted: slots for memory of others.
        drops: leave out frames that wait for readers, to get a slot.
    """

    __slots__ = (
        "_calls",
        "_drops",
        "_memory",
        "_planes",
        "adopted",
        "own",
    )

    def __init__(
        self, calls: Calls, memory: DMAContext, own: list[Slot], adopted: list[Slot], drops: bool
    ) -> None:
        self.own = own
        self.adopted = adopted
        self._calls = calls
        self._memory = memory
        self._drops = drops
        # The planes in each slot, by its number, for the version and layout that it had last.
        self._planes: dict[int, tuple[int, SlotLayout, tuple[DMAPlane, ...]]] = {}

    def acquire(
        self, slot_layout: SlotLayout, seconds: float, arrays: ArraySlots | None = None
    ) -> Any:
        """A free slot as a frame or tensor; its memory is replaced if it is too small.

        Args:
            slot_layout: what lies in it.
            seconds: how long to wait for it.
            arrays: makes it one of the CPU's memory.

        Raises:
            RingTimeoutError: none came back in time.
            NativeError: the system has no memory for it.
            ClosedError: the ring was closed or interrupted.
        """
        taken = self._known_free() if arrays is None else None
        slot, user = taken or self._until_free(self.own, seconds)
        mine = [user]
        del user
        if slot.buffer is None or slot.buffer.size < slot_layout.nbytes:
            made = allocate(self._memory, slot_layout.nbytes)
            with self._calls.lock:
                slot.put(made)
        buffer = slot.buffer
        assert buffer is not None
        if arrays is not None and (item := arrays.over(slot)) is not None:
            return item
        use = SlotUse(buffer, partial(_ended, mine, self._calls.server.dropped), slot)
        known = self._planes.get(slot.number)
        if (
            known is not None
            and known[0] == slot.version
            and (known[1] is slot_layout or known[1] == slot_layout)
        ):
            planes = known[2]
        else:
            planes = slot_layout.planes_in(buffer)
            self._planes[slot.number] = slot.version, slot_layout, planes
        lent = buffer.lent(use, readonly=False)
        given: Any = slot_layout.item_over(tuple([plane.moved_to(lent) for plane in planes]), use)
        if arrays is not None:  # the access to a DMA-BUF begins and ends
            given = given.map("cpu", "w")
            use.lent = weakref.ref(given)
        return given

    def adopt(self, item: DMATensor | Frame, seconds: float) -> tuple[Slot, User]:
        """The slot of memory of others, and what the caller holds while it uses it.

        Raises:
            RingTimeoutError: as much of it as is remembered is in use, and none came back in time.
            MessageError: readers would refuse it.
            ClosedError: the ring was closed or interrupted.
        """
        buffer = buffer_of(item)
        assert buffer is not None
        memory = memory_of(buffer)

        def known() -> tuple[Slot, User] | None:
            for slot in self.adopted:
                owner = None if slot.owner is None else slot.owner()
                if owner is memory:
                    return slot, slot.use()
                if slot.owner is not None and owner is None and slot.free:
                    slot.put(None)
            return None

        with self._calls, self._calls.lock:
            found = self._calls.alone(known)
        if found is not None:
            return found
        checked = buffer_behind(buffer.dup(), "frame", False)

        def take(slot: Slot) -> None:
            slot.put(checked, memory)
            with deferred():  # the newest last
                self.adopted.remove(slot)
                self.adopted.append(slot)

        return self._until_free(self.adopted, seconds, take)

    def slot_of(self, item: Any) -> Slot | None:
        """The slot of this ring that a frame or tensor of "dma" lies in, or was mapped from."""
        if not isinstance(item, Tensor | Frame):
            return None
        owner: object = item.storage
        while isinstance(owner, Storage):
            if type(owner) is SlotUse:
                whole = is_dma(item) if owner.lent is None else owner.lent() is item
                return owner.slot if whole and owner.slot in self.own else None
            owner = owner.keep
        return None

    def holders(self) -> dict[int, int]:
        """Return the number of frames that each process has, by process ID."""
        held: dict[int, int] = {}
        for reader in self._calls.server.readers:
            held[reader.process] = held.get(reader.process, 0) + len(reader.held)
        return {process: number for process, number in held.items() if number}

    def who(self) -> str:
        """Describe for an error message who has slots."""
        words = [f"process {p} has {n} of the slots" for p, n in self.holders().items()]
        own = sum(slot.used_here for slot in self.own)
        if own:
            words.append(f"this process holds {own} of the slots")
        return ", ".join(words) or "nobody"

    def clear(self) -> None:
        """Give up all memory; frames that lie in it keep theirs."""
        self._planes.clear()
        for slot in (*self.own, *self.adopted):
            slot.put(None)

    def _known_free(self) -> tuple[Slot, User] | None:
        """As `_until_free` of own slots, but None unless one is free without a look at readers."""
        with self._calls.lock:
            self._calls.check()
            return None if self._calls.server.behind else self._calls.alone(self._free_one)

    def _free_one(self) -> tuple[Slot, User] | None:
        for slot in self.own:
            if slot.free:
                return slot, slot.use()
        return None

    def _until_free(
        self, slots: list[Slot], seconds: float, take: Callable[[Slot], None] | None = None
    ) -> tuple[Slot, User]:
        """A slot that nobody used, and what the caller holds while it uses it.

        Args:
            slots: among which.
            seconds: how long to wait.
            take: what else is to be done before another thread sees the slot.
        """

        def found() -> tuple[Slot, User] | None:
            free = next((slot for slot in slots if slot.free), None)
            if free is None and self._drops:
                among = set(slots)
                if self._calls.server.drop_oldest(
                    lambda d: d.slot in among and not d.slot.used_here
                ):
                    free = next((slot for slot in slots if slot.free), None)
            if free is None:
                return None
            user = free.use()
            if take is not None:
                take(free)
            return free, user

        return self._calls.until(
            lambda: self._calls.alone(found),
            seconds,
            lambda: RingTimeoutError(
                f"no slot of {len(slots)} is free, and none came back in {seconds:g} s: "
                f"{self.who()}; drop frames that are kept, or copy them",
                self.holders(),
            ),
        )


def _ended(users: list[User], dropped: Callable[[], object]) -> None:
    # If a signal handler raises before this, they end together with what refers to them.
    users.clear()
    dropped()
