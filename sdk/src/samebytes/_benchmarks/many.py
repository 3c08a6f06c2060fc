# SPDX-License-Identifier: Apache-2.0
"""Many tensors at the same time, and many threads."""

from __future__ import annotations

import gc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np

from .._api import tensor
from ..benchmarks import Ways
from .host import Least, picture

__all__ = [
    "in_1_threads", "in_2_threads", "in_4_threads", "in_8_threads", "made", "mapped_among_many",
]  # fmt: skip

_MANY = 100_000
_CALLS = 20_000


def made(width: int, height: int) -> Ways:
    """The times while the cyclic collector works, which visits all living objects repeatedly."""
    array = picture(width, height)
    return Ways(
        ours=partial(_hold_many, lambda: tensor(array)),
        by_hand=partial(_hold_many, array.view),
        cpu_time=True,
        each=_MANY,
    )


def _hold_many(make: Callable[[], object]) -> None:
    gc.enable()  # it is off during the measurement
    held = [make() for _ in range(_MANY)]
    held.clear()
    gc.disable()


def mapped_among_many(width: int, height: int) -> Ways:
    """A mapping, no part of which may take longer while many others live."""
    array, small = picture(width, height), np.zeros(4, np.uint8)
    there = [tensor(small) for _ in range(_MANY)]
    one, least = tensor(array), Least.over(array)

    def ours() -> object:
        return one.map("cpu", "rw")

    ours.__dict__["alive"] = there
    return Ways(ours=ours, by_hand=lambda: least.map("cpu", "rw"))


def _map(array: np.ndarray[Any, Any], calls: int) -> None:
    for _ in range(calls):
        tensor(array).map("cpu", "rw")


def _in_threads(count: int, width: int, height: int) -> Ways:
    arrays = [picture(width, height) for _ in range(count)]
    pool = ThreadPoolExecutor(count)
    calls = _CALLS // count

    def ours() -> None:
        list(pool.map(_map, arrays, [calls] * count))

    return Ways(
        ours=ours,
        by_hand=lambda: _map(arrays[0], calls * count),
        each=calls * count,
        cpu_time=True,
        close=pool.shutdown,
    )


in_1_threads = partial(_in_threads, 1)
in_2_threads = partial(_in_threads, 2)
in_4_threads = partial(_in_threads, 4)
in_8_threads = partial(_in_threads, 8)
