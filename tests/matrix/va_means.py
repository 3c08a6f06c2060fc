# SPDX-License-Identifier: Apache-2.0
"""Surfaces of VA-API by libva alone: exported as DMA-BUFs, and mapped (va/va_drmcommon.h)."""

from __future__ import annotations

import ctypes
import mmap
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from samebytes import Tensor

from .places import Place, file_of

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["array_of", "place_of"]

_DRM_PRIME_2 = 0x40000000  # VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2
_READ_WRITE_SEPARATE = 0x0003 | 0x0004  # VA_EXPORT_SURFACE_*
_LINEAR = 0


class _Object(ctypes.Structure):
    _fields_ = (("fd", ctypes.c_int), ("size", ctypes.c_uint32), ("modifier", ctypes.c_uint64))


class _Layer(ctypes.Structure):
    _fields_ = (
        ("drm_format", ctypes.c_uint32), ("num_planes", ctypes.c_uint32),
        ("object_index", ctypes.c_uint32 * 4), ("offset", ctypes.c_uint32 * 4),
        ("pitch", ctypes.c_uint32 * 4),
    )  # fmt: skip


class _Descriptor(ctypes.Structure):
    _fields_ = (
        ("fourcc", ctypes.c_uint32), ("width", ctypes.c_uint32), ("height", ctypes.c_uint32),
        ("num_objects", ctypes.c_uint32), ("objects", _Object * 4),
        ("num_layers", ctypes.c_uint32), ("layers", _Layer * 4),
    )  # fmt: skip


@contextmanager
def _exported(part: Tensor) -> Iterator[tuple[_Object, int, int]]:
    """The object that a plane lies in, while it is open, and the plane's offset and pitch."""
    libva, reported = ctypes.CDLL("libva.so.2"), _Descriptor()
    display = ctypes.c_void_p(part.context.handle("va_display"))
    surface = ctypes.c_uint(part.handle("va_surface"))
    status = libva.vaExportSurfaceHandle(
        display, surface, ctypes.c_uint32(_DRM_PRIME_2), ctypes.c_uint32(_READ_WRITE_SEPARATE),
        ctypes.byref(reported),
    )  # fmt: skip
    assert status == 0
    try:
        layer = reported.layers[part.handle("plane_index")]
        found = reported.objects[layer.object_index[0]]
        assert found.modifier == _LINEAR
        yield found, layer.offset[0], layer.pitch[0]
    finally:
        for number in range(reported.num_objects):
            os.close(reported.objects[number].fd)


def array_of(part: Tensor) -> np.ndarray[Any, Any]:
    """The elements of a plane in place."""
    with _exported(part) as (found, offset, pitch):
        pages = mmap.mmap(found.fd, found.size)
        info = part.info
        inner = np.zeros(info.shape[1:], info.dtype.carrier).strides
        return np.ndarray(info.shape, info.dtype.carrier, pages, offset, (pitch, *inner))


def place_of(part: Tensor) -> Place:
    """The place where a plane begins: the file, and the offset in it."""
    with _exported(part) as (found, offset, _):
        return {"file": file_of(found.fd, offset)}
