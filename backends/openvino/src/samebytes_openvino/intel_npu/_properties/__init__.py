# SPDX-License-Identifier: Apache-2.0
"""The properties of OpenVINO's NPU plugin: a table, checks, reading and setting."""

from ._errors import NpuPropertyError, NpuPropertyWarning
from ._markdown import properties_as_markdown
from ._mode_params import CompilationModeParams
from ._platforms import PLATFORMS, Platform, platform
from ._property import Property, Told
from ._settings import get_properties, set_properties
from ._table import PROPERTIES
from ._validation import find_property, validate

__all__ = [
    "PLATFORMS",
    "PROPERTIES",
    "CompilationModeParams",
    "NpuPropertyError",
    "NpuPropertyWarning",
    "Platform",
    "Property",
    "Told",
    "find_property",
    "get_properties",
    "platform",
    "properties_as_markdown",
    "set_properties",
    "validate",
]
