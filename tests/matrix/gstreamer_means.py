# SPDX-License-Identifier: Apache-2.0
"""Memory of GStreamer by its own C functions (gst/gstmemory.h), and descriptors by gi."""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

import gi
import numpy as np

from samebytes import Tensor

from .places import Place, file_of

gi.require_version("Gst", "1.0")
gi.require_version("GstAllocators", "1.0")
from gi.repository import Gst, GstAllocators  # noqa: E402  (the versions are chosen first)

__all__ = ["array_of", "make_buffer", "place_of"]

_gst = ctypes.CDLL("libgstreamer-1.0.so.0")


class _MapInfo(ctypes.Structure):
    """GstMapInfo."""

    _fields_ = (
        ("memory", ctypes.c_void_p), ("flags", ctypes.c_int), ("data", ctypes.c_void_p),
        ("size", ctypes.c_size_t), ("maxsize", ctypes.c_size_t),
        ("user_data", ctypes.c_void_p * 4), ("_reserved", ctypes.c_void_p * 4),
    )  # fmt: skip


def make_buffer(sizes: list[int]) -> Any:
    """A buffer with one memory of the system for each size."""
    buffer = Gst.Buffer.new()
    for size in sizes:
        buffer.append_memory(Gst.Allocator.find(None).alloc(size, None))
    return buffer


def array_of(part: Tensor) -> np.ndarray[Any, Any]:
    """The elements in place."""
    native, info = part.native, part.info
    if GstAllocators.is_fd_memory(native.memory):
        fd, offset = _behind(native)
        pages: Any = mmap.mmap(fd, offset + info.extent[1])
        return np.ndarray(info.shape, info.dtype.carrier, pages, offset, info.strides)
    memory: Any = (ctypes.c_uint8 * info.extent[1]).from_address(_address(native))
    memory.pin = native
    return np.ndarray(info.shape, info.dtype.carrier, memory, 0, info.strides)


def place_of(part: Tensor) -> Place:
    """The descriptor's file, or the address."""
    if GstAllocators.is_fd_memory(part.native.memory):
        return {"file": file_of(*_behind(part.native))}
    return {"address": _address(part.native)}


def _behind(native: Any) -> tuple[int, int]:
    """The descriptor, and where in its file the plane begins."""
    _, offset, _ = native.memory.get_sizes()
    return GstAllocators.fd_memory_get_fd(native.memory), offset + native.offset


def _address(native: Any) -> int:
    """Memory of the system stays where it is when it is no longer mapped."""
    reported, memory = _MapInfo(), ctypes.c_void_p(hash(native.memory))
    # Whoever shares it may still write: READ alone never fails.
    assert _gst.gst_memory_map(memory, ctypes.byref(reported), 1)
    _gst.gst_memory_unmap(memory, ctypes.byref(reported))
    assert reported.data is not None
    return int(reported.data) + int(native.offset)
