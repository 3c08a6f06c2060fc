# SPDX-License-Identifier: Apache-2.0
"""libglib-2.0.so.0 and libgobject-2.0.so.0: strings, lists, types and values."""

from __future__ import annotations

from ctypes import (
    POINTER,
    Structure,
    c_char_p,
    c_double,
    c_float,
    c_int,
    c_int64,
    c_size_t,
    c_uint,
    c_uint64,
    c_void_p,
)

__all__ = [
    "GLIB",
    "GOBJECT",
    "G_TYPE_BOOLEAN",
    "G_TYPE_DOUBLE",
    "G_TYPE_FLOAT",
    "G_TYPE_INT",
    "G_TYPE_INT64",
    "G_TYPE_STRING",
    "G_TYPE_UINT",
    "G_TYPE_UINT64",
    "G_TYPE_VARIANT",
    "GList",
    "GType",
    "GValue",
]

GType = c_size_t
"""gobject/gtype.h."""


def _fundamental(number: int) -> int:
    """gobject/gtype.h: G_TYPE_MAKE_FUNDAMENTAL."""
    return number << 2


G_TYPE_BOOLEAN = _fundamental(5)
G_TYPE_INT = _fundamental(6)
G_TYPE_UINT = _fundamental(7)
G_TYPE_INT64 = _fundamental(10)
G_TYPE_UINT64 = _fundamental(11)
G_TYPE_FLOAT = _fundamental(14)
G_TYPE_DOUBLE = _fundamental(15)
G_TYPE_STRING = _fundamental(16)
G_TYPE_VARIANT = _fundamental(21)


class GValue(Structure):
    """gobject/gvalue.h: the type, and two words that the type fills."""

    _fields_ = [("g_type", GType), ("data", c_uint64 * 2)]


class GList(Structure):
    """glib/glist.h."""

    _fields_ = [("data", c_void_p), ("next", c_void_p), ("prev", c_void_p)]


_VALUE = POINTER(GValue)

GLIB = {
    # glib/gquark.h
    "g_quark_from_string": (c_uint, c_char_p),
    "g_quark_to_string": (c_char_p, c_uint),
    # glib/glist.h
    "g_list_append": (c_void_p, c_void_p, c_void_p),
    # glib/gstrfuncs.h, glib/gmem.h
    "g_strdup": (c_void_p, c_char_p),
    "g_free": (None, c_void_p),
    "g_malloc0": (c_void_p, c_size_t),
    # glib/gvariant.h
    "g_variant_get_type_string": (c_char_p, c_void_p),
    "g_variant_get_fixed_array": (c_void_p, c_void_p, POINTER(c_size_t), c_size_t),
    "g_variant_new_fixed_array": (c_void_p, c_void_p, c_void_p, c_size_t, c_size_t),
    "g_variant_new_from_bytes": (c_void_p, c_void_p, c_void_p, c_int),
    # glib/gbytes.h
    "g_bytes_new_with_free_func": (c_void_p, c_void_p, c_size_t, c_void_p, c_void_p),
    "g_bytes_unref": (None, c_void_p),
}

GOBJECT = {
    # gobject/gtype.h
    "g_type_from_name": (GType, c_char_p),
    "g_type_name": (c_char_p, GType),
    # gobject/gobject.h
    "g_object_ref": (c_void_p, c_void_p),
    "g_object_unref": (None, c_void_p),
    "g_object_get_property": (None, c_void_p, c_char_p, _VALUE),
    # gobject/gvalue.h and gobject/gvaluetypes.h
    "g_value_init": (c_void_p, _VALUE, GType),
    "g_value_unset": (None, _VALUE),
    "g_value_get_boolean": (c_int, c_void_p),
    "g_value_get_int": (c_int, c_void_p),
    "g_value_get_uint": (c_uint, c_void_p),
    "g_value_get_int64": (c_int64, c_void_p),
    "g_value_get_uint64": (c_uint64, c_void_p),
    "g_value_get_float": (c_float, c_void_p),
    "g_value_get_double": (c_double, c_void_p),
    "g_value_get_string": (c_char_p, c_void_p),
    "g_value_get_variant": (c_void_p, c_void_p),
    "g_value_set_boolean": (None, _VALUE, c_int),
    "g_value_set_int": (None, _VALUE, c_int),
    "g_value_set_uint": (None, _VALUE, c_uint),
    "g_value_set_int64": (None, _VALUE, c_int64),
    "g_value_set_uint64": (None, _VALUE, c_uint64),
    "g_value_set_float": (None, _VALUE, c_float),
    "g_value_set_double": (None, _VALUE, c_double),
    "g_value_set_string": (None, _VALUE, c_char_p),
    "g_value_set_variant": (None, _VALUE, c_void_p),
}
