# SPDX-License-Identifier: Apache-2.0
"""Input that ended the process, or was accepted unchecked, is refused by name."""

from __future__ import annotations

import ctypes
import mmap
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import openvino
import pytest

import samebytes
from samebytes.errors import LayoutError, NoRouteError, UnknownNameError, UnsupportedObjectError
from samebytes_openvino import InferRequest, compile_model
from samebytes_openvino.intel_npu import (
    MemType,
    NpuPropertyError,
    PropertyError,
    TensorType,
    ZeroContext,
    get_properties,
    measure_latency,
    set_properties,
    set_states,
)

N = mmap.PAGESIZE


@pytest.mark.usefixtures("level_zero_plugin")
def test_no_device_writes_to_memory_made_as_input(
    npu: Any, shared: Any, doubling: Callable[..., Any]
) -> None:
    request = InferRequest(compile_model(doubling((1, N)), npu))
    for tensor in (
        npu.create_l0_host_tensor("uint8", (1, N), tensor_type="INPUT"),
        npu.create_tensor("uint8", (1, N), shared(N).fd, tensor_type=TensorType.INPUT),
    ):
        with pytest.raises(LayoutError, match="TENSOR_TYPE INPUT"):
            request.set_output_tensor(0, tensor)
        with pytest.raises(NoRouteError, match="TENSOR_TYPE"):
            tensor.map("level_zero", "w")
        tensor.host_array()[...] = 3  # the CPU may
        (y,) = request.infer(tensor)
        assert (y.host_array() == 6).all()


def test_one_buffer_is_input_and_output_for_who_asks(
    npu: Any, shared: Any, doubling: Callable[..., Any]
) -> None:
    """Software alone: it does not enforce what Intel's driver makes read-only for the device."""
    fd = shared(N).fd
    x = npu.create_tensor("uint8", (1, N), fd, tensor_type=TensorType.INPUT)
    with pytest.raises(PropertyError, match="beside_input=True"):
        npu.create_tensor("uint8", (1, N), fd, tensor_type=TensorType.OUTPUT)
    y = npu.create_tensor("uint8", (1, N), fd, tensor_type=TensorType.OUTPUT, beside_input=True)
    x.host_array()[...] = 3
    request = InferRequest(compile_model(doubling((1, N)), npu))
    request.set_output_tensor(0, y)
    request.infer(x)
    assert (y.host_array() == 6).all()
    assert (x.host_array() == 6).all()  # the same bytes


def test_addresses_without_memory(npu: Any) -> None:
    for address in (0x7FFF_0000_0000, ctypes.c_void_p(0x7FFF_0000_0000)):
        with pytest.raises(PropertyError, match="no 4096 bytes of memory of this process"):
            npu.create_tensor("uint8", (1, N), address, mem_type=MemType.CPU_VA)


def test_a_c_void_p_is_a_pointer(npu: Any) -> None:
    memory = np.frombuffer(mmap.mmap(-1, N), np.uint8)
    pointer = ctypes.c_void_p(memory.ctypes.data)
    for tensor in (
        npu.create_tensor("uint8", (1, N), pointer),
        npu.create_tensor("uint8", (1, N), pointer, MemType.CPU_VA, TensorType.INPUT),
        npu.create_tensor("uint8", (1, N), {"MEM_TYPE": "CPU_VA", "MEM_HANDLE": pointer}),
    ):
        assert tensor.get() == pointer.value
    with pytest.raises(PropertyError, match="null"):
        npu.create_tensor("uint8", (1, N), ctypes.c_void_p(None))


@pytest.mark.parametrize(
    ("config", "error"),
    [
        ({"NPU_TILES": 99}, NpuPropertyError),
        ({"NPU_COMPILATION_MODE_PARAMS": "nonsense=3"}, UnknownNameError),
        ({"NPU_TURBOO": True}, UnknownNameError),
        ({"DEVICE_ID": "9999"}, NpuPropertyError),
    ],
)
def test_settings_at_compile_model(
    npu: Any, core: Any, doubling: Callable[..., Any], config: Any, error: Any
) -> None:
    for compiling in (
        lambda: compile_model(doubling((1, N)), "NPU", config),
        lambda: compile_model(doubling((1, N)), npu, config),
        lambda: set_properties(core, config),
    ):
        with pytest.raises(error):
            compiling()


