# SPDX-License-Identifier: Apache-2.0
"""Classes to inherit, with which a backend shows that it keeps the rules.

    class OpenCVMemory(ArrayMemory):           # the memory type, as its own framework sees it
        memory_type = "opencv"

    class TestCpuToOpenCV(MapperSuite):        # pytest collects the inherited tests
        source = ArrayMemory()
        target = OpenCVMemory()
        cases = (TensorInfo("uint8", (20, 32, 3)), TensorInfo("uint8", (20, 32), (40, 1)))
        refused = ((TensorInfo("uint8", (20, 32), (-32, 1)), "negative strides"),)

The rules, to which the tests refer by number:

1.  No byte is copied unless the caller said copy=True; every copy is counted. Sharing is shown by
    equal pointers, and by writing on one side and reading on the other.
2.  map() returns a new object. close() ends what that map() made, or raises BusyError and changes
    nothing. Borrowed memory just closes. After close() every attribute raises ClosedError. A
    `with` block never hides the user's own error.
3.  No order of drops crashes or reads freed memory. Natives keep their memory alive themselves.
4.  Contexts and mappers form no reference cycles; descriptors and memory do not leak.
5.  Bad input gets a clear error at the call that made it.
6.  A plugin harms no other; its declaring module imports no framework.
7.  Hand-over between queues and APIs is synchronised.
8.  Mapping keeps metadata, regions, time and format.
9.  Contexts and routes may be used from any thread; one tensor by one thread at a time.
10. Access "r" gives a read-only result, and read-only memory never becomes writable.

What a memory type can is declared in class attributes of its `Memory`, and what a mapping can in
those of its suite: the page docs/reference/testing-kit.md has a table of them.
Strategies for hypothesis are in `samebytes.testing.strategies`.

Needs pytest and hypothesis: pip install "samebytes[testing]".
"""

from __future__ import annotations

from . import _requirements  # noqa: F401 - first: it says what is missing, and prepares pytest

# isort: split
from . import strategies
from ._child import ChildResult, run_method
from ._contexts import ContextSuite
from ._device_view import DeviceView
from ._footprint import assert_nothing_left, assert_steady
from ._frames import FrameSuite
from ._guard import GuardedMemory
from ._layouts import ImageLayout, Layout, Layouts, array_of
from ._mappers import MapperSuite
from ._memory import ArrayMemory, DeviceMemory, Memory, address_of, fill
from ._plugins import PluginSuite
from ._tensors import TensorSuite

__all__ = [
    "ArrayMemory",
    "ChildResult",
    "ContextSuite",
    "DeviceMemory",
    "DeviceView",
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
    "array_of",
    "assert_nothing_left",
    "assert_steady",
    "fill",
    "run_method",
    "strategies",
]
