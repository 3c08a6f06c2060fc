# SPDX-License-Identifier: Apache-2.0
"""Pointers that users pass: ints, ctypes.c_void_p and PyCapsules."""

from __future__ import annotations

import ctypes
import datetime

import numpy as np
import pytest

from samebytes.errors import UnsupportedObjectError
from samebytes.plugins import native_pointer

_new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi)
)


@pytest.mark.parametrize("name", [None, b"display", b"a.name.with.dots"])
def test_capsules_of_any_name(name: bytes | None) -> None:
    assert native_pointer(_new(0x1234, name, None), "a VADisplay") == 0x1234


def test_capsules_of_others() -> None:
    assert native_pointer(datetime.datetime_CAPI, "an API")
    assert native_pointer(np.zeros(3).__dlpack__(), "a DLManagedTensor*")


def test_numbers_and_c_pointers() -> None:
    for given in (7, np.uint64(7), ctypes.c_void_p(7)):
        found = native_pointer(given, "a cl_mem")
        assert (type(found), found) == (int, 7)
    for null in (0, ctypes.c_void_p(), ctypes.c_void_p(0)):
        assert native_pointer(null, "a cl_mem") == 0
    for beyond in (-1, 1 << 80):  # the caller knows what is an address
        assert native_pointer(beyond, "a cl_mem") == beyond


@pytest.mark.parametrize("given", [None, True, 7.0, "7", b"7", object()])
def test_what_is_not_a_pointer(given: object) -> None:
    """The error shows no contents: they may be a whole picture."""
    kind = type(given).__name__
    text = rf"an AVFrame\* must be an int, a ctypes.c_void_p or a PyCapsule, not a {kind}$"
    with pytest.raises(UnsupportedObjectError, match=text):
        native_pointer(given, "an AVFrame*")
