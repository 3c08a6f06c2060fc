# SPDX-License-Identifier: Apache-2.0
"""Storage: released once, with its last holder, or at exit if it asks for that."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import weakref
from functools import partial
from itertools import count
from types import FrameType
from typing import Any

import numpy as np
import pytest

import samebytes as sb
from samebytes import CpuTensor, Storage
from samebytes.plugins import joint_owner
from samebytes.testing import living_objects

OWNERS = Storage.__del__.__code__.co_filename


def test_released_once_with_the_last_holder() -> None:
    released: list[int] = []
    bytes_ = np.zeros(64, np.uint8)
    address = bytes_.__array_interface__["data"][0]
    storage = Storage(lambda: released.append(1), address=address, nbytes=64)
    view = np.asarray(storage)[3:9]
    del storage
    assert released == []
    view[0] = 7
    assert bytes_[3] == 7
    del view
    assert released == [1]


def test_keep_holds_the_outer_storage() -> None:
    order: list[str] = []
    outer = Storage(lambda: order.append("outer"))
    inner = Storage(lambda: order.append("inner"), keep=outer)
    del outer
    assert order == []
    del inner
    assert order == ["inner", "outer"]


def test_holds_lives_as_long_and_is_not_what_the_memory_lies_in() -> None:
    order: list[str] = []
    shared = Storage(lambda: order.append("shared"), flush=lambda: order.append("flush"))
    mappings = [Storage(holds=shared), Storage(holds=shared)]
    del shared
    assert [storage.keep for storage in mappings] == [None, None]
    for mapping in mappings:
        CpuTensor.borrowed(np.zeros(1), sb.context("cpu"), keep=mapping).flush()
    del mapping
    assert "owned" in repr(mappings.pop())
    assert order == []
    mappings.pop()
    assert order == ["shared"]


def test_readonly_memory_makes_readonly_arrays() -> None:
    bytes_ = np.zeros(8, np.uint8)
    storage = Storage(
        address=bytes_.__array_interface__["data"][0], nbytes=8, keep=bytes_, readonly=True
    )
    array = np.asarray(storage)
    assert not array.flags.writeable
    with pytest.raises(ValueError, match="cannot set WRITEABLE"):
        array.flags.writeable = True


def test_last_holder_may_be_in_another_thread() -> None:
    released: list[int] = []
    holders = [Storage(lambda: released.append(threading.get_ident()))]
    thread = threading.Thread(target=holders.clear)
    thread.start()
    thread.join()
    assert released == [thread.ident]


def test_exit_releases_the_living_that_ask_for_it_newest_first() -> None:
    code = """
import os
from samebytes import Storage
a = Storage(lambda: os.write(1, b"first "), at_exit=True)
b = Storage(lambda: os.write(1, b"second "), at_exit=True)
c = Storage(lambda: os.write(1, b"early "), at_exit=True)
del c
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "early second first "
    assert done.stderr == ""


def test_handlers_registered_after_the_import_run_before_the_release() -> None:
    code = """
import atexit, os
atexit.register(lambda: os.write(1, b"earlier "))
from samebytes import Storage
atexit.register(lambda: os.write(1, b"later "))
a = Storage(lambda: os.write(1, b"released "), at_exit=True)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "later released earlier "


def test_what_was_released_is_not_remembered_for_the_exit() -> None:
    def in_a_cycle() -> None:
        storage = Storage(lambda: None, at_exit=True)
        storage.keep = [storage]  # its release comes later

    for make in (lambda: Storage(lambda: None, at_exit=True), in_a_cycle):
        gc.collect()
        before = len(living_objects(weakref.ref))
        for _ in range(100):
            make()
        for _ in range(3):
            gc.collect()
        assert len(living_objects(weakref.ref)) < before + 50


def test_a_forked_child_leaves_a_drivers_memory_to_its_parent() -> None:
    code = """
import os
from samebytes import Storage
a = Storage(lambda: os.write(1, b"released "), at_exit=True)
b = Storage(lambda: os.write(1, b"plain "))
child = os.fork()
if child:
    os.waitpid(child, 0)
del a, b
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "plain released plain "
    assert done.stderr == ""


def test_a_forked_child_keeps_what_a_release_holds() -> None:
    code = """
import os
from samebytes import Storage

class Segment:
    def unmap(self): os.write(1, b"released ")
    def __del__(self): os.write(1, b"unmapped ")

a = Storage(Segment().unmap, at_exit=True)
if child := os.fork():
    os.waitpid(child, 0)
    os.write(1, b"parent ")
else:
    os.write(1, b"child ")
del a
os._exit(0)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "child unmapped parent released unmapped "


def test_exit_with_living_arrays_is_clean() -> None:
    code = """
