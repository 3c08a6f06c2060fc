# SPDX-License-Identifier: Apache-2.0
"""What a closed tensor or frame must do."""

from __future__ import annotations

import inspect

import pytest

from samebytes import Frame, Tensor
from samebytes.errors import ClosedError

__all__ = ["assert_closed"]

_STILL_WORK = frozenset(("close", "closed"))
_ARGUMENTS = {"handle": ("data",), "map": ("cpu",)}


def assert_closed(item: Tensor | Frame) -> None:
    """Every public attribute and method of `item` raises ClosedError, save close and closed."""
    assert item.closed
    for name in dir(type(item)):
        if name.startswith("_") or name in _STILL_WORK:
            continue
        kind = inspect.getattr_static(type(item), name)
        if isinstance(kind, classmethod | staticmethod | str):
            continue  # of the class, not of the object
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
