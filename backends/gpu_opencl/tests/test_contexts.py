# SPDX-License-Identifier: Apache-2.0
"""Contexts over devices, the user's objects, and other contexts."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyopencl as cl
import pytest

import samebytes
import samebytes_gpu_opencl
from samebytes.errors import (
    AmbiguousTargetError,
    ClosedError,
    DeviceMismatchError,
    LayoutError,
    MissingDependencyError,
    NoRouteError,
    UnknownNameError,
    UnsupportedObjectError,
)
from samebytes_gpu_opencl import OpenCLContext, _context, _devices


def test_a_device_has_one_default_context(device_name: str) -> None:
    context = samebytes.context(f"opencl:{device_name}")
    assert isinstance(context, OpenCLContext)
    assert samebytes.context(f"opencl:{device_name}") is context
    assert context.native.devices == [context.native_device]
    assert context.device.kind == device_name.partition(".")[0]
    assert context.handle("cl_device") == context.native_device.int_ptr
    with pytest.raises(UnknownNameError, match="cl_queue"):
        context.handle("cl_queue")


def test_default_contexts_end_with_their_last_holder(
    device_name: str, child: Callable[..., str]
) -> None:
    # In its own process, since another test may hold the default context of this one.
    code = (
        "import gc, weakref, samebytes\n"
        f"context = samebytes.context('opencl:{device_name}')\n"
        "gone = weakref.ref(context)\n"
        "tensor = context.allocate((4,))\n"
        "del context\n"
        "print(gone() is not None)\n"
        "del tensor\n"
        "print(gone() is None)\n"
    )
    assert child(code).split() == ["True", "True"]


def test_unknown_devices_are_named(device_name: str) -> None:
    with pytest.raises(UnknownNameError, match=device_name):
        samebytes.context("opencl:NPU")
    with pytest.raises(UnknownNameError):
        samebytes.context(f"{device_name}.99" if ":" in device_name else "opencl:GPU.99")


class Twin:
    """A device of a driver that has two of them."""

    def __init__(self, number: int) -> None:
        self.type = cl.device_type.GPU
        self.int_ptr = number


def test_several_devices_are_a_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    class Platform:
        def get_devices(self) -> list[Twin]:
            return [Twin(1), Twin(2)]

    monkeypatch.setattr(cl, "get_platforms", lambda: [Platform()])
    assert _devices.device_names() == ("GPU.0", "GPU.1")
    for name in ("opencl", "opencl:GPU"):
        with pytest.raises(AmbiguousTargetError) as caught:
            samebytes.context(name)
        assert caught.value.choices == ("opencl:GPU.0", "opencl:GPU.1")
    assert _devices.find_device("GPU.1").int_ptr == 2


def test_no_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cl, "get_platforms", list)
    with pytest.raises(MissingDependencyError, match="samebytes doctor opencl"):
        samebytes.context("opencl")


def test_a_handle_of_the_context_is_not_one_of_its_memory(opencl: Any) -> None:
    for item in (opencl.allocate((4, 4)), opencl.allocate_frame("NV12", 4, 4)):
        with pytest.raises(UnknownNameError) as caught:
            item.handle("cl_context")
        assert "did you mean" not in str(caught.value)
        assert ".context.handle('cl_context')" in str(caught.value)
        assert item.context.handle("cl_context") == opencl.native.int_ptr


def test_over_a_cl_context(opencl: Any) -> None:
    native = opencl.native
    assert samebytes_gpu_opencl.context(native) is opencl
    assert samebytes_gpu_opencl.context(native.int_ptr) is opencl
    assert samebytes_gpu_opencl.context(ctypes.c_void_p(native.int_ptr)) is opencl
    assert samebytes_gpu_opencl.context(opencl) is opencl
    with pytest.raises(LayoutError, match="1 devices"):
        samebytes_gpu_opencl.context(native, device_index=1)
    with pytest.raises(UnsupportedObjectError, match="str"):
        samebytes_gpu_opencl.context("GPU")


def test_over_a_queue(opencl: Any) -> None:
    queue = cl.CommandQueue(opencl.native)
    context = samebytes_gpu_opencl.context(queue)
    assert context is samebytes_gpu_opencl.context(queue)
    assert context is not opencl
    assert context.handle("cl_queue") == queue.int_ptr
    assert context.handle("cl_context") == opencl.handle("cl_context")
    assert context.queue is queue
    other = samebytes_gpu_opencl.context(cl.CommandQueue(opencl.native))
    assert other != context


def test_its_own_queue_is_made_once(opencl: Any) -> None:
    queue = opencl.queue
    assert opencl.queue is queue
    assert queue.context == opencl.native
    assert not queue.properties & cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE


@pytest.mark.usefixtures("device_name")
@pytest.mark.parametrize("handle", [0, 8, -1, 1 << 63, 0xDEAD_BEEF])
def test_what_is_not_a_cl_context(handle: int) -> None:
    with pytest.raises(LayoutError, match="not a valid cl_context"):
        samebytes_gpu_opencl.context(handle)


def test_references_are_given_back_once(opencl: Any, references: Callable[[Any], int]) -> None:
    native = cl.Context([opencl.native_device])
    queue = cl.CommandQueue(native)
    _ = queue.context  # which pyopencl keeps from now on
    before = references(native), references(queue)
    for _ in range(3):
        context = samebytes_gpu_opencl.context(queue)
        by_number = samebytes_gpu_opencl.context(native.int_ptr)
        by_number.queue.finish()
        del context, by_number
    assert (references(native), references(queue)) == before
    context = samebytes_gpu_opencl.context(native.int_ptr)
    context.close()
    context.close()
    del context
    assert references(native) == before[0]


def test_closed(opencl: Any) -> None:
    tensor = opencl.allocate((8,))
    tensor.map("cpu", "w").native[...] = 3
    mapped = tensor.map("cpu")
    opencl.close()
    with pytest.raises(ClosedError):
        opencl.allocate((4,))
    with pytest.raises(ClosedError):
        opencl.allocate_frame("NV12", 8, 4)
    with pytest.raises(ClosedError):
        opencl.derive("openvino:GPU")
    opencl.sync()
    assert mapped.native.tolist() == [3] * 8
    assert tensor.map("cpu").native.tolist() == [3] * 8
    mapped.close()
    tensor.close()


class Parent(samebytes.Context):
    """Another framework's context with OpenCL handles."""

    memory_type = "opencv_umat"
    node = "opencv_umat"


