# SPDX-License-Identifier: Apache-2.0
"""OpenVINO's NPU remote API and the NPU plugin's properties, typed.

    context = ZeroContext()                                   # of the plugin: there is one
    tensor = context.create_tensor("uint8", (1, 4096), fd)    # a DMA-BUF's descriptor
    set_properties(core, {"NPU_TURBO": True})                 # an openvino.Core

The names are those of openvino/runtime/intel_npu/level_zero/level_zero.hpp. Importing this does
not import openvino; using one of its names does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from samebytes.plugins import lazy_exports

if TYPE_CHECKING:
    from .._errors import OpenVINOError, PropertyError, RegionError
    from ._arguments import FileDescriptor, MemType, TensorType
    from ._context import ZeroContext
    from ._models import (
        Latency,
        LatencyReport,
        check_static,
        get_states,
        measure_latency,
        reset_states,
        set_states,
    )
    from ._properties import (
        PLATFORMS,
        PROPERTIES,
        CompilationModeParams,
        NpuPropertyError,
        NpuPropertyWarning,
        Platform,
        Property,
        Stated,
        find_property,
        get_properties,
        platform,
        set_properties,
        validate,
    )
    from ._tensor import ZeroBufferTensor, ZeroMemory

_HOME = {
    "CompilationModeParams": "._properties",
    "FileDescriptor": "._arguments",
    "Latency": "._models",
    "LatencyReport": "._models",
    "MemType": "._arguments",
    "NpuPropertyError": "._properties",
    "NpuPropertyWarning": "._properties",
    "OpenVINOError": ".._errors",
    "PLATFORMS": "._properties",
    "PROPERTIES": "._properties",
    "Platform": "._properties",
    "Property": "._properties",
    "PropertyError": ".._errors",
    "RegionError": ".._errors",
    "TensorType": "._arguments",
    "Stated": "._properties",
    "ZeroBufferTensor": "._tensor",
    "ZeroContext": "._context",
    "ZeroMemory": "._tensor",
    "check_static": "._models",
    "find_property": "._properties",
    "get_properties": "._properties",
    "get_states": "._models",
    "measure_latency": "._models",
    "platform": "._properties",
    "reset_states": "._models",
    "set_properties": "._properties",
    "set_states": "._models",
    "validate": "._properties",
}

__all__ = [
    "PLATFORMS",
    "PROPERTIES",
    "CompilationModeParams",
    "FileDescriptor",
    "Latency",
    "LatencyReport",
    "MemType",
    "NpuPropertyError",
    "NpuPropertyWarning",
    "OpenVINOError",
    "Platform",
    "Property",
    "PropertyError",
    "RegionError",
    "Stated",
    "TensorType",
    "ZeroBufferTensor",
    "ZeroContext",
    "ZeroMemory",
    "check_static",
    "find_property",
    "get_properties",
    "get_states",
    "measure_latency",
    "platform",
    "reset_states",
    "set_properties",
    "set_states",
    "validate",
]


if not TYPE_CHECKING:  # to a type checker, any misspelt name would be there
    __getattr__, __dir__ = lazy_exports(__name__, _HOME)
