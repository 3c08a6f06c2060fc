# SPDX-License-Identifier: Apache-2.0
"""GstStructure as dict and back: the named values in metas, which gi does not reach."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterator, Mapping
from ctypes import byref, c_size_t
from fractions import Fraction
from typing import Any

import numpy as np

from samebytes.plugins import count_copy, data_address

from .._abi.glib import (
    G_TYPE_BOOLEAN,
    G_TYPE_DOUBLE,
    G_TYPE_FLOAT,
    G_TYPE_INT,
    G_TYPE_INT64,
    G_TYPE_STRING,
    G_TYPE_UINT,
    G_TYPE_UINT64,
    G_TYPE_VARIANT,
    GList,
    GValue,
)
from .._abi.libraries import glib, gobject, gst
from .._memory.loans import CLEAR, new_loan

__all__ = [
    "dicts_in",
    "list_items",
    "new_structure",
    "read_structure",
    "structure_name",
    "write_fields",
]

# gst/gststructure.h: what gst_structure_new_empty() takes.
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9/\-_.:+]*\Z")
# glib/gvarianttype.h: G_VARIANT_TYPE_BYTE and G_VARIANT_TYPE_BYTESTRING point to these texts.
_BYTE = ctypes.c_char_p(b"y")
_BYTE_ARRAY = ctypes.c_char_p(b"ay")
_BYTES = b"ay"
_WORD = 1 << 31
_LONG = 1 << 63
_NOTHING = object()


def list_items(head: int | None) -> Iterator[int]:
    """The data of each link of a GList*."""
    while head:
        link = GList.from_address(head)
        yield link.data
        head = link.next


def structure_name(structure: int) -> str:
    """The name of a GstStructure*."""
    return str(gst.gst_structure_get_name(structure).decode())


def read_structure(structure: int) -> dict[str, Any]:
    """The fields of a GstStructure*, as Python's values.

    Byte arrays (GVariant of "ay") become bytes of the reader's own, a copy that counts; arrays
    become lists, and fractions Fraction; values of types without a counterpart become their text,
    and pointers are left out.
    """
    fields = {}
    for number in range(gst.gst_structure_n_fields(structure)):
        name = gst.gst_structure_nth_field_name(structure, number)
        value = _read(gst.gst_structure_get_value(structure, name))
        if value is not _NOTHING:
            fields[name.decode()] = value
    return fields


def dicts_in(items: Any) -> list[dict[str, Any]]:
    """The dicts in a list from outside; none if it is not a list."""
    return [i for i in items if isinstance(i, dict)] if isinstance(items, list | tuple) else []


def new_structure(name: str, fields: Mapping[str, Any]) -> int:
    """A new GstStructure*, which the caller owns.

    Fields of other types than bool, int, float, str, bytes, arrays of bytes (numpy), and lists of
    int, float or str are left out, and so is a "name" among them: see `write_fields`.
    """
    spelled = name if _NAME.match(name) else "unnamed"
    structure: int = gst.gst_structure_new_empty(spelled.encode())
    write_fields(structure, fields)
    return structure


def write_fields(structure: int, fields: Mapping[str, Any]) -> None:
    """Set fields of a GstStructure*, except "name", which names the structure.

    Bytes are lent, not copied: the structure, and whatever shares its values, keeps them alive.
    """
    for name, value in fields.items():
        if name == "name":
            continue
        held = _value_of(value)
        if held is not None:
            gst.gst_structure_set_value(structure, name.encode(), byref(held))
            gobject.g_value_unset(byref(held))


def _read(value: int) -> Any:
    name = gobject.g_type_name(GValue.from_address(value).g_type)
    try:
        read = _READ[name]
    except KeyError:
        return _text(value)
    return read(value)


def _text(value: int) -> Any:
    text = gst.gst_value_serialize(value)
    if not text:
        return _NOTHING
    try:
        return ctypes.string_at(text).decode(errors="replace")
    finally:
        glib.g_free(text)


def _fraction(value: int) -> Fraction | str:
    text = _text(value)
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        return str(text)


def _string(value: int) -> str | None:
    text = gobject.g_value_get_string(value)
    return None if text is None else text.decode(errors="replace")


def _variant(value: int) -> Any:
    variant = gobject.g_value_get_variant(value)
    if not variant or glib.g_variant_get_type_string(variant) != _BYTES:
        return _NOTHING
    count = c_size_t()
    address = glib.g_variant_get_fixed_array(variant, byref(count), 1)
    if not address:
        return b""
    # The next element that writes the buffer may remove the structure, and its bytes with it.
    count_copy("gstreamer -> data_buffer", count.value)
    return ctypes.string_at(address, count.value)


def _elements(size: Callable[[int], int], element: Callable[[int, int], int]) -> Any:
    def read(value: int) -> list[Any]:
        return [_read(element(value, number)) for number in range(size(value))]

    return read


_READ: dict[bytes, Callable[[int], Any]] = {
    b"gboolean": lambda value: bool(gobject.g_value_get_boolean(value)),
    b"gint": gobject.g_value_get_int,
    b"guint": gobject.g_value_get_uint,
    b"gint64": gobject.g_value_get_int64,
    b"guint64": gobject.g_value_get_uint64,
    b"gfloat": gobject.g_value_get_float,
    b"gdouble": gobject.g_value_get_double,
    b"gchararray": _string,
    b"GVariant": _variant,
    b"GstFraction": _fraction,
    b"GstValueArray": _elements(gst.gst_value_array_get_size, gst.gst_value_array_get_value),
    b"GstValueList": _elements(gst.gst_value_list_get_size, gst.gst_value_list_get_value),
    b"gpointer": lambda value: _NOTHING,
}


def _utf8(text: str) -> bytes:
    """The text in the form that a structure takes: UTF-8, unlike labels of some other elements."""
    return text.encode(errors="replace")


def _value_of(value: Any, in_array: bool = False) -> GValue | None:
    """A GValue that holds it, to be unset; None for a type that has no counterpart."""
    held = GValue()
    if isinstance(value, bool):
        _fill(held, G_TYPE_BOOLEAN, gobject.g_value_set_boolean, value)
    elif isinstance(value, int):
        return _whole(held, value, in_array)
    elif isinstance(value, float):
        # Readers of arrays expect single precision there.
        if in_array:
            _fill(held, G_TYPE_FLOAT, gobject.g_value_set_float, value)
        else:
            _fill(held, G_TYPE_DOUBLE, gobject.g_value_set_double, value)
    elif isinstance(value, str):
        _fill(held, G_TYPE_STRING, gobject.g_value_set_string, _utf8(value))
    elif isinstance(value, bytes):
        array = np.frombuffer(value, np.uint8)
        _fill(held, G_TYPE_VARIANT, gobject.g_value_set_variant, _variant_on(array))
    elif isinstance(value, np.ndarray) and value.dtype == np.uint8 and value.ndim == 1:
        _fill(held, G_TYPE_VARIANT, gobject.g_value_set_variant, _variant_on(value))
    elif isinstance(value, list | tuple) and not in_array:
        return _array(held, value)
    else:
        return None
    return held


def _variant_on(array: np.ndarray[Any, Any]) -> int:
    """A new GVariant* on the bytes of an array, which lie one after the other."""
    if not array.nbytes:
        return int(glib.g_variant_new_fixed_array(_BYTE, None, 0, 1))
    with new_loan(array) as loan:
        slot = loan.slot()
        data = glib.g_bytes_new_with_free_func(data_address(array), array.nbytes, CLEAR, slot)
        loan.fill(slot)
    variant: int = glib.g_variant_new_from_bytes(_BYTE_ARRAY, data, 1)
    glib.g_bytes_unref(data)
    return variant


def _fill(held: GValue, type_: int, set_: Callable[..., None], value: Any) -> None:
    gobject.g_value_init(byref(held), type_)
    set_(byref(held), value)


def _whole(held: GValue, value: int, in_array: bool) -> GValue | None:
    if in_array and 0 <= value < 2 * _WORD:  # as dimensions are
        _fill(held, G_TYPE_UINT, gobject.g_value_set_uint, value)
    elif -_WORD <= value < _WORD:
        _fill(held, G_TYPE_INT, gobject.g_value_set_int, value)
    elif -_LONG <= value < _LONG:
        _fill(held, G_TYPE_INT64, gobject.g_value_set_int64, value)
    elif 0 <= value < 2 * _LONG:
        _fill(held, G_TYPE_UINT64, gobject.g_value_set_uint64, value)
    else:
        return None
    return held


def _array(held: GValue, values: list[Any] | tuple[Any, ...]) -> GValue:
    gobject.g_value_init(byref(held), gobject.g_type_from_name(b"GstValueArray"))
    for value in values:
        element = _value_of(value, in_array=True)
        if element is not None:
            gst.gst_value_array_append_value(byref(held), byref(element))
            gobject.g_value_unset(byref(element))
    return held
