# SPDX-License-Identifier: Apache-2.0
"""Storage: released once, with its last holder, or at exit if it asks for that."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import weakref
from functools import partial
from types import FrameType
from typing import Any

import numpy as np
import pytest

from samebytes import Storage
from samebytes._core.owner import storage as owners
from samebytes._core.owner.storage import (
    JointStorage,
    _released_at_exit,
    publish,
    releasing,
)


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
    publish(mappings)
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
    before = dict(_released_at_exit)
    storage = Storage(lambda: None, at_exit=True)
    assert len(_released_at_exit) == len(before) + 1
    del storage
    assert _released_at_exit == before
    storage = Storage(lambda: None, at_exit=True)
    storage.keep = [storage]  # a cycle, whose release comes later
    del storage
    for _ in range(3):
        gc.collect()
    assert _released_at_exit == before


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


def _interrupted(made: type[Storage]) -> type[Storage]:
    """A class of storages that Ctrl-C interrupts as soon as one is made."""

    class Interrupted(made):  # type: ignore[valid-type, misc]
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            raise KeyboardInterrupt

    return Interrupted


def test_an_interrupted_collection_releases_no_memory_before_its_mappings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    order: list[str] = []
    memory = Storage(partial(order.append, "memory"))
    mapping = Storage(partial(order.append, "mapping"), keep=memory)
    with monkeypatch.context() as patched:
        patched.setattr(owners, "_Later", _interrupted(owners._Later))
        with pytest.raises(KeyboardInterrupt):
            owners._release_later(memory)
    assert order == []
    del memory, mapping
    assert order == ["mapping", "memory"]


def test_at_exit_an_interruption_makes_no_release_run_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    released: list[int] = []
    with monkeypatch.context() as patched:
        patched.setattr(owners, "_released_at_exit", {})
        memory = Storage(partial(released.append, 1), at_exit=True)
        patched.setattr(owners, "Storage", _interrupted(Storage))
        with pytest.raises(KeyboardInterrupt):
            owners._release_living()
        assert released == []
        del memory
    assert released == [1]


def test_the_owner_of_planes_says_so() -> None:
    assert repr(JointStorage(keep=(Storage(), Storage()))) == "<JointStorage of 2 planes>"


def test_close_raises_the_error_of_a_release_that_a_debugger_delays() -> None:
    def trace(frame: FrameType, *_: object) -> None:
        if frame.f_code is Storage.__del__.__code__:
            seen.append(frame.f_locals["self"])

    def fail() -> None:
        raise ValueError("of the release")

    def drop_under_the_tracer() -> None:
        before = sys.gettrace()
        sys.settrace(trace)
        held.clear()
        sys.settrace(before)
        seen.clear()

    seen: list[object] = []
    held = [Storage(fail)]
    with pytest.raises(ValueError, match="of the release"):
        releasing(frozenset(map(id, held)), drop_under_the_tracer)


def test_releases_that_are_to_raise_may_lie_in_each_other() -> None:
    """As where the release of one thing closes another: each hears of its own."""

    def fail(text: str) -> None:
        raise ValueError(text)

    heard: list[str] = []
    outer, inner = [Storage(partial(fail, "outer"))], [Storage(partial(fail, "inner"))]

    def drop_here() -> None:
        outer.clear()
        inner.clear()

    def drop_both() -> None:
        try:
            releasing(frozenset(map(id, inner)), drop_here)
        except ValueError as error:
            heard.append(str(error))

    with pytest.raises(ValueError, match="outer"):
        releasing(frozenset(map(id, outer)), drop_both)
    assert heard == ["inner"]


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
