# SPDX-License-Identifier: Apache-2.0
"""The functions of C libraries."""

from __future__ import annotations

import ctypes
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from samebytes.errors import MissingDependencyError
from samebytes.plugins import bind

PROTOTYPES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "labs": (ctypes.c_long, (ctypes.c_long,)),
    "strlen": (ctypes.c_size_t, (ctypes.c_char_p,)),
}
NONE: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "no_library_has_this": (None, ()),
    "nor_this": (None, ()),
}
bind_libc: Any = partial(bind, plugin="toy", library="libc", hint="install another one")


def test_functions_get_their_types() -> None:
    found = bind_libc(ctypes.CDLL(None), PROTOTYPES)
    assert list(found) == ["labs", "strlen"]
    assert found["labs"](-(1 << 40)) == 1 << 40, "not cut to an int"
    assert found["strlen"](b"four") == 4


def test_what_a_library_lacks_is_named_unless_it_is_optional() -> None:
    prototypes = NONE | PROTOTYPES
    assert list(bind_libc(ctypes.CDLL(None), prototypes, optional=NONE)) == list(PROTOTYPES)
    with pytest.raises(MissingDependencyError) as caught:
        bind_libc(ctypes.CDLL(None), prototypes, optional={"nor_this"})
    assert caught.value.plugin == "toy"
    assert caught.value.missing == "no_library_has_this in libc"
    assert caught.value.hint == "install another one"
    with pytest.raises(MissingDependencyError, match="no_library_has_this, nor_this in libc"):
        bind_libc(ctypes.CDLL(None), prototypes)


def test_what_stands_in_for_a_library() -> None:
    function = SimpleNamespace()
    found = bind_libc(SimpleNamespace(call=function), {"call": (ctypes.c_int, ())})
    assert found == {"call": function}
    assert (function.restype, function.argtypes) == (ctypes.c_int, ())
