# SPDX-License-Identifier: Apache-2.0
"""`__array__` and `__dlpack__` as tensors delegate them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import samebytes
from samebytes import CpuTensor, reset_stats, stats
from samebytes.errors import ExportError, LayoutError


def tensor_on(array: np.ndarray[Any, Any], *, readonly: bool = False) -> CpuTensor:
    return CpuTensor.borrowed(array, samebytes.context("cpu"), readonly=readonly)


@pytest.fixture(autouse=True)
def counts_from_zero() -> Iterator[None]:
    reset_stats()
    yield
    reset_stats()


@pytest.mark.writable_dlpack
def test_numpy_takes_the_memory_itself() -> None:
    array = np.zeros((2, 3), np.int16)
    t = tensor_on(array)
    for seen in (
        np.asarray(t),
        np.array(t, copy=False),
        np.asarray(t, np.int16),
        np.from_dlpack(t),
    ):
        assert seen.ctypes.data == array.ctypes.data
        seen[1, 2] += 1
    assert array[1, 2] == 4
    assert stats().copies == 0


def test_a_read_only_tensor_stays_so() -> None:
    array = np.zeros(3)
    t = tensor_on(array, readonly=True)
    assert not np.asarray(t).flags.writeable
    assert not np.from_dlpack(t).flags.writeable
    assert array.flags.writeable
    with pytest.raises(ExportError):
        t.__dlpack__()


@pytest.mark.writable_dlpack
def test_copies_are_counted() -> None:
    array = np.arange(3, dtype=np.int16)
    t = tensor_on(array, readonly=True)
    copied = np.array(t)
    copied[0] = 9
    wide = np.asarray(t, np.float64)
    lent = np.from_dlpack(t, copy=True)
    lent[1] = 9
    assert array.tolist() == [0, 1, 2] == wide.tolist()
    assert {edge: count.nbytes for edge, count in stats().by_edge.items()} == {
        "cpu -> numpy": 6 + 24,
        "cpu -> dlpack": 6,
    }


def test_another_dtype_without_a_copy_is_refused() -> None:
    t = tensor_on(np.zeros(3, np.int16))
    with pytest.raises(LayoutError, match="needs a copy"):
        np.array(t, np.float64, copy=False)
    assert stats().copies == 0
