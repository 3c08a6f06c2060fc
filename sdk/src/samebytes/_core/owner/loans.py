# SPDX-License-Identifier: Apache-2.0
"""Python memory lent to C libraries that release it from their own threads.

A release function written in Python would wait for the interpreter, whose holder may be waiting
for that very thread: a deadlock (PyAV joins FFmpeg's threads while it holds the interpreter). So
what runs at release is made of C functions alone, and none of them waits:

    the lent object is released by   clear(&slot)             which sets the slot to NULL and drops
    the token in it; the token by    Py_AddPendingCall(...)   so that the main thread sweeps.

A sweep drops what the cleared slots stood for. Python queues few pending calls and discards the
rest, which does not matter: a sweep looks at all slots, and lending and closing sweep too.

A slot is used once. If lending ends before a slot was filled, as by an exception, the slot is
abandoned: what it stood for is dropped, but its own memory stays, since the object that would clear
it may be dropped a moment later.

When the interpreter ends, every slot gets a token that notifies nobody. What is still lent then
stays until the process is gone, since the library's threads may still use it.
"""

from __future__ import annotations

import atexit
import ctypes
import weakref
from collections.abc import Callable
from ctypes import CFUNCTYPE, c_int, c_uint64, c_void_p, py_object
from functools import partial
from typing import Any, ClassVar

from ..._frozen import frozen
from .handles import OwnedPointer, bindable
from .untraced import UntracedCall

__all__ = ["Lender", "Loan", "sweep_loans"]

_FEW = 256


@frozen(eq=False, repr=False)
class Lender:
    """The functions by which one C library holds the objects that it is lent.

    Attributes:
        clear: the address of its function that sets a slot to NULL and drops the token in it. It is
            the release function of a lent object, with a slot's address as its argument, and does
            nothing to a slot that is NULL.
        new_token: `new_token(notify)` makes a token, an object whose references the library counts.
            `notify` is None, or the address of a C function and its first argument: that function
            is called when the last reference is dropped. Its second argument may be anything.
        fill: `fill(slot, token)` stores one more reference to the token at the slot's address.
    """

    clear: int
    new_token: Callable[[tuple[int, int] | None], OwnedPointer]
    fill: Callable[[int, OwnedPointer], object]

    def count(self) -> int:
        """The number of objects that are lent to it, after a sweep."""
        sweep_loans()
        return sum(slot.lender is self for slot in list(_lent.values()))


class Loan:
    """One lending in progress: make it, lend, and call `done`.

    Args:
        lender: the library's functions.
        held: what keeps the memory alive. It is dropped once the library has released everything
            that was lent with slots of this loan: by the main thread when it next runs Python code,
            or by the next sweep of any thread.
    """

    __slots__ = ("__weakref__", "_held", "_lender", "_slots", "_token")

    _sweep_above: ClassVar[int] = _FEW

    def __init__(self, lender: Lender, held: object) -> None:
        self._held = held
        self._lender = lender
        self._slots: list[_Slot] = []
        self._token: OwnedPointer | None = lender.new_token(None if _ended else _NOTIFY)

    def slot(self) -> int:
        """The address of a new slot, the argument for the lender's `clear`; to be filled next."""
        assert self.in_progress, "done() was called"
        slot = _Slot(self._held, self._lender, self)
        self._slots.append(slot)
        _lent[slot.address] = slot
        return slot.address

    def fill(self, slot: int) -> None:
        """Arm a slot, when there is an object that clears it at its release.

        Args:
            slot: its address, from `slot()`.
        """
        assert self._token is not None, "done() was called"
        self._lender.fill(slot, self._token)
        _lent[slot].filled = True

    @property
    def in_progress(self) -> bool:
        """True until `done` was called."""
        return self._token is not None

    def done(self) -> None:
        """Note that all is lent. So does the end of a loan that an exception drops before this."""
        self._token = None
        # What was released before this call could not be taken back until now.
        early = not all(slot.cell.value for slot in self._slots)
        self._held = None
        self._slots.clear()
        if early or len(_lent) > Loan._sweep_above:
            Loan._sweep_above = 2 * len(_lent) + _FEW
            sweep_loans()

    @staticmethod
    def held_in(slot: int) -> object | None:
        """The object that a slot stands for; None if the slot is not in use.

        Args:
            slot: its address.
        """
        found = _lent.get(slot)
        return None if found is None else found.held

    @staticmethod
    def keep_while(in_use: Callable[[Any], bool], held: object) -> None:
        """Keep an object while a library uses its memory, if the library does not announce the end.

        Sweeps ask: one now if other objects are kept already, one of the main thread, which is
        scheduled here, and those of lending and of close().

        Args:
            in_use: `in_use(held)` is True while the library still uses it. It holds nothing of
                `held`, may be called by any thread, and calls no Python code that can sweep.
            held: the object. Its own finalizer may pass it.
        """
        _kept[id(held)] = held, in_use
        if len(_kept) > 1:
            sweep_loans()
        # Dropped with this frame: if a finalizer ends with this call, the sweep comes after all
        # else that is being dropped, such as the library's object that still uses the memory.
        _ = None if _ended else _Soon()

    def __enter__(self) -> Loan:
        return self

    def __exit__(self, *exc: object) -> None:
        self.done()


