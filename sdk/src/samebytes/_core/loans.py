# SPDX-License-Identifier: Apache-2.0
"""Python memory lent to C libraries that release it from their own threads.

A release function written in Python would wait for the interpreter, whose holder may be waiting
for that very thread: a deadlock (PyAV joins FFmpeg's threads while it holds the interpreter). So
what runs at release is made of C functions alone, and none of them waits:

    the lent object is released by   clear(&slot)             which sets the slot to NULL and drops
    the token in it; the token by    Py_AddPendingCall(...)   so that the main thread sweeps.

A sweep drops what the cleared slots stood for. Python queues few pending calls and discards the
rest, which does not matter: a sweep looks at all slots, and lending and closing sweep too.

Where an exception strikes half-way, no slot has two users:

* `held` alone says which slots are in use. `free` gives hints, and is made again from `held`.
* A Loan holds a mark while its lending is in progress. A slot that was not filled and whose mark
  is gone was abandoned half-way. Its loan ends, but it is retired: the object that would clear it
  may be dropped a moment later.
* Only one thread sweeps at a time. It is known by a mark that one variable of it holds, in place
  of a lock.

A library may count the users of memory and say nothing when the last one is gone. What it uses is
kept by `keep_while`, and each sweep asks.

When the interpreter ends, every slot gets a token that notifies nobody. What is still lent then
stays until the process is gone, since the library's threads may still use it.
"""

from __future__ import annotations

import atexit
import ctypes
import sys
import weakref
from collections.abc import Callable, Iterator
from ctypes import CFUNCTYPE, c_int, c_uint64, c_void_p, py_object
from dataclasses import dataclass
from functools import partial
from itertools import repeat
from operator import call, getitem
from typing import Any, NamedTuple

import numpy as np

from .locks import in_forked_child
from .owned_pointer import OwnedPointer, bindable

__all__ = [
    "ADD_PENDING_CALL",
    "SWEEP_SOON",
    "Lender",
    "Loan",
    "keep_while",
    "lent_count",
    "lent_in",
    "sweep_loans",
]

_BLOCK = 256
# Neither NULL nor a pointer: the value of a slot that nobody uses.
_IDLE = 1
_SOON = "soon"
_CAN_TRACE = sys.version_info >= (3, 12)


@dataclass(frozen=True, eq=False)
class Lender:
    """The functions by which one C library holds the objects that it is lent.

    Attributes:
        clear: the address of its function that sets a slot to NULL and drops the token in it. It is
            the release function of a lent object, with a slot's address as its argument, and does
            nothing to a slot that is NULL.
        new_token: `new_token(notify)` makes a token, an object that the library counts references
            of. If it is to notify, it calls ADD_PENDING_CALL with SWEEP_SOON and anything when the
            last reference is dropped.
        fill: `fill(slot, token)` stores one more reference to the token at the slot's address.
    """

    clear: int
    new_token: Callable[[bool], OwnedPointer]
    fill: Callable[[int, OwnedPointer], object]


class Loan:
    """One lending in progress: make it, lend, and call `done`.

    `held` is dropped once the library has released everything that was lent with slots of this
    loan: by the main thread when it next runs Python code, or by the next sweep of any thread.

    Args:
        lender: to whom.
        held: what keeps the memory alive.
    """

    __slots__ = ("_held", "_lender", "_mark", "_slots", "_token")

    def __init__(self, lender: Lender, held: object) -> None:
        self._held = held
        self._lender = lender
        self._mark: _Mark | None = _Mark()
        self._slots: list[int] = []
        self._token: OwnedPointer | None = lender.new_token(_table.may_notify())

    def slot(self) -> int:
        """The address of a new slot, the argument for the lender's `clear`; to be filled next."""
        assert self._mark is not None, "done() was called"
        slot = _table.take(_Entry(self._held, weakref.ref(self._mark), self._lender))
        self._slots.append(slot)
        return slot

    def fill(self, slot: int) -> None:
        """Arm a slot, when there is an object that clears it at its release.

        Args:
            slot: the number of the slot, as the release writes it.
        """
        assert self._token is not None, "done() was called"
        self._lender.fill(slot, self._token)
        _table.filled.add(slot)

    def done(self) -> None:
        """All is lent. Without this call, as when an exception strikes, nothing else is lost."""
        early = any(not _table.cells[slot].value for slot in self._slots)
        self._held = self._token = self._mark = None
        # What was released before this call could not be taken back until now.
        if early or len(_table.held) > _table.sweep_above:
            _table.sweep_above = 2 * len(_table.held) + _BLOCK
            _table.sweep()

    def __enter__(self) -> Loan:
        return self

    def __exit__(self, *exc: object) -> None:
        self.done()


class _Entry(NamedTuple):
    """The object that a slot in use stands for, with its lending and its lender."""

    held: object
    lending: weakref.ref[_Mark]
    lender: Lender


