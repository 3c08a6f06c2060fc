# SPDX-License-Identifier: Apache-2.0
"""Mappings of OpenCL memory to the CPU, which end with an unmap.

OpenCL's rules (specification, "Mapping Buffer Objects" and "Accessing mapped regions"): the device
sees writes after the unmapping; a region that is mapped for writing must not be mapped again; a
mapping of a CL_MEM_USE_HOST_PTR buffer is always at the same address, any other may be at a new
address each time.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from ctypes import byref, c_size_t, c_uint64, c_void_p
from functools import partial
from typing import TYPE_CHECKING

from pyopencl import map_flags, mem_flags, mem_info

from samebytes import Access, Storage, TensorInfo
from samebytes.errors import NativeError
from samebytes.plugins import deferred

from ._handles import MemReference, retain_mem
from ._handles import mem_info as ask
from ._images import region_of
from ._library import call, call_noting, give_back, making

if TYPE_CHECKING:
    from ._queues import WorkQueue
    from ._tensor import OpenCLTensor

__all__ = ["HostMapping", "map_buffer", "map_image", "map_svm"]

_READ = int(map_flags.READ)
_READ_WRITE = int(map_flags.READ | map_flags.WRITE)
_DISCARD = int(map_flags.WRITE_INVALIDATE_REGION)
_USE_HOST_PTR = int(mem_flags.USE_HOST_PTR)
_NO_EVENTS = 0, None, None


class HostMapping(Storage):
    """The owner of one mapping.

    Attributes:
        layout: the layout of the elements in it.
    """

    __slots__ = ("layout",)

    layout: TensorInfo


# (kind, handle or pointer, bytes) -> the mapping for writing. It holds the memory, so that what a
# key names lives as long as its entry.
_Key = tuple[str, int, int]
_writing: weakref.WeakValueDictionary[_Key, HostMapping] = weakref.WeakValueDictionary()


def map_buffer(item: OpenCLTensor, access: Access, queue: WorkQueue) -> HostMapping:
    """The bytes of a buffer tensor.

    Raises:
        NativeError: the driver refuses, for instance since an overlapping region is mapped.
    """
    handle, info = item.native.int_ptr, item.info
    nbytes = info.extent[1]

    def begin(cell: c_void_p) -> TensorInfo:
        # Bytes between padded rows may be somebody else's: they must survive.
        every_byte = access == "w" and info.is_contiguous
        flags = _flags(access, every_byte)
        arguments = queue.handle, handle, 0, flags, 0, nbytes, *_NO_EVENTS
        making("clEnqueueMapBuffer", *arguments)(cell)
        return info

    def publisher(pointer: int, _: TensorInfo) -> Callable[[], object]:
        in_place = bool(ask(handle, mem_info.FLAGS, c_uint64) & _USE_HOST_PTR)
        publish = _publish_in_place if in_place else _publish_buffer
        return partial(publish, queue, handle, pointer, nbytes)

    return _mapping(("buffer", handle, nbytes), item, access, queue, begin, publisher)


def map_image(item: OpenCLTensor, access: Access, queue: WorkQueue) -> HostMapping:
    """The pixels of an image tensor; the driver reports the distance between its rows.

    Raises:
        NativeError: the driver refuses.
    """
    handle, info = item.native.int_ptr, item.info

    def begin(cell: c_void_p) -> TensorInfo:
        pitch, slice_pitch = c_size_t(), c_size_t()
        making(
            "clEnqueueMapImage", queue.handle, handle, 0, _flags(access, True), *region_of(info),
            byref(pitch), byref(slice_pitch), *_NO_EVENTS,
        )(cell)  # fmt: skip
        pixels = TensorInfo(info.dtype, info.shape[1:]).strides or ()
        return TensorInfo(info.dtype, info.shape, (pitch.value, *pixels))

    return _mapping(
        ("image", handle, 0), item, access, queue, begin,
        lambda pointer, layout: partial(_publish_image, queue, handle, pointer, layout),
    )  # fmt: skip


def map_svm(item: OpenCLTensor, access: Access, queue: WorkQueue) -> HostMapping:
    """Coarse-grained SVM, which is at its own address whenever it is mapped.

    Raises:
        NativeError: the driver refuses.
    """
    info = item.info
    pointer, nbytes = item.native.svm_ptr, info.extent[1]

    def begin(cell: c_void_p) -> TensorInfo:
        _map_svm(cell, queue, _flags(access, info.is_contiguous), pointer, nbytes)
        return info

    return _mapping(
        ("svm", pointer, nbytes), item, access, queue, begin,
        lambda pointer, _: partial(_publish_svm, queue, pointer, nbytes),
    )  # fmt: skip


def _mapping(
    key: _Key,
    item: OpenCLTensor,
    access: Access,
    queue: WorkQueue,
    begin: Callable[[c_void_p], TensorInfo],
    publisher: Callable[[int, TensorInfo], Callable[[], object]],
) -> HostMapping:
    """A new mapping, or a part of the living one for writing."""
    shared = _writing.get(key)
    if shared is None or shared.ending:
        shared = _begin(key, item, access, queue, begin)
        if access == "r":
            return shared
        _writing[key] = shared
    elif not queue.ordered:
        if shared.wait is not None:
            shared.wait()
        queue.finish()
    # Its own part for each map(), so that each can be closed while others go on, and works on
    # the queue that it was mapped with.
    part = HostMapping(
        address=shared.address,
        nbytes=shared.nbytes,
        keep=shared,
        readonly=access == "r",
        flush=None if access == "r" else publisher(shared.address, shared.layout),
        wait=queue.finish if queue.ordered else None,
    )
    part.layout = shared.layout
    return part


def _begin(
    key: _Key,
    item: OpenCLTensor,
    access: Access,
    queue: WorkQueue,
    begin: Callable[[c_void_p], TensorInfo],
) -> HostMapping:
    kind, handle, _ = key
    held, pointer = c_void_p(), c_void_p()
    storage = item.storage
    # A reference that one map() made is that mapping's to end, while others go on in this one,
    # which has its own: it lies in what the memory lies in.
    lies_in = storage.keep if type(storage) is MemReference else storage
    # The owner comes before what it owns, which no exception can lose then.
    mapping: HostMapping | None = HostMapping(
        partial(_unmap_svm, queue, pointer)
        if kind == "svm"
        else partial(_unmap_and_release, queue, held, pointer),
        keep=lies_in,
        holds=storage,
        readonly=access == "r",
        wait=queue.finish if queue.ordered else None,
        at_exit=True,
    )
    assert mapping is not None
    try:
        if kind != "svm":
            # A reference of the mapping's own: the user may release theirs while it is mapped.
            retain_mem(held, handle)
        mapping.layout = begin(pointer)
        mapping.expose(pointer.value or 0, mapping.layout.extent[1])
        if not queue.ordered:
            queue.finish()
    except BaseException:
        mapping = None  # the traceback holds it, and so the memory
        raise
    return mapping


def _flags(access: Access, every_byte: bool) -> int:
    if access == "r":
        return _READ
    return _DISCARD if access == "w" and every_byte else _READ_WRITE


def _unmap_and_release(queue: WorkQueue, held: c_void_p, pointer: c_void_p) -> None:
    try:
        if pointer.value:
            arguments = queue.handle, held.value, pointer.value, *_NO_EVENTS
            give_back(pointer, "clEnqueueUnmapMemObject", *arguments)
        if held.value:
            queue.hand_over()
    except NativeError:
        if held.value:
            give_back(held, "clReleaseMemObject", held.value)
        raise
    if held.value:
        give_back(held, "clReleaseMemObject", held.value)


def _publish_in_place(queue: WorkQueue, handle: int, pointer: int, nbytes: int) -> None:
    """Unmap and map again: memory of the host is mapped at the same address each time."""
    with deferred():  # the mapping goes on after Ctrl-C, and is published again or ended
        try:
            call("clEnqueueUnmapMemObject", queue.handle, handle, pointer, *_NO_EVENTS)
            # There is a driver that never frees a buffer which is mapped again before it was
            # unmapped, if others read it and all bytes were to be written: Intel's CPU runtime,
            # 2026.2.
            queue.hand_over()
        finally:
            arguments = queue.handle, handle, 0, _READ_WRITE, 0, nbytes, *_NO_EVENTS
            making("clEnqueueMapBuffer", *arguments)(c_void_p())
        queue.hand_over()


def _publish_buffer(queue: WorkQueue, handle: int, pointer: int, nbytes: int) -> None:
    """Write the mapped bytes to where they belong, without ending the mapping.

    Unmapping and mapping again might give another address, and arrays at the old one would be
    left without memory.
    """
    call("clEnqueueWriteBuffer", queue.handle, handle, 0, 0, nbytes, pointer, *_NO_EVENTS)
    queue.hand_over()


def _publish_image(queue: WorkQueue, handle: int, pointer: int, layout: TensorInfo) -> None:
    """The same for an image."""
    pitch = layout.strides[0] if layout.strides else 0
    call(
        "clEnqueueWriteImage", queue.handle, handle, 0, *region_of(layout), pitch, 0, pointer,
        *_NO_EVENTS,
    )  # fmt: skip
    queue.hand_over()


def _map_svm(cell: c_void_p, queue: WorkQueue, flags: int, pointer: int, nbytes: int) -> None:
    arguments = queue.handle, 0, flags, pointer, nbytes, *_NO_EVENTS
    call_noting(cell, pointer, "clEnqueueSVMMap", *arguments)


def _unmap_svm(queue: WorkQueue, pointer: c_void_p) -> None:
    if pointer.value:
        arguments = queue.handle, pointer.value, *_NO_EVENTS
        give_back(pointer, "clEnqueueSVMUnmap", *arguments)
    queue.hand_over()


def _publish_svm(queue: WorkQueue, pointer: int, nbytes: int) -> None:
    with deferred():  # as above
        try:
            call("clEnqueueSVMUnmap", queue.handle, pointer, *_NO_EVENTS)
        finally:
            _map_svm(c_void_p(), queue, _READ_WRITE, pointer, nbytes)
        queue.hand_over()
