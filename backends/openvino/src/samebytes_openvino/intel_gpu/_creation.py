# SPDX-License-Identifier: Apache-2.0
"""create_tensor and its relatives, in every form of C++'s ClContext, and plans of the tensors.

A plan describes memory that was checked: the properties by which OpenVINO makes a tensor over it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

import numpy as np
import openvino

from samebytes import Storage, Tensor, TensorInfo
from samebytes.errors import LayoutError, UnsupportedObjectError
from samebytes.plugins import NativeStorage, is_mapped

from .._errors import ForeignMemoryError, PropertyError, naming
from .._remote._context import RemoteContext, layout_of
from .._remote._conversions import info_of, params_of
from .._remote._lifetimes import pin, pin_memory, pinned
from . import _opencl, _properties
from . import _opencl_abi as cl
from ._checks import (
    MAX_AXES,
    check_buffer,
    check_image,
    check_is_image,
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
from ._tensors import ClImage2DTensor, GpuTensor, USMTensor

if TYPE_CHECKING:
    from .._host._tensor import OpenVINOTensor

__all__ = [
    "Plan",
    "TensorMaker",
    "buffer_plan",
    "cpu_plan",
    "cpu_va_plan",
    "file_plan",
    "image_plan",
    "nhwc",
    "nv12_planes",
    "plan_for",
    "usm_plan",
]


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
    """The plan for the memory that a user passed: see `TensorMaker.create_tensor`."""
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
    try:
        handle = handle_of(memory, "MEM_HANDLE", "cl_mem", "cl_mem")
    except UnsupportedObjectError as error:
        raise UnsupportedObjectError(
            f"{error}: pass memory of the CPU as a VirtualAddressMemory"
        ) from None
    if isinstance(memory, int) and _opencl.allocation(cl_context, handle).kind != "unknown":
        return usm_plan(handle, memory, info, cl_context)
    check_object(handle, "MEM_HANDLE", "cl_mem, and no USM of this context,")
    if is_image(handle):
        return image_plan(handle, memory, info, cl_context)
    return buffer_plan(handle, memory, info, cl_context)


def _plan_of_map(given: Mapping[str, Any], info: TensorInfo, cl_context: int) -> Plan:
    """The plan for a map of properties as in C++, which is checked like other arguments."""
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
    """The plan for a cl_mem buffer."""
    check_buffer(mem, cl_context, info)
    readonly = bool(_opencl.mem_flags(mem) & cl.CL_MEM_READ_ONLY)
    return Plan(_properties.cl_buffer(mem), keep, readonly)


def image_plan(mem: int, keep: Any, info: TensorInfo, cl_context: int) -> Plan:
    """The plan for a two-dimensional image."""
    check_image(mem, cl_context, info)
    readonly = bool(_opencl.mem_flags(mem) & cl.CL_MEM_READ_ONLY)
    return Plan(_properties.cl_image(mem), keep, readonly)


def usm_plan(pointer: int, keep: Any, info: TensorInfo, cl_context: int) -> Plan:
    """The plan for a USM pointer."""
    check_usm(pointer, cl_context, info)
    return Plan(_properties.usm(pointer), keep)


def cpu_plan(memory: VirtualAddressMemory, info: TensorInfo, cl_context: int) -> Plan:
    """The plan for CPU memory."""
    unified = all(map(_opencl.has_unified_memory, _opencl.context_devices(cl_context)))
    return cpu_va_plan(memory, info, unified)


def cpu_va_plan(memory: VirtualAddressMemory, info: TensorInfo, unified: bool) -> Plan:
    """The plan for CPU memory; `unified` is True if the GPU works in CPU memory."""
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
    """The plan for bytes of a file, whose pages are CPU memory."""
    pages = file.mapped(info.nbytes)
    # The last page is mapped whole, so there is memory after the file's last byte.
    address, _, keep = address_of(pages)
    whole = VirtualAddressMemory(address, padded_size(info.nbytes), file.access)
    plan = plan_of_pages(whole, info)
    return Plan(plan.properties, keep, plan.readonly)


T = TypeVar("T", bound=GpuTensor)


class TensorMaker(RemoteContext):
    """The methods of a GPU context that make tensors.

    `type` is a name ("uint8"), a numpy dtype, a dtype of samebytes or an openvino.Type. The
    tensor and its native object keep the object that is passed as memory. If that is a bare
    number, the memory that it names must live as long as they do; OpenVINO keeps a cl_mem.

    Class attributes:
        context_handle: the samebytes name of the handle that the plugin calls OCL_CONTEXT.
    """

    tensor_class: ClassVar[type[GpuTensor]] = GpuTensor
    context_handle: ClassVar[str] = "cl_context"

    def create_tensor(
        self,
        type: Any,  # OpenVINO's word for it
        shape: Sequence[int],
        memory: Any = None,
    ) -> GpuTensor:
        """A tensor over memory that exists, or over a new cl_mem.

        Args:
            type: the element type.
            shape: elements along each axis.
            memory:
                None: the plugin allocates a cl_mem;
                an object of pyopencl's: a cl_mem, buffer or image;
                a ctypes.c_void_p: a USM pointer of this cl_context, host, device or shared;
                an int: a USM pointer of this cl_context if it knows it as one, else a cl_mem;
                a SharedBufferHandle, a VirtualAddressMemory or a FileDescriptor;
                a map of OpenVINO's own properties, as in C++, in which pointers are ints,
                ctypes.c_void_p, objects that keep the memory, or hexadecimal text.

        Returns:
            A ClBufferTensor, ClImage2DTensor or USMTensor.

        Raises:
            PropertyError: the memory is too small, of another kind or format, null or released.
            ForeignMemoryError: it belongs to another cl_context.
            LayoutError, UnknownNameError: a wrong shape or type, or an unknown property in a map.
            OpenVINOError: the plugin refuses it.
        """
        self.check_open()
        info, element, extents = info_of(type, shape)
        plan = self.plan(memory, info)
        return self.make_tensor(plan, info, element, extents)

    def plan(self, memory: Any, info: TensorInfo) -> Plan:
        """The checked properties of a tensor over memory that `create_tensor` takes.

        Args:
            memory: as for `create_tensor`.
            info: dtype and shape.
        """
        return plan_for(memory, info, self.handle("cl_context"))

    def cpu_plan(self, memory: VirtualAddressMemory, info: TensorInfo) -> Plan:
        """The checked properties of a tensor over CPU memory.

        Args:
            memory: the memory and its address.
            info: dtype and shape.
        """
        return cpu_plan(memory, info, self.handle("cl_context"))

    def wrap_tensor(self, native: Any, *, whole: bool = False) -> GpuTensor:
        """A tensor over an openvino.RemoteTensor of the user's that was made in this context.

        Args:
            native: the openvino.RemoteTensor.
            whole: the caller's assurance that it is not a region of another tensor, which cannot be
                checked if its memory is larger than it is.

        Raises:
            ForeignMemoryError: it is of another cl_context.
            LayoutError: its elements are strings.
            UnsupportedObjectError: it is not an openvino.RemoteTensor.
        """
        if not isinstance(native, openvino.RemoteTensor):
            raise UnsupportedObjectError(f"this is not an openvino.RemoteTensor: {native!r}")
        params = params_of(native)
        if "OCL_CONTEXT" not in params:
            raise ForeignMemoryError(
                "OCL_CONTEXT", f"the tensor is of {native.get_device_name()}, not of a GPU"
            )
        ours_at = self.handle(self.context_handle)
        if params["OCL_CONTEXT"] != ours_at:
            raise ForeignMemoryError(
                "OCL_CONTEXT",
                f"the tensor is of {self.context_handle} {params['OCL_CONTEXT']:#x}, and this "
                f"context of {ours_at:#x}",
            )
        kind = self.tensor_class.tensor_kind(params)
        info = TensorInfo(*layout_of(native), opaque=kind.opaque)
        ours = pinned(native)
        if whole and ours is None:
            ours = Storage()
            pin(native, ours)
        return kind.borrowed(native, self, readonly=ours is not None and ours.readonly, info=info)

    def create_usm_host_tensor(self, type: Any, shape: Sequence[int]) -> USMTensor:
        """A tensor over new USM of the host, which the CPU reads in place.

        Args:
            type: the element type: a name, a numpy dtype or an openvino.Type.
            shape: elements along each axis.
        """
        return self._allocate(type, shape, _properties.usm_host())

    def create_usm_device_tensor(self, type: Any, shape: Sequence[int]) -> USMTensor:
        """A tensor over new USM of the device.

        Args:
            type: the element type: a name, a numpy dtype or an openvino.Type.
            shape: elements along each axis.
        """
        return self._allocate(type, shape, _properties.usm_device())

    def create_host_tensor(self, type: Any, shape: Sequence[int]) -> OpenVINOTensor:
        """A tensor in host memory that the plugin takes without staging it.

        Its context is that of host memory; `native` is an openvino.Tensor.

        Args:
            type: the element type: a name, a numpy dtype or an openvino.Type.
            shape: elements along each axis.
        """
        from .._host._tensor import OpenVINOTensor

        self.check_open()
        _, element, extents = info_of(type, shape)
        with naming("RemoteContext.create_host_tensor"):
            native = self.native.create_host_tensor(element, extents)
        return OpenVINOTensor.wrap(native)

    def create_tensor_nv12(
        self, y_image: Any, uv_image: Any, /
    ) -> tuple[ClImage2DTensor, ClImage2DTensor]:
        """The planes of an NV12 picture in two images, [1, h, w, 1] and [1, h/2, w/2, 2].

        Args:
            y_image: a cl_mem image of format CL_R / CL_UNORM_INT8.
            uv_image: CL_RG / CL_UNORM_INT8, half as wide and half as high.

        Raises:
            PropertyError: an image of another format or size, or one that is null or released.
            ForeignMemoryError: an image of another cl_context.
        """
        self.check_open()
        context = self.handle("cl_context")
        y = handle_of(y_image, "MEM_HANDLE", "cl_mem of Y", "cl_mem")
        check_object(y, "MEM_HANDLE", "cl_mem")
        uv = handle_of(uv_image, "MEM_HANDLE", "cl_mem of UV", "cl_mem")
        check_object(uv, "MEM_HANDLE", "cl_mem")
        check_is_image(y, context)
        width, height = _opencl.image_size(y)
        luma, chroma = nv12_planes(height, width, "MEM_HANDLE")
        check_image(uv, context, chroma)
        return (
            self._tensor_over(image_plan(y, y_image, luma, context), luma, ClImage2DTensor),
            self._tensor_over(image_plan(uv, uv_image, chroma, context), chroma, ClImage2DTensor),
        )

    def _allocate(self, type_: Any, shape: Sequence[int], properties: Any) -> USMTensor:
        self.check_open()
        info, element, extents = info_of(type_, shape)
        return cast(USMTensor, self.make_tensor(Plan(properties), info, element, extents))

    def _tensor_over(self, plan: Plan, info: TensorInfo, kind: type[T]) -> T:
        """A tensor over memory that was checked; `kind` is what it will be."""
        _, element, extents = info_of(info.dtype, info.shape)
        return cast(T, self.make_tensor(plan, info, element, extents))

    def make_tensor(self, plan: Plan, info: TensorInfo, element: Any, extents: Any) -> GpuTensor:
        """The tensor of a plan, of the class that fits the native tensor that OpenVINO made.

        Args:
            plan: the memory, as in the property map, and its owner.
            info: dtype, shape and strides.
            element: OpenVINO's element type.
            extents: the shape.
        """
        native = self.native_over(plan, info, element, extents)
        kind = self.tensor_class.tensor_kind(params_of(native))
        if kind.opaque:
            info = TensorInfo(info.dtype, info.shape, opaque=True)
        if allocates(plan.properties):
            storage = NativeStorage(keep=native, nbytes=info.nbytes)
            return kind.owned(native, self, storage, info=info)
        return kind.borrowed(native, self, keep=pinned(native), readonly=plan.readonly, info=info)

    def native_over(self, plan: Plan, info: TensorInfo, element: Any, extents: Any) -> Any:
        """The openvino.RemoteTensor of a plan. It keeps the memory's owner and the context.

        Args:
            plan: the memory, as in the property map, and its owner.
            info: dtype and shape.
            element: OpenVINO's element type.
            extents: the shape.
        """
        native = self.make_native(plan.properties, element, extents)
        # The openvino.RemoteContext keeps the queue or display that it was made from.
        storage = Storage(keep=(self.native, plan.keep), readonly=plan.readonly)
        if allocates(plan.properties):
            return pin(native, storage)
        return pin_memory(native, storage, info)

    def make_native(self, properties: Mapping[str, Any], element: Any, extents: Any) -> Any:
        """The openvino.RemoteTensor of those properties, which nothing checks.

        Args:
            properties: the property map, checked.
            element: OpenVINO's element type.
            extents: the shape.

        Raises:
            LayoutError: it has more axes than the plugin knows.
        """
        if len(extents) > MAX_AXES:
            raise LayoutError(
                f"a tensor of {len(extents)} axes: OpenVINO's GPU plugin knows {MAX_AXES} at most"
            )
        with naming("RemoteContext.create_tensor"):
            # The subclass openvino.VAContext hides this form.
            return self.native.create_tensor(element, extents, dict(properties))


def nhwc(shape: Sequence[int]) -> tuple[int, ...]:
    """The shape of an image plane, (rows, columns[, channels]), as OpenVINO takes it."""
    return (1, *shape, *((1,) if len(shape) == 2 else ()))


def nv12_planes(
    height: int, width: int, property_: str | None = None
) -> tuple[TensorInfo, TensorInfo]:
    """The layouts of both planes of NV12.

    Args:
        height, width: in pixels.
        property_: the property that an error names if the size comes from other objects.

    Raises:
        PropertyError: an odd or empty size, or none.
    """
    for name, size in (("height", height), ("width", width)):
        if isinstance(size, bool) or not isinstance(size, int | np.integer):
            raise PropertyError(
                property_ or name, f"{name} must be a number of pixels, got {size!r}"
            )
    if height <= 0 or width <= 0 or height % 2 or width % 2:
        wrong = "height" if height <= 0 or height % 2 else "width"
        raise PropertyError(
            property_ or wrong, f"NV12 needs an even width and height, not {width}x{height}"
        )
    return (
        TensorInfo("uint8", (1, height, width, 1)),
        TensorInfo("uint8", (1, height // 2, width // 2, 2)),
    )


def allocates(properties: Mapping[str, Any]) -> bool:
    """True if the plugin allocates the memory of a tensor with those properties."""
    kind = properties.get("SHARED_MEM_TYPE")
    return not properties or kind in ("USM_HOST_BUFFER", "USM_DEVICE_BUFFER")
