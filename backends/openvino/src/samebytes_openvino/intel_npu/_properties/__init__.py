# SPDX-License-Identifier: Apache-2.0
"""The properties of OpenVINO's NPU plugin: a table, checks, reading and setting."""

from ._settings import (
    check_tiles,
    find_property,
    get_properties,
    naming_compilers,
    set_properties,
    validate,
)
from ._table import PLATFORMS, PROPERTIES, Platform, Property, Stated, platform
from ._values import CompilationModeParams, NpuPropertyError, NpuPropertyWarning

__all__ = [
    "PLATFORMS",
    "PROPERTIES",
    "CompilationModeParams",
    "NpuPropertyError",
    "NpuPropertyWarning",
    "Platform",
    "Property",
    "Stated",
    "check_tiles",
    "find_property",
    "get_properties",
    "naming_compilers",
    "platform",
    "set_properties",
    "validate",
]
