# SPDX-License-Identifier: Apache-2.0
"""Surfaces to and from CPU memory and DMA-BUFs. By hand: only libva's functions."""

from __future__ import annotations

import os
from ctypes import byref, c_uint8, c_void_p
from typing import Any

import numpy as np

import samebytes as sb
from samebytes.benchmarks import Ways, along

from .._abi import constants as va
from .._abi.structures import VADRMPRIMESurfaceDescriptor, VAImage
from .._display import NativeDisplay

__all__ = [
    "copied", "from_dma", "from_dma_first", "plane_copied", "plane_to_cpu", "plane_to_dma",
    "to_cpu", "to_dma_again", "to_dma_first", "uploaded",
]  # fmt: skip


def _surface(width: int, height: int) -> sb.Frame:
    return sb.context("vaapi").allocate_frame("NV12", width, height)


def _display(frame: sb.Frame) -> NativeDisplay:
    context: Any = frame.context
    display: NativeDisplay = context.native_display()
    return display


def _viewed(display: NativeDisplay, image: VAImage, *, copy: bool = False) -> None:
    """Map an image, make arrays of its planes, unmap and destroy it."""
    call, address = display.library.call, c_void_p()
    call("vaMapBuffer", display.pointer, image.buf, byref(address))
    memory = np.frombuffer((c_uint8 * image.data_size).from_address(address.value or 0), np.uint8)
    for start, pitch, rows in zip(
        image.offsets, image.pitches, (image.height, image.height // 2), strict=False
    ):
        plane = memory[start : start + pitch * rows].reshape(rows, pitch)
        if copy:
            plane.copy()
    call("vaUnmapBuffer", display.pointer, image.buf)
    call("vaDestroyImage", display.pointer, image.image_id)


def _by_deriving(display: NativeDisplay, number: int) -> None:
    call, image = display.library.call, VAImage()
    call("vaSyncSurface", display.pointer, number)
    call("vaDeriveImage", display.pointer, number, byref(image))
    _viewed(display, image)


def _mapped(frame: sb.Frame, item: Any, edge: str) -> Ways:
    go, display = along(edge, item, sb.context("cpu")), _display(frame)
    number = frame.planes[0].handle("va_surface")
    return Ways(ours=lambda: go(item).close(), by_hand=lambda: _by_deriving(display, number))


def to_cpu(width: int, height: int) -> Ways:
    """All planes."""
    frame = _surface(width, height)
    return _mapped(frame, frame, "vaapi -> cpu frame map")


def plane_to_cpu(width: int, height: int) -> Ways:
    """One plane; libva maps them all."""
    frame = _surface(width, height)
    return _mapped(frame, frame.planes[0], "vaapi -> cpu tensor map")


def _copied(frame: sb.Frame, item: Any, edge: str) -> Ways:
    go, display = along(edge, item, sb.context("cpu")), _display(frame)
    number, picture = frame.planes[0].handle("va_surface"), frame.image
    layout, call = display.image_formats()[picture.format.name], display.library.call

    def by_hand() -> None:
        image = VAImage()
        call("vaSyncSurface", display.pointer, number)
        size = picture.width, picture.height
        call("vaCreateImage", display.pointer, byref(layout), *size, byref(image))
        call("vaGetImage", display.pointer, number, 0, 0, *size, image.image_id)
        _viewed(display, image, copy=True)

    return Ways(ours=lambda: go(item), by_hand=by_hand)


def copied(width: int, height: int) -> Ways:
    """All planes."""
    frame = _surface(width, height)
    return _copied(frame, frame, "vaapi -> cpu frame copy")


def plane_copied(width: int, height: int) -> Ways:
    """One plane; libva copies them all."""
    frame = _surface(width, height)
    return _copied(frame, frame.planes[0], "vaapi -> cpu tensor copy")


def uploaded(width: int, height: int) -> Ways:
    """A copy into a new surface."""
    frame, target = sb.context("cpu").allocate_frame("NV12", width, height), sb.context("vaapi")
    go = along("cpu -> vaapi frame copy", frame, target)
    return Ways(ours=lambda: go(frame))


def _export_by_hand(display: NativeDisplay, number: int) -> None:
    call, described = display.library.call, VADRMPRIMESurfaceDescriptor()
    call("vaSyncSurface", display.pointer, number)
    kind, flags = (
        va.VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2,
        (va.VA_EXPORT_SURFACE_READ_ONLY | va.VA_EXPORT_SURFACE_COMPOSED_LAYERS),
    )
    call("vaExportSurfaceHandle", display.pointer, number, kind, flags, byref(described))
    for index in range(described.num_objects):
        os.close(described.objects[index].fd)


def to_dma_first(width: int, height: int) -> Ways:
    """A surface that was not exported yet."""
    vaapi = sb.context("vaapi")

    def fresh() -> sb.Frame:
        return vaapi.allocate_frame("NV12", width, height)

    one = fresh()
    display = _display(one)
    return Ways(
        ours=along("vaapi -> dma frame import", one, sb.context("dma")),
        by_hand=lambda frame: _export_by_hand(display, frame.planes[0].handle("va_surface")),
        fresh=fresh,
    )


def to_dma_again(width: int, height: int) -> Ways:
    """The same surface."""
    frame = _surface(width, height)
    return _exported(frame, frame, "vaapi -> dma frame import")


def plane_to_dma(width: int, height: int) -> Ways:
    """One plane; libva exports them all."""
    frame = _surface(width, height)
    return _exported(frame, frame.planes[0], "vaapi -> dma tensor import")


def _exported(frame: sb.Frame, item: Any, edge: str) -> Ways:
    go, display = along(edge, item, sb.context("dma")), _display(frame)
    number = frame.planes[0].handle("va_surface")
    return Ways(ours=lambda: go(item), by_hand=lambda: _export_by_hand(display, number))


def from_dma(width: int, height: int) -> Ways:
    """The same buffers again: memory that the driver itself exported."""
    frame, target = _surface(width, height).map("dma", "rw"), sb.context("vaapi")
    go = along("dma -> vaapi frame import", frame, target)
    return Ways(ours=lambda: go(frame))


def from_dma_first(width: int, height: int) -> Ways:
    """Buffers that the driver has not imported yet."""
    target = sb.context("vaapi")

    def fresh() -> sb.Frame:
        return target.allocate_frame("NV12", width, height).map("dma", "rw")

    return Ways(ours=along("dma -> vaapi frame import", fresh(), target), fresh=fresh)
