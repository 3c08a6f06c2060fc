# SPDX-License-Identifier: Apache-2.0
"""The public names of `samebytes.testing`, which need pytest; it imports them when one is used."""

from __future__ import annotations

from . import _requirements  # noqa: F401 - first: it says what is missing, and prepares pytest

# isort: split
from . import strategies
from ._child import ChildResult, run_method, run_program
from ._contexts import ContextSuite
from ._device_view import DeviceView
from ._devices import device_context, missing_device
from ._elements import ElementSuite
from ._footprint import assert_no_garbage, assert_nothing_left, assert_steady, living_objects
from ._frames import FrameSuite
from ._guard import GuardedMemory
from ._layouts import ImageLayout, Layout, Layouts, array_of
from ._mappers import MapperSuite
from ._memory import ArrayMemory, DeviceMemory, Memory, address_of, fill
from ._natives import array_at, array_in
from ._plugins import PluginSuite
from ._tensors import TensorSuite

__all__ = [
    "ArrayMemory",
    "ChildResult",
    "ContextSuite",
    "DeviceMemory",
    "DeviceView",
    "ElementSuite",
    "FrameSuite",
    "GuardedMemory",
    "ImageLayout",
    "Layout",
    "Layouts",
    "MapperSuite",
    "Memory",
    "PluginSuite",
    "TensorSuite",
    "address_of",
    "array_at",
    "array_in",
    "array_of",
    "assert_no_garbage",
    "assert_nothing_left",
    "assert_steady",
    "device_context",
    "fill",
    "living_objects",
    "missing_device",
    "run_method",
    "run_program",
    "strategies",
]
