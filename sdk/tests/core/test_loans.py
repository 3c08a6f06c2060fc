# SPDX-License-Identifier: Apache-2.0
"""Memory lent to a C library, here one that is made of a slot's address and a flag."""

from __future__ import annotations

import ctypes
import gc
import os
import subprocess
import sys
import weakref
from collections.abc import Callable
from ctypes import c_int, c_uint64, c_void_p
from functools import partial
from operator import call
from threading import Event, Thread
from typing import Any

import pytest

from samebytes.plugins import Lender, Loan, OwnedPointer, sweep_loans, untrack
from samebytes.testing import assert_steady

_libc = ctypes.CDLL(None)


class Held:
    """An object that is lent."""


def _token(_: tuple[int, int] | None) -> OwnedPointer:
    return OwnedPointer(0x1000)


def _fill(slot: int, token: OwnedPointer) -> None:
    c_uint64.from_address(slot).value = token.address


def _clear(slot: int) -> None:
    """Clear a slot, as the C library would."""
    c_uint64.from_address(slot).value = 0


@pytest.fixture
def lender() -> Lender:
    return Lender(0, _token, _fill)


def _lend(lender: Lender, held: object, count: int = 1) -> list[int]:
    with Loan(lender, held) as loan:
        slots = [loan.slot() for _ in range(count)]
        for slot in slots:
            loan.fill(slot)
    return slots


def test_what_is_lent_lives_until_all_its_slots_are_cleared(lender: Lender) -> None:
    held = Held()
    alive = weakref.ref(held)
    first, second = _lend(lender, held, 2)
    assert Loan.held_in(first) is held
    del held
    assert lender.count() == 2
    _clear(first)
    sweep_loans()
    assert alive() is not None
    _clear(second)
    sweep_loans()
    assert alive() is None
    assert lender.count() == 0
    assert Loan.held_in(first) is None


def test_a_release_before_the_lending_ends_is_noticed_at_its_end(lender: Lender) -> None:
    held = Held()
    alive = weakref.ref(held)
    with Loan(lender, held) as loan:
        slot = loan.slot()
        loan.fill(slot)
        _clear(slot)
        del held
        sweep_loans()
        assert alive() is not None
    assert alive() is None


def test_a_lending_that_fails_leaves_nothing(lender: Lender) -> None:
    held = Held()
    alive = weakref.ref(held)

    def fail(held: Held) -> None:
        with Loan(lender, held) as loan:
            loan.slot()
            raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011 - raised above
        fail(held)
    del held
    assert lender.count() == 0
    assert alive() is None


def test_many_slots(lender: Lender) -> None:
    lent = [_lend(lender, Held())[0] for _ in range(700)]
    assert len(set(lent)) == 700
    assert lender.count() == 700
    for slot in lent:
        _clear(slot)
    assert lender.count() == 0


def test_slots_that_were_cleared_take_no_memory(lender: Lender) -> None:
    def lend_once() -> None:
        _clear(_lend(lender, Held())[0])
        assert lender.count() == 0

    assert_steady(lend_once, 2_000)


def test_a_slot_that_was_never_filled_may_be_cleared_later(lender: Lender) -> None:
    with Loan(lender, Held()) as loan:
        unfilled = [loan.slot() for _ in range(100)]
    assert lender.count() == 0
    others = [lent for _ in range(1000) for lent in _lend(lender, Held())]
    assert not {*unfilled} & {*others}, "their memory is another's"
    for lent in unfilled + others:
        _clear(lent)
    assert lender.count() == 0


def test_threads_that_sweep_at_once(lender: Lender) -> None:
    """Each drops what it finds; a slot at the address of one that is gone is not taken for it."""
    stop = Event()
    sweepers = [Thread(target=_sweep_until, args=(stop,)) for _ in range(3)]
    for sweeper in sweepers:
        sweeper.start()
    kept = Held()
    lasting = [_lend(lender, kept)[0] for _ in range(20)]
    try:
        for _ in range(3000):
            held = Held()
            alive = weakref.ref(held)
            (slot,) = _lend(lender, held)
            assert Loan.held_in(slot) is held
            _clear(slot)
            del held
            sweep_loans()
    finally:
        stop.set()
        for sweeper in sweepers:
            sweeper.join()
    assert alive() is None
    assert all(Loan.held_in(slot) is kept for slot in lasting)
    for slot in lasting:
        _clear(slot)
    assert lender.count() == 0


