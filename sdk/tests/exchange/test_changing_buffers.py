# SPDX-License-Identifier: Apache-2.0
"""Buffers that could change their size: not while a tensor, an array or a capsule uses them."""

from __future__ import annotations

import mmap
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import samebytes

_PAGE = mmap.PAGESIZE


def _grown_bytes() -> tuple[Any, Callable[[], object]]:
    made = bytearray(64)
    return made, lambda: made.extend(bytes(1 << 20))


def _cut_bytes() -> tuple[Any, Callable[[], object]]:
    made = bytearray(64)
    return made, made.clear


def _grown_array() -> tuple[Any, Callable[[], object]]:
    made = array("B", bytes(64))
    return made, lambda: made.extend(bytes(1 << 20))


def _closed_map() -> tuple[Any, Callable[[], object]]:
    made = mmap.mmap(-1, _PAGE)
    return made, made.close


_USES: dict[str, Callable[[Any], Any]] = {
    "tensor": lambda tensor: tensor,
    "mapped": lambda tensor: tensor.map("cpu", "rw"),
    "array": lambda tensor: tensor.native,
    "capsule": lambda tensor: tensor.__dlpack__(),
    "numpy": np.from_dlpack,
}
_CHANGES = [_grown_bytes, _cut_bytes, _grown_array, _closed_map]


@pytest.mark.parametrize("make", _CHANGES)
@pytest.mark.parametrize("use", _USES)
def test_a_buffer_in_use_keeps_its_size(
    make: Callable[[], tuple[Any, Callable[[], object]]], use: str
) -> None:
    buffer, change = make()
    held = _USES[use](samebytes.tensor(buffer))
    with pytest.raises((BufferError, ValueError)):
        change()
    del held
    change()


def test_a_mapped_file_is_not_resized_under_a_tensor(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(2 * _PAGE))
    with path.open("r+b") as file:
        made = mmap.mmap(file.fileno(), 2 * _PAGE)
    tensor = samebytes.tensor(made)
    with pytest.raises((BufferError, ValueError)):
        made.resize(_PAGE)
    tensor.close()
    made.resize(_PAGE)
    assert samebytes.tensor(made).shape == (_PAGE,)


def test_a_numpy_array_is_not_resized_under_a_tensor() -> None:
    source = np.zeros(64, np.uint8)
    tensor = samebytes.tensor(source)
    with pytest.raises(ValueError, match="references"):
        source.resize(1 << 20)
    assert tensor.native.shape == (64,)
