# SPDX-License-Identifier: Apache-2.0
"""Contexts of the GPU plugin on Level Zero, by recorded maps of parameters.

No OpenVINO that can be installed has such contexts, so the plugin is a recording here: it answers
with the maps of openvino/runtime/intel_gpu/ze/ze.hpp and keeps those that it is given. The last
test shows what the installed plugin says instead.
"""

from __future__ import annotations

import ctypes
import gc
import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import openvino
import pytest

import samebytes
from samebytes import Device
from samebytes.errors import UnknownNameError, UnsupportedObjectError
from samebytes_openvino import _core  # the names of GPUs are recorded too
from samebytes_openvino.intel_gpu import (
    ClContext,
    PropertyError,
    RegionError,
    SharedBufferHandle,
    VirtualAddressMemory,
    ZeContext,
    ZeTensor,
)

ADVICE = "set OV_GPU_RUNTIME to OCL"


class Text:
    """An ov::Any that holds this text."""

    def __init__(self, text: object) -> None:
        self.text = str(text)

    def astype(self, _: type) -> str:
        return self.text


class RecordedTensor:
    """The stand-in for the plugin's call, which says again what it was given."""

    def __init__(self, shape: Any, properties: dict[str, Any], context: int) -> None:
        kind = properties.get("SHARED_MEM_TYPE", "USM_DEVICE_BUFFER")
        self.shape, self.given = shape, properties
        self.params = {"OCL_CONTEXT": hex(context), "MEM_HANDLE": "0xabc000", **properties}
        self.params["SHARED_MEM_TYPE"] = kind

    def get_params(self) -> dict[str, Text]:
        return {key: Text(value) for key, value in self.params.items()}

    def __repr__(self) -> str:
        return f"<RemoteTensor: shape[{','.join(map(str, self.shape))}] type: u8>"


class RecordedContext:
    """A remote context whose parameters are recorded."""

    def __init__(self, name: str, **params: Any) -> None:
        self.name, self.params = name, params

    def get_params(self) -> dict[str, Text]:
        return {key: Text(value) for key, value in self.params.items()}

    def get_device_name(self) -> str:
        return self.name

    def create_tensor(self, element: Any, shape: Any, properties: dict[str, Any]) -> Any:
        return RecordedTensor(tuple(shape), properties, int(self.params["OCL_CONTEXT"], 16))


class RecordedCore:
    """A core with a GPU on Level Zero."""

    def __init__(self, integrated: bool = True) -> None:
        kinds = openvino.properties.device.Type
        self.kind = kinds.INTEGRATED if integrated else kinds.DISCRETE
        self.made = {
            "GPU": RecordedContext("GPU.0", CONTEXT_TYPE="ZE", OCL_CONTEXT=hex(id(self))),
            "GPU.1": RecordedContext("GPU.1", CONTEXT_TYPE="ZE", OCL_CONTEXT=hex(id(self) + 8)),
        }

    def get_default_context(self, name: str) -> RecordedContext:
        return self.made["GPU" if name == "GPU.0" else name]

    def get_property(self, name: str, key: str) -> Any:
        assert key == "DEVICE_TYPE"
        return self.kind


