# SPDX-License-Identifier: Apache-2.0
"""deferred(): real signals, with other threads running that the kernel may give them to."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from samebytes.plugins import deferred

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")

ROUNDS = 300


@pytest.fixture(autouse=True)
def others() -> Iterator[None]:
    """Threads that run Python, and take signals as well as the main thread does."""
    over = threading.Event()

    def run() -> None:
        while not over.wait(0.0005):
            sum(range(100))

    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    yield
    over.set()
    for thread in threads:
        thread.join(10)


@pytest.fixture
def install() -> Iterator[Callable[[int, Any], None]]:
    """`install(number, handler)`, and afterwards the handlers that were there before."""
    before: dict[int, Any] = {}

    def install(number: int, handler: Any) -> None:
        before.setdefault(number, signal.signal(number, handler))

    yield install
    for number, handler in before.items():
        signal.signal(number, handler)


def arrive(count: int, seen: Callable[[], int]) -> None:
    """Return when so many signals were handled, which Python does between two instructions."""
    deadline = time.monotonic() + 10
    while seen() < count and time.monotonic() < deadline:
        time.sleep(0)


def test_a_handler_runs_at_the_end(install: Callable[[int, Any], None]) -> None:
    came: list[int] = []
    install(signal.SIGUSR1, lambda number, _: came.append(number))
    with deferred():
        os.kill(os.getpid(), signal.SIGUSR1)
        for _ in range(1000):
            assert not came
    arrive(1, lambda: len(came))
    assert came == [signal.SIGUSR1]


@pytest.mark.usefixtures("default_signals")
def test_ctrl_c_leaves_a_section_whole(install: Callable[[int, Any], None]) -> None:
    """At whatever instruction it comes: two steps of a section are both done or both not."""
    done = [0, 0]
    raised = 0

    def attempt() -> None:
        with deferred():
            done[0] += 1
            sum(range(50))
            done[1] += 1

    def handler(_: int, frame: Any) -> None:
        while frame is not None:
            if frame.f_code is attempt.__code__:
                raise KeyboardInterrupt
            frame = frame.f_back

    install(signal.SIGINT, handler)
    over = threading.Event()

    def send() -> None:
        for _ in range(ROUNDS):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.0007)
        over.set()

    sender = threading.Thread(target=send)
    sender.start()
    while not over.is_set():
        try:
            attempt()
        except KeyboardInterrupt:
            raised += 1
        assert done[0] == done[1]
        assert signal.getsignal(signal.SIGINT) is handler
    sender.join(10)
    assert raised > ROUNDS // 10


def test_a_handler_that_is_installed_in_a_section_may_call_the_one_before_it(
    install: Callable[[int, Any], None],
) -> None:
    """As that of a framework may which is imported there."""
    came: list[str] = []
    install(signal.SIGUSR1, lambda *_: came.append("before"))

    def chained(number: int, frame: Any) -> None:
        came.append("framework")
        previous(number, frame)

    with deferred():
        previous: Any = signal.signal(signal.SIGUSR1, chained)
    signal.raise_signal(signal.SIGUSR1)
    arrive(2, lambda: len(came))
    assert came == ["framework", "before"]


def test_all_handlers_run_though_each_raises(install: Callable[[int, Any], None]) -> None:
    came: list[int] = []

    def handler(number: int, _: object) -> None:
        came.append(number)
        raise InterruptedError(number)

    numbers = [signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM]
    for number in numbers:
        install(number, handler)

    def section() -> None:
        with deferred():
            for number in numbers:
                signal.raise_signal(number)

    with pytest.raises(InterruptedError):
        section()
    assert sorted(came) == sorted(numbers)
    assert all(signal.getsignal(number) is handler for number in numbers)


def test_all_handlers_come_back_though_one_raises_meanwhile(
    install: Callable[[int, Any], None],
) -> None:
    """A signal came just when its own handler was back, and before the others were."""
    handlers: dict[int, Any] = {}
    for number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGTERM):
        handlers[number] = lambda *_: None
        install(number, handlers[number])
    over = False

    def interrupts(_: object, event: str, called: Any) -> None:
        nonlocal over
        if event == "c_return" and called.__name__ == "signal":
            back = [number for number in handlers if signal.getsignal(number) == handlers[number]]
            if back == [signal.SIGUSR1]:
                over = True
                raise KeyboardInterrupt  # which ends the profiling, too

    before = sys.getprofile()
    try:
        with pytest.raises(KeyboardInterrupt), deferred():
            sys.setprofile(interrupts)
    finally:
        sys.setprofile(before)
    assert over
    assert {number: signal.getsignal(number) for number in handlers} == handlers


def test_an_error_of_the_section_is_not_lost(install: Callable[[int, Any], None]) -> None:
    def handler(*_: object) -> None:
        raise InterruptedError

    install(signal.SIGUSR1, handler)

    def section() -> None:
        with deferred():
            signal.raise_signal(signal.SIGUSR1)
            raise ValueError("of the section")

    with pytest.raises(InterruptedError) as caught:
        section()
    assert isinstance(caught.value.__context__, ValueError)


def test_sections_in_sections(install: Callable[[int, Any], None]) -> None:
    came: list[int] = []
    install(signal.SIGUSR1, lambda number, _: came.append(number))
    with deferred():
        with deferred():
            signal.raise_signal(signal.SIGUSR1)
        assert not came
    assert len(came) == 1


def test_a_handler_that_the_section_installs_stays(install: Callable[[int, Any], None]) -> None:
    came: list[str] = []
    install(signal.SIGUSR1, lambda *_: came.append("old"))
    with deferred():
        signal.raise_signal(signal.SIGUSR1)
        signal.signal(signal.SIGUSR1, lambda *_: came.append("new"))
    assert came == ["new"]


def test_what_python_does_not_handle_is_left_alone(install: Callable[[int, Any], None]) -> None:
    install(signal.SIGUSR1, signal.SIG_IGN)
    with deferred():
        assert signal.getsignal(signal.SIGUSR1) is signal.SIG_IGN


def test_in_another_thread_nothing_is_replaced(install: Callable[[int, Any], None]) -> None:
    install(signal.SIGUSR1, lambda *_: None)
    before = signal.getsignal(signal.SIGUSR1)
    seen: list[Any] = []

    def run() -> None:
        with deferred():
            seen.append(signal.getsignal(signal.SIGUSR1))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(10)
    assert seen == [before]
