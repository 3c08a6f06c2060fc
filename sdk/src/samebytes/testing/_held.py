# SPDX-License-Identifier: Apache-2.0
"""The expectations of a scenario: the parts that are held, and the values that each must read."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from samebytes import Access, Storage, TensorInfo

from ._cases import Case
from ._guard import GuardedMemory
from ._memory import Memory, views_of

__all__ = ["Part", "Root", "View", "check_values", "name_of"]


@dataclass(eq=False)
class Root:
    """A piece of memory that was made at the source.

    Attributes:
        access: the access mode of its living mappings, where modes cannot be mixed.
    """

    case: Case
    guard: GuardedMemory | None
    storage: weakref.ref[Storage] | None = None
    access: Access | None = None


@dataclass(eq=False)
class View:
    """The values that holders of some bytes see: all parts of a view see each write at once.

    An ALIAS or IMPORT belongs to the view of its source. A MAP or COPY has a view of its own.
    """

    root: Root
    values: list[np.ndarray[Any, Any]]
    apart: bool = False
    writable: bool = True
    stale: bool = False


@dataclass(eq=False)
class Part:
    """Something that is held.

    Attributes:
        kind: native, object, views, slices, array, plane, or storage.
        ends: what its close() ends; None if others made it.
        holds: what it keeps alive.
        may_hold: what it may keep alive: for copies, and where the framework counts references.
        frame: for a plane, the frame with which it closes.
    """

    kind: str
    value: Any
    memory: Memory
    view: View
    readonly: bool
    holds: frozenset[object]
    may_hold: frozenset[object] = frozenset()
    ends: object | None = None
    index: int = 0
    frame: Part | None = field(default=None, repr=False)


def name_of(part: Part) -> str:
    """The name of a part in the steps that a failure shows."""
    node = part.memory.node
    return f"{part.kind} of {part.view.root.case} in {node}"


def check_values(part: Part) -> None:
    """Assert that a part reads the values of its view."""
    expected = part.view.values
    views: Sequence[np.ndarray[Any, Any]]
    if part.kind == "native":
        frame = not isinstance(part.view.root.case, TensorInfo)
        views = part.memory.views(part.value) if frame else (part.memory.view(part.value),)
    elif part.kind == "object":
        views = views_of(part.memory, part.value)
        if part.readonly and part.memory.host_visible and part.memory.readonly_enforced:
            assert not any(v.flags.writeable for v in views), f"the {name_of(part)} can be written"
    elif part.kind == "slices":
        views, expected = part.value, [v[:1] for v in expected]
    elif part.kind == "views":
        views = part.value
    else:
        array = part.value if part.kind == "array" else part.value.host_array()
        expected = [expected[part.index]]
        views = (np.asarray(array).reshape(expected[0].shape),)
    for view, values in zip(views, expected, strict=True):
        assert np.array_equal(view, values), f"the bytes of the {name_of(part)} changed"
