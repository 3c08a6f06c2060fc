# SPDX-License-Identifier: Apache-2.0
"""Arrays that SYCL libraries lend by DLPack alone (torch's on "xpu"), and those of other contexts.

The producers here are made of this backend's capsules, which dpnp and torch take: torch's wheel for
Intel's GPUs finds none on the software GPU.
"""

from __future__ import annotations

import gc
import weakref
from typing import Any

import dpctl
import dpctl.memory
import numpy as np
import pytest

import samebytes
import samebytes_sycl
from samebytes import TensorInfo
from samebytes.errors import LayoutError, UnsupportedObjectError
from samebytes_sycl import SYCLContext, USMArray

ONEAPI = 14


class Lending:
    """An array of another library: it has DLPack on kDLOneAPI, and no other protocol."""

    def __init__(self, array: USMArray, device: tuple[int, int] | None = None) -> None:
        number = dpctl.get_devices().index(array.context.queue.sycl_device)
        self.array, self.device = array, device or (ONEAPI, number)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device

    def __dlpack__(self, **_: Any) -> object:
        return self.array.dlpack_capsule(self.device, max_version=(1, 0))


@pytest.mark.parametrize("kind", ["shared", "host", "device"])
def test_the_pointer_is_taken(context: SYCLContext, kind: Any) -> None:
    array = context.allocate((4, 8), "float32", kind).native
    tensor: Any = samebytes.tensor(Lending(array))
    assert tensor.memory_type == "sycl"
    assert tensor.context is context
    assert (tensor.handle("usm_ptr"), tensor.kind) == (array.address, kind)
    assert (tensor.shape, str(tensor.dtype)) == ((4, 8), "float32")


def test_both_see_what_the_other_writes(context: SYCLContext) -> None:
    array = context.allocate((4, 8), "uint8").native
    samebytes.reset_stats()
    with samebytes.tensor(Lending(array)).map("cpu", "rw") as view:
        assert view.native.ctypes.data == array.address
        view.native[...] = 5
        assert bytes(array.memory().copy_to_host()) == b"\5" * 32
        array.memory().copy_from_host(np.arange(32, dtype=np.uint8))
        assert view.native[3, 7] == 31
    assert samebytes.stats().copies == 0


def test_strides_are_kept(context: SYCLContext) -> None:
    whole = context.allocate((8, 8), "int16").native
    array = whole.part(TensorInfo("int16", (4, 3), (32, 2)), 18)
    tensor = samebytes_sycl.tensor(Lending(array))
    assert (tensor.shape, tensor.strides) == ((4, 3), (32, 2))
    assert tensor.handle("usm_ptr") == whole.address + 18


@pytest.mark.usefixtures("device")
def test_memory_of_another_context_is_refused() -> None:
    """A producer that does not look makes such capsules; their device is right, and no more."""
    device = dpctl.get_devices()[0]
    own = samebytes_sycl.context(dpctl.SyclQueue(dpctl.SyclContext([device]), device))
    array = own.allocate((16,), "uint8", "device").native
    with pytest.raises(LayoutError, match="default context of its platform"):
        samebytes.tensor(Lending(array))
    interface: Any = samebytes.tensor(array)
    assert interface.handle("usm_ptr") == array.address  # the advice of the error


def test_memory_that_is_none_is_refused(context: SYCLContext) -> None:
    plain = np.zeros(16, np.uint8)
    array = USMArray(context, plain.ctypes.data, TensorInfo("uint8", (16,)), "shared", plain)
    with pytest.raises(LayoutError, match="is not USM of the default context"):
        samebytes.tensor(Lending(array))
    good = context.allocate((16,)).native
    beyond = USMArray(context, good.address, TensorInfo("uint8", (1 << 40,)), "shared", good)
    with pytest.raises(LayoutError, match="ends beyond its USM"):
        samebytes.tensor(Lending(beyond))
    with pytest.raises(LayoutError, match="kDLOneAPI device 99, and SYCL lists"):
        samebytes.tensor(Lending(good, (ONEAPI, 99)))
    with pytest.raises(UnsupportedObjectError, match="lies in OpenCL memory"):
        samebytes_sycl.tensor(Lending(good, (4, 0)))


def test_an_array_without_elements_has_any_address(context: SYCLContext) -> None:
    empty = USMArray(context, 0, TensorInfo("uint8", (0, 4)), "device", None)
    assert samebytes.tensor(Lending(empty)).shape == (0, 4)


def test_the_lender_is_held_as_long_as_its_memory_is_used(context: SYCLContext) -> None:
    array = context.allocate((16,)).native
    lender = Lending(array)
    gone = weakref.ref(array.pin)
    tensor = samebytes.tensor(lender)
    view = tensor.map("cpu").native
    del array, lender, tensor
    gc.collect()
    assert gone() is not None
    del view
    gc.collect()
    assert gone() is None