@pytest.fixture(autouse=True)
def devices(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Two GPUs, of which OpenVINO knows the names."""
    monkeypatch.setattr(_core, "gpu_names", lambda: ("GPU.0", "GPU.1"))
    monkeypatch.setattr(_core, "gpu_device", lambda name: Device("GPU", name))
    monkeypatch.setattr("samebytes_openvino.intel_gpu._context.core_of", lambda core: core)
    # Uses of OpenVINO's own objects are counted, and of no recording.
    monkeypatch.setattr("samebytes_openvino._remote._lifetimes._anchored", lambda *_: None)
    yield
    gc.collect()


@pytest.fixture
def context() -> ZeContext:
    made = ClContext.default(RecordedCore())
    assert isinstance(made, ZeContext)
    return made


def given(tensor: Any) -> dict[str, Any]:
    """The properties with which the plugin was asked for a tensor."""
    properties: dict[str, Any] = tensor.native.given
    return properties


def test_a_context_is_what_its_type_says(context: ZeContext) -> None:
    assert context.handle("ze_context") == id(context.core)
    assert context.shared
    assert ClContext.default(context.core) is context
    other = ClContext.default(context.core, "GPU.1")
    assert other is not context
    assert other.handle("ze_context") == id(context.core) + 8


@pytest.mark.parametrize("key", ["cl_context", "cl_device", "cl_queue"])
def test_there_is_nothing_of_opencl(context: ZeContext, key: str) -> None:
    with pytest.raises(UnknownNameError, match=ADVICE):
        context.handle(key)


def test_new_memory_is_the_plugins(context: ZeContext) -> None:
    tensor = context.create_tensor("uint8", (4, 64))
    assert given(tensor) == {}
    assert type(tensor) is ZeTensor
    assert (tensor.get(), tensor.handle("usm_ptr")) == (0xABC000, 0xABC000)
    assert given(context.create_usm_host_tensor("uint8", (64,))) == {
        "SHARED_MEM_TYPE": "USM_HOST_BUFFER"
    }


@pytest.mark.parametrize("pointer", [0x1000, ctypes.c_void_p(0x1000)])
def test_a_pointer_is_usm(context: ZeContext, pointer: Any) -> None:
    for memory in (pointer, {"SHARED_MEM_TYPE": "USM_USER_BUFFER", "MEM_HANDLE": pointer}):
        assert given(context.create_tensor("uint8", (64,), memory)) == {
            "SHARED_MEM_TYPE": "USM_USER_BUFFER",
            "MEM_HANDLE": "0x1000",
        }


def test_memory_of_the_cpu_is_used_in_place(context: ZeContext) -> None:
    array = samebytes.context("cpu").allocate((4, 64))
    mapped = array.map(context, "rw")
    properties = given(mapped)
    assert properties == {
        "SHARED_MEM_TYPE": "CPU_VA",
        "CPU_VA": hex(array.handle()),
        "CPU_VA_SIZE": 256,
        "CPU_VA_ACCESS": "READ_WRITE",
    }
    with mapped.map("cpu", "rw") as view:
        assert view.native.ctypes.data == array.handle()
        view.native[...] = 7
    assert (array.native == 7).all()


def test_a_gpu_with_its_own_memory_takes_none_of_the_cpus() -> None:
    context = ClContext.default(RecordedCore(integrated=False))
    with pytest.raises(PropertyError, match="has its own memory"):
        context.create_tensor("uint8", (64,), VirtualAddressMemory(np.zeros(64, np.uint8)))


def test_a_descriptor_is_held_while_the_tensor_lives(context: ZeContext) -> None:
    theirs = os.memfd_create("test")
    try:
        os.truncate(theirs, 4096)
        tensor = context.create_tensor("uint8", (4096,), SharedBufferHandle(theirs))
        ours = given(tensor)["OS_HANDLE"]
        assert given(tensor)["SHARED_MEM_TYPE"] == "BUFFER_FROM_HANDLE"
        assert ours != theirs
        assert os.path.sameopenfile(ours, theirs)
        with pytest.raises(PropertyError, match="has 4096 bytes, but the tensor has 4097"):
            context.create_tensor("uint8", (4097,), SharedBufferHandle(theirs))
    finally:
        os.close(theirs)
    assert os.fstat(ours).st_size == 4096
    del tensor
    gc.collect()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(ours)


@pytest.mark.parametrize("kind", ["OCL_BUFFER", "OCL_IMAGE2D", "VA_SURFACE"])
def test_maps_of_opencl_and_va_are_refused(context: ZeContext, kind: str) -> None:
    given = {"DEV_OBJECT_HANDLE": 1, "VA_PLANE": 0} if kind == "VA_SURFACE" else {"MEM_HANDLE": 9}
    with pytest.raises(PropertyError, match=ADVICE):
        context.create_tensor("uint8", (64,), {"SHARED_MEM_TYPE": kind, **given})


def test_objects_of_opencl_are_refused(context: ZeContext) -> None:
    with pytest.raises(UnsupportedObjectError, match=ADVICE):
        context.create_tensor("uint8", (64,), object())


def test_a_cl_context_of_the_users_is_refused(
    context: ZeContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = "samebytes_openvino.intel_gpu._context."
    monkeypatch.setattr(module + "check_object", lambda *_: None)
    monkeypatch.setattr(module + "_opencl.context_devices", lambda _: (1,))
    with pytest.raises(UnsupportedObjectError, match=ADVICE):
        ClContext.from_cl_context(0x2000, core=context.core)
    assert not hasattr(ZeContext, "from_ze_context")  # the API has no such call


def test_a_tensor_of_the_users_may_be_a_region(context: ZeContext) -> None:
    """Its size is not known: Level Zero is not asked."""
    native = RecordedTensor((64,), {"SHARED_MEM_TYPE": "USM_HOST_BUFFER"}, id(context.core))
    tensor = ZeTensor.borrowed(native, context, keep=None)
    with pytest.raises(RegionError):
        tensor.handle("usm_ptr")


def test_edges_of_opencl_refuse_and_say_the_way(context: ZeContext) -> None:
    pytest.importorskip(
        "samebytes_gpu_opencl",
        reason="missing package samebytes_gpu_opencl: pip install samebytes-gpu-opencl",
    )
    cl = pytest.importorskip("pyopencl", reason="missing package pyopencl: pip install pyopencl")
    try:
        platforms = cl.get_platforms()
    except cl.Error:
        platforms = []
    if not platforms:
        pytest.skip(
            "missing device GPU: pytest --softdevices=gpu (pip install samebytes-softdevices)"
        )
    tensor = samebytes.context("opencl").allocate((64,))
    route = samebytes.route(tensor, context)
    assert [hop.spec.name for hop in route.hops] == ["opencl -> cpu", "cpu -> openvino:GPU"]
    assert ADVICE in str(route)


def test_the_installed_plugin_has_none(core: Any) -> None:
    with pytest.raises(RuntimeError, match="Level Zero interoperability is not supported"):
        core.create_context("GPU", {"CONTEXT_TYPE": "ZE", "OCL_CONTEXT": "0x1000"})
    assert ClContext.default(core).params["CONTEXT_TYPE"] == "OCL"
