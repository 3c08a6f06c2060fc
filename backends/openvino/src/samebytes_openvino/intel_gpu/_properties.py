# SPDX-License-Identifier: Apache-2.0
"""Memory that create_tensor takes, and the maps of properties that describe it to the plugin.

The maps are those that the wrapper classes of openvino/runtime/intel_gpu/ocl/{ocl,va,dx}.hpp
build, with the keys of openvino/runtime/intel_gpu/remote_properties.hpp. Two keys have another C++
type on Windows, where handles of the system are pointers. Maps from users are parsed here too, so
that they are checked like other arguments.
"""

from __future__ import annotations

import ctypes
import mmap
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from samebytes.errors import UnknownNameError, UnsupportedObjectError
from samebytes.plugins import data_address

from .._errors import PropertyError
from .._remote._conversions import on_windows, pointer

__all__ = [
    "ALIGNMENT",
    "FileDescriptor",
    "SharedBufferHandle",
    "VirtualAddressMemory",
    "address_of",
    "allocated",
    "buffer_in",
    "cl_buffer",
    "cl_image",
    "cpu_va",
    "d3d_buffer",
    "kind_of",
    "memory_in",
    "ocl_context",
    "pointer_in",
    "queue_context",
    "shared_handle",
    "surface",
    "surface_in",
    "usm",
    "usm_device",
    "usm_host",
    "va_context",
]

Access = Literal["READ", "READ_WRITE"]

ALIGNMENT = 64
"""Address and size of CPU memory must be multiples of this, a cache line. Otherwise a driver may
work on its own copy and still return the same pointer, as OpenVINO's example of CPU_VA says."""


@dataclass(frozen=True, slots=True)
class SharedBufferHandle:
    """Memory that another API exports.

    Attributes:
        value: a DMA-BUF descriptor on Linux, an NT handle on Windows, which the caller keeps.
    """

    value: int


@dataclass(frozen=True, slots=True, eq=False)
class VirtualAddressMemory:
    """Memory of the CPU.

    Attributes:
        ptr: an address, a multiple of 64; or a numpy array or another writable buffer, which the
            tensor then keeps alive.
        size: its size in bytes, a multiple of 64; -1 for the size of the tensor or the buffer.
        access: "READ" for memory that may not be written.
    """

    ptr: Any
    size: int = -1
    access: Access = "READ_WRITE"


@dataclass(frozen=True, slots=True)
class FileDescriptor:
    """Bytes of a file, mapped into memory.

    Python cannot make OpenVINO's own property for files. So the file is mapped here, and its pages
    are passed as CPU memory.

    Attributes:
        path: the path of the file.
        offset: the byte at which the tensor begins, a multiple of `mmap.ALLOCATIONGRANULARITY`.
        access: "READ_WRITE" if writes are to reach the file.
    """

    path: str | os.PathLike[str]
    offset: int = 0
    access: Access = "READ"

    def mapped(self, nbytes: int) -> np.ndarray[Any, Any]:
        """The bytes from `offset` on, to the end of their last page, at least `nbytes`.

        Args:
            nbytes: the number of bytes needed.

        Raises:
            PropertyError: the offset cannot be mapped, or the file is too short.
            OSError: the file cannot be opened.
        """
        if self.offset < 0 or self.offset % mmap.ALLOCATIONGRANULARITY:
            raise PropertyError(
                "FILE_DESCRIPTOR",
                f"offset {self.offset} is not a multiple of {mmap.ALLOCATIONGRANULARITY}",
            )
        write = self.access == "READ_WRITE"
        with open(self.path, "r+b" if write else "rb") as file:  # noqa: PTH123 - any path-like
            size = os.fstat(file.fileno()).st_size
            if size - self.offset < nbytes or nbytes == 0:
                raise PropertyError(
                    "FILE_DESCRIPTOR",
                    f"{os.fspath(self.path)} has {size} bytes: {nbytes} from {self.offset} on "
                    "cannot be mapped",
                )
            # A file that is only read gets private pages, since the plugin's buffers are writable.
            access = mmap.ACCESS_WRITE if write else mmap.ACCESS_COPY
            pages = mmap.mmap(file.fileno(), nbytes, access=access, offset=self.offset)
        return np.frombuffer(pages, np.uint8)


