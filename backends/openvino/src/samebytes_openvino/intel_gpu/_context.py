# SPDX-License-Identifier: Apache-2.0
"""ClContext and ZeContext: remote contexts of the GPU plugin, over a cl_context and on Level Zero.

There is no public release of OpenVINO with contexts on Level Zero yet. This code follows
openvino/runtime/intel_gpu/ze/ze.hpp and remote_properties.hpp, and is tested with recorded maps.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from ctypes import c_void_p
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import openvino

from samebytes import Context, Fd, FrameMeta, TensorInfo
from samebytes.errors import AmbiguousTargetError, UnknownNameError, UnsupportedObjectError
from samebytes.plugins import ContextRegistry, NativeStorage

from .. import _core
from .._core import core_of
from .._errors import ForeignMemoryError, PropertyError, naming
from .._remote._conversions import params_of
from .._remote._lifetimes import pin
from . import _opencl, _properties
from ._checks import ON_LEVEL_ZERO, USM, ZE, check_object, check_on_opencl, handle_of
from ._creation import Plan, TensorMaker, cpu_va_plan, file_plan, nhwc
from ._properties import (
    FileDescriptor,
    SharedBufferHandle,
    VirtualAddressMemory,
    kind_of,
    memory_in,
    pointer_in,
)
from ._tensors import GpuFrame, GpuTensor

if TYPE_CHECKING:
    from typing import Unpack

    from samebytes import ImageFormat
    from samebytes.plugins import FrameSays

__all__ = ["CONTEXTS", "ClContext", "ZeContext", "ZeTensor", "wrap"]

# By the handles of a context: (cl_context, cl_device_id, queue or 0), or those that VAContext uses.
CONTEXTS: ContextRegistry[ClContext] = ContextRegistry()


class ClContext(TensorMaker):
    """A remote context of OpenVINO's GPU plugin; the samebytes context of "openvino:GPU".

    There is one object for each cl_context, device and queue, because a tensor works only in
    requests of models that were compiled on the same context. Compile with
    `samebytes_openvino.compile_model(model, context)`, or with OpenVINO's own
    `core.compile_model(model, context.native)`.

    The context holds a reference to the cl_context and to the queue.

    Attributes:
        core: the openvino.Core that it was made with.
    """

    node = "openvino:GPU"
    tensor_class = GpuTensor
    frame_class = GpuFrame
    primary_handle = "cl_mem"
    may_be_opaque = True

    @classmethod
    def create(cls, device: str | None, parent: Context | None) -> ClContext:
        """The context for `samebytes.context("openvino:GPU.1")` and `parent.derive(...)`.

        Raises:
            MissingDependencyError: OpenVINO sees no GPU.
            UnknownNameError: it has none of that name.
        """
        if parent is None or device not in (None, "GPU"):
            return ClContext.default(device=device or "GPU")
        if isinstance(parent, ClContext):
            return parent
        display = parent.find_handle("va_display")
        if display is not None:
            from ._video_contexts import VAContext

            return VAContext.from_display(parent)
        if parent.find_handle("cl_queue") is not None:
            return ClContext.from_queue(parent)
        cl_context = parent.handle("cl_context")
        device_id = parent.find_handle("cl_device")
        devices = _opencl.context_devices(cl_context)
        index = 0 if device_id is None else devices.index(device_id)
        return ClContext.from_cl_context(cl_context, index)

    @classmethod
    def default(cls, core: Any = None, device: str = "GPU") -> ClContext:
        """The plugin's own context of a GPU.

        It is the same for every openvino.Core, and stays when properties are set.

        Args:
            core: the openvino.Core to use; by default one that samebytes keeps.
            device: "GPU", or "GPU.1" if there are several.

        Raises:
            MissingDependencyError: OpenVINO sees no GPU.
            UnknownNameError: it has none of that name.
        """
        _core.check_gpu_name(device)
        core = core_of(core)
        with naming("Core.get_default_context"):
            native = core.get_default_context(device)
        return _over_own(native, core)

    @classmethod
    def from_cl_context(cls, cl_context: Any, device_index: int = 0, core: Any = None) -> ClContext:
        """The context over the user's cl_context.

        Args:
            cl_context: an int, a pyopencl.Context, or a samebytes context that has one.
            device_index: which of the cl_context's devices.
            core: an openvino.Core; by default one that samebytes keeps.

        Raises:
            PropertyError: it is null or released, or has no such device.
            OpenVINOError: the plugin cannot use it, for instance because the device is not a GPU.
        """
        handle = handle_of(cl_context, "OCL_CONTEXT", "cl_context", "cl_context")
        check_object(handle, "OCL_CONTEXT", "cl_context")
        return _over_cl(handle, 0, device_index, core)

    @classmethod
    def from_queue(cls, queue: Any, core: Any = None, cl_context: Any = None) -> ClContext:
        """The context whose inferences run in the user's command queue.

        The cl_context and the device are those of the queue. `start_async()` then returns as soon
        as all kernels are in the queue, and the user must order them with other kernels. Models
        can have only one stream.

        Args:
            queue: an int, a pyopencl.CommandQueue, or a samebytes context that has one.
            core: an openvino.Core; by default one that samebytes keeps.
            cl_context: if given, the queue must belong to this cl_context.

        Raises:
            PropertyError: it is null or released.
            ForeignMemoryError: the queue is of another cl_context.
            OpenVINOError: the plugin cannot use it.
        """
        handle = handle_of(queue, "OCL_QUEUE", "cl_command_queue", "cl_queue")
        check_object(handle, "OCL_QUEUE", "cl_command_queue")
        context = _opencl.queue_context(handle)
        if cl_context is not None:
            given = handle_of(cl_context, "OCL_CONTEXT", "cl_context", "cl_context")
            if given != context:
                raise ForeignMemoryError(
                    "OCL_QUEUE",
                    f"the queue is of cl_context {context:#x}, not of {given:#x}",
                )
        devices = _opencl.context_devices(context)
        return _over_cl(context, handle, devices.index(_opencl.queue_device(handle)), core)

    @classmethod
    def from_compiled_model(cls, model: Any, core: Any = None) -> ClContext:
        """The context that a model was compiled on.

        Args:
            core: the openvino.Core to use; by default one that samebytes keeps.
            model: the result of `samebytes_openvino.compile_model`, which remembers its context; or
                an openvino.CompiledModel that was compiled by the name of a GPU, whose context is
                the default one. OpenVINO does not report the context of a model that was compiled
                on one: keep the context.

        Raises:
            UnknownNameError: it was compiled for another device.
            UnsupportedObjectError: it is not a compiled model.
        """
        remembered = getattr(model, "context", None)
        if isinstance(remembered, ClContext):
            return remembered
        if not hasattr(model, "get_property"):
            raise UnsupportedObjectError(
                f"this is not an openvino.CompiledModel: {model!r}. core.compile_model() gives one"
            )
        device = model.get_property("EXECUTION_DEVICES")[0]
        if device.partition(".")[0] != "GPU":
            raise UnknownNameError("device of openvino:GPU", device, _core.gpu_names())
        return ClContext.default(core, device)

    @classmethod
    def wrap(cls, native: Any, core: Any = None) -> ClContext:
        """The context over an openvino.RemoteContext of the user's.

        Args:
            native: an openvino.RemoteContext of a GPU.
            core: the openvino.Core to use; by default one that samebytes keeps.

        Raises:
            PropertyError: there is already another context over the same handles, whose tensors
                would not work here.
            UnsupportedObjectError: it is not an openvino.RemoteContext of a GPU.
        """
        core = core_of(core)
        if not isinstance(native, openvino.RemoteContext):
            raise UnsupportedObjectError(f"this is not an openvino.RemoteContext: {native!r}")
        if "OCL_CONTEXT" not in params_of(native):
            raise UnsupportedObjectError(
                f"this openvino.RemoteContext is of {native.get_device_name()}, not of a GPU"
            )
        found = _over_own(native, core)
        if found.native is not native and not _is_default(found, core):
            raise PropertyError(
                "OCL_CONTEXT",
                "another openvino.RemoteContext over this cl_context is in use, and tensors of "
                "one do not work in the other: use ClContext.from_cl_context, and its `native`",
            )
        return found

    @property
    def shared(self) -> bool:
        """True if it is the plugin's own context of a GPU, which all components share."""
        if type(self) is not ClContext:
            return False
        queue = self.find_handle("cl_queue")
        return _is_default(self, self.core) if queue is None else queue == 0

    def get(self) -> int:
        """The cl_context. This object keeps its ownership: retain it to keep it."""
        return self.handle("cl_context")

    def allocate(self, shape: tuple[int, ...], dtype: Any = "uint8") -> GpuTensor:
        """New memory of the plugin's, a cl_mem buffer.

        Raises:
            LayoutError: a negative extent.
            UnknownNameError: no such dtype, or one that OpenVINO lacks.
            OpenVINOError: there is not enough memory.
        """
        return self.create_tensor(dtype, shape)

    def allocate_frame(
        self, format: str | ImageFormat, width: int, height: int, **says: Unpack[FrameSays]
    ) -> GpuFrame:
        """A new image, whose planes are cl_mem buffers [1, rows, columns, channels].

        Args:
            says: `pts`, `time_base`, `duration` and `metadata`, as for `samebytes.frame`.

        Raises:
            LayoutError: a size that the format cannot have.
            UnknownNameError: no such format.
        """
        from samebytes import ImageInfo

        image = ImageInfo.of(format, width, height)
        natives = tuple(
            self.create_tensor(plane.dtype, nhwc(plane.shape)).native
            for plane in image.plane_layouts()
        )
        storage = NativeStorage(keep=natives)
        return GpuFrame.owned(natives, self, FrameMeta(image), storage)