class _Kept(NamedTuple):
    """An object that is kept for as long as `in_use` says that it is used."""

    held: Any
    in_use: Callable[[Any], bool]


class _Block(NamedTuple):
    """Slots in one piece of memory.

    Attributes:
        values: what they hold, which C libraries change.
        usable: those that are not retired.
        slots: their addresses.
    """

    values: np.ndarray[Any, np.dtype[np.uint64]]
    usable: np.ndarray[Any, np.dtype[np.bool_]]
    slots: range


class _Mark:
    """Lives for as long as a lending, or a sweep, is in progress."""

    __slots__ = ("__weakref__",)


class _Due:
    """Asking whether it is true sweeps. It is False, which is 0 in C, if that was done."""

    def __bool__(self) -> bool:
        _arm()  # from now on each release asks for another sweep
        _table.sweep()
        return False


class _Table:
    """The slots that C libraries clear, and what each stands for."""

    def __init__(self) -> None:
        self.blocks: list[_Block] = []
        self.cells: dict[int, c_uint64] = {}
        self.held: dict[int, _Entry] = {}
        self.kept: dict[int, _Kept] = {}
        self.filled: set[int] = set()
        self.retired: set[int] = set()
        self.free: Iterator[int] = iter(())
        self.sweepers: set[weakref.ref[_Mark]] = set()
        self.asked = False
        # What schedules a sweep, under _SOON, while none is scheduled.
        self.armed: dict[str, Callable[[], int]] = {}
        self.sweep_above = _BLOCK
        self.ended = False

    def may_notify(self) -> bool:
        """True if the main thread can be asked to sweep."""
        # CPython 3.11 hangs when a pending call runs Python code under sys.settrace() while more
        # calls are pending. There, what a debugger or a coverage tool sees lent waits for a sweep.
        return not self.ended and (_CAN_TRACE or sys.gettrace() is None)

    def take(self, entry: _Entry) -> int:
        """A slot for `entry`, with NULL in it."""
        while True:
            slot = next(self.free, 0)
            if not slot:
                self._refill()
            # One call in C decides between threads that were given the same hint.
            elif self.held.setdefault(slot, entry) is entry:
                if slot in self.retired:  # since the hint was made
                    del self.held[slot]
                    continue
                self.cells[slot].value = 0
                return slot

    def _refill(self) -> None:
        self.sweep(abandoned=True)
        used = self.held.keys() | self.retired
        if 2 * len(used) >= len(self.cells):
            self._grow()
        self.free = iter(list(self.cells.keys() - used))

    def _grow(self) -> None:
        # Never given back: the library may clear a slot at any time.
        block = np.full(_BLOCK, _IDLE, np.uint64)
        start = block.__array_interface__["data"][0]
        slots = range(start, start + block.nbytes, block.itemsize)
        made = _Block(block, np.ones(_BLOCK, np.bool_), slots)
        cells = dict(zip(slots, map(c_uint64.from_address, slots), strict=True))
        self.blocks.append(made)  # first: what is not looked at must not be used
        self.cells.update(cells)

    def sweep(self, *, abandoned: bool = False) -> None:
        """Drop what the library has given back.

        Args:
            abandoned: look also for slots that an exception left before they were in use.
        """
        self.asked = True
        self.armed[_SOON] = _schedule  # also where one that was asked for was interrupted
        while self.asked:
            mark: _Mark | None = None
            try:
                mark = _Mark()
                self.sweepers.add(weakref.ref(mark, self.sweepers.discard))
                if len(self.sweepers) > 1:
                    return  # the one who sweeps looks again
                self.asked = False
                returned: list[object] = []
                self._look_at_all(returned, abandoned)
                self._look_at_kept(returned)
            finally:
                mark = None  # also for an exception, whose traceback may be kept
            # Dropped here, when others may sweep: a finalizer may run anything.
            returned.clear()

    def _look_at_all(self, returned: list[object], abandoned: bool) -> None:
        for block in list(self.blocks):
            for place in np.flatnonzero((block.values == 0) & block.usable).tolist():
                if not self._take_back(block.slots[place], returned):
                    block.usable[place] = False
        if abandoned:
            for slot in list(self.held):
                if self.cells[slot].value == _IDLE:
                    self._take_back(slot, returned)

    def _look_at_kept(self, returned: list[object]) -> None:
        for key, entry in list(self.kept.items()):
            if not entry.in_use(entry.held):
                returned.append(self.kept.pop(key, None))

    def _take_back(self, slot: int, returned: list[object]) -> bool:
        """End the loan of a slot whose lending has ended; False if it must not be used again."""
        entry = self.held.get(slot)
        if entry is None or entry.lending() is not None:
            return slot not in self.retired
        # Asked in this order: it may have been filled when the lending ended, just now.
        value = self.cells[slot].value
        if value not in (0, _IDLE):
            return True
        # While it stands in `held`, nobody else takes it.
        if value == 0 and slot not in self.filled:
            self.retired.add(slot)
            returned.append(self.held.pop(slot))
            return False
        returned.append(entry)
        self.filled.discard(slot)  # first: a slot that is interrupted here is retired
        self.cells[slot].value = _IDLE
        del self.held[slot]
        return True


