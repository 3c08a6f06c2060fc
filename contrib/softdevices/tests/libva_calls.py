# SPDX-License-Identifier: Apache-2.0
"""Calls of libva, as programs in C make them: each returns libva's status."""

from __future__ import annotations

import ctypes
from typing import Any

from samebytes_softdevices._va_abi import (
    EXPORT_READ_WRITE,
    EXPORT_SEPARATE_LAYERS,
    MEM_TYPE_DRM_PRIME_2,
    SurfaceAttribute,
    SurfaceDescriptor,
    libva,
    pixel_format,
)


def create_surfaces(display: int, code: str, width: int, height: int, made: Any) -> int:
    """Call vaCreateSurfaces for as many surfaces as the array `made` has room for."""
    attributes = (SurfaceAttribute * 1)(pixel_format(code))
    create = libva().vaCreateSurfaces
    return int(create(display, 0, width, height, made, len(made), attributes, 1))


def destroy_surfaces(display: int, made: Any) -> int:
    """Call vaDestroySurfaces for the surfaces of an array."""
    return int(libva().vaDestroySurfaces(display, made, len(made)))


def sync_surface(display: int, surface: int) -> int:
    """Call vaSyncSurface."""
    return int(libva().vaSyncSurface(display, surface))


def export(display: int, surface: int, *, layers: bool = False) -> tuple[int, list[int]]:
    """Call vaExportSurfaceHandle for DMA-BUFs; return the status, and descriptors to close.

    Args:
        display: the VADisplay.
        surface: its number.
        layers: each plane is a layer of its own.
    """
    exported = SurfaceDescriptor()
    flags = EXPORT_READ_WRITE | (EXPORT_SEPARATE_LAYERS if layers else 0)
    status = libva().vaExportSurfaceHandle(
        display, surface, MEM_TYPE_DRM_PRIME_2, flags, ctypes.byref(exported)
    )
    return int(status), [item.fd for item in exported.objects[: exported.num_objects]]
