# SPDX-License-Identifier: Apache-2.0
"""A store of objects that a forked child must not release: they are its parent's to give back."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from ctypes import py_object

__all__ = ["hold_on"]

_held: list[object] = []
# One reference more than there are holders: the end of the interpreter does not drop it either.
ctypes.pythonapi.Py_IncRef(py_object(_held))


def hold_on(things: Iterable[object]) -> None:
    """Never drop these: what their releases would give back, the parent still uses.

    It may be a slot of another ring, or a surface of a decoder.
    """
    _held.extend(things)
