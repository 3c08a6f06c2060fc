# SPDX-License-Identifier: Apache-2.0
"""Memory of Python's in GStreamer's mini objects, and how it comes back.

A mini object is freed by any of GStreamer's threads, and a Python function there would wait for
the interpreter, whose holder may wait for that very thread. So what runs then is made of C
functions alone, and none of them waits:

    the lent object is released by    gst_clear_mini_object(&slot)  which sets the slot to NULL and
    drops the token; the token by     Py_AddPendingCall(sweep)      so that the main thread looks.

`sweep` lets go of what the empty slots stood for. Python queues few pending calls and drops the
rest, which does not matter: a sweep looks at all slots, and lending and closing sweep too.

When the interpreter ends, every slot gets a token that notifies nobody. What is still lent then
stays as it is until the process is gone, since GStreamer's threads may still use it.
"""

from __future__ import annotations

import atexit
import ctypes
import threading
from collections import deque
from collections.abc import Callable
from ctypes import CFUNCTYPE, c_int, c_uint8, c_void_p, py_object
from typing import Any

import numpy as np

from ._abi.gstreamer import GST_MEMORY_FLAG_READONLY
from ._libraries import gst

__all__ = ["CLEAR", "Loan", "held_by", "held_count", "sweep"]

_BLOCK = 256

# Neither NULL nor a pointer: a slot that is nobody's.
_IDLE = 1


def _address(function: Any) -> int:
    return ctypes.cast(function, c_void_p).value or 0


CLEAR = _address(gst.gst_clear_mini_object)
"""The release function of what is lent; its argument is a slot of a Loan."""

_ADD_PENDING_CALL = _address(ctypes.pythonapi.Py_AddPendingCall)

_Slot = tuple[int, c_void_p]


class _Slots:
    """The slots that GStreamer clears, and what each stands for."""

    def __init__(self) -> None:
        self.blocks: dict[int, tuple[np.ndarray[Any, np.dtype[np.uint64]], list[_Slot]]] = {}
        self.free: deque[_Slot] = deque()
        self.held: dict[int, object] = {}
        self.sweeping = threading.Lock()
        self.asked = False
        self.sweep_above = _BLOCK

    def take(self, held: object) -> _Slot:
        """A slot for `held`."""
        while True:
            try:
                slot = self.free.popleft()
                break
            except IndexError:
                self._grow()
        self.held[slot[0]] = held
        return slot

    def _grow(self) -> None:
        # Never given back: GStreamer may clear a slot at any time.
        block = np.full(_BLOCK, _IDLE, np.uint64)
        start = block.__array_interface__["data"][0]
        addresses = range(start, start + block.nbytes, block.itemsize)
        slots = [(address, c_void_p.from_address(address)) for address in addresses]
        self.blocks[start] = block, slots
        self.free.extend(slots)

    def sweep(self) -> None:
        """Let go of what GStreamer has given back."""
        self.asked = True
        while self.asked and self.sweeping.acquire(blocking=False):
            returned: list[object] = []
            try:
                self.asked = False
                for block, slots in list(self.blocks.values()):
                    for place in np.flatnonzero(block == 0).tolist():
                        block[place] = _IDLE
                        slot = slots[place]
                        returned.append(self.held.pop(slot[0], None))
                        self.free.append(slot)
            finally:
                self.sweeping.release()
            # Dropped here, outside of the lock: a finalizer may run anything.
            returned.clear()


_slots = _Slots()


def _sweep_pending(_: int | None, sweep: Callable[[], None] = _slots.sweep) -> int:
    """What the main thread runs when a token was dropped, if need be while the module goes."""
    sweep()
    return 0


_pending = CFUNCTYPE(c_int, c_void_p)(_sweep_pending)
_PENDING = _address(_pending)

# A token is a memory, the cheapest mini object; nobody reads its one byte.
_BYTE = c_uint8()
_BYTE_ADDRESS = ctypes.addressof(_BYTE)

# GStreamer's objects refer to these for as long as the process lives.
for _kept in (_slots, _slots.__dict__, _slots.held, _slots.blocks, _pending, _BYTE):
    ctypes.pythonapi.Py_IncRef(py_object(_kept))


class Loan:
    """What one lending stands for: `held` is let go of when all its slots are cleared.

    By the main thread as it next runs Python code, or by the next `sweep` of any thread.
    Use it as a context manager around the calls that take its slots.
    """

    __slots__ = ("_held", "_token")

    def __init__(self, held: object) -> None:
        self._held = held
        self._token = 0

    def __enter__(self) -> Loan:
        self._token = _new_token()
        return self

    def slot(self) -> int:
        """A new slot: the argument for CLEAR, which is to be called once."""
        address, pointer = _slots.take(self._held)
        pointer.value = gst.gst_mini_object_ref(self._token)
        return address

    def __exit__(self, *exc: object) -> None:
        # The slots alone have it now: the last one that is cleared drops it.
        gst.gst_mini_object_unref(self._token)
        if len(_slots.held) > _slots.sweep_above:
            # Amortised: as much must have been lent since the last time as was left over then.
            _slots.sweep()
            _slots.sweep_above = 2 * len(_slots.held) + _BLOCK


def _new_token() -> int:
    if _dead_token is not None:
        return int(gst.gst_mini_object_ref(_dead_token))
    token: int = gst.gst_memory_new_wrapped(
        GST_MEMORY_FLAG_READONLY, _BYTE_ADDRESS, 1, 0, 1, None, None
    )
    # It is called with (data, object), which are the arguments of Py_AddPendingCall.
    gst.gst_mini_object_weak_ref(token, _ADD_PENDING_CALL, _PENDING)
    return token


def held_by(slot: int) -> object | None:
    """What a slot stands for, or None if it was cleared."""
    return _slots.held.get(slot)


def sweep() -> None:
    """Let go of everything that GStreamer has given back. Any thread may call it at any time."""
    if _slots.held:
        _slots.sweep()


def held_count() -> int:
    """How many objects are lent, after a sweep."""
    _slots.sweep()
    return len(_slots.held)


# Set when the interpreter ends: a token that is never released.
_dead_token: int | None = None


@atexit.register
def _stop_notifying() -> None:
    global _dead_token  # noqa: PLW0603 - there is one end of the interpreter
    _slots.sweep()
    dead: int = gst.gst_memory_new_wrapped(
        GST_MEMORY_FLAG_READONLY, _BYTE_ADDRESS, 1, 0, 1, None, None
    )
    _dead_token = dead
    for address in list(_slots.held):
        # One store: a thread that releases the object meanwhile uses the old token or the new.
        slot = c_void_p.from_address(address)
        if slot.value:
            slot.value = gst.gst_mini_object_ref(dead)
