# SPDX-License-Identifier: Apache-2.0
"""Take maps of OpenVINO's own properties apart, to check them like other arguments.

The keys are those of openvino/runtime/intel_gpu/remote_properties.hpp.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from samebytes.errors import UnknownNameError

from .._remote._errors import PropertyError
from ._memory import SharedBufferHandle, VirtualAddressMemory

__all__ = ["buffer_in", "kind_of", "memory_in", "pointer_in", "surface_in"]

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