def _address(function: Any) -> int:
    return ctypes.cast(function, c_void_p).value or 0


_add_pending_call = ctypes.PyDLL(None)["Py_AddPendingCall"]
_add_pending_call.restype = c_int
_add_pending_call.argtypes = (c_void_p, py_object)

ADD_PENDING_CALL = _address(_add_pending_call)
"""The address of Py_AddPendingCall, which takes a function and an argument for it."""

_table = _Table()
_due = _Due()
# Has the main thread ask whether _due is true. An exception in that goes to its program.
_schedule = partial(_add_pending_call, _address(ctypes.pythonapi.PyObject_IsTrue), _due)
_arm = partial(_table.armed.__setitem__, _SOON, _schedule)
_arm()


def _scheduling() -> Any:
    """A function for Py_AddPendingCall: it schedules a sweep, unless one is scheduled; it gives 0.

    The library calls it with its own object, so it cannot be PyObject_IsTrue itself. All of it is
    C: an exception in a callback of ctypes would be swallowed, and its result undefined, which
    Python takes for an error. So it is the next step of an iterator, made of C functions:
    """
    # What schedules, if it is there, or else int. Called, it gives 0; or -1 if Python's queue is
    # full: then it is put back, since what fills the queue may be such calls. False is 0 in C.
    scheduled = map(call, map(_table.armed.pop, repeat(_SOON), repeat(int)))
    then = map(getitem, repeat((int, _arm)), scheduled)
    return CFUNCTYPE(c_int)(map(bool, map(call, then)).__next__)


_sweep_soon = _scheduling()

SWEEP_SOON = _address(_sweep_soon)
"""The address of a function for Py_AddPendingCall, with any argument: sweep in the main thread."""

# What is lent refers to these for as long as the process lives.
for _kept in (
    _table, _table.__dict__, _table.blocks, _table.held, _table.kept, _table.cells,
    _due, _Due, _sweep_soon,
):  # fmt: skip
    ctypes.pythonapi.Py_IncRef(py_object(_kept))


class _Soon:
    """Schedules a sweep of the main thread when it is dropped, in C."""

    __slots__ = ()

    __del__ = bindable(partial(_add_pending_call, SWEEP_SOON))


def sweep_loans() -> None:
    """Drop everything that C libraries have given back. Any thread may call it at any time."""
    if _table.held or _table.kept:
        _table.sweep()


def keep_while(in_use: Callable[[Any], bool], held: object) -> None:
    """Keep an object for as long as a library uses its memory, which does not say when it ends.

    Sweeps ask: one now if other objects are kept already, one of the main thread, which is
    scheduled here, and those of lending and of close().

    Args:
        in_use: `in_use(held)` says whether the library still uses it. It holds nothing of `held`,
            may be called by any thread, and calls no Python code that can sweep.
        held: what is kept. Its finalizer may pass it itself.
    """
    _table.kept[id(held)] = _Kept(held, in_use)
    if len(_table.kept) > 1:
        _table.sweep()
    # Dropped with this frame: where a finalizer ends with this call, the sweep comes after all else
    # that is being dropped, such as the library's object that still uses the memory.
    _ = _Soon() if _table.may_notify() else None


def lent_count(lender: Lender | None = None) -> int:
    """The number of objects that are lent, to one lender or all, after a sweep.

    Args:
        lender: whose loans to count; None for all.
    """
    _table.sweep(abandoned=True)
    return sum(lender is None or e.lender is lender for e in list(_table.held.values()))


def lent_in(slot: int) -> object | None:
    """The object that a slot stands for; None if the slot is not in use.

    Args:
        slot: its number.
    """
    entry = _table.held.get(slot)
    return None if entry is None else entry.held


_never_dropped: list[OwnedPointer] = []
ctypes.pythonapi.Py_IncRef(py_object(_never_dropped))


@atexit.register
def _stop_notifying() -> None:
    _table.sweep()
    _table.ended = True
    for slot, entry in _table.held.copy().items():
        # One store: a thread that releases the object meanwhile uses the old token or the new.
        if _table.cells[slot].value not in (0, _IDLE):
            token = entry.lender.new_token(False)
            _never_dropped.append(token)
            _table.cells[slot].value = token.address


# A thread that was sweeping is not in the child; its mark would stay there.
in_forked_child(_table.sweepers.clear)
# Nor need what was scheduled be in its queue.
in_forked_child(_arm)
