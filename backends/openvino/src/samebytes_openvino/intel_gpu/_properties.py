# SPDX-License-Identifier: Apache-2.0
"""The maps of properties that describe contexts and tensors to OpenVINO's GPU plugin.

They are the maps that the wrapper classes of openvino/runtime/intel_gpu/ocl/{ocl,va,dx}.hpp
build, with the keys of openvino/runtime/intel_gpu/remote_properties.hpp. Two keys have another C++
type on Windows, where handles of the system are pointers. Maps that users pass are taken apart here
too, to be checked as other arguments are.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, Literal

from samebytes.errors import UnknownNameError

from .._errors import PropertyError
from .._remote._values import pointer
from ._memory import SharedBufferHandle, VirtualAddressMemory

__all__ = [
    "allocated",
    "buffer_in",
    "cl_buffer",
    "cl_image",
    "cpu_va",
    "d3d_buffer",
    "kind_of",
    "memory_in",
    "ocl_context",
    "pointer_in",
    "queue_context",
    "shared_handle",
    "surface",
    "surface_in",
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


# What each kind of memory must be given, and what it may be given besides.
_KEYS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "OCL_BUFFER": (("MEM_HANDLE",), ()),
    "OCL_IMAGE2D": (("MEM_HANDLE",), ()),
    "USM_USER_BUFFER": (("MEM_HANDLE",), ()),
    "USM_HOST_BUFFER": ((), ()),
    "USM_DEVICE_BUFFER": ((), ()),
    "CPU_VA": (("CPU_VA",), ("CPU_VA_SIZE", "CPU_VA_ACCESS")),
    "BUFFER_FROM_HANDLE": (("OS_HANDLE",), ()),
    "VA_SURFACE": (("DEV_OBJECT_HANDLE", "VA_PLANE"), ()),
    "DX_BUFFER": (("DEV_OBJECT_HANDLE",), ()),
}

_ALL_KEYS = sorted(
    {"SHARED_MEM_TYPE"}.union(*(needed + optional for needed, optional in _KEYS.values()))
)


def kind_of(properties: Mapping[str, Any]) -> str:
    """The SHARED_MEM_TYPE of a map, whose keys are those of that type; "" of an empty map.

    Raises:
        PropertyError: a property is missing.
        UnknownNameError: no such type, or a property that it does not have.
    """
    if not properties:
        return ""
    kind = properties.get("SHARED_MEM_TYPE")
    if kind is None:
        for key in properties:
            if key not in _ALL_KEYS:
                raise UnknownNameError("remote property of the GPU", str(key), _ALL_KEYS)
        raise PropertyError("SHARED_MEM_TYPE", "it is missing: it must be given if any property is")
    if kind not in _KEYS:
        raise UnknownNameError("value of SHARED_MEM_TYPE", str(kind), _KEYS)
    needed, optional = _KEYS[kind]
    known = ("SHARED_MEM_TYPE", *needed, *optional)
    for key in properties:
        if key not in known:
            raise UnknownNameError(f"property of {kind} memory", str(key), known)
    for key in needed:
        if properties.get(key) is None:
            raise PropertyError(key, f"it must be given for SHARED_MEM_TYPE {kind}")
    return str(kind)


def pointer_in(properties: Mapping[str, Any], key: str) -> Any:
    """A handle or pointer: an int or object as the user gave it, or OpenVINO's hexadecimal text.

    Raises:
        PropertyError: text that is not a hexadecimal number.
    """
    value = properties[key]
    if not isinstance(value, str):
        return value
    try:
        return int(value, 16)
    except ValueError:
        raise PropertyError(key, f"{value!r} is not a pointer in hexadecimal digits") from None


def memory_in(
    kind: str, properties: Mapping[str, Any]
) -> SharedBufferHandle | VirtualAddressMemory:
    """Memory of the CPU, or memory that another API exports."""
    if kind == "BUFFER_FROM_HANDLE":
        return SharedBufferHandle(pointer_in(properties, "OS_HANDLE"))
    return VirtualAddressMemory(
        pointer_in(properties, "CPU_VA"),
        properties.get("CPU_VA_SIZE", -1),
        properties.get("CPU_VA_ACCESS", "READ_WRITE"),
    )


def surface_in(properties: Mapping[str, Any]) -> tuple[Any, Any]:
    """A surface or texture, and its plane, of a map of VA_SURFACE."""
    kind_of(properties)
    return pointer_in(properties, "DEV_OBJECT_HANDLE"), properties["VA_PLANE"]


def buffer_in(properties: Mapping[str, Any]) -> Any:
    """The ID3D11Buffer of a map of DX_BUFFER."""
    kind_of(properties)
    return pointer_in(properties, "DEV_OBJECT_HANDLE")
