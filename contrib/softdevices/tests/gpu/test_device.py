# SPDX-License-Identifier: Apache-2.0
"""The one device: a GPU that says it is software, and shows what it can."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import pytest


def test_it_is_a_gpu_that_says_it_is_software(cl: Any, device: Any) -> None:
    assert device.type == cl.device_type.GPU
    assert "software" in device.name
    assert device.vendor_id == 0x8086


def test_whoever_asks_for_a_cpu_gets_none(cl: Any, device: Any) -> None:
    assert device.platform.get_devices(cl.device_type.GPU) == [device]
    assert device.platform.get_devices(cl.device_type.ALL) == [device]
    assert device.platform.get_devices(cl.device_type.CPU) == []
    with pytest.raises(cl.RuntimeError, match="DEVICE_NOT_FOUND"):
        cl.Context(dev_type=cl.device_type.CPU)
    assert cl.Context(dev_type=cl.device_type.GPU).devices == [device]


@pytest.fixture
def ask(device: Any, opencl: Any) -> Callable[[int, int], tuple[int, bytes]]:
    """Query the device by number, with room for so many bytes: give the result and the answer."""
    query = opencl.loader.clGetDeviceInfo
    query.argtypes = [ctypes.c_void_p, ctypes.c_uint, ctypes.c_size_t] + [ctypes.c_void_p] * 2

    def ask(name: int, room: int) -> tuple[int, bytes]:
        answer, size = ctypes.create_string_buffer(room), ctypes.c_size_t()
        result = query(device.int_ptr, name, room, answer, ctypes.byref(size))
        return result, answer.raw[: size.value]

    return ask


def test_it_answers_what_intel_gpus_answer(ask: Callable[[int, int], Any]) -> None:
    # CL_DEVICE_IP_VERSION_INTEL and CL_DEVICE_FEATURE_CAPABILITIES_INTEL
    assert ask(0x4250, 4) == (0, (0x03000000).to_bytes(4, "little"))
    assert ask(0x4256, 8) == (0, bytes(8))


def test_sub_groups_are_hidden_and_sharing_is_shown(device: Any) -> None:
    extensions = device.extensions.split()
    assert not {"cl_khr_subgroups", "cl_intel_subgroups"} & set(extensions)
    added = {
        "cl_khr_external_memory",
        "cl_khr_external_memory_dma_buf",
        "cl_intel_va_api_media_sharing",
    }
    assert added <= set(extensions)
    assert "cl_intel_unified_shared_memory" in extensions
    assert len(extensions) == len(set(extensions))


def test_both_lists_of_extensions_agree(device: Any) -> None:
    assert {e.name for e in device.extensions_with_version} == set(device.extensions.split())


def test_dma_buf_is_the_kind_of_handle_that_it_imports(
    device: Any, opencl: Any, ask: Callable[[int, int], Any]
) -> None:
    dma_buf = (0x2067).to_bytes(4, "little")
    assert ask(0x204F, 64) == (0, dma_buf)
    query = opencl.loader.clGetPlatformInfo
    query.argtypes = [ctypes.c_void_p, ctypes.c_uint, ctypes.c_size_t] + [ctypes.c_void_p] * 2
    kind = ctypes.create_string_buffer(4)
    assert query(device.platform.int_ptr, 0x2044, 4, kind, None) == 0
    assert kind.raw == dma_buf


@pytest.mark.parametrize("name", [0x102B, 0x1030, 0x1060])  # name, extensions, with version
def test_too_little_room_for_an_answer_is_refused(
    ask: Callable[[int, int], Any], name: int
) -> None:
    result, answer = ask(name, 1 << 16)
    assert result == 0
    assert ask(name, len(answer)) == (0, answer)
    assert ask(name, len(answer) - 1)[0] == -30  # CL_INVALID_VALUE


# Both begin with one list of platforms only, by pyopencl or by ctypes on the installed loader.
FROM_PYOPENCL = """
import ctypes, pyopencl
device = pyopencl.get_platforms()[0].get_devices()[0].int_ptr
name = ctypes.create_string_buffer(200)
query = ctypes.CDLL('libOpenCL.so.1').clGetDeviceInfo
query.argtypes = [ctypes.c_void_p, ctypes.c_uint, ctypes.c_size_t] + [ctypes.c_void_p] * 2
assert query(device, 0x102B, 200, name, None) == 0
print(name.value.decode())
"""
FROM_CTYPES = """
import ctypes
loader = ctypes.CDLL('libOpenCL.so.1')
platform, device = ctypes.c_void_p(), ctypes.c_void_p()
assert loader.clGetPlatformIDs(1, ctypes.byref(platform), None) == 0
gpu = ctypes.c_uint64(4)
assert loader.clGetDeviceIDs(platform, gpu, 1, ctypes.byref(device), None) == 0
import pyopencl
print(pyopencl.Device.from_int_ptr(device.value).name)
"""
IN_PROCESS = """
from samebytes_softdevices._activate import activate_in_process
from samebytes_softdevices._devices import plan_for
activate_in_process(plan_for(['gpu']))
"""


@pytest.mark.usefixtures("cl")
@pytest.mark.parametrize("script", [FROM_PYOPENCL, FROM_CTYPES])
def test_objects_pass_between_pyopencl_and_others(
    run_python: Callable[..., str], script: str
) -> None:
    for whole in (script, IN_PROCESS + script):
        environment = {"LD_PRELOAD": "", "LD_LIBRARY_PATH": ""} if whole != script else {}
        assert "software" in run_python(whole, **environment)


@pytest.mark.usefixtures("cl")
def test_tracing_prints_the_calls_of_the_layer(run_python: Callable[..., str]) -> None:
    script = (
        "import os; os.dup2(1, 2)\n"
        "import pyopencl as cl\n"
        "cl.Context(cl.get_platforms()[0].get_devices())\n"
    )
    assert "softgpu: context 0x" in run_python(script, SOFTGPU_TRACE="1")
    assert "softgpu: context" not in run_python(script, SOFTGPU_TRACE="0")
