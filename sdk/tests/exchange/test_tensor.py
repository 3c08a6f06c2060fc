# SPDX-License-Identifier: Apache-2.0
"""`__array__` and `__dlpack__` as tensors delegate them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from samebytes._core.memory.info import TensorInfo
from samebytes._exchange import as_array, as_capsule
from samebytes._stats import reset_stats, stats
from samebytes.errors import ExportError, LayoutError


class Node:
    node = "somewhere"


class HostTensor:
    """As much of a Tensor as the exchange looks at."""

    context = Node()

    def __init__(self, array: np.ndarray[Any, Any], readonly: bool = False) -> None:
        self.array = array
        self.readonly = readonly
        self.info = TensorInfo.of(array)

    def host_array(self) -> np.ndarray[Any, Any]:
        return self.array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return as_array(self, dtype, copy)

    def __dlpack_device__(self) -> Any:
        return (1, 0)

    def __dlpack__(
        self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None,
        copy: bool | None = None,
    ) -> Any:  # fmt: skip
        return as_capsule(self, stream, max_version, dl_device, copy)


@pytest.fixture(autouse=True)
def counts_from_zero() -> Iterator[None]:
    reset_stats()
    yield
    reset_stats()


@pytest.mark.writable_dlpack
def test_numpy_takes_the_memory_itself() -> None:
    t = HostTensor(np.zeros((2, 3), np.int16))
    for seen in (
        np.asarray(t),
        np.array(t, copy=False),
        np.asarray(t, np.int16),
        np.from_dlpack(t),
    ):
        assert seen.ctypes.data == t.array.ctypes.data
        seen[1, 2] += 1
    assert t.array[1, 2] == 4
    assert stats().copies == 0


def test_a_read_only_tensor_stays_so() -> None:
    t = HostTensor(np.zeros(3), readonly=True)
    assert not np.asarray(t).flags.writeable
    assert not np.from_dlpack(t).flags.writeable
    assert t.array.flags.writeable
    with pytest.raises(ExportError):
        t.__dlpack__()


@pytest.mark.writable_dlpack
def test_copies_are_counted() -> None:
    t = HostTensor(np.arange(3, dtype=np.int16), readonly=True)
    copied = np.array(t)
    copied[0] = 9
    wide = np.asarray(t, np.float64)
    lent = np.from_dlpack(t, copy=True)
    lent[1] = 9
    assert t.array.tolist() == [0, 1, 2] == wide.tolist()
    assert {edge: count.nbytes for edge, count in stats().by_edge.items()} == {
        "somewhere -> numpy": 6 + 24,
        "somewhere -> dlpack": 6,
    }


def test_another_dtype_without_a_copy_is_refused() -> None:
    t = HostTensor(np.zeros(3, np.int16))
    with pytest.raises(LayoutError, match="needs a copy"):
        np.array(t, np.float64, copy=False)
    assert stats().copies == 0