def _over_own(native: Any, core: Any) -> ClContext:
    """The context over an openvino.RemoteContext that exists."""
    params = params_of(native)
    if params.get("CONTEXT_TYPE") == ZE:
        ze_context = int(params["OCL_CONTEXT"])
        made = partial(ZeContext.over, native, core, ze_context)
        return CONTEXTS.find_or_make((ZE, ze_context, native.get_device_name()), made)
    cl_context = int(params["OCL_CONTEXT"])
    queue = int(params.get("OCL_QUEUE", 0))
    device = _opencl.queue_device(queue) if queue else _opencl.context_devices(cl_context)[0]
    return CONTEXTS.find_or_make(
        (cl_context, device, queue), partial(_make, native, core, cl_context, device, queue)
    )


def _over_cl(cl_context: int, queue: int, device_index: int, core: Any) -> ClContext:
    """The context over the user's handles: the existing one, or else a new one."""
    devices = _opencl.context_devices(cl_context)
    if not 0 <= device_index < len(devices):
        raise PropertyError(
            "OCL_CONTEXT_DEVICE_ID",
            f"the cl_context has {len(devices)} devices: none has index {device_index}",
        )
    device = devices[device_index]
    core = core_of(core)

    def make() -> ClContext:
        native = None if queue else _own_of_plugin(cl_context, core)
        if native is None:
            properties = (
                _properties.queue_context(cl_context, queue, device_index)
                if queue
                else _properties.ocl_context(cl_context, device_index)
            )
            _core.check_gpu_name("GPU")
            check_on_opencl(params_of(core.get_default_context("GPU")), "cl_context")
            with naming("Core.create_context"):
                native = core.create_context("GPU", properties)
        return _make(native, core, cl_context, device, queue)

    return CONTEXTS.find_or_make((cl_context, device, queue), make)


