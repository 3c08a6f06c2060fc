# SPDX-License-Identifier: Apache-2.0
"""The arguments of `ZeroContext.create_tensor`: kinds of memory, properties, and checks.

The keys are those of openvino/runtime/intel_npu/remote_properties.hpp; the maps are those that
the wrapper class of openvino/runtime/intel_npu/level_zero/level_zero.hpp builds.

Memory is checked before the plugin gets it: Intel's Linux driver imports a DMA-BUF of any size, so
an inference could write beyond its end. The plugin notices other mistakes late, and its messages do
not name the property.
"""

from __future__ import annotations

import ctypes
import enum
import mmap
import os
from collections.abc import Mapping
from dataclasses import dataclass
from operator import index
from typing import Any, TypeVar

import numpy as np

from samebytes import Fd, Tensor, TensorInfo, plugins
from samebytes.errors import ClosedError, LayoutError, UnknownNameError, UnsupportedObjectError
from samebytes.plugins import is_mapped

from .._errors import PropertyError
from .._host._layout import packed_nbytes
from .._remote._conversions import on_windows, pointer

__all__ = [
    "Asked",
    "FileDescriptor",
    "MemType",
    "TensorType",
    "as_properties",
    "ask",
    "check_fd",
    "check_handle",
    "check_mapped",
    "check_pages",
    "check_size",
    "memory_size",
    "number_of",
    "tensor_nbytes",
]

E = TypeVar("E", bound=enum.Enum)

_KEYS = ("MEM_TYPE", "MEM_HANDLE", "TENSOR_TYPE", "FILE_DESCRIPTOR")


@dataclass(frozen=True, slots=True)
class Asked:
    """The request for a tensor, as `ask` reads it from the arguments.

    Attributes:
        mem_type: where the memory comes from.
        shared: the descriptor, handle, pointer, buffer or file; None if the plugin allocates.
        tensor_type: what the tensor is for.
    """

    mem_type: MemType
    shared: Any
    tensor_type: TensorType


def ask(shared: Any, mem_type: MemType | str | None, tensor_type: TensorType | str | None) -> Asked:
    """The tensor that the arguments of `ZeroContext.create_tensor` ask for.

    Raises:
        PropertyError: they contradict each other, or one is missing.
        UnknownNameError: no such property, or no such value of one.
    """
    if isinstance(shared, Mapping):
        if mem_type is not None or tensor_type is not None:
            raise PropertyError(
                "MEM_TYPE",
                "properties were passed as a map: put MEM_TYPE and TENSOR_TYPE into it, not into "
                "arguments of their own",
            )
        return _from_map(shared)
    kind = _inferred(shared) if mem_type is None else _member(MemType, "MEM_TYPE", mem_type)
    if (shared is None) is not (kind is MemType.L0_INTERNAL_BUF):
        what = "allocates, so it takes no memory" if shared is not None else "needs memory to share"
        raise PropertyError("MEM_HANDLE", f"MEM_TYPE {kind.name} {what}")
    if isinstance(shared, FileDescriptor) is not (kind is MemType.MMAPED_FILE):
        raise PropertyError(
            "FILE_DESCRIPTOR",
            "MEM_TYPE MMAPED_FILE needs a FileDescriptor, and no other MEM_TYPE takes one",
        )
    if tensor_type is None:
        use = TensorType.INPUT if kind is MemType.MMAPED_FILE else TensorType.BINDED
    else:
        use = _member(TensorType, "TENSOR_TYPE", tensor_type)
    if kind is MemType.MMAPED_FILE and use is not TensorType.INPUT:
        raise PropertyError("TENSOR_TYPE", f"a mapped file can be INPUT, not {use.name}")
    return Asked(kind, shared, use)


def as_properties(
    mem_type: MemType, tensor_type: TensorType, handle: int | None = None
) -> dict[str, str]:
    """The properties as OpenVINO takes them."""
    made = {"MEM_TYPE": mem_type.name, "TENSOR_TYPE": tensor_type.name}
    if handle is not None:
        made["MEM_HANDLE"] = pointer(handle)
    return made


