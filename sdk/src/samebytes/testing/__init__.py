# SPDX-License-Identifier: Apache-2.0
"""Test suites that a backend inherits to show that it keeps the rules.

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
2.  map() returns a new object. close() closes it and returns whether the memory that this map()
    made is released. Other holders keep that memory, and the last one releases it. Closing
    borrowed memory releases nothing. After close() every attribute raises ClosedError. A `with`
    block never hides the user's own error.
3.  Whatever the order in which objects are dropped, nothing crashes or reads freed memory. Native
    objects keep their memory alive by themselves.
4.  Contexts and mappers form no reference cycles; descriptors and memory do not leak.
5.  Bad input raises a clear error at the call that passed it.
6.  A plugin does not harm others; the module that declares it imports no framework.
7.  Hand-over between queues and APIs is synchronised.
8.  A mapping keeps metadata, regions, time and format.
9.  Contexts and routes may be used from any thread; a tensor by one thread at a time.
10. Access "r" gives a read-only result, and read-only memory never becomes writable.

Class attributes of a `Memory` declare what the memory type can do, and those of a suite what its
mapping can do: the page docs/reference/testing-kit.md has a table of them.
Strategies for hypothesis are in `samebytes.testing.strategies`.

Needs pytest and hypothesis: pip install "samebytes[testing]".
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import strategies
    from ._suites import (
        ArrayMemory,
        ChildResult,
        ContextSuite,
        DeviceMemory,
        DeviceView,
        ElementSuite,
        FrameSuite,
        GuardedMemory,
        ImageLayout,
        Layout,
        Layouts,
        MapperSuite,
        Memory,
        PluginSuite,
        TensorSuite,
        address_of,
        array_at,
        array_in,
        array_of,
        assert_no_garbage,
        assert_nothing_left,
        assert_steady,
        device_context,
        fill,
        living_objects,
        missing_device,
        run_method,
        run_program,
    )

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


if not TYPE_CHECKING:  # a type checker would accept any misspelt name

    def __getattr__(name: str) -> Any:
        # `rules` must not need pytest, and importing `rules` imports this package.
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        suites = import_module("._suites", __name__)
        globals().update((each, getattr(suites, each)) for each in __all__)
        return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
