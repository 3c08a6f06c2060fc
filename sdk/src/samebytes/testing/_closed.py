# SPDX-License-Identifier: Apache-2.0
"""What a closed tensor or frame must do."""

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
_ARGUMENTS = {"handle": ("data",), "map": ("cpu",)}


def assert_closed(item: Tensor | Frame) -> None:
    """Every public attribute and method of `item` raises ClosedError, save close and closed."""
    assert item.closed
    for name in dir(type(item)):
        if name.startswith("_") or name in _STILL_WORK:
            continue
        if not isinstance(inspect.getattr_static(type(item), name), _OF_THE_OBJECT):
            continue
        with pytest.raises(ClosedError):
            _use(item, name)
            pytest.fail(f"{name} of a closed {type(item).__name__} works")
    with pytest.raises(ClosedError), item:
        pass
    assert "closed" in repr(item)
    item.close()


def _use(item: Tensor | Frame, name: str) -> None:
    value = getattr(item, name)
    if callable(value):
        value(*_ARGUMENTS.get(name, ()))
