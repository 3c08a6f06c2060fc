# SPDX-License-Identifier: Apache-2.0
"""A store of objects that a forked child must not release: they are its parent's to give back."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from ctypes import py_object

__all__ = ["hold_on"]

_held: list[object] = []
# Nor does the end of the interpreter drop it.
ctypes.pythonapi.Py_IncRef(py_object(_held))


def hold_on(things: Iterable[object]) -> None:
    """Drop these never: what their releases give back is the parent's to give back.

    That may be a slot of another ring, or a surface of a decoder.
    """
    _held.extend(things)
