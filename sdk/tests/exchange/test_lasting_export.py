# SPDX-License-Identifier: Apache-2.0
"""A tensor of the CPU remembers how it is exported: the layout and close() are as without that."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import samebytes as sb
from samebytes.errors import ClosedError, ExportError, LayoutError

VERSIONS = [None, (1, 0)]


@pytest.fixture(params=["tensor", "frame"])
def made(request: pytest.FixtureRequest) -> Callable[[], tuple[Any, Any]]:
    """Makes memory of ours: what close() ends, and a tensor over it."""
    cpu = sb.context("cpu")

    def make() -> tuple[Any, Any]:
        if request.param == "tensor":
            tensor = cpu.allocate((4, 4))
            return tensor, tensor
        frame = cpu.allocate_frame("NV12", 64, 32)
        return frame, frame.planes[1]

    return make


@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_remembered_does_not_keep_it_open(
    made: Callable[[], tuple[Any, Any]], version: Any
) -> None:
    whole, tensor = made()
    for _ in range(2):
        tensor.__dlpack__(max_version=version)
    storage = weakref.ref(whole.storage)
    whole.close()
    gc.collect()
    assert storage() is None


@pytest.mark.parametrize("version", VERSIONS)
def test_each_export_keeps_it_open(made: Callable[[], tuple[Any, Any]], version: Any) -> None:
    whole, tensor = made()
    capsules = [tensor.__dlpack__(max_version=version) for _ in range(2)]
    end = weakref.ref(whole.storage)
    assert whole.close() is False
    while capsules:
        assert end() is not None
        capsules.pop()
    assert end() is None


def test_an_array_of_an_export_outlives_the_tensor() -> None:
    tensor = sb.context("cpu").allocate((4, 4))
    storage = weakref.ref(tensor.storage)
    np.from_dlpack(tensor)
    array = np.from_dlpack(tensor)
    del tensor
    gc.collect()
    assert storage() is not None
    assert (array == 0).all()
    del array
    gc.collect()
    assert storage() is None


def test_a_closed_tensor_exports_nothing() -> None:
    array = np.zeros((4, 4))
    tensor = sb.tensor(array)
    np.from_dlpack(tensor)
    tensor.close()
    with pytest.raises(ClosedError):
        tensor.__dlpack__(max_version=(1, 0))
    with pytest.raises(ClosedError):
        tensor.__dlpack_device__()


# numpy 2.5 has deprecated setting the shape, and still allows it.
@pytest.mark.filterwarnings("ignore:Setting the shape:DeprecationWarning")
def test_an_array_that_is_changed_in_place() -> None:
    array = np.arange(12, dtype=np.uint8).reshape(3, 4)
    tensor = sb.tensor(array)
    first = np.from_dlpack(tensor)
    array.shape = (12,)
    second = np.from_dlpack(tensor)
    assert second.shape == first.shape == tensor.shape
    array[5] = 99
    assert second[1, 1] == 99


@pytest.mark.writable_dlpack
def test_a_read_only_tensor_stays_read_only() -> None:
    array = np.zeros((4, 4), np.uint8)
    reading = sb.tensor(array).map("cpu", "r")
    writing = sb.tensor(array).map("cpu", "rw")
    for _ in range(2):
        assert not np.from_dlpack(reading).flags.writeable
        assert np.from_dlpack(writing).flags.writeable
        with pytest.raises(ExportError, match="read-only"):
            reading.__dlpack__()
        assert reading.__dlpack__(copy=True) is not None


@pytest.mark.writable_dlpack
def test_an_array_that_is_made_read_only_later() -> None:
    array = np.zeros((4, 4), np.uint8)
    tensor = sb.tensor(array)
    assert np.from_dlpack(tensor).flags.writeable
    array.flags.writeable = False
    assert not np.from_dlpack(tensor).flags.writeable
    with pytest.raises(ExportError, match="read-only"):
        tensor.__dlpack__()
    array.flags.writeable = True
    assert np.from_dlpack(tensor).flags.writeable


def test_what_no_capsule_can_say_is_refused_each_time() -> None:
    overlapping = np.lib.stride_tricks.as_strided(np.zeros(8, np.uint8), (4, 4), (1, 1))
    tensor = sb.tensor(overlapping).map("cpu", "rw")
    for _ in range(2):
        with pytest.raises(LayoutError, match="overlap"):
            tensor.__dlpack__(max_version=(1, 0))


def test_other_requests_are_looked_at_each_time() -> None:
    tensor = sb.tensor(np.zeros((4, 4), np.uint8))
    for _ in range(2):
        assert np.from_dlpack(tensor).shape == (4, 4)
        with pytest.raises(ExportError, match="stream"):
            tensor.__dlpack__(max_version=(1, 0), stream=7)
        with pytest.raises(ExportError, match="on the CPU"):
            tensor.__dlpack__(max_version=(1, 0), dl_device=(2, 0))
    copied = np.from_dlpack(tensor, copy=True)
    tensor.native[...] = 5
    assert (copied == 0).all()
