# SPDX-License-Identifier: Apache-2.0
"""The loader's validation layer finds nothing wrong with the calls that are made."""

from __future__ import annotations

import ctypes

import pytest

from samebytes.testing import run_program

PROGRAM = """
import os, mmap
import samebytes as sb, samebytes_npu_level_zero as z
npu = sb.context(f"level_zero:{z.devices()[0]}")
npu.device_memory(), npu.import_types(), npu.export_types(), npu.maps_pages()
for kind in ("host", "shared", "device"):
    tensor = npu.allocate((64,), "float32", kind, exportable=True)
    again = npu.import_fd(tensor.export_fd(), (64,), "float32")
    z.fill(tensor, b"\\0\\0\\x80\\x3f")
    z.copy(npu.allocate((64,), "float32", kind), tensor)
    assert again.host_array().sum() == 64
    npu.wrap_pointer(tensor.handle(), (8,)).close()
pages = sb.context("cpu").allocate((5,)).map(npu, "rw")
other = z.LevelZeroContext.from_handles(
    ze_context=npu.handle("ze_context"), ze_device=npu.handle("ze_device")
)
assert other is npu
print("fine")
"""


@pytest.mark.usefixtures("device")
def test_every_kind_of_call() -> None:
    try:
        ctypes.CDLL("libze_validation_layer.so.1")
    except OSError:
        pytest.skip("missing package libze1: apt install libze1")
    layers = {
        "ZE_ENABLE_VALIDATION_LAYER": "1",
        "ZE_ENABLE_PARAMETER_VALIDATION": "1",
        "ZE_ENABLE_HANDLE_LIFETIME": "1",
    }
    assert run_program(PROGRAM, **layers) == "fine\n"
