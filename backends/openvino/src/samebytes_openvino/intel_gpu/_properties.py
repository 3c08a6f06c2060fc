# SPDX-License-Identifier: Apache-2.0
"""The maps of properties that describe contexts and tensors to OpenVINO's GPU plugin.

They are the maps that the wrapper classes of openvino/runtime/intel_gpu/ocl/{ocl,va,dx}.hpp
build, with the keys of openvino/runtime/intel_gpu/remote_properties.hpp. Nothing is checked here.
Two keys have another C++ type on Windows, where handles of the system are pointers.
"""

from __future__ import annotations

import sys
from typing import Any, Literal

from .._remote._values import pointer

__all__ = [
    "allocated",
    "cl_buffer",
    "cl_image",
    "cpu_va",
    "d3d_buffer",
    "ocl_context",
    "queue_context",
    "shared_handle",
    "surface",
    "usm",
    "usm_device",
    "usm_host",
    "va_context",
]

Properties = dict[str, Any]
WINDOWS = sys.platform == "win32"


def ocl_context(cl_context: int, device_index: int = 0) -> Properties:
    """A context over a cl_context."""
    return {
        "CONTEXT_TYPE": "OCL",
        "OCL_CONTEXT": pointer(cl_context),
        "OCL_CONTEXT_DEVICE_ID": device_index,
    }


def queue_context(cl_context: int, cl_queue: int, device_index: int = 0) -> Properties:
    """A context over a cl_context whose inferences run in the user's queue."""
    return {**ocl_context(cl_context, device_index), "OCL_QUEUE": pointer(cl_queue)}


def va_context(display: int, tile: int = -1) -> Properties:
    """A context over a VADisplay (Linux) or an ID3D11Device (Windows)."""
    return {"CONTEXT_TYPE": "VA_SHARED", "VA_DEVICE": pointer(display), "TILE_ID": tile}


def allocated() -> Properties:
    """The plugin allocates a cl_mem."""
    return {}


def cl_buffer(mem: int) -> Properties:
    """A cl_mem buffer."""
    return {"SHARED_MEM_TYPE": "OCL_BUFFER", "MEM_HANDLE": pointer(mem)}


def cl_image(mem: int) -> Properties:
    """A cl_mem two-dimensional image."""
    return {"SHARED_MEM_TYPE": "OCL_IMAGE2D", "MEM_HANDLE": pointer(mem)}


def usm(address: int) -> Properties:
    """A USM pointer of the user's."""
    return {"SHARED_MEM_TYPE": "USM_USER_BUFFER", "MEM_HANDLE": pointer(address)}


def usm_host() -> Properties:
    """The plugin allocates USM on the host."""
    return {"SHARED_MEM_TYPE": "USM_HOST_BUFFER"}


def usm_device() -> Properties:
    """The plugin allocates USM on the device."""
    return {"SHARED_MEM_TYPE": "USM_DEVICE_BUFFER"}


def cpu_va(address: int, size: int, access: Literal["READ", "READ_WRITE"]) -> Properties:
    """Memory of the CPU; size -1 is that of the tensor."""
    return {
        "SHARED_MEM_TYPE": "CPU_VA",
        "CPU_VA": pointer(address),
        "CPU_VA_SIZE": size,
        "CPU_VA_ACCESS": access,
    }


def shared_handle(value: int, windows: bool = WINDOWS) -> Properties:
    """A DMA-BUF descriptor (Linux) or an NT handle (Windows)."""
    handle = pointer(value) if windows else value
    return {"SHARED_MEM_TYPE": "BUFFER_FROM_HANDLE", "OS_HANDLE": handle}


def surface(object_: int, plane: int, windows: bool = WINDOWS) -> Properties:
    """A plane of a VASurfaceID (Linux) or an ID3D11Texture2D (Windows)."""
    return {
        "SHARED_MEM_TYPE": "VA_SURFACE",
        "DEV_OBJECT_HANDLE": pointer(object_) if windows else object_,
        "VA_PLANE": plane,
    }


def d3d_buffer(buffer: int) -> Properties:
    """An ID3D11Buffer."""
    return {"SHARED_MEM_TYPE": "DX_BUFFER", "DEV_OBJECT_HANDLE": pointer(buffer)}
