# SPDX-License-Identifier: Apache-2.0
"""Wrapping, allocating, the USM array interface both ways, and what is refused."""

from __future__ import annotations

import gc
from typing import Any

import dpctl
import dpctl.memory
import numpy as np
import pytest

import samebytes
import samebytes_sycl
from samebytes.errors import (
    ClosedError,
    CopyRequiredError,
    LayoutError,
    NativeError,
    NoRouteError,
    NotHostVisibleError,
    UnknownNameError,
    UnsupportedObjectError,
)
from samebytes.testing import run_program
from samebytes_sycl import SYCLContext


class Foreign:
    """Another library's array."""

    def __init__(self, pointer: int, shape: tuple[int, ...], queue: Any, **more: Any) -> None:
        self.__sycl_usm_array_interface__ = {
            "data": (pointer, False), "shape": shape, "strides": None, "typestr": "|u1",
            "version": 1, "syclobj": queue, "offset": 0, **more,
        }  # fmt: skip


def test_memory_of_dpctl_is_wrapped(context: SYCLContext) -> None:
    memory = dpctl.memory.MemoryUSMShared(64)
    tensor = samebytes.tensor(memory)
    assert tensor.native is memory
    assert (tensor.shape, str(tensor.dtype), tensor.readonly) == ((64,), "uint8", False)
    assert tensor.handle("usm_ptr") == memory._pointer
    assert tensor.context is context  # dpctl's own queue of the device
    np.asarray(tensor)[3] = 7
    assert np.frombuffer(memory, np.uint8)[3] == 7


@pytest.mark.usefixtures("device")
def test_an_array_of_another_library_keeps_its_layout() -> None:
    memory = dpctl.memory.MemoryUSMShared(256)
    foreign = Foreign(
        memory._pointer, (4, 6), memory.sycl_queue, strides=(8, 1), typestr="<f4", offset=2
    )
    tensor = samebytes_sycl.tensor(foreign)
    assert (tensor.shape, tensor.strides, str(tensor.dtype)) == ((4, 6), (32, 4), "float32")
    assert tensor.handle("usm_ptr") == memory._pointer + 8


@pytest.mark.usefixtures("device")
def test_reversed_arrays_and_flags() -> None:
    memory = dpctl.memory.MemoryUSMShared(64)
    np.frombuffer(memory, np.uint8)[...] = np.arange(64)
    foreign = Foreign(memory._pointer + 63, (64,), memory.sycl_queue, strides=(-1,))
    tensor = samebytes_sycl.tensor(foreign)
    np.testing.assert_array_equal(np.asarray(tensor), np.arange(64)[::-1])
    readonly = Foreign(memory._pointer, (8,), memory.sycl_queue, data=(memory._pointer, True))
    assert samebytes_sycl.tensor(readonly).readonly


def test_dpctl_takes_what_we_hand_out(context: SYCLContext) -> None:
    tensor = context.allocate((4, 6), "float32")
    memory = dpctl.memory.as_usm_memory(tensor.native)
    assert (memory._pointer, memory.nbytes) == (tensor.handle("usm_ptr"), 96)
    assert memory.sycl_queue == context.queue
    assert tensor.close() is False
    gc.collect()
    memory.copy_from_host(np.full(96, 5, np.uint8))
    assert bytes(memory.copy_to_host()) == b"\5" * 96


class Stated(Foreign):
    """One that has DLPack too, as those of dpctl and dpnp have: it names kDLOneAPI."""

    def __dlpack_device__(self) -> tuple[int, int]:
        return (14, 0)

    def __dlpack__(self, **_: Any) -> object:
        raise BufferError("what is asked for is the array interface")


@pytest.mark.usefixtures("device")
@pytest.mark.parametrize("kind", ["Shared", "Host", "Device"])
@pytest.mark.parametrize("array", [Foreign, Stated])
def test_arrays_of_every_library_are_known_by_their_interface(array: Any, kind: str) -> None:
    """dpctl.tensor.usm_ndarray and dpnp.ndarray, of which these are stand-ins."""
    memory = getattr(dpctl.memory, f"MemoryUSM{kind}")(256)
    foreign = array(memory._pointer, (4, 6), memory.sycl_queue, strides=(8, 1), typestr="<f4")
    for wrap in (samebytes.tensor, samebytes.wrap):
        tensor: Any = wrap(foreign)
        assert tensor.native is foreign
        assert (tensor.shape, tensor.strides, str(tensor.dtype)) == ((4, 6), (32, 4), "float32")
        assert tensor.memory_type == "sycl"


@pytest.mark.usefixtures("device")
def test_a_part_of_memory() -> None:
    memory = dpctl.memory.MemoryUSMHost(64)
    part = samebytes_sycl.tensor(memory, (2, 4), "float32", offset=16, strides=(20, 4))
    assert part.handle("usm_ptr") == memory._pointer + 16
    for bad in ({"shape": (65,)}, {"shape": (4,), "offset": 61}, {"shape": (4,), "offset": -1}):
        with pytest.raises(LayoutError, match="needs bytes"):
            samebytes_sycl.tensor(memory, **bad)