def test_derived_from_handles(opencl: Any) -> None:
    queue = cl.CommandQueue(opencl.native)
    handles = {"cl_context": opencl.native.int_ptr}
    assert samebytes_gpu_opencl.context(Parent(handles=handles)) is opencl
    handles["cl_queue"] = queue.int_ptr
    parent = Parent(handles=handles)
    derived = samebytes_gpu_opencl.context(parent)
    assert derived is parent.derive("opencl")
    assert derived is samebytes_gpu_opencl.context(queue)
    assert derived.handle("cl_device") == opencl.native_device.int_ptr


@pytest.mark.usefixtures("device_name")
def test_derived_from_what_has_no_cl_context() -> None:
    with pytest.raises(NoRouteError, match=r"no cl_context: it is not on OpenCL$"):
        Parent().derive("opencl")


class Display(samebytes.Context):
    """A VA display on some GPU."""

    memory_type = "vaapi"
    node = "vaapi"

    def __init__(self, **known: Any) -> None:
        super().__init__(samebytes.Device("GPU", "display", **known), handles={"va_display": 8})


@pytest.fixture
def two_gpus(monkeypatch: pytest.MonkeyPatch, device_name: str) -> dict[str, str]:
    """The device under test twice, as GPUs at two PCI addresses; those by their names."""
    addresses = {"GPU.0": "0000:00:02.0", "GPU.1": "0000:03:00.0"}
    native = _devices.find_device(device_name)
    found = {name: cl.Device.from_int_ptr(native.int_ptr) for name in addresses}
    names = {id(device): name for name, device in found.items()}

    def described(device: cl.Device) -> samebytes.Device:
        pci = addresses.get(names.get(id(device), ""))
        return samebytes.Device("GPU", "gpu", pci=pci)

    monkeypatch.setattr(_devices, "devices", lambda: found)
    monkeypatch.setattr(_devices, "describe", described)
    monkeypatch.setattr(_context, "describe", described)
    return addresses


