# SPDX-License-Identifier: Apache-2.0
"""The kinds of memory of `ZeroContext.create_tensor`, and OpenVINO's map of properties for each.

The keys are those of openvino/runtime/intel_npu/remote_properties.hpp; the maps are those that
the wrapper class of openvino/runtime/intel_npu/level_zero/level_zero.hpp builds.
"""

from __future__ import annotations

import ctypes
import enum
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from samebytes import Fd, Tensor
from samebytes.errors import UnknownNameError

from .._errors import PropertyError
from .._remote._conversions import on_windows, pointer

__all__ = ["Asked", "FileDescriptor", "MemType", "TensorType", "as_properties", "ask"]

E = TypeVar("E", bound=enum.Enum)

_KEYS = ("MEM_TYPE", "MEM_HANDLE", "TENSOR_TYPE", "FILE_DESCRIPTOR")


@dataclass(frozen=True, slots=True)
class Asked:
    """A tensor that was asked for.

    Attributes:
        mem_type: where the memory is from.
        shared: the descriptor, handle, pointer, buffer or file; None for memory of the plugin's.
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
    """The map for OpenVINO."""
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
    if isinstance(shared, ctypes.c_void_p):  # a pointer, though ctypes makes it a buffer too
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
    """The device only reads it. The memory is write-combined: slow to read for the CPU."""
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
