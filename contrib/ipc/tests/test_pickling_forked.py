# SPDX-License-Identifier: Apache-2.0
"""Pickles of a process that forks: what they hold is its own, and not the child's to give back."""

from __future__ import annotations

import os
import pickle
import select
from collections.abc import Callable
from multiprocessing.reduction import ForkingPickler

import pytest

from .both_ends import Lent, value_of, wait_until

# Python's own word on threads.
pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


def test_a_child_ends_no_memory_that_is_offered(offered: Callable[[], int]) -> None:
    read, write = os.pipe()
    lent = Lent(lambda: os.write(write, b"x"))
    pickled = bytes(ForkingPickler.dumps(lent.frame))
    del lent
    child = os.fork()
    if not child:
        os._exit(offered())
    assert os.waitpid(child, 0) == (child, 0)
    os.set_blocking(read, False)
    with pytest.raises(BlockingIOError):
        os.read(read, 1)
    assert value_of(pickle.loads(pickled)) == 0
    assert select.select([read], [], [], 20)[0], "the memory was not given back"
    assert os.read(read, 1) == b"x"
    assert wait_until(lambda: not offered())
    os.close(read)
    os.close(write)
