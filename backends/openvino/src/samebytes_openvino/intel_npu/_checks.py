# SPDX-License-Identifier: Apache-2.0
"""Check memory and models before they go to the NPU plugin.

Intel's Linux driver imports a DMA-BUF whatever its size is, so that an inference would write
beyond its end. Other mistakes are refused late, with messages that do not name the property.
"""

from __future__ import annotations

import ctypes
import mmap
import os
from operator import index
from typing import Any

from samebytes import TensorInfo, plugins
from samebytes.errors import ClosedError, LayoutError, UnsupportedObjectError
from samebytes.plugins import is_mapped

from .._errors import PropertyError
from .._host._layout import packed_nbytes
from .._remote._conversions import on_windows

__all__ = [
    "check_fd",
    "check_handle",
    "check_mapped",
    "check_pages",
    "check_size",
    "check_static",
    "memory_size",
    "number_of",
    "tensor_nbytes",
]


def tensor_nbytes(info: TensorInfo) -> int:
    """The bytes of a dense tensor, as OpenVINO counts them."""
    return packed_nbytes(info.dtype, info.size) if info.dtype.packed else info.nbytes


def check_size(info: TensorInfo, available: int) -> None:
    """Raise unless a tensor is dense, not empty, and fits into the memory of the device.

    Raises:
        PropertyError: for the property "shape".
    """
    if not info.is_contiguous:
        raise PropertyError(
            "shape", f"strides {info.strides}: the NPU plugin takes dense tensors only"
        )
    if info.size == 0:
        raise PropertyError("shape", f"{list(info.shape)} is empty, which the NPU plugin refuses")
    nbytes = tensor_nbytes(info)
    if nbytes > available:
        raise PropertyError(
            "shape", f"{info} has {nbytes} bytes, but the NPU memory has {available}"
        )


def number_of(shared: Any) -> int:
    """The number of a descriptor, or the value of an NT handle.

    Raises:
        UnsupportedObjectError: it is neither a number nor has it fileno().
        PropertyError: its fileno() says that it was closed.
    """
    if on_windows() and isinstance(shared, ctypes.c_void_p):
        return shared.value or 0
    fileno = getattr(shared, "fileno", None)
    try:
        if isinstance(shared, bool):
            raise TypeError
        return index(shared if fileno is None else fileno())
    except TypeError:
        raise UnsupportedObjectError(
            "MEM_HANDLE: shared memory must be a file descriptor (an int, a samebytes.Fd or an "
            f"object with fileno()) or an NT handle, not a {type(shared).__name__}"
        ) from None
    except (ClosedError, ValueError, OSError) as error:
        raise PropertyError("MEM_HANDLE", f"it was closed, or has no descriptor: {error}") from None


def check_handle(handle: int) -> None:
    """Raise PropertyError if an NT handle is null."""
    if handle <= 0:
        raise PropertyError("MEM_HANDLE", "this NT handle is null")


def check_fd(fd: int, nbytes: int) -> None:
    """Raise PropertyError unless a tensor of that size can lie behind the descriptor."""
    size = memory_size(fd)
    if size < nbytes:
        raise PropertyError(
            "MEM_HANDLE",
            f"the memory of file descriptor {fd} has {size} bytes, but the tensor has {nbytes}",
        )


def memory_size(fd: int) -> int:
    """The bytes of the memory behind a descriptor.

    Raises:
        PropertyError: it is not open, or nothing that can be mapped.
    """
    if fd <= 0:
        what = "standard input" if fd == 0 else "no descriptor"
        raise PropertyError("MEM_HANDLE", f"file descriptor {fd} is {what}")
    try:
        size = plugins.memory_size(fd)
    except LayoutError as error:
        raise PropertyError("MEM_HANDLE", str(error)) from None
    if not on_windows():
        _check_readable(fd)
    return size


def check_pages(address: int, nbytes: int) -> None:
    """Raise PropertyError unless memory of the CPU is whole pages."""
    page = mmap.PAGESIZE
    if address == 0:
        raise PropertyError("MEM_HANDLE", "this pointer is null")
    if not 0 < address < 1 << 64:
        raise PropertyError("MEM_HANDLE", f"{address:#x} is not an address")
    if address % page:
        raise PropertyError(
            "MEM_HANDLE",
            f"{address:#x} is not a multiple of the page size {page}: the NPU imports whole pages. "
            'samebytes.context("cpu").allocate() gives memory on its own pages',
        )
    if nbytes % page:
        padded = -(-nbytes // page) * page
        raise PropertyError(
            "MEM_HANDLE",
            f"{nbytes} bytes are not a multiple of the page size {page}: the NPU imports whole "
            f"pages. Import a buffer of {padded} bytes with import_memory(), and take a tensor of "
            "it",
        )


def check_mapped(address: int, nbytes: int, writes: bool) -> None:
    """Raise PropertyError unless this process has memory there, which the device may use."""
    if not is_mapped(address, nbytes, writable=writes):
        raise PropertyError(
            "MEM_HANDLE", f"no {nbytes} bytes of memory of this process are at {address:#x}"
        )


def _check_readable(fd: int) -> None:
    import fcntl

    if fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_ACCMODE == os.O_WRONLY:
        raise PropertyError("MEM_HANDLE", f"file descriptor {fd} was opened for writing only")


def check_static(model: Any) -> None:
    """Raise unless every input and output of an openvino.Model has a shape of fixed numbers.

    The NPU plugin does not support dynamic shapes. What comes of one depends on the compiler: an
    error without the name of the input, or a model whose inference fails.

    Args:
        model: an openvino.Model.

    Raises:
        LayoutError: what has a dynamic shape, and what to do.
    """
    ports = [("input", model.inputs), ("output", model.outputs)]
    dynamic = [
        f"{kind} {min(port.names, default=index)!r} {port.partial_shape}"
        for kind, found in ports
        for index, port in enumerate(found)
        if port.partial_shape.is_dynamic
    ]
    if dynamic:
        raise LayoutError(
            f"the NPU takes fixed shapes only, but these are dynamic: {', '.join(dynamic)}. Give "
            "each input its shape with model.reshape({name: shape}) before compiling"
        )
