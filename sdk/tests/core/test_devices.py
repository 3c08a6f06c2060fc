# SPDX-License-Identifier: Apache-2.0
"""Demands of device memory on the core: ordering by queues, waiting, memory without strides."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import samebytes as sb
from samebytes import (
    Context,
    CpuTensor,
    Device,
    MemoryMapper,
    Storage,
    Tensor,
    TensorInfo,
    Transfer,
)
from samebytes.errors import ClosedError, NoRouteError
from samebytes.plugins import ContextSpec, MapperSpec, ordering_queue, read_slot

from .made_up import install

pytestmark = pytest.mark.usefixtures("made_up")

CPU = sb.context("cpu")


class DeviceTensor(Tensor):
    __slots__ = ()


class DeviceContext(Context):
    memory_type = node = "device"
    tensor_class = DeviceTensor
    may_be_opaque = True

    def tensor(self, *, opaque: bool = False) -> DeviceTensor:
        info = TensorInfo("uint8", (4,), opaque=opaque)
        return DeviceTensor.borrowed(np.zeros(4, np.uint8), self, info=info)


class Ordered(MemoryMapper):
    """device -> cpu by a queue; records what it was given."""

    __slots__ = ()
    queues: list[Any] = []  # noqa: RUF012 - emptied by the fixture
    calls: list[str] = []  # noqa: RUF012

    def connect(self, item: Any, access: str) -> Any:
        queue = ordering_queue()
        self.queues.append(queue)
        storage = Storage(lambda: None, wait=lambda: self.calls.append("wait"))
        return item.native, None, storage


class Plain(Ordered):
    """The same without a use for a queue."""

    __slots__ = ()

    def connect(self, item: Any, access: str) -> Any:
        return item.native, None, None


@pytest.fixture
def device() -> DeviceContext:
    Ordered.queues.clear()
    Ordered.calls.clear()
    return DeviceContext(Device("GPU"))


@pytest.fixture
def route_through(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """`route_through(kind)` makes an edge of that class the only way from the device to the CPU."""

    def install_edge(kind: type[MemoryMapper], *, opaque: bool = False) -> None:
        spec = MapperSpec(
            source="device", target="cpu", mapper=f"{__name__}:{kind.__name__}",
            transfer=Transfer.MAP, summary="made up", level="tensor", opaque=opaque,
        )  # fmt: skip
        context = ContextSpec(node="device", context=f"{__name__}:DeviceContext")
        install(monkeypatch, spec, contexts=(context,))

    return install_edge


def test_without_a_queue_the_edge_is_synchronous(
    device: DeviceContext, route_through: Callable[..., None]
) -> None:
    route_through(Ordered)
    device.tensor().map("cpu")
    assert Ordered.queues == [None]


def test_the_edge_is_given_the_queue_and_only_for_that_call(
    device: DeviceContext, route_through: Callable[..., None]
) -> None:
    route_through(Ordered)
    queue = object()
    mapped = device.tensor().map("cpu", queue=queue)
    assert isinstance(mapped, CpuTensor)
    device.tensor().map("cpu")
    assert Ordered.queues == [queue, None]


def test_a_queue_that_nobody_uses_is_an_error(
    device: DeviceContext, route_through: Callable[..., None]
) -> None:
    route_through(Plain)
    with pytest.raises(NoRouteError, match="no edge of this route uses a queue"):
        device.tensor().map("cpu", queue=object())


def test_a_context_orders_memory_that_is_there_already(
    device: DeviceContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """map(queue=) to the context of the tensor itself asks no edge, but the context."""
    ordered: list[tuple[Any, Any]] = []

    def order(_: Context, item: Any, queue: Any) -> bool:
        ordered.append((item, queue))
        return queue is known

    item, known = device.tensor(), object()
    with pytest.raises(NoRouteError, match="queue"):
        item.map(device, queue=known)
    monkeypatch.setattr(DeviceContext, "order", order)
    assert item.map(device, queue=known).native is item.native
    assert ordered == [(item, known)]
    with pytest.raises(NoRouteError, match="queue"):
        item.map(device, queue="unknown")


def test_a_mapping_that_fails_forgets_the_queue(
    device: DeviceContext, route_through: Callable[..., None]
) -> None:
    route_through(Ordered)
    broken = device.tensor(opaque=True)
    with pytest.raises(NoRouteError, match="not linear"):
        broken.map("cpu", queue=object())
    device.tensor().map("cpu")
    assert Ordered.queues == [None]


def test_wait_waits_for_every_mapping_that_the_memory_lies_in(
    device: DeviceContext, route_through: Callable[..., None]
) -> None:
    route_through(Ordered)
    mapped = device.tensor().map("cpu")
    again = mapped.map("cpu")
    again.wait()
    assert Ordered.calls == ["wait"]


@pytest.mark.usefixtures("device")
def test_a_frame_waits_for_its_planes() -> None:
    storage = Storage(lambda: None, wait=lambda: Ordered.calls.append("plane"))
    plane = CpuTensor.borrowed(np.zeros((2, 2), np.uint8), CPU, keep=storage)
    sb.frame([plane], format="GRAY8").wait()
    assert Ordered.calls == ["plane"]


def test_memory_without_strides_is_refused_where_the_edge_needs_them(
    device: DeviceContext, route_through: Callable[..., None]
) -> None:
    route_through(Ordered)
    with pytest.raises(NoRouteError, match="not linear"):
        device.tensor(opaque=True).map("cpu")
    assert device.tensor().map("cpu") is not None


def test_memory_without_strides_passes_an_edge_that_says_so(
    device: DeviceContext, route_through: Callable[..., None]
) -> None:
    route_through(Ordered, opaque=True)
    assert device.tensor(opaque=True).map("cpu") is not None


def test_packed_elements_have_no_strides_and_are_linear(
    device: DeviceContext, route_through: Callable[..., None]
) -> None:
    route_through(Ordered)
    info = TensorInfo("uint4", (8,))
    tensor = DeviceTensor.borrowed(np.zeros(4, np.uint8), device, info=info)
    assert tensor.map("cpu") is not None


class ClosesTheSource(Plain):
    """Closes the source before it is done with it, as another thread may do."""

    __slots__ = ()
    released: list[str] = []  # noqa: RUF012 - a test empties it

    def connect(self, item: Any, access: str) -> Any:
        item.close()
        gc.collect()
        assert not self.released, "the memory was given back while the edge worked with it"
        return np.zeros(4, np.uint8), None, None


def test_a_source_that_is_closed_while_an_edge_works_is_held(
    device: DeviceContext, route_through: Callable[..., None]
) -> None:
    route_through(ClosesTheSource)
    released = ClosesTheSource.released
    released.clear()
    info = TensorInfo("uint8", (4,))
    memory = Storage(lambda: released.append("memory"))
    tensor = DeviceTensor.borrowed(object(), device, keep=memory, info=info)
    del memory
    mapped = tensor.map("cpu")
    assert tensor.closed
    assert released == []
    del mapped
    assert released == ["memory"]


class Fails(Plain):
    __slots__ = ()

    def connect(self, item: Any, access: str) -> Any:
        raise OSError("the device is gone")


def test_the_error_of_an_edge_holds_no_memory(
    device: DeviceContext, route_through: Callable[..., None]
) -> None:
    route_through(Fails)
    made = Storage(lambda: None)
    tensor = DeviceTensor.owned(object(), device, made, info=TensorInfo("uint8", (4,)))
    with pytest.raises(OSError, match="gone") as caught:
        tensor.map("cpu")
    del made
    assert tensor.close() is True, "the memory would stay as long as the error is held"
    assert caught.value.__traceback__ is not None


def test_a_slot_of_a_closed_tensor_says_so(device: DeviceContext) -> None:
    tensor = device.tensor()
    slot = Tensor.native  # type: ignore[misc]  # the slot itself
    assert read_slot(slot, tensor) is tensor.native
    tensor.close()
    with pytest.raises(ClosedError, match="DeviceTensor was closed"):
        read_slot(slot, tensor)
