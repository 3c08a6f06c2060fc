# SPDX-License-Identifier: Apache-2.0
"""The behaviour of a closed tensor or frame."""

from __future__ import annotations

import inspect
from types import FunctionType, MemberDescriptorType

import pytest

from samebytes import Frame, Tensor
from samebytes.errors import ClosedError

__all__ = ["assert_closed"]

# Properties, methods and slots; class methods and constants stay as they are.
_OF_THE_OBJECT = (property, FunctionType, MemberDescriptorType)
_STILL_WORK = frozenset(("close", "closed"))
_ARGUMENTS = {
    "convert": ("GRAY8",), "crop": (0, 0, 1, 1), "find_handle": ("data",), "handle": ("data",),
    "map": ("cpu",),
}  # fmt: skip


def assert_closed(item: Tensor | Frame) -> None:
    """Assert that every public attribute and method but close and closed raises ClosedError."""
    assert item.closed
    names = [n for n in dir(type(item)) if not n.startswith("_") and n not in _STILL_WORK]
    still_there = [
        name
        for name in names
        if isinstance(inspect.getattr_static(type(item), name), _OF_THE_OBJECT)
        and not _raises_closed(item, name)
    ]
    assert not still_there, "these do not raise ClosedError"
    with pytest.raises(ClosedError), item:
        pass
    assert "closed" in repr(item)
    item.close()


def _raises_closed(item: Tensor | Frame, name: str) -> bool:
    try:
        value = getattr(item, name)
        if callable(value):
            value(*_ARGUMENTS.get(name, ()))
    except ClosedError:
        return True
    return False
