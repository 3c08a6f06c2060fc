# SPDX-License-Identifier: Apache-2.0
"""Python memory as FFmpeg buffers, and how it comes back.

FFmpeg calls a buffer's release function from any of its threads. A Python function there would
wait for the interpreter, and PyAV frees codecs while it holds the interpreter and waits for those
very threads: a deadlock. So the release is made of C functions alone, and none of them waits:

    the lent buffer is released by    av_buffer_unref(&slot)      which sets the slot to NULL and
    drops the token; the token by     Py_AddPendingCall(sweep)    so that the main thread looks.

`sweep` lets go of what the empty slots stood for. Python queues few pending calls and drops the
rest, which does not matter: a sweep looks at all slots, and lending and closing sweep too.

When the interpreter ends, every slot gets a token that releases nothing. What is still lent then
stays as it is until the process is gone, since FFmpeg's threads may still use it.
"""

from __future__ import annotations

import atexit
import ctypes
import threading
from collections import deque
from collections.abc import Callable, Iterable
from ctypes import CFUNCTYPE, byref, c_int, c_void_p, py_object
from typing import Any

import numpy as np

from samebytes.errors import NativeError

from ._avutil import PYAV
from ._avutil_abi import AV_BUFFER_FLAG_READONLY, AVBuffer, AVBufferRef
from ._libavutil import Libavutil

__all__ = ["held_count", "lend", "lent_in", "sweep"]

_BLOCK = 256

# Neither NULL nor a pointer: a slot that is nobody's.
_IDLE = 1


def _address(function: Any) -> int:
    return ctypes.cast(function, c_void_p).value or 0


_ADD_PENDING_CALL = _address(ctypes.pythonapi.Py_AddPendingCall)


# Its address, and the slot itself.
_Slot = tuple[int, c_void_p]


class _Slots:
    """The slots that FFmpeg clears, and what each stands for."""

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
        # Never given back: FFmpeg may clear a slot at any time.
        block = np.full(_BLOCK, _IDLE, np.uint64)
        start = block.__array_interface__["data"][0]
        addresses = range(start, start + block.nbytes, block.itemsize)
        slots = [(address, c_void_p.from_address(address)) for address in addresses]
        self.blocks[start] = block, slots
        self.free.extend(slots)

    def sweep(self) -> None:
        """Let go of what FFmpeg has given back."""
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

# The address of a slot -> the libavutil that clears it, which must make its tokens as well.
_library_of: dict[int, Libavutil] = {}


def _sweep_pending(_: int | None, sweep: Callable[[], None] = _slots.sweep) -> int:
    """What the main thread runs when a token was dropped, if need be while the module goes."""
    sweep()
    return 0


_pending = CFUNCTYPE(c_int, c_void_p)(_sweep_pending)
_PENDING = _address(_pending)

# FFmpeg's buffers refer to these for as long as the process lives.
for _kept in (_slots, _slots.__dict__, _slots.held, _slots.blocks, _pending):
    ctypes.pythonapi.Py_IncRef(py_object(_kept))


def lend(
    pieces: Iterable[tuple[int, int]],
    held: object,
    readonly: bool,
    library: Libavutil = PYAV,
) -> list[int]:
    """AVBufferRef* on memory of ours, one for each piece; the caller owns them.

    Args:
        pieces: address of the first byte, and size in bytes.
        held: what keeps all of them alive. It is let go once no frame, codec or filter has a
            reference to any of the buffers: by the main thread as it next runs Python code, or by
            the next `sweep` of any thread.
        readonly: FFmpeg copies before it writes.
        library: which libavutil's buffers to make.

    Raises:
        NativeError: FFmpeg has no memory for the buffers.
    """
    flags = AV_BUFFER_FLAG_READONLY if readonly else 0
    lent: list[int] = []
    unref = library.unref_address
    token = _new_token(library)
    for address, nbytes in pieces:
        key, slot = _slots.take(held)
        slot.value = _checked(library.buffer_ref(token))
        _library_of[key] = library
        lent.append(_checked(library.buffer_create(address, nbytes, unref, key, flags)))
    # The slots alone have it now: the last piece that comes back drops it.
    library.buffer_unref(byref(c_void_p(token)))
    if len(_slots.held) > _slots.sweep_above:
        # Amortised: as much must have been lent since the last time as was left over then.
        _slots.sweep()
        _slots.sweep_above = 2 * len(_slots.held) + _BLOCK
    return lent


def lent_in(library: Libavutil, reference: int) -> object | None:
    """What was held for a buffer of `lend`; None if the buffer is somebody else's.

    Args:
        library, reference: whose AVBufferRef* it is, and the pointer.
    """
    buffer = AVBuffer.from_address(AVBufferRef.from_address(reference).buffer)
    if buffer.free != library.unref_address:
        return None
    return _slots.held.get(buffer.opaque or 0)


def _new_token(library: Libavutil) -> int:
    if _ending:
        return _dead_token(library)
    return _checked(library.buffer_create(None, 0, _ADD_PENDING_CALL, _PENDING, 0))


def _dead_token(library: Libavutil) -> int:
    """A token that releases nothing."""
    return _checked(library.buffer_create(None, 0, library.unref_address, None, 0))


def _checked(reference: int | None) -> int:
    if reference is None:
        # What was made for the other pieces stays lent: there is no memory to go on with.
        raise NativeError("av_buffer_create", 0, "out of memory")
    return reference


def sweep() -> None:
    """Let go of everything that FFmpeg has given back. Any thread may call it at any time."""
    if _slots.held:
        _slots.sweep()


def held_count() -> int:
    """How many buffers are lent, after a sweep."""
    _slots.sweep()
    return len(_slots.held)


# The interpreter ends.
_ending = False


@atexit.register
def _stop_notifying() -> None:
    global _ending  # noqa: PLW0603 - there is one end of the interpreter
    _slots.sweep()
    _ending = True
    for address in list(_slots.held):
        # One store: a thread that releases the buffer meanwhile uses the old token or the new.
        slot = c_void_p.from_address(address)
        if slot.value:
            slot.value = _dead_token(_library_of[address])