class _Slot:
    """A word that a C library clears, and what it stands for."""

    __slots__ = ("address", "cell", "filled", "held", "lender", "lending")

    def __init__(self, held: object, lender: Lender, loan: Loan) -> None:
        self.cell = c_uint64()
        self.address = ctypes.addressof(self.cell)
        self.held = held
        self.lender = lender
        self.lending = weakref.ref(loan)
        self.filled = False


_lent: dict[int, _Slot] = {}
_kept: dict[int, tuple[Any, Callable[[Any], bool]]] = {}
_abandoned: list[c_uint64] = []


def sweep_loans() -> None:
    """Drop everything that C libraries have given back. Any thread may call it at any time."""
    if not _lent and not _kept:
        return
    for address, slot in _lent.copy().items():
        if slot.cell.value:
            continue
        loan = slot.lending()
        # Asked once more: it may have been filled when the lending ended, just now.
        if (loan is not None and loan.in_progress) or slot.cell.value:
            continue
        if not slot.filled:
            _abandoned.append(slot.cell)
        _lent.pop(address, None)  # of this very slot, whose address is taken while it is here
    for key, (held, in_use) in _kept.copy().items():
        if not in_use(held):
            _kept.pop(key, None)


_ended: list[bool] = []


def _address(function: Any) -> int:
    return ctypes.cast(function, c_void_p).value or 0


_add_pending_call = ctypes.PyDLL(None)["Py_AddPendingCall"]
_add_pending_call.argtypes = (c_void_p, py_object)
# Turns any result into 0, even the -1 of a full queue, for which the next sweep makes up: Python
# takes any other result of a pending call for an exception.
_add_pending_call.restype = (0).__mul__

_due = UntracedCall(sweep_loans)
# Two pending calls follow each other. The library queues the first, _sweep_soon, and passes it an
# object of its own. So that one queues the second, which asks if _due is true, and that sweeps. An
# exception in there reaches the program; one in a callback of ctypes would be swallowed. So nothing
# of the callback is Python code, in which a signal handler could raise one.
_sweep_soon = CFUNCTYPE(c_int)(
    partial(_add_pending_call, _address(ctypes.pythonapi.PyObject_IsTrue), _due)
)

_NOTIFY = _address(_add_pending_call), _address(_sweep_soon)


class _Soon:
    """Schedules a sweep of the main thread when it is dropped, in C."""

    __slots__ = ()

    __del__ = bindable(partial(_add_pending_call, _NOTIFY[1]))


_never_dropped: list[OwnedPointer] = []

# C libraries refer to these for as long as the process lives.
for _held in (_lent, _abandoned, _never_dropped, _kept, _due, _sweep_soon):
    ctypes.pythonapi.Py_IncRef(py_object(_held))


@atexit.register
def _stop_notifying() -> None:
    sweep_loans()
    _ended.append(True)
    for slot in list(_lent.values()):
        if slot.cell.value:
            token = slot.lender.new_token(None)
            _never_dropped.append(token)
            # One store: a thread that releases the object meanwhile uses the old token or the new.
            slot.cell.value = token.address
