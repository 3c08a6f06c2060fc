# SPDX-License-Identifier: Apache-2.0
"""Array layouts: one array in any layout, and a strategy that finds the odd ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from samebytes import TensorInfo, dtype

__all__ = ["array_layouts", "array_of"]


def array_of(info: TensorInfo, *, before: int = 0) -> np.ndarray[Any, Any]:
    """A new zeroed array of exactly that layout; its gaps are memory of its own too.

    Args:
        info: dtype, shape and strides in bytes; negative and zero strides are kept.
        before: bytes that lie before the lowest element.
    """
    low, high = info.extent
    buffer = np.zeros(before - low + high, np.uint8)
    return np.ndarray(info.shape, info.dtype.carrier, buffer, before - low, info.strides)


@st.composite
def array_layouts(
    draw: st.DrawFn,
    dtypes: Sequence[str] = ("uint8", "int16", "float32", "float64"),
    *,
    max_dims: int = 4,
    max_side: int = 4,
) -> TensorInfo:
    """Layouts as views of arrays have them: axes in any order, gaps, flips, repeats, empty axes."""
    element = dtype(draw(st.sampled_from(list(dtypes))))
    assert element.itemsize is not None, "packed types have no strides"
    shape = draw(st.lists(st.integers(0, max_side), max_size=max_dims))
    strides = [0] * len(shape)
    step = element.itemsize
    for axis in draw(st.permutations(range(len(shape)))):
        strides[axis] = step + element.itemsize * draw(st.sampled_from([0, 0, 0, 1, 5]))
        step = strides[axis] * max(shape[axis], 1)
        strides[axis] *= draw(st.sampled_from([1, 1, 1, 1, -1, 0]))
    return TensorInfo(element, shape, strides)