def address_of(memory: Any) -> tuple[int, int | None, Any]:
    """(address, size or None if unknown, the object that keeps it alive) of an address or a buffer.

    Raises:
        PropertyError: it is null, or a buffer with gaps.
        UnsupportedObjectError: it is neither an address nor a buffer.
    """
    if isinstance(memory, ctypes.c_void_p):
        memory = memory.value or 0
    if isinstance(memory, int | np.integer):
        if memory <= 0:
            raise PropertyError("CPU_VA", "this pointer is null")
        return int(memory), None, None
    try:
        array = memory if isinstance(memory, np.ndarray) else np.frombuffer(memory, np.uint8)
    except TypeError:
        raise UnsupportedObjectError(
            f"CPU_VA: memory must be an address or a buffer, not a {type(memory).__name__}"
        ) from None
    if not array.flags.c_contiguous:
        raise PropertyError(
            "CPU_VA",
            f"strides {array.strides} of shape {array.shape}: the plugin ignores strides and "
            "reads the bytes as dense",
        )  # fmt: skip
    return data_address(array), array.nbytes, array


Properties = dict[str, Any]


def ocl_context(cl_context: int, device_index: int = 0) -> Properties:
    """A context over a cl_context."""
    return {
        "CONTEXT_TYPE": "OCL",
        "OCL_CONTEXT": pointer(cl_context),
        "OCL_CONTEXT_DEVICE_ID": device_index,
    }


def queue_context(cl_context: int, cl_queue: int, device_index: int = 0) -> Properties:
    """A context over a cl_context whose inferences run in the user's queue."""
    return {**ocl_context(cl_context, device_index), "OCL_QUEUE": pointer(cl_queue)}


def va_context(display: int, tile: int = -1) -> Properties:
    """A context over a VADisplay (Linux) or an ID3D11Device (Windows)."""
    return {"CONTEXT_TYPE": "VA_SHARED", "VA_DEVICE": pointer(display), "TILE_ID": tile}


def allocated() -> Properties:
    """The plugin allocates a cl_mem."""
    return {}


def cl_buffer(mem: int) -> Properties:
    """A cl_mem buffer."""
    return {"SHARED_MEM_TYPE": "OCL_BUFFER", "MEM_HANDLE": pointer(mem)}


def cl_image(mem: int) -> Properties:
    """A cl_mem two-dimensional image."""
    return {"SHARED_MEM_TYPE": "OCL_IMAGE2D", "MEM_HANDLE": pointer(mem)}


def usm(address: int) -> Properties:
    """A USM pointer of the user's."""
    return {"SHARED_MEM_TYPE": "USM_USER_BUFFER", "MEM_HANDLE": pointer(address)}


def usm_host() -> Properties:
    """The plugin allocates USM on the host."""
    return {"SHARED_MEM_TYPE": "USM_HOST_BUFFER"}


def usm_device() -> Properties:
    """The plugin allocates USM on the device."""
    return {"SHARED_MEM_TYPE": "USM_DEVICE_BUFFER"}


def cpu_va(address: int, size: int, access: Literal["READ", "READ_WRITE"]) -> Properties:
    """CPU memory; size -1 stands for the size of the tensor."""
    return {
        "SHARED_MEM_TYPE": "CPU_VA",
        "CPU_VA": pointer(address),
        "CPU_VA_SIZE": size,
        "CPU_VA_ACCESS": access,
    }


def shared_handle(value: int) -> Properties:
    """A DMA-BUF descriptor (Linux) or an NT handle (Windows)."""
    handle = pointer(value) if on_windows() else value
    return {"SHARED_MEM_TYPE": "BUFFER_FROM_HANDLE", "OS_HANDLE": handle}


def surface(object_: int, plane: int) -> Properties:
    """A plane of a VASurfaceID (Linux) or an ID3D11Texture2D (Windows)."""
    return {
        "SHARED_MEM_TYPE": "VA_SURFACE",
        "DEV_OBJECT_HANDLE": pointer(object_) if on_windows() else object_,
        "VA_PLANE": plane,
    }