def test_the_device_of_a_display(two_gpus: dict[str, str]) -> None:
    for name, pci in two_gpus.items():
        assert _devices.same_device(Display(pci=pci)) is _devices.devices()[name]
    with pytest.raises(AmbiguousTargetError) as caught:
        Display(pci="0000:99:00.0").derive("opencl")
    assert caught.value.choices == ("opencl:GPU.0", "opencl:GPU.1")
    assert isinstance(caught.value.__cause__, DeviceMismatchError)
    with pytest.raises(AmbiguousTargetError):  # both may be it
        Display().derive("opencl")


def test_the_named_device_must_be_the_one_of_the_display(two_gpus: dict[str, str]) -> None:
    display = Display(pci=two_gpus["GPU.1"])
    assert isinstance(display.derive("opencl:GPU.1"), OpenCLContext)
    with pytest.raises(DeviceMismatchError, match=r"opencl:GPU.0 .* is not the device of"):
        display.derive("opencl:GPU.0")
    with pytest.raises(UnknownNameError, match=r"GPU\.7"):
        display.derive("opencl:GPU.7")
    with pytest.raises(NoRouteError, match=r"no cl_context: it is not on OpenCL$"):
        Parent().derive("opencl")


def test_a_device_that_does_not_say_what_it_is(
    monkeypatch: pytest.MonkeyPatch, device_name: str
) -> None:
    """Unknown passes, where there is no choice. The context is the device's default one."""
    native = _devices.find_device(device_name)
    monkeypatch.setattr(_devices, "devices", lambda: {device_name: native})
    monkeypatch.setattr(_devices, "describe", lambda _: samebytes.Device("GPU", "gpu"))
    display = Display(pci="0000:00:02.0")
    derived = display.derive("opencl")
    assert derived is samebytes.context(f"opencl:{device_name}")
    assert derived is display.derive("opencl")
    assert samebytes_gpu_opencl.context(display) is derived


def test_a_display_without_any_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_devices, "devices", dict)
    with pytest.raises(MissingDependencyError, match="samebytes doctor opencl"):
        Display().derive("opencl")


def test_the_node_of_a_device_at_a_pci_address(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for node in ("card0", "renderD129"):
        (tmp_path / "0000:03:00.0" / "drm" / node).mkdir(parents=True)
    monkeypatch.setattr(_devices, "_PCI_DEVICES", tmp_path)
    assert _devices._drm_node("0000:03:00.0") == "/dev/dri/renderD129"
    assert _devices._drm_node("0000:00:02.0") is None
    assert _devices._drm_node(None) is None


def test_a_device_of_another_cl_context(opencl: Any) -> None:
    handles = {"cl_context": opencl.native.int_ptr, "cl_device": 0x1000}
    with pytest.raises(DeviceMismatchError, match="none of the devices"):
        Parent(handles=handles).derive("opencl")


def test_memory_finds_the_one_living_context(opencl: Any) -> None:
    native = cl.Context([opencl.native_device])
    context = samebytes_gpu_opencl.context(cl.CommandQueue(native))
    buffer = cl.Buffer(native, cl.mem_flags.READ_WRITE, 16)
    assert samebytes.tensor(buffer).context is context
    plain = samebytes_gpu_opencl.context(native)
    assert samebytes.tensor(buffer).context is plain
    assert samebytes_gpu_opencl.tensor(buffer, context=context).context is context


def test_public_names() -> None:
    for name in samebytes_gpu_opencl.__all__:
        assert getattr(samebytes_gpu_opencl, name).__doc__
    with pytest.raises(AttributeError, match="OpenCLContest"):
        _ = samebytes_gpu_opencl.OpenCLContest  # type: ignore[attr-defined]
    assert set(samebytes_gpu_opencl.__all__) < set(dir(samebytes_gpu_opencl))
