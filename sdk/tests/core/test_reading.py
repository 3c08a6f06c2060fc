# SPDX-License-Identifier: Apache-2.0
"""Mappings of writable CPU memory for reading: each has an array that cannot be written."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import samebytes as sb
from samebytes.errors import ClosedError


def test_each_mapping_has_an_array_of_its_own() -> None:
    array = np.zeros((4, 4), np.uint8)
    tensor = sb.tensor(array)
    first, second = tensor.map("cpu"), tensor.map("cpu")
    for mapped in (first, second):
        assert mapped.readonly
        assert not mapped.native.flags.writeable
        assert mapped.native is not array
        assert mapped.handle("data") == tensor.handle("data")
    assert first.native is not second.native
    assert array.flags.writeable
    array[1, 1] = 7
    assert first.native[1, 1] == second.native[1, 1] == 7


def test_an_array_that_somebody_unlocked_unlocks_no_other() -> None:
    tensor = sb.tensor(np.zeros((4, 4), np.uint8))
    tensor.map("cpu").native.flags.writeable = True
    assert not tensor.map("cpu").native.flags.writeable


# numpy 2.5 has deprecated setting the shape, and still allows it.
@pytest.mark.filterwarnings("ignore:Setting the shape:DeprecationWarning")
def test_an_array_that_somebody_reshaped_reshapes_no_other() -> None:
    tensor = sb.tensor(np.zeros((4, 4), np.uint8))
    tensor.map("cpu").native.shape = (16,)
    assert tensor.map("cpu").native.shape == (4, 4)


def test_what_is_remembered_holds_nothing_up() -> None:
    tensor = sb.context("cpu").allocate((4, 4))
    tensor.map("cpu")
    mapped = tensor.map("cpu")
    assert tensor.close() is False
    mapped.close()
    tensor.close()
    with pytest.raises(ClosedError):
        tensor.map("cpu")
    with pytest.raises(ClosedError):
        _ = mapped.native


def test_what_is_remembered_makes_no_cycle() -> None:
    tensor = sb.context("cpu").allocate((4, 4))
    tensor.map("cpu")
    storage = weakref.ref(tensor.storage)
    gc.disable()
    try:
        del tensor
        assert storage() is None
    finally:
        gc.enable()
