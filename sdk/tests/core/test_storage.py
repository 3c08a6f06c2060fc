# SPDX-License-Identifier: Apache-2.0
"""Storage: released once, with its last holder, or at exit if it asks for that."""

from __future__ import annotations

import subprocess
import sys
import threading

import numpy as np
import pytest

from samebytes.plugins import Storage


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


def test_readonly_memory_makes_readonly_arrays() -> None:
    bytes_ = np.zeros(8, np.uint8)
    storage = Storage(
        address=bytes_.__array_interface__["data"][0], nbytes=8, keep=bytes_, readonly=True
    )
    array = np.asarray(storage)
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
from samebytes.plugins import Storage
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


def test_a_forked_child_leaves_a_drivers_memory_to_its_parent() -> None:
    code = """
import os
from samebytes.plugins import Storage
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
from samebytes.plugins import Storage

class Segment:
    def unmap(self): os.write(1, b"released ")
    def __del__(self): os.write(1, b"unmapped ")

a = Storage(Segment().unmap, at_exit=True)
if os.fork():
    os.wait()
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
