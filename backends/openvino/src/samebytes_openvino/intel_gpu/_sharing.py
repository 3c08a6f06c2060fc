# SPDX-License-Identifier: Apache-2.0
"""Remote tensors over, from and into memory of other types: code that the edges share."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np

import samebytes
from samebytes import Access, Context, DType, Storage, Tensor, TensorInfo
from samebytes.errors import NativeError
from samebytes.plugins import Refused, count_copy, data_address, ordering_queue

from .._errors import ForeignMemoryError, PropertyError, RegionError, naming
from .._host._layout import (
    carried_tensor,
    layout_of,
    memory_of,
    packed_nbytes,
    tensor_over,
    why_no_element,
)
from .._remote._conversions import info_of, params_of
from . import _opencl, _properties
from ._checks import MAX_AXES, USM, check_object, handle_of, padded_size
from ._context import ClContext
from ._creation import Plan, buffer_plan, image_plan, usm_plan
from ._properties import VirtualAddressMemory
from ._tensors import GpuTensor, array_over, host_memory

__all__ = [
    "copied_from_array",
    "copied_to_array",
    "gpu",
    "is_image",
    "over_array",
    "over_host_memory",
    "over_opencl",
    "settled",
    "why_no_tensor",
]

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]

_ONE = (1,)
"""The shape in which the element of a tensor without axes is copied."""


def gpu(context: Context) -> ClContext:
    """`context`, which routing found for the node "openvino:GPU"."""
    assert isinstance(context, ClContext)
    return context


def settled(item: Any, source: Context) -> None:
    """Wait for pending work on the memory, unless the caller orders it by a queue.

    Raises:
        UnsupportedObjectError, PropertyError: the caller's queue is not a command queue.
        ForeignMemoryError: it is a queue of another cl_context.
    """
    ordering = ordering_queue()
    if ordering is not None:
        _check_queue(ordering, source.handle("cl_context"))
        return
    item.wait()
    finish = getattr(source, "sync", None)
    if finish is not None:
        finish()  # an OpenCL context: the queue that it was given, or else its own
    elif (queue := source.find_handle("cl_queue")) is not None:
        _opencl.finish(queue)


def is_image(info: TensorInfo) -> bool:
    """True if memory has no linear layout."""
    return info.strides is None and not info.dtype.packed


def over_opencl(item: Tensor, info: TensorInfo, target: ClContext, access: Access) -> Any:
    """The lease of a remote tensor over the cl_mem or USM pointer of an OpenCL tensor.

    Args:
        item: the tensor.
        info: the layout that OpenVINO sees, dense.

    Raises:
        Refused: OpenVINO cannot use it.
    """
    mem = item.find_handle("cl_mem") or 0
    pointer = 0 if mem else item.find_handle("usm_ptr") or 0
    if not mem and not pointer:
        raise Refused("it has neither a cl_mem nor a USM pointer")
    # A native retains its cl_mem, whose number is no other's therefore. Whatever was checked when
    # it was made is in the key: it was found good for the same memory, layout and access.
    key = (mem, pointer, info.shape, item.info.strides, info.dtype, access == "r")
    make = partial(_make_over_opencl, item, info, target, access, mem, pointer)
    return target.leases.lend(item.storage, key, make)


def _make_over_opencl(
    item: Tensor, info: TensorInfo, target: ClContext, access: Access, mem: int, pointer: int
) -> Any:
    image = is_image(item.info)
    if image and access != "r":
        raise Refused("OpenVINO takes images as inputs only: it does not write to them")
    _check(item.info)
    _check_tensor(info)
    cl_context = target.handle("cl_context")
    try:
        if not mem:
            plan = usm_plan(pointer, None, info, cl_context)
        elif image:
            plan = image_plan(mem, None, info, cl_context)
        else:
            plan = buffer_plan(mem, None, info, cl_context)
        if plan.readonly and access != "r":
            raise Refused("its cl_mem was made with CL_MEM_READ_ONLY")
        return _made(target, plan, info, access)
    except (PropertyError, ForeignMemoryError, NativeError) as error:
        raise Refused(str(error)) from error


def over_array(item: Tensor, info: TensorInfo, target: ClContext, access: Access) -> Any:
    """The remote tensor over the bytes of a tensor of the CPU, or the lease of one.

    Args:
        item: the tensor.
        info: the layout that OpenVINO sees, dense.

    Raises:
        Refused: it has gaps, is not aligned, or the GPU has its own memory.
    """
    array, source = item.native, item.storage
    make = partial(_make_over_array, array, info, target, access)
    address = data_address(array)
    if not _holds(source, address, array.nbytes):
        return make(array)
    # The user may change shape, strides, dtype and flags of an array where it is.
    key = (address, info.shape, array.shape, array.strides, array.dtype.num, info.dtype,
           array.flags.writeable, access == "r")  # fmt: skip
    return target.leases.lend(source, key, make, array)


def _holds(source: Storage, address: int, nbytes: int) -> bool:
    """True if memory is certain to exist as long as its storage does."""
    if source.address:
        return source.address <= address and address + nbytes <= source.address + source.nbytes
    # Of another object that shares its memory nobody knows whether it alone keeps that.
    return type(source.keep) is np.ndarray


def _make_over_array(
    array: Array, info: TensorInfo, target: ClContext, access: Access, keep: Any = None
) -> Any:
    _check(TensorInfo.of(array))
    _check_tensor(info)
    mode: Literal["READ", "READ_WRITE"] = "READ" if access == "r" else "READ_WRITE"
    try:
        whole = VirtualAddressMemory(_with_tail(array), access=mode)
        plan = target.cpu_plan(whole, info)
        return _made(target, replace(plan, keep=keep), info, access)
    except (PropertyError, NativeError) as error:
        raise Refused(str(error)) from error


def over_host_memory(item: GpuTensor) -> tuple[Array, Storage]:
    """The array over a tensor that the CPU reads, and what it lies in.

    Raises:
        Refused: the CPU cannot read it.
    """
    try:
        memory = host_memory(item)
    except RegionError as error:
        raise Refused(str(error)) from error
    if memory is None:
        raise Refused(f"the CPU cannot read {item.params['SHARED_MEM_TYPE']} where it lies")
    return array_over(memory, item.info), memory


def copied_from_array(array: Array, info: TensorInfo, shape: Shape, target: ClContext) -> Any:
    """A new cl_mem of the plugin's with the elements of an array.

    Args:
        array: what carries the elements.
        info: of the elements, in the array's shape.
        shape: the one that OpenVINO sees.
    """
    _check_tensor(info)
    if not info.shape:
        info = TensorInfo(info.dtype, _ONE)
        array = array if info.dtype.packed else array.reshape(_ONE)
    try:
        host = _host_tensor(array, info, len(shape) > info.ndim)
    except Refused:
        # No region of a dense tensor: it is packed, which is a copy more.
        count_copy("cpu -> openvino:GPU", info.nbytes)
        host = _host_tensor(np.ascontiguousarray(array), info, len(shape) > info.ndim)
    native = target.create_tensor(info.dtype, shape).native
    with naming("RemoteTensor.copy_from"):
        _with_an_axis(native, shape, info.dtype, target).copy_from(host)
    return native


def copied_to_array(item: GpuTensor, shape: Shape) -> tuple[Array, Storage]:
    """New memory with the elements of a remote tensor, as a read-only array of that shape.

    Args:
        shape: of the same elements.
    """
    element = item.info.dtype
    size: Shape = (packed_nbytes(element, math.prod(shape)),) if element.packed else shape
    carried = "uint8" if element.packed else element
    host = samebytes.context("cpu").allocate(size, carried, zeroed=False)
    copy_to_array(item, host.native)
    return host.native, host.storage


def copy_to_array(item: GpuTensor, array: Array) -> None:
    """Read a remote tensor into a dense array of as many elements, which is read-only then."""
    info = item.info
    shape = info.shape or _ONE
    seen = array if info.dtype.packed else array.reshape(shape)
    with naming("RemoteTensor.copy_to"):
        if is_image(info):
            _copy_image(item, seen)
        else:
            native = _with_an_axis(item._lent_native, info.shape, info.dtype, gpu(item.context))
            native.copy_to(carried_tensor(seen, info.dtype, shape, False))
    array.setflags(write=False)  # nothing is written back


def _with_an_axis(native: Any, shape: Shape, element: DType, context: ClContext) -> Any:
    """A remote tensor that the plugin can copy.

    Its copies end the process if a tensor has no axes. So the result is `native` if it has some,
    and otherwise a tensor of one axis over the same memory, which it does not keep. A region
    without axes begins where its memory does.
    """
    if shape:
        return native
    params = params_of(native)
    over = _properties.usm if params["SHARED_MEM_TYPE"] in USM else _properties.cl_buffer
    _, type_, extents = info_of(element, _ONE)
    return context.make_native(over(int(params["MEM_HANDLE"])), type_, extents)


def _copy_image(item: GpuTensor, array: Array) -> None:
    """Read an image into a dense array of bytes.

    OpenVINO writes the rows as far apart as the image has them: past the end of a dense tensor.
    So it gets a tensor that has room behind it.
    """
    info = item.info
    try:
        image = item.handle("cl_mem")
    except RegionError as error:
        raise Refused(str(error)) from error
    rows = math.prod(info.shape[:-2])
    row, pitch = array.nbytes // rows, _opencl.image_row_pitch(image)
    if pitch == row:
        item._lent_native.copy_to(carried_tensor(array, info.dtype, info.shape, False))
        return
    room = np.empty((rows, pitch), np.uint8)
    begin = room.reshape(-1)[: array.nbytes].reshape(info.shape)
    item._lent_native.copy_to(carried_tensor(begin, info.dtype, info.shape, False))
    array.reshape(rows, row)[...] = room[:, :row]


def _made(target: ClContext, plan: Plan, info: TensorInfo, access: Access) -> Any:
    _, element, extents = info_of(info.dtype, info.shape)
    return target.native_over(replace(plan, readonly=access == "r"), info, element, extents)


def _host_tensor(array: Array, info: TensorInfo, image: bool) -> Any:
    if info.dtype.numpy is None:
        return carried_tensor(array, info.dtype, info.shape, True)
    layout = layout_of(array.shape, array.strides, array.dtype, image)
    return tensor_over(array, layout, True)


def _with_tail(array: Array) -> Array:
    """The array's bytes, and those after it that make a whole number of cache lines.

    OpenVINO then works in the memory itself. Nothing is written there.
    """
    size = padded_size(array.nbytes)
    if size == array.nbytes:
        return array
    memory, start = memory_of(array)
    return memory[start : start + size] if memory.nbytes - start >= size else array


def _check(info: TensorInfo) -> None:
    if not info.size:
        raise Refused("the tensor is empty")
    if not is_image(info) and not info.is_contiguous:
        raise Refused(
            f"strides {info.strides} of shape {info.shape}: the GPU plugin ignores strides and "
            "reads tensors as dense, and would give wrong numbers. image_model() takes a decoder's "
            "padded frames as they are, and take_whole_rows() makes any model take padded rows: "
            "bind them with InferRequest.set_frame(frame, names)"
        )


def why_no_tensor(info: TensorInfo) -> str | None:
    """None if the plugin has tensors of such elements and so many axes, else the reason."""
    if info.ndim > MAX_AXES:
        return f"the GPU plugin knows tensors of {MAX_AXES} axes at most, not {info.ndim}"
    return why_no_element(info.dtype)


def _check_tensor(info: TensorInfo) -> None:
    if (reason := why_no_tensor(info)) is not None:
        raise Refused(reason)


def _check_queue(queue: Any, cl_context: int) -> None:
    handle = handle_of(queue, "queue", "cl_command_queue", "cl_queue")
    check_object(handle, "queue", "cl_command_queue")
    home = _opencl.queue_context(handle)
    if home != cl_context:
        raise ForeignMemoryError(
            "queue",
            f"it belongs to cl_context {home:#x}, the memory to {cl_context:#x}: use a queue of "
            "the memory's own cl_context",
        )
