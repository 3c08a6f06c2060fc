# SPDX-License-Identifier: Apache-2.0
"""Unified shared memory: cl_intel_unified_shared_memory, by its specification."""

from __future__ import annotations

from ctypes import byref, c_int32, c_size_t, c_uint32, c_void_p, sizeof
from functools import partial
from typing import TYPE_CHECKING, Any

from samebytes import Storage, TensorInfo
from samebytes.errors import DeviceMismatchError, LayoutError, MissingDependencyError, NativeError

from ._abi import usm
from ._devices import OnDevice, has_extension
from ._handles import platform_of
from ._library import extension_function, meaning

if TYPE_CHECKING:
    import pyopencl

__all__ = [
    "USMAllocation",
    "USMStorage",
    "allocate_usm",
    "copy_usm",
    "usm_function",
    "wrap_usm_pointer",
]

_KINDS = {
    usm.CL_MEM_TYPE_HOST_INTEL: "usm_host",
    usm.CL_MEM_TYPE_DEVICE_INTEL: "usm_device",
    usm.CL_MEM_TYPE_SHARED_INTEL: "usm_shared",
}
_ALLOCATORS = {
    "usm_host": "clHostMemAllocINTEL",
    "usm_device": "clDeviceMemAllocINTEL",
    "usm_shared": "clSharedMemAllocINTEL",
}


class USMAllocation:
    """A piece of unified shared memory: a pointer, its size, and its kind.

    Allocations that samebytes hands out keep their memory; it is freed, once, when the last holder
    is gone. One over a pointer of yours frees nothing: keep your memory as long as this object.

    Attributes:
        pointer: address of the first byte. The CPU may follow it for host and shared USM only.
        nbytes: how many bytes from there belong to this object.
        kind: "usm_host", "usm_device" or "usm_shared".
        context: the OpenCLContext; USM is valid in its cl_context only.
        pin: the owner of the memory; None if the memory is yours.
        layout: the layout of the tensor it was made for, if that is known.
    """

    __slots__ = ("__weakref__", "context", "kind", "layout", "nbytes", "pin", "pointer")

    def __init__(
        self,
        pointer: int,
        nbytes: int,
        kind: str,
        context: OnDevice,
        pin: object = None,
        layout: TensorInfo | None = None,
    ) -> None:
        self.pointer = pointer
        self.nbytes = nbytes
        self.kind = kind
        self.context: Any = context  # an OpenCLContext
        self.pin = pin
        self.layout = layout

    def set_arg(self, kernel: pyopencl.Kernel, index: int) -> None:
        """Make it an argument of a kernel, which pyopencl's own set_arg() cannot.

        Keep this object until the kernel has run: a kernel holds none of its arguments.

        Args:
            kernel: a kernel of the same cl_context.
            index: the index of the argument, from 0.

        Raises:
            NativeError: the kernel has no such argument.
        """
        set_pointer = usm_function(self.context, "clSetKernelArgMemPointerINTEL")
        _check("clSetKernelArgMemPointerINTEL", set_pointer(kernel.int_ptr, index, self.pointer))

    @property
    def host_visible(self) -> bool:
        """True if the CPU can read it in place."""
        return self.kind != "usm_device"

    def __repr__(self) -> str:
        return f"<USMAllocation {self.kind} {self.nbytes} bytes at {self.pointer:#x}>"


def usm_function(context: OnDevice, name: str) -> Any:
    """A function of the extension.

    Raises:
        MissingDependencyError: the device has no USM.
    """
    device = context.native_device
    if has_extension(device, usm.EXTENSION):
        function = extension_function(platform_of(device), name)
        if function is not None:
            return function
    raise MissingDependencyError(
        "opencl", f"{usm.EXTENSION} on {device.name.strip()}", 'use kind="buffer" or "svm"'
    )


def allocate_usm(context: OnDevice, kind: str, nbytes: int) -> USMStorage:
    """New USM, freed by the storage once no enqueued work uses it."""
    name = _ALLOCATORS[kind]
    make = usm_function(context, name)
    native, error, size = context.native, c_int32(), max(nbytes, 1)
    devices = () if kind == "usm_host" else (context.native_device.int_ptr,)
    # It waits for all commands that use the memory, which clMemFreeINTEL does not.
    free, cell = usm_function(context, "clMemBlockingFreeINTEL"), c_void_p()
    storage = USMStorage(partial(_free, free, native, cell))
    cell.value = make(native.int_ptr, *devices, None, size, 0, byref(error))
    if error.value or not cell.value:
        raise NativeError(name, error.value, meaning(error.value))
    storage.pointer, storage.nbytes = cell.value, size
    if kind != "usm_device":
        storage.expose(cell.value, size)
    return storage


def _free(free: Any, native: pyopencl.Context, cell: c_void_p) -> None:
    pointer, cell.value = cell.value, None
    if pointer:
        _check("clMemBlockingFreeINTEL", free(native.int_ptr, pointer))


class USMStorage(Storage):
    """The owner of an allocation.

    Attributes:
        pointer: its address; `address` is 0 if the CPU cannot follow it.
    """

    __slots__ = ("pointer",)

    pointer: int

    def __init__(self, release: Any) -> None:
        super().__init__(release, at_exit=True)


def wrap_usm_pointer(context: OnDevice, pointer: int, nbytes: int) -> USMAllocation:
    """A USM pointer of the user's, checked: kind, base, and room behind it.

    Raises:
        LayoutError: too little room.
        DeviceMismatchError: it is not USM of this cl_context.
        MissingDependencyError: the device has no USM.
    """
    query = usm_function(context, "clGetMemAllocInfoINTEL")

    def ask(key: int, value: Any) -> int:
        code = query(
            context.native.int_ptr, pointer, key, sizeof(value), byref(value), byref(c_size_t())
        )
        _check("clGetMemAllocInfoINTEL", code)
        return int(value.value or 0)

    kind = _KINDS.get(ask(usm.CL_MEM_ALLOC_TYPE_INTEL, c_uint32()))
    if kind is None:
        raise DeviceMismatchError(
            f"{pointer:#x} is not USM of this cl_context: it was freed, belongs to another "
            "context, "
            'or is plain memory; for that map a numpy array to "opencl"'
        )
    base = ask(usm.CL_MEM_ALLOC_BASE_PTR_INTEL, c_void_p())
    room = base + ask(usm.CL_MEM_ALLOC_SIZE_INTEL, c_size_t()) - pointer
    if nbytes > room:
        raise LayoutError(
            f"{nbytes} bytes were requested at {pointer:#x}, but its allocation at {base:#x} ends "
            f"{room} bytes after it"
        )
    return USMAllocation(pointer, nbytes, kind, context)


def copy_usm(context: OnDevice, queue: int, to: int, from_: int, nbytes: int) -> None:
    """Enqueue a copy between any two pointers; either may be plain host memory."""
    copy = usm_function(context, "clEnqueueMemcpyINTEL")
    _check("clEnqueueMemcpyINTEL", copy(queue, 0, to, from_, nbytes, 0, None, None))


def _check(name: str, code: int) -> None:
    if code:
        raise NativeError(name, code, meaning(code))
