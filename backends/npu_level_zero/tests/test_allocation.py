# SPDX-License-Identifier: Apache-2.0
"""Allocating USM: kinds, alignment, what is refused, and who keeps what alive."""

from __future__ import annotations

import gc
import mmap
import weakref
from itertools import permutations
from typing import Any, Literal, get_args

import numpy as np
import pytest

import samebytes
from samebytes import TensorInfo
from samebytes.errors import (
    ClosedError,
    LayoutError,
    NotHostVisibleError,
    RouteError,
    UnknownNameError,
    UnsupportedObjectError,
)
from samebytes.testing import assert_steady
from samebytes_npu_level_zero import LevelZeroContext, LevelZeroError, LevelZeroTensor, USMPointer

Kind = Literal["host", "shared", "device"]
KINDS: tuple[Kind, ...] = get_args(Kind)
MEMORY_TYPES = {"host": 1, "device": 2, "shared": 3}
"""ze_memory_type_t, level_zero/ze_api.h."""


@pytest.mark.parametrize("kind", KINDS)
def test_kinds(context: LevelZeroContext, kind: Kind) -> None:
    tensor = context.allocate((4, 6), "float32", kind)
    native = tensor.native
    assert (tensor.shape, str(tensor.dtype), tensor.readonly) == ((4, 6), "float32", False)
    assert native.kind == kind
    assert tensor.handle() == tensor.handle("usm_ptr") == native.address
    assert tensor.handle("ze_usm_type") == MEMORY_TYPES[kind]
    assert tensor.handle("offset") == 0
    assert native.nbytes == 96
    found = context.inspect(tensor.handle())
    assert found is not None
    assert found.kind == kind
    assert found == context.inspect(native.address + native.nbytes - 1)
    assert kind in repr(native)
    assert samebytes.tensor(native).native is native


@pytest.mark.parametrize("kind", ["host", "shared"])
def test_the_cpu_reads_host_and_shared_memory(context: LevelZeroContext, kind: Kind) -> None:
    samebytes.reset_stats()
    tensor = context.allocate((3, 5), "int16", kind)
    with tensor.map("cpu", "w") as view:
        view.native[...] = np.arange(15).reshape(3, 5)
    assert tensor.handle("data") == tensor.handle("usm_ptr")
    assert np.asarray(tensor).sum() == 105
    assert samebytes.stats().copies == 0


def test_the_cpu_does_not_read_device_memory(context: LevelZeroContext) -> None:
    tensor = context.allocate((8,), kind="device")
    with pytest.raises(RouteError, match="device USM cannot be read by the CPU"):
        tensor.map("cpu")
    for use in (tensor.host_array, lambda: tensor.handle("data"), lambda: np.asarray(tensor),
                tensor.__dlpack__, tensor.native.array):  # fmt: skip
        with pytest.raises(NotHostVisibleError):
            use()
    del use  # it holds the native object
    assert repr(tensor)
    tensor.close()


def test_types_that_numpy_lacks(context: LevelZeroContext) -> None:
    half = context.allocate((3, 4), "bfloat16")
    view = half.map("cpu", "rw")
    assert str(view.dtype) == "bfloat16"
    view.native[...] = 0x3F80
    assert half.host_array()[2, 3] == 0x3F80
    packed = context.allocate((5,), "uint4")
    assert (packed.strides, packed.host_array().shape) == (None, (3,))
    assert packed.map("cpu").map("level_zero").dtype is packed.dtype


