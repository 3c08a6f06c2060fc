# SPDX-License-Identifier: Apache-2.0
"""Calls in a thread of their own, and what ends the wait for them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from typing import NoReturn

import pytest

from samebytes.plugins import Aside


def test_what_is_returned_and_raised() -> None:
    aside = Aside("aside")
    threads = {aside.call(threading.get_ident) for _ in range(3)}
    assert len(threads) == 1
    assert threading.get_ident() not in threads

    def fails() -> NoReturn:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        aside.call(fails)
    assert aside.call(lambda: 5) == 5
    aside.close()
    assert not aside.left


@pytest.mark.parametrize("early", [False, True])
def test_interrupt_wakes_the_call(early: bool) -> None:
    woken = threading.Event()
    aside = Aside("aside", wake=woken.set)
    if early:
        aside.interrupt()
        assert aside.call(lambda: woken.wait(20)) is True
    else:
        interrupt = threading.Timer(0.05, aside.interrupt)
        interrupt.start()
        assert aside.call(lambda: woken.wait(20)) is True
        interrupt.join()
    assert not aside.left
    aside.close()


def test_calls_after_one_that_was_interrupted_and_returned_are_woken_too() -> None:
    # As of a camera: it answers while the program stops, and is silent then.
    begun, woken = threading.Event(), threading.Event()
    aside = Aside("aside", wake=woken.set)

    def connects() -> bool:
        begun.set()
        return woken.wait(20)

    def stops() -> None:
        begun.wait(20)
        aside.interrupt()

    interrupt = threading.Thread(target=stops)
    interrupt.start()

    assert aside.call(connects) is True
    interrupt.join()
    woken.clear()
    assert aside.call(lambda: woken.wait(20)) is True
    assert not aside.left
    aside.close()


def test_a_call_that_does_not_return_is_given_up_and_left() -> None:
    go, closed = threading.Event(), threading.Event()
    aside = Aside("aside", leave=closed.set)
    aside.interrupt()
    with pytest.raises(Aside.GivenUpError):
        aside.call(go.wait)
    assert aside.left
    with pytest.raises(Aside.GivenUpError):
        aside.call(go.wait)
    aside.close()
    assert not closed.is_set()
    go.set()
    assert closed.wait(10)


@pytest.mark.usefixtures("default_signals")
@pytest.mark.parametrize("returns", [False, True])
def test_ctrl_c_ends_the_wait(returns: bool) -> None:
    go = threading.Event()
    aside = Aside("aside", wake=go.set if returns else lambda: None)
    timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        aside.call(lambda: go.wait(20))
    timer.join()
    assert aside.left is not returns
    go.set()
    aside.close()


def test_when_the_interpreter_ends_calls_are_made_here(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(thread: threading.Thread) -> NoReturn:
        raise RuntimeError(f"cannot start {thread.name} at interpreter shutdown")

    monkeypatch.setattr(threading.Thread, "start", refused)
    aside = Aside("aside")
    assert aside.call(threading.get_ident) == threading.get_ident()
    aside.close()


_ENDS = """
import threading
from samebytes.plugins import Aside

def used():
    aside = Aside("aside")
    aside.call(int)
    try:
        yield
    finally:
        for each in (aside, Aside("late")):
            print(each.call(threading.current_thread) is threading.main_thread())
            each.close()

unfinished = used()
next(unfinished)
"""


def test_what_ends_with_the_interpreter_waits_for_no_thread() -> None:
    """As a generator in a module does, whose `with` block closes a connection: threads are gone."""
    done = subprocess.run(
        [sys.executable, "-c", _ENDS], capture_output=True, text=True, check=True, timeout=60
    )
    assert (done.stdout, done.stderr) == ("True\nTrue\n", "")


def test_its_thread_ends_with_it() -> None:
    aside = Aside("aside that is dropped")
    (thread,) = (one for one in threading.enumerate() if one.name == "aside that is dropped")
    del aside
    thread.join(10)
    assert not thread.is_alive()


def test_an_interrupted_start_leaves_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[threading.Thread] = []
    start = threading.Thread.start

    def then_interrupted(self: threading.Thread) -> None:
        start(self)
        started.append(self)
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", then_interrupted)
    with pytest.raises(KeyboardInterrupt):
        Aside("test")
    monkeypatch.undo()
    (thread,) = started
    thread.join(20)
    assert not thread.is_alive()
