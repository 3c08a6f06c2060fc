# SPDX-License-Identifier: Apache-2.0
"""The maps that describe memory to OpenVINO: those of its C++ wrapper classes. No GPU is needed."""

from __future__ import annotations

from typing import Any

import pytest

from samebytes_openvino.intel_gpu import _properties as maps

# From openvino/runtime/intel_gpu/ocl/{ocl,va,dx}.hpp: what each method passes on.
TABLE: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "ClContext(core, cl_context, 1)": (
        maps.ocl_context(0x1000, 1),
        {"CONTEXT_TYPE": "OCL", "OCL_CONTEXT": "0x1000", "OCL_CONTEXT_DEVICE_ID": 1},
    ),
    "ClContext(core, cl_command_queue)": (
        maps.queue_context(0x1000, 0x2000, 1),
        {
            "CONTEXT_TYPE": "OCL",
            "OCL_CONTEXT": "0x1000",
            "OCL_CONTEXT_DEVICE_ID": 1,
            "OCL_QUEUE": "0x2000",
        },
    ),
    "VAContext(core, VADisplay, 2)": (
        maps.va_context(0x3000, 2),
        {"CONTEXT_TYPE": "VA_SHARED", "VA_DEVICE": "0x3000", "TILE_ID": 2},
    ),
    "D3DContext(core, ID3D11Device*)": (
        maps.va_context(0x4000),
        {"CONTEXT_TYPE": "VA_SHARED", "VA_DEVICE": "0x4000", "TILE_ID": -1},
    ),
    "create_tensor(type, shape)": (maps.allocated(), {}),
    "create_tensor(type, shape, cl_mem)": (
        maps.cl_buffer(0x10),
        {"SHARED_MEM_TYPE": "OCL_BUFFER", "MEM_HANDLE": "0x10"},
    ),
    "create_tensor(type, shape, cl::Image2D)": (
        maps.cl_image(0x12),
        {"SHARED_MEM_TYPE": "OCL_IMAGE2D", "MEM_HANDLE": "0x12"},
    ),
    "create_tensor(type, shape, void*)": (
        maps.usm(0x14),
        {"SHARED_MEM_TYPE": "USM_USER_BUFFER", "MEM_HANDLE": "0x14"},
    ),
    "create_tensor(type, shape, SharedBufferHandle), Linux": (
        maps.shared_handle(18, windows=False),
        {"SHARED_MEM_TYPE": "BUFFER_FROM_HANDLE", "OS_HANDLE": 18},
    ),
    "create_tensor(type, shape, SharedBufferHandle), Windows": (
        maps.shared_handle(18, windows=True),
        {"SHARED_MEM_TYPE": "BUFFER_FROM_HANDLE", "OS_HANDLE": "0x12"},
    ),
    "create_tensor(type, shape, VirtualAddressMemory)": (
        maps.cpu_va(0x40, -1, "READ_WRITE"),
        {
            "SHARED_MEM_TYPE": "CPU_VA",
            "CPU_VA": "0x40",
            "CPU_VA_SIZE": -1,
            "CPU_VA_ACCESS": "READ_WRITE",
        },
    ),
    "create_usm_host_tensor": (maps.usm_host(), {"SHARED_MEM_TYPE": "USM_HOST_BUFFER"}),
    "create_usm_device_tensor": (maps.usm_device(), {"SHARED_MEM_TYPE": "USM_DEVICE_BUFFER"}),
    "create_tensor(type, shape, VASurfaceID, 1)": (
        maps.surface(7, 1, windows=False),
        {"SHARED_MEM_TYPE": "VA_SURFACE", "DEV_OBJECT_HANDLE": 7, "VA_PLANE": 1},
    ),
    "create_tensor(type, shape, ID3D11Texture2D*)": (
        maps.surface(0x50, 0, windows=True),
        {"SHARED_MEM_TYPE": "VA_SURFACE", "DEV_OBJECT_HANDLE": "0x50", "VA_PLANE": 0},
    ),
    "create_tensor(type, shape, ID3D11Buffer*)": (
        maps.d3d_buffer(0x60),
        {"SHARED_MEM_TYPE": "DX_BUFFER", "DEV_OBJECT_HANDLE": "0x60"},
    ),
}


@pytest.mark.parametrize(("ours", "theirs"), TABLE.values(), ids=TABLE.keys())
def test_as_in_cpp(ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    assert ours == theirs
