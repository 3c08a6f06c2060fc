# SPDX-License-Identifier: Apache-2.0
"""TensorInfo: immutable, validated, hashable."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from samebytes import TensorInfo
from samebytes.errors import LayoutError, UnknownNameError


def test_dense_strides() -> None:
    info = TensorInfo("float32", (2, 3, 4))
    assert info.strides == (48, 16, 4)
    assert (info.ndim, info.size, info.nbytes, info.extent) == (3, 24, 96, (0, 96))
    assert info.is_contiguous


def test_scalar_and_empty() -> None:
    assert TensorInfo("uint8", ()).nbytes == 1
    empty = TensorInfo("uint8", (0, 4))
    assert (empty.nbytes, empty.extent, empty.is_contiguous) == (0, (0, 0), True)


def test_size_does_not_overflow() -> None:
    assert TensorInfo("uint8", (70000, 70000)).size == 4_900_000_000


def test_packed_types_have_no_strides() -> None:
    info = TensorInfo("uint4", (3, 3))
    assert info.strides is None
    assert info.nbytes == 5
    assert info.extent == (0, 5)


def test_opaque_memory_has_no_extent() -> None:
    info = TensorInfo("uint8", (4, 4), opaque=True)
    assert info.strides is None
    with pytest.raises(LayoutError, match="linear"):
        _ = info.extent


@pytest.mark.parametrize(
    ("dtype", "shape", "strides", "error", "text"),
    [
        ("uint8", (-1,), None, LayoutError, "negative extent"),
        ("uint8", (4, 4), (4,), LayoutError, "one is needed for each axis"),
        ("uint4", (4,), (1,), LayoutError, "takes no strides"),
        ("uint88", (4,), None, UnknownNameError, "did you mean 'uint8'"),
        (np.dtype("O"), (4,), None, LayoutError, "object"),
        (np.dtype(">u2"), (4,), None, LayoutError, "byte order"),
        (np.dtype([("a", "u1")]), (4,), None, LayoutError, "struct"),
    ],
)
def test_bad_layouts(
    dtype: object, shape: tuple[int, ...], strides: tuple[int, ...] | None,
    error: type[Exception], text: str,
) -> None:  # fmt: skip
    with pytest.raises(error, match=text):
        TensorInfo(dtype, shape, strides)


def test_immutable_hashable_picklable() -> None:
    info = TensorInfo("uint8", (4, 4), (8, 1))
    with pytest.raises(AttributeError, match="immutable"):
        info.shape = (1,)
    with pytest.raises(AttributeError, match="immutable"):
        del info.shape
    assert {info: 1}[TensorInfo("uint8", (4, 4), (8, 1))] == 1
    assert info != TensorInfo("uint8", (4, 4))
    assert pickle.loads(pickle.dumps(info)) == info
    opaque = TensorInfo("uint8", (4, 4), opaque=True)
    assert pickle.loads(pickle.dumps(opaque)) == opaque


_slices = st.tuples(st.integers(0, 9), st.integers(0, 9), st.sampled_from([-3, -2, -1, 1, 2, 3]))


@given(rows=_slices, columns=_slices, transposed=st.booleans())
def test_agrees_with_numpy(
    rows: tuple[int, int, int], columns: tuple[int, int, int], transposed: bool
) -> None:
    view = np.zeros((9, 9), np.uint16)[slice(*rows), slice(*columns)]
    if transposed:
        view = view.T
    info = TensorInfo.of(view)
    assert info.nbytes == view.nbytes
    assert info.is_contiguous == view.flags.c_contiguous
    low, high = np.lib.array_utils.byte_bounds(view) if view.size else (0, 0)
    start = view.__array_interface__["data"][0]
    assert info.extent == ((low - start, high - start) if view.size else (0, 0))
    assert not info.overlaps


@pytest.mark.parametrize(
    ("strides", "overlaps"),
    [((0, 1), True), ((1, 1), True), ((4, 1), False), ((1, 4), False), ((3, 1), True)],
)
def test_overlap(strides: tuple[int, int], overlaps: bool) -> None:
    assert TensorInfo("uint8", (4, 4), strides).overlaps is overlaps
