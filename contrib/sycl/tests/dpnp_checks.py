# SPDX-License-Identifier: Apache-2.0
"""Arrays of dpnp, both ways. Its environment has 2.9 GB, so CI is without it.

A run is recorded in docs/reference/hardware.md.
"""

from __future__ import annotations

from typing import Any

import dpctl
import numpy as np
import pytest

import samebytes
from samebytes.errors import UnsupportedObjectError
from samebytes_sycl import SYCLContext

dpnp: Any = pytest.importorskip("dpnp", reason="missing package dpnp: pip install dpnp")

KINDS = ["shared", "host", "device"]


class Lending:
    """An array that has DLPack alone, as those of other libraries do."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __dlpack__(self, **arguments: Any) -> object:
        return self.array.__dlpack__(**arguments)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


def address(array: Any) -> int:
    return int(array.get_array()._pointer)


def other_queue() -> Any:
    """A queue whose context is not the default one of its platform."""
    device = dpctl.get_devices()[0]
    return dpctl.SyclQueue(dpctl.SyclContext([device]), device)


@pytest.mark.parametrize("kind", KINDS)
def test_an_array_is_taken_where_it_lies(context: SYCLContext, kind: str) -> None:
    array = dpnp.arange(24, dtype="float32", usm_type=kind).reshape(4, 6)
    for lent in (array, array.get_array(), Lending(array.get_array())):
        tensor: Any = samebytes.tensor(lent)
        assert (tensor.memory_type, tensor.context) == ("sycl", context)
        assert (tensor.handle("usm_ptr"), tensor.kind) == (address(array), kind)
        assert (tensor.shape, str(tensor.dtype)) == ((4, 6), "float32")
    part = array[1:, ::2]
    assert samebytes.tensor(part).handle("usm_ptr") == address(part) == address(array) + 24
    assert samebytes.tensor(part).strides == (24, 8)


@pytest.mark.usefixtures("device")
@pytest.mark.parametrize("kind", ["shared", "host"])
def test_kernels_and_numpy_see_what_the_other_writes(kind: str) -> None:
    array = dpnp.zeros((4, 6), dtype="float32", usm_type=kind)
    tensor = samebytes.tensor(array)
    samebytes.reset_stats()
    with tensor.map("cpu", "rw") as view:
        assert view.native.ctypes.data == address(array)
        view.native[1, 2] = 9
    array += 1  # a kernel of dpnp's; the mapping waits for its queue
    expected = np.ones((4, 6), np.float32)
    expected[1, 2] = 10
    np.testing.assert_array_equal(tensor.map("cpu"), expected)
    assert samebytes.stats().copies == 0


@pytest.mark.parametrize("kind", KINDS)
def test_memory_of_ours_becomes_an_array(context: SYCLContext, kind: Any) -> None:
    ours = context.allocate((4, 6), "float32", kind)
    with_pointer = dpnp.tensor.asarray(ours.native, copy=False)
    assert with_pointer._pointer == ours.handle("usm_ptr")
    array = dpnp.ndarray((4, 6), "float32", buffer=with_pointer)
    array[...] = 7
    assert (ours.map("cpu", copy=True).native == 7).all()
    assert samebytes.tensor(array).handle("usm_ptr") == ours.handle("usm_ptr")


def test_memory_of_ours_by_dlpack(context: SYCLContext) -> None:
    ours = context.allocate((4, 6), "float32", "device")
    array = dpnp.from_dlpack(ours)
    assert address(array) == ours.handle("usm_ptr")
    array[...] = 5
    assert (ours.map("cpu", copy=True).native == 5).all()
    # The CPU reads shared memory, and so dpnp makes an array of numpy's of it.
    shared = context.allocate((4, 6), "float32", "shared")
    plain = dpnp.from_dlpack(shared)
    assert (type(plain), plain.ctypes.data) == (np.ndarray, shared.handle("usm_ptr"))


def test_dpnps_asarray_copies(context: SYCLContext) -> None:
    """It compares queues by identity: the page names dpnp.tensor.asarray() for this reason."""
    ours = context.allocate((4, 6), "float32", "shared")
    assert address(dpnp.asarray(ours.native)) != ours.handle("usm_ptr")


@pytest.mark.usefixtures("device")
@pytest.mark.parametrize("kind", KINDS)
def test_another_context(kind: str) -> None:
    """By DLPack dpnp itself refuses; the interface names the queue, and so the context."""
    queue = other_queue()
    array = dpnp.arange(24, dtype="int32", sycl_queue=queue, usm_type=kind)
    with pytest.raises(UnsupportedObjectError, match="default platform SYCL context"):
        samebytes.tensor(Lending(array.get_array()))
    tensor: Any = samebytes.tensor(array)
    assert tensor.handle("usm_ptr") == address(array)
    assert tensor.context.queue.sycl_context == queue.sycl_context
    assert tensor.context is not samebytes.context("sycl")
