# SPDX-License-Identifier: Apache-2.0
"""The address of an array's first element, at a fifth of the cost of asking numpy."""

from __future__ import annotations

from ctypes import c_void_p
from typing import Any

import numpy as np

from ..errors import MissingDependencyError

__all__ = ["data_address"]

_DATA = object.__basicsize__
"""numpy/ndarraytypes.h: `data` comes first in PyArrayObject_fields, which is part of numpy's C
interface: extension modules have its place compiled in."""

_pointer_at = c_void_p.from_address


def data_address(array: np.ndarray[Any, Any]) -> int:
    """Where element [0, 0, ...] of an array is."""
    return _pointer_at(id(array) + _DATA).value or 0


def _check() -> None:
    array = np.zeros((3, 4), np.uint16)[::-1, 1:]
    if data_address(array) != array.__array_interface__["data"][0]:
        raise MissingDependencyError(
            "cpu", f"a numpy whose arrays are as those of numpy 2 (not {np.__version__})",
            'pip install "numpy>=2"',
        )  # fmt: skip


_check()
