# SPDX-License-Identifier: Apache-2.0
"""The maps that describe memory to OpenVINO: those of its C++ wrapper classes.

Contexts of Direct3D are tried here too, on a system that is taken for Windows.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import samebytes
from samebytes.errors import UnsupportedObjectError
from samebytes_openvino.intel_gpu import (
    ClContext,
    D3DContext,
    PropertyError,
    SharedBufferHandle,
    VirtualAddressMemory,
)


class Recorder:
    """A core or remote context that writes down the maps it is given, and makes something else."""

    def __init__(self, native: Any, made: Any = None) -> None:
        self.native, self.made = native, made
        self.maps: list[dict[str, Any]] = []
        self.layouts: list[tuple[str, list[int]]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.native, name)

    def create_context(self, device: str, properties: dict[str, Any]) -> Any:
        assert device == "GPU"
        self.maps.append(properties)
        return self.made or self.native.create_context(device, properties)

    def create_tensor(self, element: Any, extents: Any, properties: dict[str, Any]) -> Any:
        self.maps.append(properties)
        self.layouts.append((element.to_string(), list(extents)))
        return self.native.create_tensor(element, extents, {})


@pytest.fixture
def recorder(context: Any) -> Recorder:
    """The recording of a context's native."""
    return Recorder(context.native)


@pytest.fixture
def recorded(core: Any, context: Any, recorder: Recorder) -> D3DContext:
    """A context that writes down the maps of its tensors."""
    handles = {key: context.handle(key) for key in ("cl_context", "cl_device")}
    return D3DContext(recorder, core, context.device, {**handles, "d3d11_device": 0x4000})


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The system is taken for Windows."""
    monkeypatch.setattr(sys, "platform", "win32")


# From openvino/runtime/intel_gpu/ocl/{ocl,va,dx}.hpp: what each method passes on.


def test_contexts(core: Any, cl_context: Any, queue: Any) -> None:
    recorder = Recorder(core)
    assert ClContext.from_cl_context(cl_context, core=recorder)
    assert ClContext.from_queue(queue, core=recorder)
    over = {
        "CONTEXT_TYPE": "OCL", "OCL_CONTEXT": hex(cl_context.int_ptr), "OCL_CONTEXT_DEVICE_ID": 0
    }  # fmt: skip
    assert recorder.maps == [over, {**over, "OCL_QUEUE": hex(queue.int_ptr)}]


@pytest.mark.usefixtures("windows")
def test_contexts_of_direct3d(core: Any, context: Any) -> None:
    recorder = Recorder(core, context.native)
    made = D3DContext.from_device(0x4000, core=recorder)
    assert made.d3d11_device == 0x4000
    D3DContext.from_device(0x5000, 0, core=recorder)
    assert recorder.maps == [
        {"CONTEXT_TYPE": "VA_SHARED", "VA_DEVICE": device, "TILE_ID": tile}
        for device, tile in (("0x4000", -1), ("0x5000", 0))
    ]


def test_new_memory(recorded: D3DContext, recorder: Recorder) -> None:
    recorded.create_tensor("float32", (1, 4))
    recorded.create_usm_host_tensor("float32", (1, 4))
    recorded.create_usm_device_tensor("float32", (1, 4))
    assert recorder.maps == [
        {}, {"SHARED_MEM_TYPE": "USM_HOST_BUFFER"}, {"SHARED_MEM_TYPE": "USM_DEVICE_BUFFER"}
    ]  # fmt: skip


def test_memory_of_opencl(
    recorded: D3DContext, recorder: Recorder, buffer_of: Any, image_of: Any, usm_alloc: Any
) -> None:
    buffer, image = buffer_of(np.zeros(64, np.uint8)), image_of(np.zeros((16, 16), np.uint8))
    pointer = usm_alloc("host", 64)
    recorded.create_tensor("uint8", (64,), buffer)
    recorded.create_tensor("uint8", (1, 16, 16, 1), image)
    recorded.create_tensor("uint8", (64,), pointer)
    kinds = (("OCL_BUFFER", buffer.int_ptr), ("OCL_IMAGE2D", image.int_ptr),
             ("USM_USER_BUFFER", pointer))  # fmt: skip
    assert recorder.maps == [
        {"SHARED_MEM_TYPE": kind, "MEM_HANDLE": hex(handle)} for kind, handle in kinds
    ]


def test_memory_of_the_cpu(recorded: D3DContext, recorder: Recorder) -> None:
    array = samebytes.context("cpu").allocate((64,)).native
    recorded.create_tensor("uint8", (64,), VirtualAddressMemory(array))
    assert recorder.maps == [
        {
            "SHARED_MEM_TYPE": "CPU_VA",
            "CPU_VA": hex(array.ctypes.data),
            "CPU_VA_SIZE": 64,
            "CPU_VA_ACCESS": "READ_WRITE",
        }
    ]


@pytest.mark.parametrize("system", ["linux", "win32"])
def test_shared_handles(
    recorded: D3DContext, recorder: Recorder, system: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", system)
    recorded.create_tensor("uint8", (64,), SharedBufferHandle(18))
    handle = "0x12" if system == "win32" else 18
    assert recorder.maps == [{"SHARED_MEM_TYPE": "BUFFER_FROM_HANDLE", "OS_HANDLE": handle}]


def test_buffers_of_direct3d(recorded: D3DContext, recorder: Recorder) -> None:
    recorded.create_tensor_d3d_buffer("float32", (1, 4), 0x2000)
    assert recorder.maps == [{"SHARED_MEM_TYPE": "DX_BUFFER", "DEV_OBJECT_HANDLE": "0x2000"}]
    assert recorder.layouts == [("f32", [1, 4])]


@pytest.mark.usefixtures("windows")
def test_textures(recorded: D3DContext, recorder: Recorder) -> None:
    recorded.create_tensor_d3d_texture("uint8", (1, 4, 8, 1), 0x3000)
    recorded.create_tensor_d3d_nv12(4, 8, 0x3000)
    surface = {"SHARED_MEM_TYPE": "VA_SURFACE", "DEV_OBJECT_HANDLE": "0x3000"}
    assert recorder.maps == [{**surface, "VA_PLANE": plane} for plane in (0, 0, 1)]
    luma = ("u8", [1, 4, 8, 1])
    assert recorder.layouts == [luma, luma, ("u8", [1, 2, 4, 2])]


def test_memory_of_direct3d_that_cannot_be(recorded: D3DContext, recorder: Recorder) -> None:
    tries: tuple[tuple[Callable[[], Any], str], ...] = (
        (lambda: recorded.create_tensor_d3d_buffer("uint8", (4,), 0), "DEV_OBJECT_HANDLE"),
        (lambda: recorded.create_tensor_d3d_nv12(4, 8, 0), "DEV_OBJECT_HANDLE"),
        (lambda: recorded.create_tensor_d3d_nv12(3, 8, 0x10), "height"),
        (lambda: recorded.create_tensor_d3d_texture("uint8", (1, 4, 8, 1), 0x10, 1), "VA_PLANE"),
    )
    for use, key in tries:
        with pytest.raises(PropertyError) as error:
            use()
        assert error.value.property == key
    assert not recorder.maps


@pytest.mark.skipif(os.name == "nt", reason="this is what other systems say")
def test_direct3d_is_for_windows() -> None:
    with pytest.raises(UnsupportedObjectError, match="D3DContext is for Windows"):
        D3DContext.from_device(0x1000)
    with pytest.raises(PropertyError, match="VA_DEVICE: this ID3D11Device is null"):
        D3DContext.from_device(0)
