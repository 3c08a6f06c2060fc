# SPDX-License-Identifier: Apache-2.0
"""The part of libva used here, for ctypes (va/va.h, va/va_drm.h, va/va_drmcommon.h)."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import ClassVar

__all__ = [
    "EXPORT_READ_WRITE",
    "EXPORT_SEPARATE_LAYERS",
    "MEM_TYPE_DRM_PRIME_2",
    "SUCCESS",
    "SurfaceAttribute",
    "SurfaceDescriptor",
    "fourcc",
    "libva",
    "libva_drm",
    "pixel_format",
]

SUCCESS = 0  # VA_STATUS_SUCCESS
EXPORT_READ_WRITE = 3  # VA_EXPORT_SURFACE_READ_WRITE
EXPORT_SEPARATE_LAYERS = 4  # VA_EXPORT_SURFACE_SEPARATE_LAYERS
MEM_TYPE_DRM_PRIME_2 = 0x40000000  # VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2

_ATTRIB_PIXEL_FORMAT = 1  # VASurfaceAttribPixelFormat
_ATTRIB_SETTABLE = 2  # VA_SURFACE_ATTRIB_SETTABLE
_TYPE_INTEGER = 1  # VAGenericValueTypeInteger

_UINT32 = ctypes.c_uint32


class _Value(ctypes.Union):
    """The union in VAGenericValue."""

    _fields_: ClassVar = [
        ("i", ctypes.c_int32),
        ("f", ctypes.c_float),
        ("p", ctypes.c_void_p),
    ]


class _GenericValue(ctypes.Structure):
    """VAGenericValue."""

    _fields_: ClassVar = [("type", ctypes.c_int), ("value", _Value)]


class SurfaceAttribute(ctypes.Structure):
    """VASurfaceAttrib."""

    _fields_: ClassVar = [("type", ctypes.c_int), ("flags", _UINT32), ("value", _GenericValue)]


class _Object(ctypes.Structure):
    """An element of VADRMPRIMESurfaceDescriptor.objects."""

    _fields_: ClassVar = [
        ("fd", ctypes.c_int),
        ("size", _UINT32),
        ("drm_format_modifier", ctypes.c_uint64),
    ]


class _Layer(ctypes.Structure):
    """An element of VADRMPRIMESurfaceDescriptor.layers."""

    _fields_: ClassVar = [
        ("drm_format", _UINT32),
        ("num_planes", _UINT32),
        ("object_index", _UINT32 * 4),
        ("offset", _UINT32 * 4),
        ("pitch", _UINT32 * 4),
    ]


class SurfaceDescriptor(ctypes.Structure):
    """VADRMPRIMESurfaceDescriptor."""

    _fields_: ClassVar = [
        ("fourcc", _UINT32),
        ("width", _UINT32),
        ("height", _UINT32),
        ("num_objects", _UINT32),
        ("objects", _Object * 4),
        ("num_layers", _UINT32),
        ("layers", _Layer * 4),
    ]


def fourcc(code: str) -> int:
    """Return the number of a code: four letters, the first in the lowest byte."""
    return int.from_bytes(code.encode("ascii"), "little")


def pixel_format(code: str) -> SurfaceAttribute:
    """Return the attribute that asks vaCreateSurfaces for a pixel format."""
    attribute = SurfaceAttribute(type=_ATTRIB_PIXEL_FORMAT, flags=_ATTRIB_SETTABLE)
    attribute.value.type = _TYPE_INTEGER
    attribute.value.value.i = fourcc(code)
    return attribute


@cache
def libva() -> ctypes.CDLL:
    """Libva, with the prototypes of the functions that are used.

    Raises:
        OSError: it is missing.
    """
    library = ctypes.CDLL("libva.so.2")
    display, surface, status = ctypes.c_void_p, ctypes.c_uint, ctypes.c_int
    number = ctypes.POINTER(ctypes.c_int)
    library.vaErrorStr.argtypes, library.vaErrorStr.restype = [status], ctypes.c_char_p
    prototypes = {
        "vaInitialize": [display, number, number],
        "vaTerminate": [display],
        "vaCreateSurfaces": [
            *(display, ctypes.c_uint, ctypes.c_uint, ctypes.c_uint),
            *(ctypes.POINTER(surface), ctypes.c_uint),
            *(ctypes.POINTER(SurfaceAttribute), ctypes.c_uint),
        ],
        "vaDestroySurfaces": [display, ctypes.POINTER(surface), ctypes.c_int],
        "vaSyncSurface": [display, surface],
        "vaExportSurfaceHandle": [display, surface, _UINT32, _UINT32, ctypes.c_void_p],
    }
    for name, arguments in prototypes.items():
        function = getattr(library, name)
        function.argtypes, function.restype = arguments, status
    return library


@cache
def libva_drm() -> ctypes.CDLL:
    """Libva's library for displays of DRM nodes.

    Raises:
        OSError: it is missing.
    """
    library = ctypes.CDLL("libva-drm.so.2")
    library.vaGetDisplayDRM.argtypes = [ctypes.c_int]
    library.vaGetDisplayDRM.restype = ctypes.c_void_p
    return library