@pytest.mark.usefixtures("device")
def test_what_lies_about_its_memory_is_refused() -> None:
    memory = dpctl.memory.MemoryUSMShared(64)
    queue = memory.sycl_queue
    plain = np.zeros(64, np.uint8)
    with pytest.raises(UnsupportedObjectError, match="not in oneAPI memory"):
        samebytes_sycl.tensor(plain)
    with pytest.raises(UnsupportedObjectError, match="neither __sycl_usm_array_interface__ nor"):
        samebytes_sycl.tensor(plain.ctypes)
    with pytest.raises(LayoutError, match="dpctl does not accept"):
        samebytes_sycl.tensor(Foreign(plain.ctypes.data, (64,), queue))
    with pytest.raises(LayoutError, match="ends beyond"):
        samebytes_sycl.tensor(Foreign(memory._pointer, (1 << 40,), queue))
    for wrong in ({"data": (None, False)}, {"data": 5}, {"typestr": "zz"}, {"shape": None}):
        foreign = Foreign(memory._pointer, (1,), queue)
        foreign.__sycl_usm_array_interface__ |= wrong
        with pytest.raises(LayoutError, match="malformed"):
            samebytes_sycl.tensor(foreign)
    incomplete = Foreign(memory._pointer, (1,), queue)
    del incomplete.__sycl_usm_array_interface__["syclobj"]
    with pytest.raises(LayoutError, match="syclobj"):
        samebytes_sycl.tensor(incomplete)


def test_allocations(context: SYCLContext) -> None:
    for kind in ("shared", "host", "device"):
        tensor = context.allocate((3, 5), "int16", kind)
        assert tensor.kind == kind
        assert tensor.native.memory().get_usm_type() == kind
        tensor.close()
    assert context.allocate((0, 4)).shape == (0, 4)
    with pytest.raises(UnknownNameError, match="kind of USM"):
        context.allocate((4,), "uint8", "managed")  # type: ignore[arg-type]  # on purpose
    with pytest.raises(NativeError, match="malloc_shared"):
        context.allocate((1 << 50,))


def test_device_memory_is_not_read_by_the_cpu(context: SYCLContext) -> None:
    tensor = context.allocate((16,), "uint8", "device")
    tensor.native.memory().copy_from_host(np.arange(16, dtype=np.uint8))
    with pytest.raises(NotHostVisibleError, match="copy=True"):
        np.asarray(tensor)
    with pytest.raises(CopyRequiredError):
        tensor.map("cpu")
    with pytest.raises(NoRouteError) as caught:
        tensor.map("cpu", "rw", copy=True)
    assert "pass copy=True" not in str(caught.value)
    samebytes.reset_stats()
    copied = tensor.map("cpu", copy=True)
    np.testing.assert_array_equal(copied.native, np.arange(16))
    assert samebytes.stats().by_edge["sycl -> cpu"].nbytes == 16


@pytest.mark.usefixtures("device")
def test_a_copy_of_packed_elements() -> None:
    memory = dpctl.memory.MemoryUSMDevice(9)
    memory.copy_from_host(np.arange(9, dtype=np.uint8))
    tensor = samebytes_sycl.tensor(memory, (3, 6), "int4")
    copied = tensor.map("cpu", copy=True)
    assert copied.info == tensor.info
    np.testing.assert_array_equal(copied.native, np.arange(9))


@pytest.mark.usefixtures("device")
def test_what_is_left_of_a_closed_context() -> None:
    device = dpctl.get_devices()[0]
    own = samebytes_sycl.context(dpctl.SyclQueue(device))
    tensor = own.allocate((16,))
    array, native = np.asarray(tensor), tensor.native
    own.close()
    array[...] = 3  # the memory is there as long as someone holds it
    with pytest.raises(ClosedError):
        own.allocate((16,))
    assert native.__sycl_usm_array_interface__["shape"] == (16,)
    assert native.memory().nbytes == 16
    for same in (tensor, samebytes_sycl.tensor(native)):
        assert same.map("cpu").native.sum() == 48
    assert array.sum() == 48


def test_one_context_for_each_queue(context: SYCLContext) -> None:
    queue = dpctl.SyclQueue(context.queue.sycl_device)
    made = samebytes_sycl.context(queue)
    assert made is samebytes_sycl.context(queue)
    assert made is not context
    assert samebytes.context("sycl:gpu") is context
    with pytest.raises(UnknownNameError, match="SYCL device"):
        samebytes.context("sycl:fpga")
    with pytest.raises(UnsupportedObjectError):
        samebytes_sycl.context("gpu")


@pytest.mark.usefixtures("device")
def test_exit_with_living_memory() -> None:
    program = """
        import numpy as np, samebytes
        kept = samebytes.context("sycl").allocate((1 << 20,))
        array, there = np.asarray(kept), kept.map("cpu")
        print("end")
    """
    assert run_program(program) == "end\n"


def test_exit_with_living_memory_in_opencl_too() -> None:
    pytest.importorskip(
        "samebytes_gpu_opencl",
        reason="missing package samebytes_gpu_opencl: pip install samebytes-gpu-opencl",
    )
    program = """
        import samebytes
        kept = samebytes.context("sycl").allocate((1 << 20,))
        opencl = kept.map("opencl")
        print("end")
    """
    assert run_program(program) == "end\n"


def test_no_ze_context_on_opencl(context: SYCLContext) -> None:
    with pytest.raises(UnknownNameError, match="ze_context"):
        context.handle("ze_context")
