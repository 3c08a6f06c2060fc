# SPDX-License-Identifier: Apache-2.0
"""The pointer in a PyCapsule."""

from __future__ import annotations

import ctypes
import datetime

import numpy as np
import pytest

from samebytes.plugins import capsule_pointer

_new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi)
)


@pytest.mark.parametrize("name", [None, b"display", b"a.name.with.dots"])
def test_capsules_of_any_name(name: bytes | None) -> None:
    assert capsule_pointer(_new(0x1234, name, None)) == 0x1234


def test_capsules_of_others() -> None:
    assert capsule_pointer(datetime.datetime_CAPI)
    assert capsule_pointer(np.zeros(3).__dlpack__())


@pytest.mark.parametrize("given", [None, 7, "7", ctypes.c_void_p(7), object()])
def test_what_is_not_a_capsule(given: object) -> None:
    assert capsule_pointer(given) is None
