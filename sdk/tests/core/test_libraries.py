# SPDX-License-Identifier: Apache-2.0
"""The functions of C libraries."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace

from samebytes.plugins import bind


def test_functions_get_their_types() -> None:
    found = bind(
        ctypes.CDLL(None),
        {
            "labs": (ctypes.c_long, (ctypes.c_long,)),
            "no_library_has_this": (None, ()),
            "strlen": (ctypes.c_size_t, (ctypes.c_char_p,)),
        },
    )
    assert list(found) == ["labs", "strlen"]
    assert found["labs"](-(1 << 40)) == 1 << 40, "not cut to an int"
    assert found["strlen"](b"four") == 4


def test_what_stands_in_for_a_library() -> None:
    function = SimpleNamespace()
    assert bind(SimpleNamespace(call=function), {"call": (ctypes.c_int, ())}) == {"call": function}
    assert (function.restype, function.argtypes) == (ctypes.c_int, ())
