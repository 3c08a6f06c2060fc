# SPDX-License-Identifier: Apache-2.0
"""Locks: reentrant, and free in a forked child whatever the threads of its parent were doing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from samebytes.plugins import KeyLocks, Lock

CHILDREN = int(os.environ.get("SAMEBYTES_FORKED_CHILDREN", "40"))
FINALIZERS = 200
PATIENCE = 60.0 + 5 * CHILDREN
"""Seconds: more than a machine takes whose cores are busy with other work; usually one or two."""

needs_fork = pytest.mark.skipif(
    not hasattr(os, "fork"), reason="no fork() here: run it on Linux or macOS"
)

# Threads use what has locks, and this one forks: each child must be able to use it, too.
FORKING = """
import os, signal, sys, threading, time
import numpy as np
import samebytes as sb
from samebytes import Context, Device
from samebytes.plugins import ContextRegistry, KeyLocks

padded = sb.tensor(np.zeros((8, 16), np.uint8)[:, :8])
registry, locks = ContextRegistry(), KeyLocks()
numbers, refreshes = iter(range(10**9)), iter(range(10**9))

class Chip(Context):
    memory_type = node = "chip"

def use():
    sb.context("cpu")
    padded.map("cpu")
    np.array(padded)  # a counted copy
    sb.stats()
    number = next(numbers) % 3
    registry.find_or_make(number, lambda: Chip(Device("CHIP"), handles={"cl_context": number}))
    with locks.of(number):
        sb.route("cpu", "cpu")
    if number == 0:
        sb.context("cpu").forget_routes()
    if next(refreshes) % 50 == 0:
        sb.refresh()  # the next one to need them finds the plugins again

use()
stop = False

def work():
    while not stop:
        use()

for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
sys.setswitchinterval(1e-5)
for number in range(int(sys.argv[1])):
    child = os.fork()
    if not child:
        signal.alarm(20)  # one that hangs ends by this signal
        use()
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert not status, f"child {number} ended with {status}"
stop = True
print("done")
"""

# What only the parent may release, returned by the function: also when a child ends as usual.
LEFT_TO_THE_PARENT = """
import os
from samebytes.plugins import in_forked_child

class Thing:
    # Defaults: the names of modules are None when the interpreter ends.
    def __del__(self, write=os.write, getpid=os.getpid, parent=os.getpid()):
        write(1, b"parent" if getpid() == parent else b"child")

things = [Thing()]

def leave():
    left = list(things)
    things.clear()
    return left

in_forked_child(leave)
if child := os.fork():
    _, status = os.waitpid(child, 0)
    assert not status, status
    things.clear()
"""

# Finalizers of garbage look contexts up and copy, in the middle of whatever allocates.
COLLECTING = """
import gc, sys, threading
import numpy as np
import samebytes as sb
from samebytes import Context, Device
from samebytes.plugins import intern

padded = sb.tensor(np.zeros((8, 16), np.uint8)[:, :8])
ran = 0

class Garbage:
    def __init__(self):
        self.cycle = self
    def __del__(self):
        global ran
        ran += 1
        sb.context("cpu")
        np.array(padded)  # a counted copy
        sb.stats()
        intern(Mine(Device("X", str(ran % 7))))

class Mine(Context):
    memory_type = node = "mine"

wanted = int(sys.argv[1])
sb.context("cpu")  # plugins are loaded
sb.reset_stats()
gc.set_threshold(20)
kept = []
number = 0
while ran < wanted:
    Garbage()
    number += 1
    kept.append(intern(Mine(Device("X", str(number % 50)))))
    sb.context("cpu")
    padded.map("cpu").close()
    if len(kept) > 30:
        kept.clear()
gc.set_threshold(0)
count = sb.stats().copies
assert count == ran, (count, ran)
print("done")
"""


def run(code: str, number: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", code, str(number)],
        capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


@needs_fork
@pytest.mark.usefixtures("default_signals")
def test_children_forked_while_threads_are_at_work() -> None:
    run(FORKING, CHILDREN)


@needs_fork
def test_a_child_never_drops_what_a_function_returns() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LEFT_TO_THE_PARENT],
        capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "parent"), done.stderr


def test_finalizers_run_in_the_middle_of_everything() -> None:
    run(COLLECTING, FINALIZERS)


def test_a_lock_is_reentrant_and_belongs_to_a_thread() -> None:
    lock = Lock()
    taken: list[bool] = []
    with lock, lock:
        other = threading.Thread(target=lambda: taken.append(lock.acquire(blocking=False)))
        other.start()
        other.join()
    assert taken == [False]


def in_child() -> int:
    """os.fork(), whose child ends within seconds."""
    child = os.fork()
    if not child:
        signal.alarm(10)
    return child


@needs_fork
@pytest.mark.usefixtures("default_signals")
def test_every_lock_of_the_process_is_free_in_a_child() -> None:
    """Also those that other threads hold."""
    keys = KeyLocks()
    every = [*(Lock() for _ in range(20)), keys.of("key")]
    holding, done = threading.Event(), threading.Event()

    def hold() -> None:
        for one in every:
            one.acquire()
        holding.set()
        done.wait(30)
        for one in every:
            one.release()

    holder = threading.Thread(target=hold)
    holder.start()
    assert holding.wait(10)
    child = in_child()
    if not child:
        os._exit(sum(not one.acquire(timeout=0.1) for one in every))
    _, status = os.waitpid(child, 0)
    assert not every[0].acquire(blocking=False), "the parent's are as they were"
    done.set()
    holder.join()
    assert status == 0


@needs_fork
@pytest.mark.usefixtures("default_signals")
def test_a_lock_of_the_thread_that_forks_stays_its_own() -> None:
    lock = Lock()
    with lock:
        child = in_child()
        held = lock._is_owned()  # type: ignore[attr-defined]  # not in typeshed
    if not child:
        os._exit(not held)
    _, status = os.waitpid(child, 0)
    assert status == 0


def test_a_key_waits_for_its_own_lock_alone() -> None:
    keys = KeyLocks()
    inside, done = threading.Event(), threading.Event()

    def hold() -> None:
        with keys.of("a"):
            inside.set()
            done.wait(30)

    holder = threading.Thread(target=hold)
    holder.start()
    assert inside.wait(10)
    assert not keys.of("a").acquire(blocking=False)
    with keys.of("b"):
        pass
    done.set()
    holder.join()
    with keys.of("a"):
        pass
    deadline = time.monotonic() + 10
    while len(keys._locks) and time.monotonic() < deadline:  # the frame of the thread goes first
        time.sleep(0.01)
    assert not len(keys._locks), "locks that nobody uses are kept"
