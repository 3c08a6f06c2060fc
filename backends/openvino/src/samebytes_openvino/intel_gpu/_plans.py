# SPDX-License-Identifier: Apache-2.0
"""From a piece of memory to the checked properties of a tensor over it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from samebytes import Tensor, TensorInfo
from samebytes.errors import UnsupportedObjectError
from samebytes.plugins import is_mapped

from .._errors import PropertyError
from . import _opencl, _properties
from . import _opencl_abi as cl
from ._checks import (
    check_buffer,
    check_image,
    check_object,
    check_usm,
    cpu_va_size,
    handle_of,
    is_image,
    padded_size,
)
from ._properties import (
    FileDescriptor,
    SharedBufferHandle,
    VirtualAddressMemory,
    address_of,
    kind_of,
    memory_in,
    pointer_in,
)

__all__ = [
    "Plan", "buffer_plan", "cpu_plan", "cpu_va_plan", "file_plan", "image_plan", "plan_for",
    "usm_plan",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Plan:
    """A plan for making a tensor.

    Attributes:
        properties: the properties that are passed to OpenVINO.
        keep: an object that must live as long as the tensor.
        readonly: whether writing to the memory is forbidden.
    """

    properties: _properties.Properties
    keep: Any = None
    readonly: bool = False


def plan_for(memory: Any, info: TensorInfo, cl_context: int) -> Plan:
    """The plan for what a user passed as memory: see `TensorMaker.create_tensor`."""
    match memory:
        case None:
            return Plan(_properties.allocated())
        case SharedBufferHandle():
            if not isinstance(memory.value, int) or memory.value < 0:
                raise PropertyError("OS_HANDLE", f"{memory.value!r} is not a descriptor")
            return Plan(_properties.shared_handle(memory.value), memory)
        case VirtualAddressMemory():
            return cpu_plan(memory, info, cl_context)
        case FileDescriptor():
            return file_plan(memory, info, partial(cpu_plan, cl_context=cl_context))
        case Mapping():
            return _plan_of_map(memory, info, cl_context)
        case Tensor():
            raise UnsupportedObjectError("this is a tensor of samebytes: use tensor.map(context)")
        case ctypes.c_void_p():
            pointer = handle_of(memory, "MEM_HANDLE", "USM pointer", "usm_ptr")
            return usm_plan(pointer, memory, info, cl_context)
    handle = handle_of(memory, "MEM_HANDLE", "cl_mem", "cl_mem")
    if isinstance(memory, int) and _opencl.allocation(cl_context, handle).kind != "unknown":
        return usm_plan(handle, memory, info, cl_context)
    check_object(handle, "MEM_HANDLE", "cl_mem, and no USM of this context,")
    if is_image(handle):
        return image_plan(handle, memory, info, cl_context)
    return buffer_plan(handle, memory, info, cl_context)


def _plan_of_map(given: Mapping[str, Any], info: TensorInfo, cl_context: int) -> Plan:
    """For a map of properties as in C++, which is checked as other arguments are."""
    kind = kind_of(given)
    if kind in ("", "USM_HOST_BUFFER", "USM_DEVICE_BUFFER"):
        return Plan({"SHARED_MEM_TYPE": kind} if kind else _properties.allocated())
    if kind in ("CPU_VA", "BUFFER_FROM_HANDLE"):
        return plan_for(memory_in(kind, given), info, cl_context)
    if kind in ("VA_SURFACE", "DX_BUFFER"):
        raise PropertyError(
            "SHARED_MEM_TYPE", f"{kind} memory is of a VAContext or a D3DContext: use one of those"
        )
    keep = pointer_in(given, "MEM_HANDLE")
    if kind == "USM_USER_BUFFER":
        pointer = handle_of(keep, "MEM_HANDLE", "USM pointer", "usm_ptr")
        return usm_plan(pointer, keep, info, cl_context)
    mem = handle_of(keep, "MEM_HANDLE", "cl_mem", "cl_mem")
    check_object(mem, "MEM_HANDLE", "cl_mem")
    plan = buffer_plan if kind == "OCL_BUFFER" else image_plan
    return plan(mem, keep, info, cl_context)


def buffer_plan(mem: int, keep: Any, info: TensorInfo, cl_context: int) -> Plan:
    """For a cl_mem buffer."""
    check_buffer(mem, cl_context, info)
    readonly = bool(_opencl.mem_flags(mem) & cl.CL_MEM_READ_ONLY)
    return Plan(_properties.cl_buffer(mem), keep, readonly)


def image_plan(mem: int, keep: Any, info: TensorInfo, cl_context: int) -> Plan:
    """For a two-dimensional image."""
    check_image(mem, cl_context, info)
    readonly = bool(_opencl.mem_flags(mem) & cl.CL_MEM_READ_ONLY)
    return Plan(_properties.cl_image(mem), keep, readonly)


def usm_plan(pointer: int, keep: Any, info: TensorInfo, cl_context: int) -> Plan:
    """For a USM pointer."""
    check_usm(pointer, cl_context, info)
    return Plan(_properties.usm(pointer), keep)


def cpu_plan(memory: VirtualAddressMemory, info: TensorInfo, cl_context: int) -> Plan:
    """For memory of the CPU."""
    unified = all(map(_opencl.has_unified_memory, _opencl.context_devices(cl_context)))
    return cpu_va_plan(memory, info, unified)


def cpu_va_plan(memory: VirtualAddressMemory, info: TensorInfo, unified: bool) -> Plan:
    """For memory of the CPU, of a GPU that works in it or, if `unified` is False, does not."""
    if memory.access not in ("READ", "READ_WRITE"):
        raise PropertyError("CPU_VA_ACCESS", f"{memory.access!r} is neither READ nor READ_WRITE")
    if not unified:
        raise PropertyError(
            "CPU_VA", "this GPU has its own memory: the driver would work on a copy there"
        )
    address, room, keep = address_of(memory.ptr)
    readonly = memory.access == "READ"
    if isinstance(keep, np.ndarray) and not keep.flags.writeable and not readonly:
        raise PropertyError("CPU_VA_ACCESS", 'the memory is read-only: pass access="READ"')
    size = cpu_va_size(address, room, memory.size, info)
    if room is None and not is_mapped(address, size, writable=not readonly):
        raise PropertyError(
            "CPU_VA", f"no {size} bytes of memory of this process are at {address:#x}"
        )
    return Plan(_properties.cpu_va(address, size, memory.access), keep, readonly)


def file_plan(
    file: FileDescriptor,
    info: TensorInfo,
    plan_of_pages: Callable[[VirtualAddressMemory, TensorInfo], Plan],
) -> Plan:
    """For bytes of a file, whose pages are memory of the CPU."""
    pages = file.mapped(info.nbytes)
    # The last page is mapped whole, so there is memory after the file's last byte.
    address, _, keep = address_of(pages)
    whole = VirtualAddressMemory(address, padded_size(info.nbytes), file.access)
    plan = plan_of_pages(whole, info)
    return Plan(plan.properties, keep, plan.readonly)