@pytest.mark.usefixtures("npu")
def test_tiles_that_a_core_is_set_to_are_checked_too(doubling: Callable[..., Any]) -> None:
    own = openvino.Core()
    own.set_property("NPU", {"NPU_TILES": 99})
    with pytest.raises(NpuPropertyError, match="99 tiles, and the device has"):
        compile_model(doubling((1, N)), "NPU", core=own)
    assert compile_model(doubling((1, N)), "NPU", {"NPU_TILES": 1}, core=own)


@pytest.mark.parametrize(
    ("config", "key", "advice"),
    [
        ({"NPU_COMPILER_TYPE": "PLUGIN"}, "NPU_COMPILER_TYPE", "is not installed beside"),
        ({"NPU_PLATFORM": "3720"}, "NPU_PLATFORM", "no NPU 3720, but an NPU"),
        ({"NPU_PLATFORM": "3720", "NPU_COMPILER_TYPE": "DRIVER"}, "NPU_PLATFORM", "its own NPU"),
        ({"NPU_PLATFORM": "3720", "NPU_COMPILER_TYPE": "PLUGIN"}, "NPU_COMPILER_TYPE", "DRIVER"),
    ],
)
def test_compilers_that_are_not_there(
    npu: Any, doubling: Callable[..., Any], config: Any, key: str, advice: str
) -> None:
    """Compiling for a device that is not there, and by a compiler that no wheel has."""
    for where in ("NPU", npu):
        with pytest.raises(NpuPropertyError, match=advice) as caught:
            compile_model(doubling((1, N)), where, config)
        assert (caught.value.property, caught.value.value) == (key, config[key])


@pytest.mark.parametrize(
    ("key", "value", "advice"),
    [
        ("NPU_ENABLE_STRIDES_FOR", "x", "copied where copy=True allows it"),
        ("NPU_QDQ_OPTIMIZATION", True, "Leave it out"),
        ("COMPILATION_NUM_THREADS", 2, "Leave it out"),
        ("NPU_DISABLE_IDLE_MEMORY_PRUNING", True, "Leave it out"),
    ],
)
def test_properties_that_the_driver_or_its_compiler_does_not_know(
    npu: Any, doubling: Callable[..., Any], key: str, value: Any, advice: str
) -> None:
    """The plugin has them, so `validate` lets them pass, and refuses them as it compiles."""
    says = f"(?s)it was set to {value!r}.*does not take it with this machine's driver.*{advice}"
    model = doubling((1, N))
    for where in ("NPU", npu):
        with pytest.raises(NpuPropertyError, match=says) as caught:
            compile_model(model, where, {key: value})
        assert caught.value.property == key
        assert compile_model(model, where)


@pytest.mark.parametrize("streams", [0, 1, 2])
def test_callbacks_come_with_any_number_of_streams(
    streams: int, npu: Any, doubling: Callable[..., Any]
) -> None:
    request = InferRequest(compile_model(doubling((1, N)), npu, {"NUM_STREAMS": streams}))
    request.set_input_tensor(0, samebytes.tensor(np.ones((1, N), np.uint8)))
    threads: list[int] = []
    request.set_callback(lambda *_: threads.append(threading.get_ident()))
    request.start_async()
    request.wait()
    assert (request.get_output_tensor().host_array() == 2).all()
    assert len(threads) == 1
    assert threads != [threading.get_ident()]


def test_settings_that_are_right_still_compile(npu: Any, doubling: Callable[..., Any]) -> None:
    config = {"NUM_STREAMS": 1, "PERFORMANCE_HINT": "THROUGHPUT", "NPU_TURBO": "YES"}
    for where in ("NPU", npu):
        (y,) = InferRequest(compile_model(doubling((1, N)), where, config)).infer(
            samebytes.context("cpu").allocate((1, N))
        )
        assert not y.host_array().any()


def test_errors_are_ours(npu: Any, core: Any) -> None:
    assert npu.native
    for call in (
        lambda: ZeroContext(3),
        lambda: get_properties(None),
        lambda: set_properties(None, {}),
        lambda: set_states(object(), None),  # type: ignore[arg-type]
    ):
        with pytest.raises(UnsupportedObjectError):
            call()
    assert get_properties(core, ["NPU_TURBO"])


def test_latency_of_a_model_at_a_path(
    npu: Any, doubling: Callable[..., Any], tmp_path: Path
) -> None:
    assert npu.native
    path = tmp_path / "model.xml"
    openvino.save_model(doubling((1, N)), path)
    assert measure_latency(path).feil.total > 0