def d3d_buffer(buffer: int) -> Properties:
    """An ID3D11Buffer."""
    return {"SHARED_MEM_TYPE": "DX_BUFFER", "DEV_OBJECT_HANDLE": pointer(buffer)}


# By kind of memory: the properties that must be given, and those that may be given.
_KEYS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "OCL_BUFFER": (("MEM_HANDLE",), ()),
    "OCL_IMAGE2D": (("MEM_HANDLE",), ()),
    "USM_USER_BUFFER": (("MEM_HANDLE",), ()),
    "USM_HOST_BUFFER": ((), ()),
    "USM_DEVICE_BUFFER": ((), ()),
    "CPU_VA": (("CPU_VA",), ("CPU_VA_SIZE", "CPU_VA_ACCESS")),
    "BUFFER_FROM_HANDLE": (("OS_HANDLE",), ()),
    "VA_SURFACE": (("DEV_OBJECT_HANDLE", "VA_PLANE"), ()),
    "DX_BUFFER": (("DEV_OBJECT_HANDLE",), ()),
}

_ALL_KEYS = sorted(
    {"SHARED_MEM_TYPE"}.union(*(needed + optional for needed, optional in _KEYS.values()))
)


def kind_of(properties: Mapping[str, Any]) -> str:
    """The SHARED_MEM_TYPE of a map, checked to have the keys of that type; "" for an empty map.

    Raises:
        PropertyError: a property is missing.
        UnknownNameError: no such type, or a property that it does not have.
    """
    if not properties:
        return ""
    kind = properties.get("SHARED_MEM_TYPE")
    if kind is None:
        for key in properties:
            if key not in _ALL_KEYS:
                raise UnknownNameError("remote property of the GPU", str(key), _ALL_KEYS)
        raise PropertyError("SHARED_MEM_TYPE", "it is missing: it must be given if any property is")
    if kind not in _KEYS:
        raise UnknownNameError("value of SHARED_MEM_TYPE", str(kind), _KEYS)
    needed, optional = _KEYS[kind]
    known = ("SHARED_MEM_TYPE", *needed, *optional)
    for key in properties:
        if key not in known:
            raise UnknownNameError(f"property of {kind} memory", str(key), known)
    for key in needed:
        if properties.get(key) is None:
            raise PropertyError(key, f"it must be given for SHARED_MEM_TYPE {kind}")
    return str(kind)


def pointer_in(properties: Mapping[str, Any], key: str) -> Any:
    """A handle or pointer of a map: the user's int or object, or a number from hexadecimal text.

    Raises:
        PropertyError: text that is not a hexadecimal number.
    """
    value = properties[key]
    if not isinstance(value, str):
        return value
    try:
        return int(value, 16)
    except ValueError:
        raise PropertyError(key, f"{value!r} is not a pointer in hexadecimal digits") from None


def memory_in(
    kind: str, properties: Mapping[str, Any]
) -> SharedBufferHandle | VirtualAddressMemory:
    """The CPU memory, or the memory that another API exports, of a map."""
    if kind == "BUFFER_FROM_HANDLE":
        return SharedBufferHandle(pointer_in(properties, "OS_HANDLE"))
    return VirtualAddressMemory(
        pointer_in(properties, "CPU_VA"),
        properties.get("CPU_VA_SIZE", -1),
        properties.get("CPU_VA_ACCESS", "READ_WRITE"),
    )


def surface_in(properties: Mapping[str, Any]) -> tuple[Any, Any]:
    """A surface or texture, and its plane, of a map of VA_SURFACE."""
    kind_of(properties)
    return pointer_in(properties, "DEV_OBJECT_HANDLE"), properties["VA_PLANE"]


def buffer_in(properties: Mapping[str, Any]) -> Any:
    """The ID3D11Buffer of a map of DX_BUFFER."""
    kind_of(properties)
    return pointer_in(properties, "DEV_OBJECT_HANDLE")