def test_memory_is_whole_pages_and_aligned(context: LevelZeroContext) -> None:
    small = context.allocate((1,))
    assert small.handle() % mmap.PAGESIZE == 0
    assert small.native.allocation.nbytes == mmap.PAGESIZE
    assert context.allocate((), "float64").shape == ()
    assert context.allocate((0, 4)).host_array().shape == (0, 4)
    assert context.allocate((9,), alignment=1 << 16).handle() % (1 << 16) == 0
    assert context.allocate((9,), alignment=0).handle()


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"shape": (-1,)}, LayoutError, "negative"),
        ({"shape": (1 << 50,)}, LayoutError, "one allocation"),
        ({"shape": (1 << 70,)}, LayoutError, "address space"),
        ({"shape": (8,), "alignment": 100}, LayoutError, "power of two"),
        ({"shape": (8,), "alignment": -4}, LayoutError, "power of two"),
        ({"shape": (8,), "alignment": 1 << 70}, LayoutError, "power of two"),
        ({"shape": (8,), "dtype": "uint9"}, UnknownNameError, "uint9"),
        ({"shape": (8,), "kind": "hots"}, UnknownNameError, "'host'"),
    ],
)
def test_bad_input(
    context: LevelZeroContext, arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        context.allocate(**arguments)


def test_what_the_driver_refuses_has_a_name(context: LevelZeroContext) -> None:
    with pytest.raises(LevelZeroError) as caught:
        context.allocate((8,), alignment=1 << 62)
    assert caught.value.call == "zeMemAllocHost"
    assert caught.value.name.startswith("ZE_RESULT_ERROR_")


def test_frames(context: LevelZeroContext) -> None:
    frame = context.allocate_frame("I420", 48, 32, "shared", exportable=True)
    assert [p.handle("offset") for p in frame] == [0, 1536, 1920]
    allocations = {id(p.allocation) for p in frame.native}
    assert len(allocations) == 1
    with frame.map("cpu", "w") as view:
        for plane in view:
            plane.host_array()[...] = 9
    del view, plane
    assert all((p.host_array() == 9).all() for p in frame)
    held = frame.native[1].array()
    assert frame.close() is False
    assert (held == 9).all()
    with pytest.raises(UnknownNameError):
        context.allocate_frame("I420", 48, 32, "hots")  # type: ignore[arg-type]  # the point


def test_drops_in_any_order(context: LevelZeroContext) -> None:
    gc.disable()
    try:
        for order in permutations(range(5)):
            tensor = context.allocate((64,))
            address, freed = tensor.handle(), weakref.ref(tensor.storage)
            tensor.host_array()[...] = 5
            view = tensor.map("cpu")
            parts: dict[int, Any] = dict(
                enumerate([tensor, tensor.native, view, view.native, np.from_dlpack(view)])
            )
            del tensor, view
            for place in order:
                found = context.inspect(address)
                assert found is not None
                assert freed() is not None
                del parts[place]
                for part in parts.values():
                    array = part.array() if isinstance(part, USMPointer) else np.asarray(part)
                    assert (array == 5).all()
                    del array
                part = None
            assert freed() is None
            assert context.inspect(address) is None
    finally:
        gc.enable()


@pytest.mark.usefixtures("device")
def test_native_alone_keeps_memory_and_context() -> None:
    native = samebytes.context("level_zero").allocate((16,)).native
    assert isinstance(native, USMPointer)
    gc.collect()
    native.array()[...] = 3
    tensor = samebytes.tensor(native)
    assert tensor.host_array().sum() == 48
    context = native.context
    assert isinstance(context, LevelZeroContext)
    assert context.inspect(native.address)


def test_what_is_held_outlives_close(context: LevelZeroContext) -> None:
    tensor = context.allocate((8,), "uint16")
    tensor.host_array()[...] = 77
    held = tensor.map("cpu").native[2:]
    native, address = tensor.native, tensor.handle()
    assert tensor.close() is False
    assert native.array()[3] == 77
    del native
    assert held[1] == 77
    assert context.inspect(address)
    del held
    assert context.inspect(address) is None
    with pytest.raises(ClosedError):
        tensor.export_fd()


def test_nothing_stays(context: LevelZeroContext) -> None:
    def once() -> None:
        with context.allocate((4096,), exportable=True) as tensor:
            tensor.map("cpu", "w")

    assert_steady(once, 2_000)


def test_wrapping_something_else() -> None:
    for thing in (None, 4096, np.zeros(3)):
        with pytest.raises(UnsupportedObjectError, match="USMPointer"):
            LevelZeroTensor.wrap(thing)


def test_read_only_pointers(context: LevelZeroContext) -> None:
    tensor = context.allocate((4,))
    reading = tensor.map("level_zero")
    assert reading.native.readonly
    assert not reading.native.array().flags.writeable
    assert samebytes.tensor(reading.native).readonly
    assert reading.handle() == tensor.handle()
    assert not tensor.native.readonly


def test_info_is_the_pointers(context: LevelZeroContext) -> None:
    tensor = context.allocate((2, 2), "int8")
    assert tensor.info == tensor.native.info == TensorInfo("int8", (2, 2))