def _from_map(properties: Mapping[str, Any]) -> Asked:
    for key in properties:
        if key not in _KEYS:
            raise UnknownNameError("remote property of the NPU", str(key), _KEYS)
    if properties and "MEM_TYPE" not in properties:
        raise PropertyError("MEM_TYPE", "it is missing: it must be given if any property is")
    if "MEM_HANDLE" in properties and "FILE_DESCRIPTOR" in properties:
        raise PropertyError("FILE_DESCRIPTOR", "MEM_HANDLE is given too: pass one of them")
    shared = properties.get("MEM_HANDLE", properties.get("FILE_DESCRIPTOR"))
    mem_type = properties.get("MEM_TYPE", MemType.L0_INTERNAL_BUF)
    return ask(shared, mem_type, properties.get("TENSOR_TYPE"))


def _inferred(shared: Any) -> MemType:
    if shared is None:
        return MemType.L0_INTERNAL_BUF
    if isinstance(shared, FileDescriptor):
        return MemType.MMAPED_FILE
    if isinstance(shared, ctypes.c_void_p):  # a pointer, though it has the buffer protocol
        return MemType.SHARED_BUF if on_windows() else MemType.CPU_VA
    if isinstance(shared, int | Fd | np.integer) or hasattr(shared, "fileno"):
        return MemType.SHARED_BUF
    if isinstance(shared, Tensor | np.ndarray) or _has_buffer(shared):
        return MemType.CPU_VA
    return MemType.SHARED_BUF


def _has_buffer(shared: Any) -> bool:
    try:
        memoryview(shared).release()
    except TypeError:
        return False
    return True


def _member(kind: type[E], property_: str, value: Any) -> E:
    if isinstance(value, kind):
        return value
    try:
        return kind[value]
    except KeyError:
        raise UnknownNameError(f"value of {property_}", str(value), kind.__members__) from None


# The enumerations of openvino/runtime/intel_npu/remote_properties.hpp. Properties take the names.
class MemType(enum.Enum):
    """The origin of a remote tensor's memory."""

    L0_INTERNAL_BUF = "L0_INTERNAL_BUF"
    """Level Zero memory that the plugin allocates. It cannot be exported."""
    SHARED_BUF = "SHARED_BUF"
    """A DMA-BUF file descriptor on Linux, an NT handle on Windows."""
    MMAPED_FILE = "MMAPED_FILE"
    """A part of a file."""
    CPU_VA = "CPU_VA"
    """Whole pages of the application's own memory."""


class TensorType(enum.Enum):
    """The purpose of a remote tensor."""

    INPUT = "INPUT"
    """The device only reads it. The memory is write-combined: the CPU reads it slowly."""
    OUTPUT = "OUTPUT"
    """The device writes it."""
    BINDED = "BINDED"
    """Both."""


@dataclass(frozen=True, slots=True)
class FileDescriptor:
    """A part of a file, for `ZeroContext.create_tensor`.

    Attributes:
        path: of the file.
        offset: of the tensor's first byte; a multiple of the page size.
    """

    path: str | os.PathLike[str]
    offset: int = 0


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
        UnsupportedObjectError: it is not a number and has no fileno().
        PropertyError: it was closed, as its fileno() reports.
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
        PropertyError: it is not open, or cannot be mapped.
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
    """Raise PropertyError unless a range of CPU memory consists of whole pages."""
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
    """Raise PropertyError unless the range is mapped, and writable if the device writes."""
    if not is_mapped(address, nbytes, writable=writes):
        raise PropertyError(
            "MEM_HANDLE", f"no {nbytes} bytes of memory of this process are at {address:#x}"
        )


def _check_readable(fd: int) -> None:
    import fcntl

    if fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_ACCMODE == os.O_WRONLY:
        raise PropertyError("MEM_HANDLE", f"file descriptor {fd} was opened for writing only")
