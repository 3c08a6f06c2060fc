# SPDX-License-Identifier: Apache-2.0
"""New memory: buffers, images, USM, SVM."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, get_args

import pyopencl

from samebytes import Storage, TensorInfo
from samebytes.errors import LayoutError, MissingDependencyError, NativeError, UnknownNameError

from ._images import image_maker
from ._library import in_our_words, making
from ._natives import pinned_buffer, pinned_image, pinned_svm
from ._parts import MemStorage, alignment_of, sub_buffer
from ._usm import USMAllocation, allocate_usm

if TYPE_CHECKING:
    from samebytes import ImageInfo

    from ._devices import OnDevice

__all__ = ["Kind", "allocate", "allocate_planes"]

Kind = Literal["buffer", "image", "usm_host", "usm_device", "usm_shared", "svm"]


def allocate(
    context: OnDevice, shape: tuple[int, ...], dtype: Any, kind: str
) -> tuple[Any, Storage, TensorInfo]:
    """Return a native of new memory, its owner and its layout: see `OpenCLContext.allocate`."""
    info = TensorInfo(dtype, shape)
    storage = _memory(context, info, kind)
    if kind == "image":
        info = TensorInfo(info.dtype, info.shape, opaque=True)
    return _native(context, storage, info, kind), storage, info


def allocate_planes(
    context: OnDevice, image: ImageInfo, kind: str
) -> tuple[tuple[Any, ...], tuple[Storage, ...]]:
    """Return a native for each plane of a new image, and the owners, of which the last holds all.

    See `OpenCLContext.allocate_frame`.
    """
    infos = [TensorInfo(p.dtype, p.shape) for p in image.plane_layouts()]
    pieces: list[Storage]
    if kind == "buffer":
        pieces = _planes_of_one_buffer(context, infos)
        planes = pieces[1:]
    else:
        planes = pieces = [_memory(context, info, kind) for info in infos]
    # A chain, so that whoever holds the last one holds all.
    for before, after in pairwise(pieces):
        after.keep = before
    natives = tuple(
        _native(context, plane, info, kind, pin=pieces[-1])
        for plane, info in zip(planes, infos, strict=True)
    )
    return natives, tuple(pieces)


def _planes_of_one_buffer(context: OnDevice, infos: list[TensorInfo]) -> list[Storage]:
    """The buffer, then a sub-buffer for each plane."""
    alignment = alignment_of(context)
    offsets, end = [], 0
    for info in infos:
        end = -(-end // alignment) * alignment
        offsets.append(end)
        end += info.nbytes
    whole = _buffer(context, end)
    parts = [
        sub_buffer(context, whole.handle, offset, info.nbytes, whole)
        for offset, info in zip(offsets, infos, strict=True)
    ]
    return [whole, *parts]


def _memory(context: OnDevice, info: TensorInfo, kind: str) -> Storage:
    if kind == "buffer":
        return _buffer(context, info.nbytes)
    if kind == "image":
        return MemStorage(context, image_maker(context, info), info.nbytes)
    if kind == "svm":
        return _svm(context, info.nbytes)
    if kind in get_args(Kind):
        return allocate_usm(context, kind, info.nbytes)
    raise UnknownNameError("kind of OpenCL memory", kind, get_args(Kind))


def _native(
    context: OnDevice, memory: Any, info: TensorInfo, kind: str, pin: Storage | None = None
) -> Any:
    pin = pin or memory
    if kind == "buffer":
        return pinned_buffer(memory.handle, pin, info)
    if kind == "image":
        return pinned_image(memory.handle, pin)
    if kind == "svm":
        return pinned_svm(memory, info)
    return USMAllocation(memory.pointer, info.nbytes, kind, context, pin, info)


@in_our_words
def _buffer(context: OnDevice, nbytes: int) -> MemStorage:
    most = context.native_device.max_mem_alloc_size
    if nbytes > most:
        raise LayoutError(
            f"{nbytes} bytes exceed the largest allocation of {context.native_device.name.strip()} "
            f"({most}, CL_DEVICE_MAX_MEM_ALLOC_SIZE)"
        )
    flags = int(pyopencl.mem_flags.READ_WRITE)
    size = max(nbytes, 1)  # OpenCL does not support empty buffers
    make = making("clCreateBuffer", context.native.int_ptr, flags, size, None)
    return MemStorage(context, make, size)


def _svm(context: OnDevice, nbytes: int) -> Storage:
    device = context.native_device
    coarse = pyopencl.device_svm_capabilities.COARSE_GRAIN_BUFFER
    try:
        offered = bool(device.svm_capabilities & coarse)
    except pyopencl.Error:  # before OpenCL 2.0
        offered = False
    if not offered:
        raise MissingDependencyError(
            "opencl", f"coarse-grained SVM on {device.name.strip()}", 'use kind="buffer"'
        )
    size = max(nbytes, 1)
    try:
        memory = pyopencl.SVMAllocation(context.native, size, 0, pyopencl.svm_mem_flags.READ_WRITE)
    except pyopencl.Error as error:
        raise NativeError("clSVMAlloc", getattr(error, "code", 0), str(error)) from error
    release = partial(_release_svm, memory, context.queue)
    return Storage(release, address=memory.svm_ptr, nbytes=size, at_exit=True)


def _release_svm(memory: Any, queue: pyopencl.CommandQueue) -> None:
    queue.finish()  # clSVMFree does not wait for the commands that use it
    memory.release()