def _own_of_plugin(cl_context: int, core: Any) -> Any:
    """The plugin's own context of a cl_context that no user made."""
    for name in _core.gpu_names():
        native = core.get_default_context(name)
        params = params_of(native)
        if params["OCL_CONTEXT"] == cl_context and params.get("CONTEXT_TYPE") != ZE:
            return native
    return None


def _make(native: Any, core: Any, cl_context: int, device: int, queue: int) -> ClContext:
    handles = {"cl_context": cl_context, "cl_device": device}
    if queue:
        # OpenVINO keeps the queue only from the time a model is compiled.
        pin(native, _opencl.hold_queue(queue))
        handles["cl_queue"] = queue
    return ClContext(native, core, _core.gpu_device(native.get_device_name()), handles)


def _is_default(context: ClContext, core: Any) -> bool:
    return _own_of_plugin(context.get(), core) is not None


def wrap(native: Any) -> GpuTensor:
    """A tensor over a remote tensor of the GPU plugin.

    Its context is the living one over the same cl_context.

    Raises:
        AmbiguousTargetError: there are several: use `wrap_tensor` of the right ClContext.
        LayoutError: its elements are strings.
    """
    cl_context = int(params_of(native)["OCL_CONTEXT"])
    living = [c for c in CONTEXTS.all() if c.handle(c.context_handle) == cl_context]
    if len(living) > 1:
        raise AmbiguousTargetError(
            "an openvino.RemoteTensor", "openvino:GPU", [f"{c!r}.wrap_tensor" for c in living]
        )
    context = living[0] if living else ClContext.from_cl_context(cl_context)
    return context.wrap_tensor(native)


