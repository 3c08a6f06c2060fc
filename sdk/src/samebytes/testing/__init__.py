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
2.  map() returns a new object. close() closes it, and says whether what that map() made is gone;
    holders keep it, and the last one releases it. Borrowed memory just closes. After close() every
    attribute raises ClosedError. A `with` block never hides the user's own error.
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


if not TYPE_CHECKING:  # to a type checker, any misspelt name would be there

    def __getattr__(name: str) -> Any:
        # `rules` must not need pytest, and nobody can import it without importing this package.
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        suites = import_module("._suites", __name__)
        globals().update((each, getattr(suites, each)) for each in __all__)
        return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
