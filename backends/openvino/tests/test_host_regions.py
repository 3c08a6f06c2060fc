# SPDX-License-Identifier: Apache-2.0
"""Regions that OpenVINO cuts out of host tensors, and its own requests: they hold the memory."""

from __future__ import annotations

import copy
import gc
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import openvino
import pytest

import samebytes
from samebytes.plugins import sweep_loans
from samebytes.testing import GuardedMemory
from samebytes_openvino import PinnedTensor

from .models import adding

SHAPE = (4, 4096)
BEGIN, END = openvino.Coordinate([1, 0]), openvino.Coordinate([2, 4096])


def region_of(native: Any) -> Any:
    return openvino.Tensor(native, BEGIN, END)


def region_of_a_region(native: Any) -> Any:
    return openvino.Tensor(region_of(native), [0, 0], [1, 8])


def request_with(native: Any) -> Any:
    request = adding(SHAPE).create_infer_request()
    request.set_tensor("x0", native)
    return request


USERS = [region_of, region_of_a_region, request_with, copy.copy]


def allocated() -> Any:
    return samebytes.context("openvino").allocate(SHAPE, "float32")


def mapped() -> Any:
    return samebytes.context("cpu").allocate(SHAPE, "float32").map("openvino", "rw")


def padded() -> Any:
    """Its native is itself a region, of a tensor that has the padding."""
    storage = samebytes.context("cpu").allocate((4, 8192), "float32").storage
    array = np.asarray(storage)[: 4 * 8192 * 4].view(np.float32).reshape(4, 8192)[:, :4096]
    tensor = samebytes.tensor(array).map("openvino", "rw")
    assert tensor.native.pin is not None
    return tensor


def owner_of(tensor: Any) -> weakref.ref[Any]:
    """Return a weak reference to the object that releases the memory."""
    base = tensor.native.data if tensor.parent is None else tensor.parent.native
    while isinstance(base, np.ndarray):
        base = base.base
    return weakref.ref(base if isinstance(base, samebytes.Storage) else tensor.storage)


@pytest.mark.parametrize("use", USERS)
def test_close_sees_them(use: Callable[[Any], Any]) -> None:
    tensor = allocated()
    user, end = use(tensor.native), weakref.ref(tensor.storage)
    assert tensor.close() is False
    del user
    sweep_loans()
    assert end() is None


def test_close_sees_them_in_a_frame() -> None:
    frame = samebytes.context("openvino").allocate_frame("NV12", 64, 32)
    user = openvino.Tensor(frame.planes[1].native, [0, 0, 0, 0], [1, 2, 32, 2])
    end = weakref.ref(frame.storage)
    assert frame.close() is False
    del user
    sweep_loans()
    assert end() is None


@pytest.mark.parametrize("use", USERS)
def test_close_of_the_source_sees_them(use: Callable[[Any], Any]) -> None:
    """The mapping is closed, and nothing in Python leads from its region to the memory."""
    source = samebytes.context("cpu").allocate(SHAPE, "float32")
    view = source.map("openvino", "rw")
    user = use(view.native)
    view.close()
    end = weakref.ref(source.storage)
    assert source.close() is False
    del user
    sweep_loans()
    assert end() is None


@pytest.mark.parametrize("use", USERS)
@pytest.mark.parametrize("make", [allocated, mapped, padded])
def test_a_drop_leaves_them_the_memory(make: Callable[[], Any], use: Callable[[Any], Any]) -> None:
    tensor = make()
    owner = owner_of(tensor)
    user = use(tensor.native)
    del tensor
    gc.collect()
    assert owner() is not None
    del user
    sweep_loans()
    gc.collect()
    assert owner() is None


def test_the_next_drop_gives_it_back() -> None:
    """No program has to sweep."""
    owners, users = [], []
    for _ in range(20):
        tensor = allocated()
        owners.append(weakref.ref(tensor.storage))
        users = [region_of(tensor.native)]
        del tensor
    assert sum(owner() is not None for owner in owners) <= 2
    del users


def test_a_region_of_an_array_of_yours_reads_it() -> None:
    """Its pages cannot be touched after the last holder is gone."""
    guard = GuardedMemory()
    (array,) = guard.arrays([samebytes.TensorInfo("float32", SHAPE)])
    array[...] = 7
    user = region_of(samebytes.tensor(array).map("openvino").native)
    del array
    gc.collect()
    assert not guard.released
    assert (user.data == 7).all()
    del user
    sweep_loans()
    assert guard.released


def test_a_cycle_of_both_ends() -> None:
    tensor = allocated()
    owner = weakref.ref(tensor.storage)
    holder: list[Any] = [tensor, region_of(tensor.native)]
    holder.append(holder)
    del tensor, holder
    gc.collect()
    sweep_loans()
    assert owner() is None


def test_dropped_by_another_thread() -> None:
    tensor = allocated()
    owner = weakref.ref(tensor.storage)
    users = [region_of(tensor.native)]
    held = [tensor]
    del tensor
    thread = threading.Thread(target=held.clear)
    thread.start()
    thread.join()
    assert owner() is not None
    thread = threading.Thread(target=users.clear)
    thread.start()
    thread.join()
    sweep_loans()
    assert owner() is None


def test_a_tensor_that_was_never_filled() -> None:
    class Bare(PinnedTensor):
        def __init__(self) -> None:
            pass

    bare = Bare.__new__(Bare)
    alive = weakref.ref(bare)
    del bare
    assert alive() is None
    with pytest.raises(TypeError):
        PinnedTensor(np.zeros(2, "M8[s]"), object())
