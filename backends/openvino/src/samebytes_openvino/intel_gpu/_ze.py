# SPDX-License-Identifier: Apache-2.0
"""ZeContext: a remote context of the GPU plugin that works on Level Zero.

There is no public release of OpenVINO with it yet. What is here follows
openvino/runtime/intel_gpu/ze/ze.hpp and remote_properties.hpp, and is tested by recorded maps.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from ctypes import c_void_p
from typing import Any, ClassVar, NoReturn

import openvino

from samebytes import Fd, TensorInfo
from samebytes.errors import UnknownNameError, UnsupportedObjectError

from .. import _core
from .._errors import PropertyError
from . import _properties
from ._checks import ON_LEVEL_ZERO, USM, handle_of
from ._context import ClContext
from ._plans import Plan, cpu_va_plan, file_plan
from ._properties import (
    FileDescriptor,
    SharedBufferHandle,
    VirtualAddressMemory,
    kind_of,
    memory_in,
    pointer_in,
)
from ._tensors import GpuTensor

__all__ = ["ZeContext", "ZeTensor"]


class ZeTensor(GpuTensor):
    """A tensor over memory of the CPU, USM or a descriptor, on Level Zero; C++'s ZeRemoteTensor."""

    __slots__ = ()

    kinds: ClassVar[Collection[str]] = ("CPU_VA", "BUFFER_FROM_HANDLE", *USM)

    @classmethod
    def tensor_kind(cls, params: Mapping[str, int | str]) -> type[GpuTensor]:
        """This class: on Level Zero there is one.

        Args:
            params: as `tensor.params` returns them.
        """
        return ZeTensor

    def get(self) -> int:
        """The USM pointer, valid in the plugin's ze_context while the tensor lives."""
        return self._memory("MEM_HANDLE")

    def _handle(self, key: str) -> int | None:
        return self._memory("MEM_HANDLE") if key == "usm_ptr" else None


class ZeContext(ClContext):
    """The plugin's own context of a GPU, where it works on Level Zero: CONTEXT_TYPE is ZE.

    `samebytes.context("openvino:GPU")` is one where the plugin chose it, and of two GPUs one may
    be. There is none over a ze_context of the user's: OpenVINO has no such call.

    It takes memory of the CPU, USM of its own ze_context, and descriptors, which it duplicates and
    holds as long as the tensor. What needs a cl_context is refused.
    """

    tensor_class = ZeTensor
    primary_handle = "usm_ptr"
    context_handle = "ze_context"

    @classmethod
    def over(cls, native: Any, core: Any, ze_context: int) -> ZeContext:
        """The context over an openvino.RemoteContext whose CONTEXT_TYPE is ZE.

        Args:
            native: the openvino.RemoteContext, which is held.
            core: the openvino.Core that it is of.
            ze_context: its OCL_CONTEXT.
        """
        device = _core.gpu_device(native.get_device_name())
        return cls(native, core, device, {"ze_context": ze_context})

    @property
    def shared(self) -> bool:
        """True: there are no others."""
        return True

    def _no_handle(self, key: str, item: Any = None) -> NoReturn:
        """Raise the error for a handle that is not there, which names the way to have OpenCL's."""
        if key in ("cl_context", "cl_device", "cl_queue"):
            raise UnknownNameError(
                f"handle of {self.node}", key, ["ze_context"], f"({ON_LEVEL_ZERO})"
            )
        super()._no_handle(key, item)

    def plan(self, memory: Any, info: TensorInfo) -> Plan:
        """As for ClContext; a number is a USM pointer of this ze_context.

        Level Zero is not asked for the pointer's kind and size: OpenVINO's plugin looks at it.

        Args:
            memory: as for `create_tensor`.
            info: dtype and shape.

        Raises:
            UnsupportedObjectError: an object of OpenCL's.
        """
        match memory:
            case None:
                return Plan(_properties.allocated())
            case VirtualAddressMemory():
                return self.cpu_plan(memory, info)
            case FileDescriptor():
                return file_plan(memory, info, self.cpu_plan)
            case SharedBufferHandle():
                return _of_descriptor(memory, info)
            case Mapping():
                return self._plan_of_map(memory, info)
            case int() | c_void_p():
                pointer = handle_of(memory, "MEM_HANDLE", "USM pointer", "usm_ptr")
                return Plan(_properties.usm(pointer), memory)
        raise UnsupportedObjectError(
            f"a {type(memory).__name__} cannot be used on Level Zero. {ON_LEVEL_ZERO}"
        )

    def cpu_plan(self, memory: VirtualAddressMemory, info: TensorInfo) -> Plan:
        """As for ClContext.

        Args:
            memory: where it is.
            info: dtype and shape.
        """
        kind = self.core.get_property(self.device_name, "DEVICE_TYPE")
        return cpu_va_plan(memory, info, kind == openvino.properties.device.Type.INTEGRATED)

    def _plan_of_map(self, given: Mapping[str, Any], info: TensorInfo) -> Plan:
        kind = kind_of(given)
        if kind in ("", "USM_HOST_BUFFER", "USM_DEVICE_BUFFER"):
            return Plan({"SHARED_MEM_TYPE": kind} if kind else _properties.allocated())
        if kind in ("CPU_VA", "BUFFER_FROM_HANDLE"):
            return self.plan(memory_in(kind, given), info)
        if kind == "USM_USER_BUFFER":
            keep = pointer_in(given, "MEM_HANDLE")
            pointer = handle_of(keep, "MEM_HANDLE", "USM pointer", "usm_ptr")
            return Plan(_properties.usm(pointer), keep)
        raise PropertyError("SHARED_MEM_TYPE", f"{kind}: {ON_LEVEL_ZERO}")


def _of_descriptor(memory: SharedBufferHandle, info: TensorInfo) -> Plan:
    """A duplicate of the descriptor, which the tensor holds."""
    if not isinstance(memory.value, int) or memory.value < 0:
        raise PropertyError("OS_HANDLE", f"{memory.value!r} is not a descriptor")
    held = Fd.borrow(memory.value)
    size = os.lseek(held.fileno(), 0, os.SEEK_END)
    if size < info.nbytes:
        raise PropertyError(
            "OS_HANDLE", f"the descriptor has {size} bytes, but the tensor has {info.nbytes}"
        )
    return Plan(_properties.shared_handle(held.fileno()), held)