def _sweep_until(stop: Event) -> None:
    while not stop.is_set():
        sweep_loans()


def test_a_release_asks_the_main_thread_to_sweep(lender: Lender) -> None:
    held = Held()
    alive = weakref.ref(held)
    (slot,) = _lend(lender, held)
    del held
    _clear(slot)
    _notify()
    for _ in range(100):  # pending calls run between instructions
        if alive() is None:
            break
    assert alive() is None


def test_an_exception_in_that_sweep_reaches_the_program() -> None:
    def in_use(_: object) -> bool:
        if raises:
            raise raises.pop()
        return not ended

    raises, ended = list[KeyboardInterrupt](), list[bool]()
    Loan.keep_while(in_use, Held())
    _go_on()
    raises.append(KeyboardInterrupt("of the sweep"))
    with pytest.raises(KeyboardInterrupt, match="of the sweep"):
        _notify_and_go_on()
    ended.append(True)
    sweep_loans()


def _notify_and_go_on() -> None:
    _notify()
    _go_on()


def _go_on() -> None:
    for _ in range(100):  # pending calls run between instructions
        pass


def _notify() -> None:
    """Do what a token does when its last reference is dropped."""
    assert _notification()() == 0


def _notification() -> Callable[[], int]:
    """The function that a library is to call, with its first argument and one of its own."""
    passed: list[tuple[int, int]] = []

    def token(notify: tuple[int, int] | None) -> OwnedPointer:
        assert notify is not None
        passed.append(notify)
        return _token(None)

    Loan(Lender(0, token, _fill), Held()).done()
    function, argument = passed[0]
    return partial(ctypes.PYFUNCTYPE(c_int, c_void_p, c_void_p)(function), argument, 0x77)


def test_more_releases_than_the_queue_of_python_has_room_for(lender: Lender) -> None:
    slots = _lend(lender, Held(), 1000)
    for slot in slots:
        _clear(slot)
    # No Python in between, so that nothing is taken from the queue.
    results = set(map(call, [_notification()] * 1000))
    assert results == {0, -1}
    for _ in range(100):  # pending calls run between instructions
        pass
    assert not [slot for slot in slots if Loan.held_in(slot)]


_WATCHED = """
import cProfile, ctypes, gc, os, random, signal, sys, threading
from functools import partial
from operator import call
from samebytes.plugins import Lender, Loan, OwnedPointer, sweep_loans

signal.alarm(20)
passed = []
Loan(Lender(0, lambda notify: passed.append(notify) or OwnedPointer(1), None), None).done()
(function, argument), = passed
notify = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(function)

class Held:
    pass

def several_at_once():
    set(map(call, [partial(notify, argument, 0x77)] * 5))

def sweeps():
    for _ in range(3):
        swept = []
        held = Held()
        Loan.keep_while(lambda _: bool(swept.append(1)), held)
        several_at_once()
        del held
        for _ in range(100):
            pass
        assert swept

def watched():
    profile = cProfile.Profile()
    profile.enable()
    sweeps()
    profile.disable()
    names = {entry.code.co_name for entry in profile.getstats() if hasattr(entry.code, "co_name")}
    assert "sweeps" in names, names
    traced = []
    sys.settrace(lambda frame, *_: traced.append(frame.f_code.co_name))
    sweeps()
    sys.settrace(None)
    assert "sweeps" in traced and "several_at_once" in traced, traced

def fork():
    # Calls are queued in the child while its functions of os.register_at_fork run.
    profile = cProfile.Profile()
    profile.enable()
    several_at_once()
    child = os.fork()
    profile.disable()
    if child:
        ends.append(os.waitpid(child, 0)[1])
        return
    signal.alarm(20)
    ended = 1
    try:
        ran = []
        pending = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(lambda _: ran.append(1) or 0)
        ctypes.pythonapi.Py_AddPendingCall(pending, None)
        for _ in range(100):
            pass
        # CPython 3.13.0 runs none in a child that another thread than the main one has forked.
        if ran or sys.version_info[:2] != (3, 13):
            watched()
        ended = 0
    finally:
        os._exit(ended)

def raised():
    # As by a signal handler, in the sweep or just before it.
    armed, ended = [], []
    def raises(_):
        if armed:
            raise KeyboardInterrupt
        return not ended
    Loan.keep_while(raises, Held())
    for _ in range(100):
        pass
    armed.append(True)
    kept = None
    try:
        several_at_once()
        for _ in range(100):
            pass
    except KeyboardInterrupt as error:
        kept = error
    assert kept, "nothing was raised"
    armed.clear()
    ended.append(True)
    sweep_loans()
    watched()

watched()
gc.callbacks.append(lambda *_: None)  # as JAX and hypothesis do
gc.set_threshold(1)
watched()
gc.set_threshold(700)
assert gc.isenabled()
gc.disable()
sweeps()
assert not gc.isenabled()
gc.enable()
ends = []
forking = threading.Thread(target=fork)  # in the child it is the main thread
forking.start()
while forking.is_alive():
    signal.sigtimedwait([], 0.01)  # the queue waits for the main thread
forking.join()
assert ends == [0], ends
raised()
"""


