# SPDX-License-Identifier: Apache-2.0
"""Contexts: of our own, over handles of the application, and what outlives them."""

from __future__ import annotations

import ctypes
import gc
import sys
import weakref
from collections.abc import Callable
from typing import Any, Protocol

import pytest

import samebytes
from samebytes import Context, Device
from samebytes.errors import (
    AmbiguousTargetError,
    ClosedError,
    LayoutError,
    MissingDependencyError,
    NoRouteError,
    UnknownNameError,
    UnsupportedObjectError,
)
from samebytes_npu_level_zero import LevelZeroContext


class NativeOwner(Protocol):
    """A native context that the application made, and destroys when this object is gone."""

    handle: int
    destroy: Any

    def context(self) -> LevelZeroContext:
        """The context over it."""


class Parent(Context):
    """A context of another framework that lies on Level Zero, as OpenVINO's for the NPU does."""

    memory_type = "openvino"
    node = "openvino:NPU"


def test_one_for_each_device(context: LevelZeroContext) -> None:
    name = context.device.kind
    assert samebytes.context("level_zero") is context
    assert samebytes.context(f"level_zero:{name}") is context
    assert samebytes.context(f"level_zero:{name}.0") is context
    assert LevelZeroContext.create(None, None) is context


@pytest.mark.usefixtures("device")
def test_a_context_that_nobody_holds_is_destroyed() -> None:
    samebytes.refresh()  # which drops those that routing keeps
    gc.collect()
    tensor = samebytes.context("level_zero").allocate((4,))
    dead = weakref.ref(tensor.context)
    assert dead() is samebytes.context("level_zero")
    del tensor
    gc.collect()
    assert dead() is None


@pytest.mark.usefixtures("device")
def test_memory_outlives_its_closed_context() -> None:
    context = samebytes.context("level_zero")
    assert isinstance(context, LevelZeroContext)
    tensor = context.allocate((32,))
    context.close()
    for use in (
        lambda: context.allocate((4,)),
        lambda: context.allocate_frame("BGR", 4, 4),
        lambda: context.wrap_pointer(tensor.handle(), (4,)),
        lambda: context.import_fd(5, (4,)),
    ):
        with pytest.raises(ClosedError):
            use()
    assert context.inspect(tensor.handle())
    assert context.handle("ze_context")
    tensor.host_array()[...] = 4
    assert tensor.native.array().sum() == 128
    for same in (tensor.map("cpu"), samebytes.tensor(tensor.native).map("cpu")):
        assert same.native.sum() == 128
    fresh = samebytes.context("level_zero")
    assert fresh is not context
    assert fresh.allocate((4,)).context is fresh
    del same  # what was wrapped from the native holds the memory too
    tensor.close()


def test_over_handles_of_the_application(
    context: LevelZeroContext, application: NativeOwner
) -> None:
    handle = application.handle
    borrowed = application.context()
    assert borrowed != context
    assert application.context() is borrowed
    assert borrowed.handle("ze_context") == handle
    assert borrowed.device == context.device
    tensor = borrowed.allocate((8,))
    assert context.inspect(tensor.handle()) is None, "a context can access its own memory only"
    borrowed.close()
    assert application.destroy.alive, "it is the application's to destroy"


def test_keep_lives_as_long_as_memory(make_owner: Callable[[], NativeOwner]) -> None:
    owner = make_owner()
    destroy = owner.destroy
    array = owner.context().allocate((8,)).host_array()
    del owner
    gc.collect()
    assert destroy.alive
    array[...] = 2
    del array
    gc.collect()
    assert not destroy.alive


def test_cycles_end_in_the_right_order(
    context: LevelZeroContext,
    make_owner: Callable[[], NativeOwner],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The collector may end the context of a cycle before its memory, but for our precautions."""
    failures: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", failures.append)
    for _ in range(5):
        owner = make_owner()
        destroy = owner.destroy
        tensor = owner.context().allocate((8,))
        cycle: list[Any] = [owner, tensor, tensor.context, tensor.native, tensor.storage]
        cycle.append(cycle)
        del owner, tensor, cycle
        gc.collect()
        assert not destroy.alive
        context.close()  # the next one has a native context of its own
        own = samebytes.context("level_zero")
        assert own is not context
        memory = own.allocate((8,))
        alive = weakref.ref(memory.storage)
        other: list[Any] = [own, memory, memory.native, memory.storage]
        other.append(other)
        own.close()
        del own, memory, other
        gc.collect()
        assert alive() is None
    assert not failures


@pytest.mark.parametrize("handle", [0, -1, 1 << 64])
def test_handles_that_are_none(context: LevelZeroContext, handle: int) -> None:
    good = context.handle("ze_device")
    for name, arguments in (
        ("ze_context", {"ze_context": handle, "ze_device": good}),
        ("ze_device", {"ze_context": 8, "ze_device": handle}),
    ):
        with pytest.raises(LayoutError, match=name):
            LevelZeroContext.from_handles(**arguments)


def test_handles_of_no_device(context: LevelZeroContext) -> None:
    native = context.handle("ze_context")
    with pytest.raises(UnknownNameError, match="ze_device"):
        LevelZeroContext.from_handles(ze_context=native, ze_device=0xDEAD)
    with pytest.raises(UnknownNameError, match="of ze_driver 0x99"):
        LevelZeroContext.from_handles(
            ze_context=native, ze_device=context.handle("ze_device"), ze_driver=0x99
        )
    with pytest.raises(UnsupportedObjectError):
        LevelZeroContext.from_handles(ze_context="x", ze_device=3)


def test_equal_handles_are_one_context(context: LevelZeroContext) -> None:
    again = LevelZeroContext.from_handles(
        ze_context=context.handle("ze_context"), ze_device=context.handle("ze_device")
    )
    assert again is context
    names = ("ze_context", "ze_device", "ze_driver")
    pointers = {name: ctypes.c_void_p(context.handle(name)) for name in names}
    assert LevelZeroContext.from_handles(**pointers) is context


def test_derived_from_a_framework_on_level_zero(
    context: LevelZeroContext, application: NativeOwner
) -> None:
    parent = Parent(Device(context.device.kind), handles={"ze_context": application.handle})
    derived = parent.derive("level_zero")
    assert isinstance(derived, LevelZeroContext)
    assert derived.handle("ze_context") == application.handle
    assert derived.handle("ze_device") == context.handle("ze_device")
    assert derived.parent is parent
    assert parent.derive("level_zero") is derived
    tensor = derived.allocate((4,))
    assert tensor.host_array().shape == (4,)
    elsewhere = Parent(Device("TPU"), handles={"ze_context": application.handle})
    with pytest.raises(MissingDependencyError):
        elsewhere.derive("level_zero")
    without = Parent(Device(context.device.kind))
    with pytest.raises(NoRouteError, match=r"it has no ze_context: it is not on Level Zero$"):
        without.derive("level_zero")
    with pytest.raises((UnknownNameError, AmbiguousTargetError)):
        parent.derive("level_zero:GPU.7")


def test_handle_table(context: LevelZeroContext) -> None:
    for key in ("ze_context", "ze_device", "ze_driver"):
        assert context.handle(key)
    tensor: Any = context.allocate((4,))
    with pytest.raises(UnknownNameError) as caught:
        tensor.handle("usm_pt")
    assert "usm_ptr" in caught.value.nearest
    with pytest.raises(UnknownNameError):
        tensor.handle("cl_mem")
