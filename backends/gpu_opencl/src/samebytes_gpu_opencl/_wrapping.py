# SPDX-License-Identifier: Apache-2.0
"""Tensors over the user's OpenCL objects and raw handles."""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import c_void_p
from typing import Any

import pyopencl

from samebytes import FrameMeta, ImageFormat, ImageInfo, Storage, TensorInfo
from samebytes.errors import DeviceMismatchError, LayoutError, UnsupportedObjectError
from samebytes.plugins import joint_owner, native_pointer

from ._cl_arrays import is_array, memory_of_array
from ._context import OpenCLContext, context_of
from ._devices import devices
from ._handles import MemReference, check_handle, check_mem, mem_info, release_mem, retain_mem
from ._images import IMAGE2D, layout_of_image
from ._library import in_our_words
from ._natives import layout_of, pinned_buffer, pinned_image
from ._parts import check_extent
from ._tensor import OpenCLFrame, OpenCLTensor, part_at
from ._usm import USMAllocation, wrap_usm_pointer

__all__ = ["frame", "native_over_mem", "tensor", "usm_tensor"]

_BUFFER = int(pyopencl.mem_object_type.BUFFER)


def tensor(
    native: Any,
    shape: Sequence[int] | None = None,
    dtype: Any = "uint8",
    *,
    offset: int = 0,
    strides: Sequence[int] | None = None,
    context: OpenCLContext | None = None,
    readonly: bool = False,
) -> OpenCLTensor:
    """A tensor over OpenCL memory of yours, which stays yours: one reference of it is held.

    Args:
        native: a pyopencl.Buffer, a pyopencl.Image, a pyopencl.array.Array, a cl_mem as an int, a
            `ctypes.c_void_p` or a PyCapsule, a pyopencl.SVM or SVMAllocation, or a USMAllocation.
        shape: elements along each axis; None for all bytes on one axis. An image and an Array know
            their own.
        dtype: the element type.
        offset: byte at which the tensor begins. In a buffer, an offset makes a sub-buffer, and must
            be a multiple of the device's alignment.
        strides: in bytes; by default dense.
        context: the context that the memory belongs to. By default the living context of its
            cl_context; a pointer and SVM do not carry one.
        readonly: True to forbid writing through the tensor.

    Raises:
        LayoutError: the tensor is larger than the memory, or misaligned; or the object was
            released.
        DeviceMismatchError: the memory belongs to another cl_context.
        UnsupportedObjectError: it is none of these, or a pointer or SVM without its context.
    """
    if is_array(native):
        if shape is not None or strides is not None or offset:
            raise LayoutError(
                "a pyopencl Array has its own layout: leave shape, strides and offset out, or pass "
                "array.base_data"
            )
        return _of_array(native, context, readonly)
    made = _whole(native, context, readonly)
    noted = layout_of(native)
    if noted is not None and shape is None and strides is None and not offset:
        check_extent(noted, _size_of(native), f"the {made.kind}")
        return made
    if isinstance(made.native, pyopencl.Image):
        if shape is not None or strides is not None or offset:
            raise LayoutError("an image has its own shape: leave shape, strides and offset out")
        return made
    room = _size_of(made.native)
    if shape is None:
        element = TensorInfo(dtype, ())
        shape = ((room - offset) // max(element.nbytes, 1),)
    info = TensorInfo(dtype, shape, strides)
    if offset:
        part = part_at(made, offset, info)
        part.parent = None  # what it is a part of is nobody's tensor
        return part
    check_extent(info, room, f"the {made.kind}")
    made.known_info = info
    return made


def _of_array(array: Any, context: OpenCLContext | None, readonly: bool) -> OpenCLTensor:
    base, info, offset = memory_of_array(array)
    home = context_of(array.context) if context is None else context
    try:
        return tensor(
            base, info.shape, info.dtype, offset=offset, strides=info.strides, context=home,
            readonly=readonly,
        )  # fmt: skip
    except (LayoutError, UnsupportedObjectError) as error:
        remedy = "copy it, array.copy()" if array.flags.forc else "wrap all bytes, array.base_data"
        raise LayoutError(
            f"this pyopencl Array cannot be a tensor: {error}; or {remedy}"
        ) from error


def frame(
    natives: Sequence[Any],
    format: str | ImageFormat,  # the field's word for it
    width: int,
    height: int,
    *,
    context: OpenCLContext | None = None,
    readonly: bool = False,
) -> OpenCLFrame:
    """A frame over one buffer or image of yours for each plane, for instance two images for NV12.

    Args:
        natives: pyopencl.Buffer (dense planes), pyopencl.Image, pyopencl.array.Array,
            USMAllocation or cl_mem, as for `tensor`.
        format, width, height: those of the picture that they hold, in pixels.
        context, readonly: as for `tensor`.

    Raises:
        LayoutError: the wrong number of planes, or one that is too small or of another shape.
        DeviceMismatchError: they belong to different contexts.
        UnknownNameError: no such format.
    """
    image = ImageInfo(ImageFormat.of(format), width, height)
    layouts = image.plane_layouts()
    if len(natives) != len(layouts):
        raise LayoutError(f"planes of {image}: {len(layouts)}, passed: {len(natives)}")
    planes = []
    for native, layout in zip(natives, layouts, strict=True):
        if isinstance(native, pyopencl.Image) or is_array(native):
            plane = tensor(native, context=context, readonly=readonly)
            if (plane.shape, str(plane.dtype)) != (layout.shape, layout.dtype):
                raise LayoutError(
                    f"plane {layout.name} of {image} is {layout.dtype}{list(layout.shape)}, the "
                    f"{type(native).__name__} is {plane.dtype}{list(plane.shape)}"
                )
        else:
            plane = tensor(native, layout.shape, layout.dtype, context=context, readonly=readonly)
        planes.append(plane)
    home = planes[0].context
    if any(plane.context != home for plane in planes):
        raise DeviceMismatchError("the planes belong to different OpenCL contexts: pass context=")
    owner = joint_owner([plane.storage for plane in planes])
    made = tuple(p.native for p in planes)
    return home.frame_class.borrowed(made, home, FrameMeta(image), keep=owner, readonly=readonly)


def _size_of(native: Any) -> int:
    return int(native.nbytes if isinstance(native, USMAllocation) else native.size)


def usm_tensor(
    pointer: Any,
    shape: Sequence[int],
    dtype: Any = "uint8",
    *,
    context: OpenCLContext,
    strides: Sequence[int] | None = None,
    keep: object = None,
    readonly: bool = False,
) -> OpenCLTensor:
    """A tensor over a USM pointer of yours, which may point into an allocation.

    The driver is asked about its kind, its context and the room behind it. The memory stays yours:
    free it when the tensor and everything mapped from it are gone.

    Args:
        pointer: an address in USM of the context: an int, a `ctypes.c_void_p` or a PyCapsule.
        shape, dtype, strides: the layout.
        context: the OpenCLContext in which it was allocated.
        keep: an object to hold as long as the memory is used, for instance its owner.
        readonly: True to forbid writing through the tensor.

    Raises:
        LayoutError: the allocation ends before the tensor does.
        DeviceMismatchError: the pointer is not USM of this context.
        MissingDependencyError: the device has no USM.
        UnsupportedObjectError: `pointer` is not a pointer.
    """
    info = TensorInfo(dtype, shape, strides)
    nbytes = check_extent(info, 1 << 63, "memory")
    native = wrap_usm_pointer(context, native_pointer(pointer, "a USM pointer"), nbytes)
    native.pin, native.layout = keep, info
    return context.tensor_class.borrowed(native, context, readonly=readonly, info=info)


def native_over_mem(
    context: OpenCLContext, handle: int, info: TensorInfo | None = None
) -> tuple[Any, Storage, int]:
    """(native, storage, cl_mem_object_type) over a cl_mem of somebody else's, retained.

    Raises:
        LayoutError: it is not a valid cl_mem.
        DeviceMismatchError: it belongs to another cl_context.
    """
    kind = check_mem(handle, context.native, context.native_device)
    nbytes = mem_info(handle, pyopencl.mem_info.SIZE)  # first: it may fail
    cell = c_void_p()
    storage = MemReference(release_mem(cell, context.native), nbytes=nbytes, at_exit=True)
    retain_mem(cell, handle)
    if kind == _BUFFER:
        return pinned_buffer(handle, storage, info), storage, kind
    return pinned_image(handle, storage), storage, kind


@in_our_words
def _whole(native: Any, context: OpenCLContext | None, readonly: bool) -> OpenCLTensor:
    if isinstance(native, pyopencl.Buffer | pyopencl.Image):
        home = _home_of(native, context)
        info = layout_of_image(native) if isinstance(native, pyopencl.Image) else None
        # The user may call release() while the tensor, or what was mapped from it, is in use.
        nbytes = native.size
        cell = c_void_p()
        release = release_mem(cell, home.native)
        held = Storage(release, nbytes=nbytes, keep=native, at_exit=True)
        retain_mem(cell, native.int_ptr)
        return home.tensor_class.borrowed(native, home, keep=held, readonly=readonly, info=info)
    if isinstance(native, USMAllocation):
        theirs: OpenCLContext = native.context
        if context is not None and context != theirs:
            raise DeviceMismatchError("the USM does not belong to the context passed as context=")
        return theirs.tensor_class.borrowed(native, theirs, readonly=readonly)
    if context is None:
        raise UnsupportedObjectError(
            f"a {type(native).__name__} does not carry its cl_context: pass context=, for instance "
            'samebytes.context("opencl")'
        )
    if isinstance(native, pyopencl.SVMPointer):
        return context.tensor_class.borrowed(native, context, readonly=readonly)
    try:
        handle = native_pointer(native, "a cl_mem")
    except UnsupportedObjectError:
        raise UnsupportedObjectError(
            f"a {type(native).__name__} is not OpenCL memory: pass a pyopencl.Buffer, Image, Array "
            "or SVM, a cl_mem as an int or a ctypes.c_void_p, or a USMAllocation"
        ) from None
    made, storage, kind = native_over_mem(context, handle)
    if kind not in (_BUFFER, IMAGE2D):
        raise LayoutError(
            "a cl_mem of this type cannot be a tensor: only buffers and 2-D images can"
        )
    return context.tensor_class.owned(made, context, storage, readonly=readonly)


def _home_of(native: Any, context: OpenCLContext | None) -> OpenCLContext:
    if context is not None:
        check_mem(native.int_ptr, context.native, context.native_device)
        return context
    drivers = [(d.platform.int_ptr, d.int_ptr) for d in devices().values()]
    check_handle(native.int_ptr, "cl_mem", drivers)
    try:
        home = native.context
    except pyopencl.Error as error:
        raise LayoutError(
            f"the cl_context of the cl_mem {native.int_ptr:#x} was released ({error}): keep it as "
            "long as its memory"
        ) from error
    return context_of(home)
