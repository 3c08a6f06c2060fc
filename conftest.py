# SPDX-License-Identifier: Apache-2.0
"""Settings and fixtures of every run of pytest here."""

from __future__ import annotations

import ctypes
import gc
import os
import signal
import sys
import time
from collections.abc import Callable, Generator, Iterator

import hypothesis
import pytest

# Tests measure no times. A busy machine, or the first use of a framework, may take long.
hypothesis.settings.register_profile(
    "untimed", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("untimed")

# `import openvino` reports each use to Google Analytics from a child process, except in CI, which
# it recognises by this variable among others. Tests talk only to this machine. The other variables
# ("CI") would make pytest and hypothesis do less.
os.environ["JENKINS_URL"] = os.environ.get("JENKINS_URL") or "http://localhost/"


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Switch the garbage collector off meanwhile: it would find nothing in thousands of tests."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    """Make the garbage collector ignore objects that live until the end of the run.

    Tests of lifetimes and leaks collect thousands of times. With the tests of all distributions
    loaded, each collection takes longer than such a test.
    """
    _pass_over_what_lives()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(
    item: pytest.Item, nextitem: pytest.Item | None
) -> Generator[None, object, object]:
    """Do so again after each file: the objects that pytest keeps for its tests add up, too."""
    result = yield
    if nextitem is None or nextitem.path != item.path:
        _pass_over_what_lives()
    return result


def _pass_over_what_lives() -> None:
    gc.collect()
    gc.freeze()


_libc = ctypes.CDLL(None)


class _Stack(ctypes.Structure):
    """stack_t of signal.h."""

    _fields_ = (("sp", ctypes.c_void_p), ("flags", ctypes.c_int), ("size", ctypes.c_size_t))


def _leave_the_alternate_stack() -> None:
    """Make signal handlers of this thread run on its own stack.

    OpenVINO's CPU plugin sets an alternate stack for each of its models and then restores the
    previous one, which is freed memory if models do not end in the order of a stack. Python's
    handlers run there: the next signal ends the process with SIGSEGV, and so does a real fault,
    before faulthandler can show where it was.
    """
    if sys.platform != "linux":
        return
    disabled = 2  # SS_DISABLE, bits/ss_flags.h
    _libc.sigaltstack(ctypes.byref(_Stack(None, disabled, 0)), None)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Keep tests from inheriting a stack for signals that an earlier test left behind."""
    _leave_the_alternate_stack()


@pytest.fixture
def default_signals() -> Iterator[None]:
    """Make signals end a process, whatever the run of pytest inherited.

    Processes that a shell starts in the background ignore SIGINT, and those started by nohup
    SIGHUP; so do all processes that tests then start. Tests that send signals use this fixture.
    Others leave the caller's choice alone.
    """
    # default_int_handler is a handler, so processes that a test starts have the default again.
    wanted = dict.fromkeys((signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM), signal.SIG_DFL)
    before = {number: signal.signal(number, handler) for number, handler in wanted.items()}
    before[signal.SIGINT] = signal.signal(signal.SIGINT, signal.default_int_handler)
    _leave_the_alternate_stack()
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def switching_often() -> Iterator[None]:
    """Make threads take turns a thousand times as often as usual."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(5e-6)
    yield
    sys.setswitchinterval(usual)


@pytest.fixture
def alarms(default_signals: None) -> Iterator[list[str]]:  # noqa: ARG001 - in force before
    """Make SIGALRM raise KeyboardInterrupt, as SIGINT does; return what the interpreter reports.

    The interpreter only reports exceptions that a handler raises in a finalizer. Cycles that other
    tests left are finalized before, so that none is finalized meanwhile.

    Linux delivers a few of the signals to threads of C libraries. CPython 3.11 looks for those when
    the main thread next takes the interpreter, for example after a sleep.
    """
    lost: list[str] = []

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    def report(ignored: sys.UnraisableHookArgs) -> None:
        lost.append(f"{ignored.exc_type.__name__} in {type(ignored.object).__name__}")  # text only

    gc.collect()
    gc.disable()
    hook, sys.unraisablehook = sys.unraisablehook, report
    before = signal.signal(signal.SIGALRM, interrupt)
    yield lost
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)
    sys.unraisablehook = hook
    gc.enable()


@pytest.fixture
def strike(alarms: list[str]) -> Callable[[Callable[[], object]], None]:
    """Call something again and again, and interrupt it 1,000 times as Ctrl-C does."""

    # A separate function: CPython 3.13 does not look for the handler of an exception that is
    # raised where a loop jumps back.
    def call_until_struck(call: Callable[[], object]) -> None:
        until = time.monotonic() + 10
        while time.monotonic() < until:
            call()
            time.sleep(0)  # for a signal that another thread received

    def repeat(call: Callable[[], object]) -> None:
        call()  # makes its imports: an import may lose the exception
        for number in range(1000):
            try:
                # A different interval each time, so that the signal comes at a different place.
                signal.setitimer(signal.ITIMER_REAL, 1e-5 + number * 1e-6)
                call_until_struck(call)
            except KeyboardInterrupt:
                continue
            pytest.fail(f"the handler's exception did not reach the caller: {alarms}")
        assert not alarms, alarms

    return repeat
