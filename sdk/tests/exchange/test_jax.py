# SPDX-License-Identifier: Apache-2.0
"""jax as producer and as consumer. Its arrays are immutable, its capsules legacy ones."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from samebytes._dtypes import dtype
from samebytes._exchange import from_foreign

jax: Any = pytest.importorskip("jax", reason="missing package jax: pip install jax")


@pytest.mark.parametrize("name", ["uint8", "float32", "bfloat16"])
def test_a_jax_array_is_used_in_place_and_read_only(name: str) -> None:
    x = jax.numpy.arange(16).astype(name)
    got = from_foreign(x)
    assert got.dtype is dtype(name)
    assert got.array.ctypes.data == x.unsafe_buffer_pointer()
    assert got.readonly
    assert not got.array.flags.writeable
    expected = np.asarray(x).tobytes()
    kept = got.array[8:]
    del got, x
    gc.collect()
    assert kept.tobytes() == expected[len(expected) // 2 :]


@pytest.mark.parametrize("name", ["uint8", "float32", "bfloat16"])
def test_jax_uses_an_aligned_export_in_place(exporter: Callable[..., Any], name: str) -> None:
    d = dtype(name)
    room = np.zeros(64 + 64 * d.carrier.itemsize, np.uint8)
    start = -room.ctypes.data % 64  # jax copies what is not aligned to 64 bytes
    a = room[start : start + 64 * d.carrier.itemsize].view(d.carrier)
    x = jax.dlpack.from_dlpack(exporter(a, d))
    assert str(x.dtype) == name
    assert x.unsafe_buffer_pointer() == a.ctypes.data
