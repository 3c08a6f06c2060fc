# SPDX-License-Identifier: Apache-2.0
"""The argument types of the functions in use. Each returns a ze_result_t.

Handles and pointers are all `void*` here: byref(), arrays and integers are passed alike.
"""

from __future__ import annotations

from ctypes import c_size_t, c_uint32, c_void_p
from typing import Any

__all__ = ["OPTIONAL", "PROTOTYPES"]

_POINTER, _SIZE, _UINT32 = c_void_p, c_size_t, c_uint32
_EVENTS = (_POINTER, _UINT32, _POINTER)  # to signal; how many to wait for; which

PROTOTYPES: dict[str, tuple[Any, ...]] = {
    "zeInit": (_UINT32,),
    "zeDriverGet": (_POINTER, _POINTER),
    "zeDriverGetProperties": (_POINTER, _POINTER),
    "zeDriverGetExtensionProperties": (_POINTER, _POINTER, _POINTER),
    "zeDeviceGet": (_POINTER, _POINTER, _POINTER),
    "zeDeviceGetSubDevices": (_POINTER, _POINTER, _POINTER),
    "zeDeviceGetProperties": (_POINTER, _POINTER),
    "zeDeviceGetMemoryProperties": (_POINTER, _POINTER, _POINTER),
    "zeDeviceGetExternalMemoryProperties": (_POINTER, _POINTER),
    "zeDeviceGetCommandQueueGroupProperties": (_POINTER, _POINTER, _POINTER),
    "zeDevicePciGetPropertiesExt": (_POINTER, _POINTER),
    "zeContextCreate": (_POINTER, _POINTER, _POINTER),
    "zeContextDestroy": (_POINTER,),
    "zeMemAllocHost": (_POINTER, _POINTER, _SIZE, _SIZE, _POINTER),
    "zeMemAllocDevice": (_POINTER, _POINTER, _SIZE, _SIZE, _POINTER, _POINTER),
    "zeMemAllocShared": (_POINTER, _POINTER, _POINTER, _SIZE, _SIZE, _POINTER, _POINTER),
    "zeMemFree": (_POINTER, _POINTER),
    "zeMemGetAllocProperties": (_POINTER, _POINTER, _POINTER, _POINTER),
    "zeCommandListCreateImmediate": (_POINTER, _POINTER, _POINTER, _POINTER),
    "zeCommandListDestroy": (_POINTER,),
    "zeCommandListAppendMemoryCopy": (_POINTER, _POINTER, _POINTER, _SIZE, *_EVENTS),
    "zeCommandListAppendMemoryFill": (_POINTER, _POINTER, _POINTER, _SIZE, _SIZE, *_EVENTS),
    "zelLoaderGetVersions": (_POINTER, _POINTER),
}

OPTIONAL = frozenset({"zeDevicePciGetPropertiesExt", "zelLoaderGetVersions"})
"""Functions that a loader may lack; the rest was in Level Zero 1.0."""
