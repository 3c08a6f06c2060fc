# SPDX-License-Identifier: Apache-2.0
"""Slots as frames of the CPU: what `acquire(target="cpu")` gives where memory stays mapped."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from .layouts import Places, SlotLayout, arrays_at
from .slots import Slot

if TYPE_CHECKING:
    from .calls import Calls

__all__ = ["ArraySlots"]


_Made = tuple[Slot, memoryview, Any, weakref.ref[Any], list[weakref.ref[Any]]]
"""An item that nobody has yet: its slot, the bytes there, the item, and references to it and to the
memory that all of its arrays hold."""

# How many items are made together, at most. After a pause of some milliseconds the first one takes
# as long as five others, since the CPU's caches have lost the code.
_AHEAD = 8


class ArraySlots:
    """Gives out the slots of one ring as frames or tensors of the CPU, in turn.

    For such a frame nothing is mapped, and nothing runs at its end. Its arrays hold one array over
    the bytes of the slot; a weak reference to that shows if anybody still uses the slot.

    Args:
        calls: of that ring.
        own: its slots.
        slot_layout: of what it gives; None if it gives nothing.
    """

    __slots__ = ("_calls", "_made", "_own", "_places", "_slot_layout", "_turn")

    def __init__(self, calls: Calls, own: list[Slot], slot_layout: SlotLayout | None) -> None:
        self._calls = calls
        self._own = own
        self._slot_layout = slot_layout
        self._places: Places = []
        self._turn = 0  # the number of the slot that comes next
        self._made: list[_Made] = []  # of the slots that come next
        for slot in own:
            self._is_mapped(slot)

    def take(self) -> Any:
        """The next item; None where no slot is free, none is mapped, or the ring is not open.

        What readers gave back is read only if the slot whose turn it is was not free.
        """
        calls = self._calls
        with calls.lock:
            if calls.state != "open" or calls.interrupted or calls.server.behind:
                return None
            if calls.busy:
                calls.check_not_busy()
            calls.busy = True
            try:
                made = self._made[0] if self._made else None
                if made is not None and made[0].free and made[0].bytes is made[1]:
                    del self._made[:1]  # a finalizer may have closed the ring
                    slot = made[0]
                    slot.given, slot.users = made[3:]
                    self._turn = slot.number + 1
                    return made[2]
            finally:
                calls.busy = False
        with calls, calls.lock:
            calls.check()
            calls.alone(calls.server.take_back)
            return calls.alone(self._look)

    def _look(self) -> Any:
        for slot in (*self._own[self._turn :], *self._own[: self._turn]):
            if slot.free and self._is_mapped(slot):
                return self._given(slot)
        return None

    def over(self, slot: Slot) -> Any:
        """An item over a slot that the caller uses; None if it must be mapped for each use."""
        with self._calls.lock:
            return self._given(slot) if self._is_mapped(slot) else None

    def prepare(self) -> None:
        """Make the next items of free slots, while readers are busy with the one that was sent."""
        if self._made:
            return
        # Without a lock: take() checks whether they are still of use.
        own, turn = self._own, self._turn
        for slot in (*own[turn:], *own[:turn])[:_AHEAD]:
            if (bytes_ := slot.bytes) is not None and slot.free:
                self._made.append(self._over(slot, bytes_))
        if self._calls.state != "open":  # another thread has closed it meanwhile
            self.clear()

    def clear(self) -> None:
        """Forget the next items."""
        self._made.clear()

    def slot_of(self, item: object) -> Slot | None:
        """The slot that an item was given for; None for any other object, and for a part of one."""
        if item is None:  # which a reference to a dropped item would match
            return None
        slot = self._own[self._turn - 1]  # mostly the one that was given last
        if slot.given is not None and slot.given() is item:
            return slot
        for slot in self._own:
            if slot.given is not None and slot.given() is item:
                return slot
        return None

    def _given(self, slot: Slot) -> Any:
        assert slot.bytes is not None
        made = self._made[0] if self._made else None
        if made is not None and made[0] is slot and made[1] is slot.bytes:
            del self._made[0]
        else:
            self._made.clear()
            made = self._over(slot, slot.bytes)
        _, _, item, slot.given, users = made
        slot.users = [*[user for user in slot.users if user() is not None], *users]
        self._turn = slot.number + 1
        return item

    def _is_mapped(self, slot: Slot) -> bool:
        """Map a slot that is free, or the caller's, if arrays can lie in it; True if mapped."""
        slot_layout, buffer = self._slot_layout, slot.buffer
        if (
            slot.bytes is None
            and slot_layout is not None
            and buffer is not None
            and buffer.size >= slot_layout.nbytes
            and buffer.kept is not None
            and not buffer.is_dma_buf
        ):
            mapped = buffer.kept.of(buffer)
            self._places = slot_layout.places_in(mapped)
            slot.bytes = np.asarray(mapped).data
        return slot.bytes is not None

    def _over(self, slot: Slot, bytes_: memoryview) -> _Made:
        assert self._slot_layout is not None
        memory: np.ndarray[Any, Any] = np.frombuffer(bytes_, np.uint8)
        item = self._slot_layout.item_of(memory, arrays_at(memory, self._places))
        use = weakref.ref(memory, self._calls.server.dropped)
        return slot, bytes_, item, weakref.ref(item), [use]
