# SPDX-License-Identifier: Apache-2.0
"""Values of remote properties: how OpenVINO's Python API takes them, and how they are read.

A pointer is written as hexadecimal text: the bindings refuse integers and capsules, and parse
decimal text as hexadecimal. It is read from the text of the ov::Any that comes back, whose
other accessors raise, and whose hash() can end the process.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["params_of", "pointer"]

# openvino/runtime/intel_gpu/remote_properties.hpp and intel_npu/remote_properties.hpp
_POINTERS = frozenset(
    {"OCL_CONTEXT", "OCL_QUEUE", "VA_DEVICE", "MEM_HANDLE", "CPU_VA", "L0_CONTEXT"}
)
_NUMBERS = frozenset(
    {"OCL_CONTEXT_DEVICE_ID", "TILE_ID", "DEV_OBJECT_HANDLE", "VA_PLANE", "OS_HANDLE",
     "CPU_VA_SIZE"}
)  # fmt: skip


def pointer(value: int) -> str:
    """A pointer, or a descriptor that goes as one, as a property takes it."""
    return hex(value)


def params_of(native: Any) -> dict[str, int | str]:
    """`get_params()` of a remote context or tensor, as Python values: pointers are ints."""
    return {key: _value(key, value) for key, value in _texts(native.get_params()).items()}


def _texts(params: Mapping[str, Any]) -> dict[str, str]:
    return {key: any_.astype(str) for key, any_ in params.items()}


def _value(key: str, text: str) -> int | str:
    if key in _POINTERS:
        return int(text, 16)
    if key in _NUMBERS:
        return int(text)
    return text
