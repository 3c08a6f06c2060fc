# SPDX-License-Identifier: Apache-2.0
"""GstMemory: its kind and place, permission to write to it, and its mapping to the CPU."""

from __future__ import annotations

from ctypes import byref, c_char_p, c_size_t
from functools import partial
from typing import Any, NamedTuple

from samebytes import Access, Storage
from samebytes.plugins import Refused

from .._abi.gi import Gst, pointer_of
from .._abi.gstreamer import (
    GST_MAP_READ,
    GST_MAP_WRITE,
    GST_MEMORY_FLAG_READONLY,
    GstMapInfo,
    GstMemory,
    GstMiniObject,
)
from .._abi.libraries import allocators, gst
from .._abi.plugin_libraries import GST_ALLOCATOR_VASURFACE

__all__ = [
    "Extent",
    "extent_of",
    "is_behind_descriptor",
    "is_dmabuf",
    "is_kept_by_us",
    "is_plain",
    "is_readonly",
    "is_va",
    "is_writable",
    "kind_of",
    "map_memory",
    "sink_let_go",
    "sink_took",
]

# GStreamer forbids reading memory that is only mapped for writing, and plain memory has nothing to
# fetch, so "w" is mapped for both.
_FLAGS: dict[Access, int] = {
    "r": GST_MAP_READ,
    "w": GST_MAP_READ | GST_MAP_WRITE,
    "rw": GST_MAP_READ | GST_MAP_WRITE,
}

# Types whose mapping is a pointer, and no transfer: gst/gstallocator.h, gst/allocators/
# gstfdmemory.h and gstshmallocator.h, and sys/v4l2 of gst-plugins-good.
_PLAIN = (b"SystemMemory", b"fd", b"shm", b"V4l2Memory")


class Extent(NamedTuple):
    """The bytes of a memory: `size` bytes, from `offset` bytes into the allocation."""

    offset: int
    size: int


def extent_of(memory: int) -> Extent:
    """The extent of a GstMemory*."""
    offset = c_size_t()
    size = gst.gst_memory_get_sizes(memory, byref(offset), None)
    return Extent(offset.value, size)


def is_plain(memory: int) -> bool:
    """True if mapping the memory for the CPU moves no bytes."""
    return any(gst.gst_memory_is_type(memory, name) for name in _PLAIN)


def is_dmabuf(memory: int) -> bool:
    """True if the memory is behind the descriptor of a DMA-BUF."""
    return bool(allocators.gst_is_dmabuf_memory(memory))


def is_behind_descriptor(memory: int) -> bool:
    """True if the memory is behind a file descriptor: of a DMA-BUF or of shared memory."""
    return bool(allocators.gst_is_fd_memory(memory))


def is_va(memory: int) -> bool:
    """True if the memory is a VA-API surface, as used by the va plugin of gst-plugins-bad."""
    return bool(gst.gst_memory_is_type(memory, GST_ALLOCATOR_VASURFACE))


# PyGObject would make a class for each type of allocator when it first meets one, and an exception
# of a signal handler is lost just then: see _abi.gi. So the field is read where the typelib says.
_MEM_TYPE_AT = next(
    int(field.get_offset())
    for field in Gst.Allocator.__info__.get_fields()
    if field.get_name() == "mem_type"
)


def kind_of(memory: int) -> str:
    """The name of a GstMemory*'s type, for messages."""
    allocator = GstMemory.from_address(memory).allocator
    return (c_char_p.from_address(allocator + _MEM_TYPE_AT).value or b"").decode(errors="replace")


# Buffers that the appsink of a GStreamerSource refers to until the next is pulled from it. It
# only keeps them; nobody reads them there.
_in_sinks: dict[int, int] = {}


def sink_took(buffer: int) -> None:
    """Note that the appsink of a source of ours refers to this GstBuffer*."""
    _in_sinks[buffer] = _in_sinks.get(buffer, 0) + 1


def sink_let_go(buffer: int) -> None:
    """Note that the appsink no longer refers to this GstBuffer*."""
    left = _in_sinks.get(buffer, 0) - 1
    if left > 0:
        _in_sinks[buffer] = left
    else:
        _in_sinks.pop(buffer, None)


def is_readonly(memory: int) -> bool:
    """True if a GstMemory* is marked as read-only."""
    return bool(GstMiniObject.from_address(memory).flags & GST_MEMORY_FLAG_READONLY)


def is_writable(memory: int, buffer: int = 0) -> bool:
    """True if the memory can be written to without anybody else noticing.

    GStreamer counts the buffers that a memory is in, the references to that buffer, and those to
    the sample around it. gst_memory_map() only looks at the first.

    Args:
        memory: a GstMemory*.
        buffer: the GstBuffer* that it is in, if known.
    """
    if is_readonly(memory):
        return False
    if gst.gst_mini_object_is_writable(memory):
        return True
    # The thread of the source may pull the next sample meanwhile: its sink drops the reference
    # first, and only then is it no longer counted.
    if buffer in _in_sinks:
        return is_kept_by_us(buffer)
    return bool(gst.gst_mini_object_is_writable(memory))


def is_kept_by_us(buffer: int) -> bool:
    """True if a GstBuffer* has one holder besides the appsinks of sources of ours."""
    sinks = _in_sinks.get(buffer, 0)
    return bool(GstMiniObject.from_address(buffer).refcount <= 1 + sinks)


def references(mini_object: int) -> int:
    """The number of references to a GstBuffer* or GstMemory*."""
    return int(GstMiniObject.from_address(mini_object).refcount)


def map_memory(memory: Any, access: Access) -> Storage:
    """Map a Gst.Memory for the CPU; the storage unmaps it.

    Raises:
        Refused: GStreamer would have to move the bytes, or does not map them for this access.
    """
    pointer = pointer_of(memory)
    if not is_plain(pointer):
        raise Refused(_advice(pointer))
    info = GstMapInfo()
    # The owner comes before the mapping, which no exception can lose then. It has the functions as
    # arguments, since a module's globals may be gone when the interpreter ends.
    unmap = partial(_unmap, gst.gst_memory_unmap, byref, pointer, info, memory)
    storage = Storage(unmap, readonly=access == "r")
    if not gst.gst_memory_map(pointer, byref(info), _FLAGS[access]):
        raise Refused(
            f'GStreamer does not map this {kind_of(pointer)} for access "{access}": it is '
            "read-only, in another buffer as well, or mapped for another access"
        )
    if info.data:
        storage.expose(info.data, info.size)
    return storage


def _unmap(unmap: Any, byref: Any, pointer: int, info: GstMapInfo, _memory: Any) -> None:
    if info.memory:  # GStreamer sets it where it maps, and only there
        mapped = type(info).from_buffer_copy(info)
        info.memory = None  # before the call: an interrupted one leaks, and unmaps nothing twice
        unmap(pointer, byref(mapped))


def _advice(memory: int) -> str:
    if is_dmabuf(memory):
        return "it is a DMA-BUF, which is mapped by way of dma: pip install samebytes-dma"
    kind = kind_of(memory)
    return f"mapping {kind} for the CPU would move the bytes; put a download element before it"