import numpy as np, samebytes as sb
tensors = [sb.context("cpu").allocate((64, 64)) for _ in range(10)]
views = [t.map("cpu", "rw").native[1:] for t in tensors]
cycle = [tensors, views]
cycle.append(cycle)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


class _Cycle:
    """Holds itself, so that only the garbage collector drops it, and what it is given."""

    def __init__(self, *held: object) -> None:
        self.itself, self.held = self, held


def test_in_a_reference_cycle_mappings_are_released_before_what_they_lie_in() -> None:
    order: list[str] = []
    memory = Storage(lambda: order.append("memory"))
    mappings = [Storage(partial(order.append, f"mapping {i}"), keep=memory) for i in range(2)]
    view = Storage(lambda: order.append("view"), keep=tuple(mappings))
    _Cycle(memory, view)
    del memory, view, mappings
    gc.collect()
    assert order[0] == "view"
    assert sorted(order[1:3]) == ["mapping 0", "mapping 1"]
    assert order[3:] == ["memory"]


def test_in_a_cycle_through_what_it_keeps_a_storage_is_released_once() -> None:
    order: list[str] = []
    cycle = _Cycle()
    memory = Storage(lambda: order.append("memory"), keep=cycle)
    cycle.held = (memory, Storage(lambda: order.append("mapping"), keep=memory))
    alive = weakref.ref(cycle)
    del cycle, memory
    for _ in range(3):
        gc.collect()
    assert sorted(order) == ["mapping", "memory"]
    assert alive() is None


def test_an_interrupted_collection_releases_no_memory_before_its_mappings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Wherever in it Ctrl-C comes: a release that was interrupted may be left out."""
    ignored: list[bool] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda _: ignored.append(True))  # and holds no frame
    left = 0

    def interrupts(frame: FrameType, event: str, _: object) -> Any:
        nonlocal left
        if frame.f_code.co_filename != OWNERS:
            return None
        if event == "line":
            left -= 1
            if not left:
                raise KeyboardInterrupt
        return interrupts

    before = sys.gettrace()
    for line in count(1):
        order: list[str] = []
        memory = Storage(partial(order.append, "memory"))
        _Cycle(memory, Storage(partial(order.append, "mapping"), keep=memory))
        del memory
        left = line
        ignored.clear()
        sys.settrace(interrupts)
        gc.collect()
        sys.settrace(before)
        gc.collect()
        assert order in ([], ["mapping"], ["memory"], ["mapping", "memory"])
        if not ignored:
            break
    assert order == ["mapping", "memory"]
    assert line > 10


def test_at_exit_an_interruption_makes_no_release_run_twice() -> None:
    """Wherever in the sweep at exit Ctrl-C comes: each child counts its releases."""
    code = """
import atexit, os, sys
atexit.register(lambda: memory.clear())  # called last
from samebytes import Storage

left = 0

def interrupts(frame, event, _):
    global left
    if frame.f_code.co_filename == Storage.__del__.__code__.co_filename:
        if event == "line":
            left -= 1
            if not left:
                os.write(1, b"interrupted ")
                raise KeyboardInterrupt
        return interrupts

for line in range(1, 40):
    child = os.fork()
    if not child:
        os.close(2)
        memory = [Storage(lambda: os.write(1, b"released "), at_exit=True)]
        left = line
        sys.settrace(interrupts)
        sys.exit()
    os.waitpid(child, 0)
    os.write(1, b"\\n")
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    ends = [line.split() for line in done.stdout.splitlines()]
    assert max(end.count("released") for end in ends) == 1
    assert sum("interrupted" in end for end in ends) > 5
    assert ends[-1] == ["released"]


def test_the_owner_of_planes_says_so() -> None:
    assert repr(joint_owner([Storage(), Storage()])) == "<JointStorage of 2 planes>"


def test_the_error_of_a_release_at_exit_does_not_stop_the_others() -> None:
    code = """
import atexit, os
# Registered first, so called last: nothing that is written later comes from atexit.
atexit.register(os.write, 1, b"end")
from samebytes import Storage

def fail(): raise ValueError("of the release")

oldest = Storage(lambda: os.write(1, b"oldest "), at_exit=True)
failing = [Storage(fail, at_exit=True) for _ in range(2)]
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout == "oldest end"
    assert done.stderr.count("ValueError: of the release") == 2