def test_a_thread_that_is_profiled_or_traced_sweeps_too() -> None:
    """CPython 3.11 would hang, were the sweep called as other Python code is."""
    ran = subprocess.run(
        [sys.executable, "-c", _WATCHED], capture_output=True, text=True, check=False, timeout=60
    )
    assert ran.returncode == 0, ran.stderr


def test_a_child_can_sweep_that_was_forked_while_something_is_lent(lender: Lender) -> None:
    (slot,) = _lend(lender, Held())
    child = os.fork()
    if not child:
        _clear(slot)
        os._exit(lender.count())
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    _clear(slot)
    assert lender.count() == 0


class TestOwnedPointers:
    def test_dropping_one_frees_what_it_points_to(self) -> None:
        kind = OwnedPointer.freed_by(_counting(), "Blocks")
        strdup = _libc["strdup"]
        strdup.restype, strdup.argtypes = kind, (ctypes.c_char_p,)
        _freed.clear()
        made = strdup(b"text")
        address = made.address
        assert address
        del made
        assert _freed == [address]

    @pytest.mark.parametrize("first", ["pointer", "user"])
    def test_in_a_cycle_it_is_freed_after_those_who_use_it(self, first: str) -> None:
        class User:
            pointer: OwnedPointer
            itself: User

            def __del__(self) -> None:
                seen.append(self.pointer.address)

        def make() -> None:
            user = User() if first == "user" else None
            pointer = OwnedPointer.freed_by(_counting(), "Blocks")(0x1234)
            untrack(pointer)
            user = user or User()
            user.pointer, user.itself = pointer, user

        seen: list[int] = []
        _freed.clear()
        make()
        gc.collect()
        assert seen == [0x1234]
        assert _freed == [0x1234]


_freed: list[int] = []


@ctypes.CFUNCTYPE(None, c_void_p)  # type: ignore[untyped-decorator]  # ctypes has no types here
def _free(place: int) -> None:
    pointer = c_void_p.from_address(place)
    _freed.append(pointer.value or 0)
    pointer.value = None


def _counting() -> Any:
    """A new function object on the same C function."""
    return ctypes.CFUNCTYPE(None, c_void_p)(ctypes.cast(_free, c_void_p).value or 0)


def test_what_is_kept_goes_when_it_is_not_used() -> None:
    used = [Held(), Held()]
    alive = [weakref.ref(held) for held in used]
    users = {id(held) for held in used}
    for held in used:
        Loan.keep_while(lambda thing: id(thing) in users, held)
    numbers = list(map(id, used))
    used.clear()
    del held
    sweep_loans()
    assert all(ref() is not None for ref in alive)
    users.discard(numbers[0])
    sweep_loans()
    assert [ref() is None for ref in alive] == [True, False]
    users.clear()
    sweep_loans()
    assert alive[1]() is None