class ZeTensor(GpuTensor):
    """A tensor over CPU memory, USM or a descriptor, on Level Zero; C++'s ZeRemoteTensor."""

    __slots__ = ()

    kinds: ClassVar[Collection[str]] = ("CPU_VA", "BUFFER_FROM_HANDLE", *USM)

    @classmethod
    def tensor_kind(cls, params: Mapping[str, int | str]) -> type[GpuTensor]:
        """This class: there is only one on Level Zero.

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
    """The plugin's own context of a GPU if it works on Level Zero: CONTEXT_TYPE is ZE.

    `samebytes.context("openvino:GPU")` is one if the plugin chose Level Zero, which may be so for
    one of two GPUs. A user's own ze_context cannot have one: OpenVINO has no such call.

    It takes CPU memory, USM of its own ze_context, and descriptors, which it duplicates and holds
    as long as the tensor. Calls that need a cl_context are refused.
    """

    tensor_class = ZeTensor
    primary_handle = "usm_ptr"
    context_handle = "ze_context"

    @classmethod
    def over(cls, native: Any, core: Any, ze_context: int) -> ZeContext:
        """The context over an openvino.RemoteContext whose CONTEXT_TYPE is ZE.

        Args:
            native: the openvino.RemoteContext, which is held.
            core: the openvino.Core to which it belongs.
            ze_context: its OCL_CONTEXT.
        """
        device = _core.gpu_device(native.get_device_name())
        return cls(native, core, device, {"ze_context": ze_context})

    @property
    def shared(self) -> bool:
        """True: all contexts of this class are the plugin's own, which all components share."""
        return True

    def _no_handle(self, key: str, item: Any = None) -> NoReturn:
        """Raise the error for a missing handle, which says how to get a context on OpenCL."""
        if key in ("cl_context", "cl_device", "cl_queue"):
            raise UnknownNameError(
                f"handle of {self.node}", key, ["ze_context"], f"({ON_LEVEL_ZERO})"
            )
        super()._no_handle(key, item)

    def plan(self, memory: Any, info: TensorInfo) -> Plan:
        """The plan, as for ClContext; a number is a USM pointer of this ze_context.

        Level Zero is not asked for the pointer's kind and size: OpenVINO's plugin looks at it.

        Args:
            memory: as for `create_tensor`.
            info: dtype and shape.

        Raises:
            UnsupportedObjectError: the memory is an OpenCL object.
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
        """The plan for CPU memory, as for ClContext.

        Args:
            memory: the memory and its address.
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
