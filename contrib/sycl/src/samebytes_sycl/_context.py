# SPDX-License-Identifier: Apache-2.0
"""SYCLContext: a SYCL queue, where USM is allocated and copied; and tensors in that memory."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import dpctl
import dpctl.memory
import numpy as np

from samebytes import (
    Context,
    Device,
    Frame,
    FrameMeta,
    ImageFormat,
    ImageInfo,
    Storage,
    Tensor,
    TensorInfo,
)
from samebytes.errors import (
    MissingDependencyError,
    NativeError,
    UnknownNameError,
    UnsupportedObjectError,
)
from samebytes.plugins import ContextRegistry

from . import _dlpack
from ._foreign import imported
from ._native_handles import handles_of
from ._probe import NO_DEVICE
from ._queues import waits_for
from ._usm_array import USMArray

if TYPE_CHECKING:
    from typing import Self, Unpack

    from samebytes.plugins import FrameSays

__all__ = ["Kind", "SYCLContext", "SYCLTensor", "context", "tensor", "usm_of"]

Kind = Literal["shared", "host", "device"]

_MEMORIES: dict[str, Any] = {
    "shared": dpctl.memory.MemoryUSMShared,
    "host": dpctl.memory.MemoryUSMHost,
    "device": dpctl.memory.MemoryUSMDevice,
}
# A cache line: what kernels and vector instructions like best.
_ALIGNMENT = 64


class SYCLTensor(Tensor):
    """An array in host, shared or device USM.

    `native` is the wrapped object (a dpctl memory object, an array of dpnp), or a USMArray.

    Handles: "usm_ptr"; "data" of host and shared memory. As a DLPack producer, host and shared USM
    is on the CPU; device USM, and the others for a consumer that asks for it, on kDLOneAPI.
    """

    __slots__ = ()

    context: SYCLContext

    @classmethod
    def wrap(cls, native: Any) -> Self:
        """A tensor over memory that an object lends; the object stays the user's.

        Args:
            native: an object with `__sycl_usm_array_interface__`, or with DLPack on kDLOneAPI.

        Raises:
            LayoutError: the memory or its context does not match the object's description.
            UnsupportedObjectError: it lends no USM.
        """
        if isinstance(native, USMArray):
            pin = native.pin
            return cls.borrowed(
                native, native.context, keep=pin, readonly=native.readonly, info=native.info
            )
        array = imported(native, context)
        return cls.borrowed(
            native, array.context, keep=array.pin, readonly=array.readonly, info=array.info
        )

    def host_array(self) -> np.ndarray[Any, Any]:
        """An array over host or shared USM, which keeps the memory alive.

        Raises:
            NotHostVisibleError: this is device USM.
        """
        array = usm_of(self).array()
        if self.readonly:
            array.setflags(write=False)
        return array

    @property
    def kind(self) -> str:
        """ "host", "shared" or "device"."""
        return usm_of(self).kind

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        array = usm_of(self)
        if array.host_visible and (dl_device is None or dl_device[0] != _dlpack.ONEAPI):
            return super().__dlpack__(
                stream=stream, max_version=max_version, dl_device=dl_device, copy=copy
            )
        return _dlpack.export(self, array, stream, max_version, dl_device, copy)

    def __dlpack_device__(self) -> tuple[int, int]:
        array = usm_of(self)
        return (1, 0) if array.host_visible else _dlpack.device_of(array.context.queue)

    def _describe(self) -> TensorInfo:
        return usm_of(self).info

    def _handle(self, key: str) -> int | None:
        if key == "usm_ptr":
            return usm_of(self).address
        return super()._handle(key)


class SYCLContext(Context[SYCLTensor]):
    """A SYCL queue: `samebytes.context("sycl")`, "sycl:gpu", or `context(queue)` for your own.

    The part after the colon is a filter of SYCL (in the words of ONEAPI_DEVICE_SELECTOR). There is
    one context for each queue. Mappings wait for the queue; wait for work on other queues yourself.

    Handles: "sycl_queue", a sycl::queue* of dpctl's; and, where SYCL's runtime reports them,
    "cl_context" and "cl_device", or "ze_context" and "ze_device". So OpenCL and Level Zero contexts
    can be derived: `context.derive("opencl")`.

    Attributes:
        queue: the dpctl.SyclQueue.
    """

    memory_type = "sycl"
    node = "sycl"
    tensor_class = SYCLTensor
    primary_handle = "usm_ptr"

    queue: dpctl.SyclQueue

    def __init__(self, queue: dpctl.SyclQueue) -> None:
        handles = {"sycl_queue": queue.addressof_ref(), **handles_of(queue)}
        super().__init__(_describe(queue.sycl_device), handles=handles)
        self.queue = queue

    @classmethod
    def create(cls, device: str | None, parent: Context | None) -> Self:
        """The context over the queue that dpctl keeps for a device, or for the default one.

        Raises:
            MissingDependencyError: SYCL finds no device.
            UnknownNameError: the filter selects none.
        """
        try:
            chosen = dpctl.SyclDevice(device) if device else dpctl.select_default_device()
        except (dpctl.SyclDeviceCreationError, ValueError) as error:
            names = [d.filter_string for d in dpctl.get_devices()]
            if names:
                raise UnknownNameError("SYCL device", device or "", names) from error
            raise MissingDependencyError("sycl", "a device that SYCL can use", NO_DEVICE) from error
        # The queue in which memory of dpctl is allocated if no other queue is given.
        return cls._of_queue(dpctl._sycl_queue_manager.get_device_cached_queue(chosen))

    @classmethod
    def _of_queue(cls, queue: dpctl.SyclQueue) -> Self:
        return _contexts.find_or_make(  # type: ignore[return-value]  # of the class in the key
            (cls, queue), partial(cls, queue)
        )

    def allocate(
        self, shape: Sequence[int], dtype: Any = "uint8", kind: Kind = "shared"
    ) -> SYCLTensor:
        """New USM, owned by the tensor that is returned. Its contents are undefined.

        It is given back when its last holder is gone, once the queue's work is done.

        Args:
            shape: elements along each axis.
            dtype: the element type.
            kind: "shared" (the driver moves it to whichever processor uses it), "host" (host memory
                that the device reads), or "device" (which the CPU cannot read).

        Raises:
            LayoutError: a negative extent.
            UnknownNameError: no such dtype or kind.
            NativeError: the device has no memory for it, or none of that kind.
        """
        info = TensorInfo(dtype, shape)
        pointer, pin = self._allocated(info.nbytes, kind)
        native = USMArray(self, pointer, info, kind, pin)
        return SYCLTensor.owned(native, self, pin, info=info)

    def allocate_frame(
        self,
        format: str | ImageFormat,
        width: int,
        height: int,
        kind: Kind = "shared",
        **says: Unpack[FrameSays],
    ) -> Frame[SYCLTensor]:
        """A new image in one piece of USM, planes one after another without gaps.

        Args:
            kind: "host", "shared" or "device".
            says: `pts`, `time_base`, `duration` and `metadata`, as for `samebytes.frame`.

        Raises:
            LayoutError: a size that the format cannot have.
            UnknownNameError: no such format or kind.
            NativeError: the device has no memory for it.
        """
        image = ImageInfo(ImageFormat.of(format), width, height)
        pointer, pin = self._allocated(image.nbytes, kind)
        planes = tuple(
            USMArray(self, pointer + p.offset, TensorInfo(p.dtype, p.shape, p.strides), kind, pin)
            for p in image.packed_layouts()
        )
        return Frame.owned(planes, self, FrameMeta(image), pin)

    def readonly_native(self, native: Any) -> Any:
        """The same array, marked; objects of others cannot be."""
        return native.as_readonly() if isinstance(native, USMArray) else native

    def _allocated(self, nbytes: int, kind: str) -> tuple[int, Storage]:
        """New memory of at least one byte, and its owner."""
        try:
            make = _MEMORIES[kind]
        except (KeyError, TypeError):
            raise UnknownNameError("kind of USM", str(kind), _MEMORIES) from None
        nbytes = max(nbytes, 1)
        try:
            memory = make(nbytes, alignment=_ALIGNMENT, queue=self.queue)
        except Exception as error:  # dpctl raises several kinds, MemoryError among them
            raise NativeError(f"sycl::malloc_{kind}", -1, str(error)) from error
        pointer = int(memory._pointer)
        pin = Storage(
            partial(_free, self.queue, [memory]),
            address=0 if kind == "device" else pointer,
            nbytes=nbytes,
            wait=waits_for(self.queue),
            at_exit=True,
        )
        return pointer, pin


def _free(queue: dpctl.SyclQueue, memory: list[Any]) -> None:
    """Free memory once nothing enqueued on its queue uses it."""
    waits_for(queue)()
    memory.clear()


# By class and queue, which compares and hashes as SYCL's queues do: dpctl makes several objects of
# one.
_contexts: ContextRegistry[SYCLContext] = ContextRegistry()


def context(queue: dpctl.SyclQueue) -> SYCLContext:
    """The context over a queue of yours, which it holds.

    Args:
        queue: the queue that mappings wait for.

    Raises:
        UnsupportedObjectError: it is not a dpctl.SyclQueue.
    """
    if not isinstance(queue, dpctl.SyclQueue):
        raise UnsupportedObjectError(f"a {type(queue).__name__} is not a dpctl.SyclQueue")
    return SYCLContext._of_queue(queue)


def usm_of(item: Tensor) -> USMArray:
    """The array of a SYCL tensor."""
    native = item.native
    return native if isinstance(native, USMArray) else imported(native, context, item.storage)


def tensor(
    native: Any,
    shape: Sequence[int] | None = None,
    dtype: Any = None,
    *,
    offset: int = 0,
    strides: Sequence[int] | None = None,
) -> SYCLTensor:
    """A tensor over USM of yours, which is held.

    Args:
        native: an object with `__sycl_usm_array_interface__`, such as memory of dpctl and arrays of
            dpnp, or with DLPack on kDLOneAPI, such as torch's tensors on "xpu".
        shape: elements along each axis; by default the object's, for memory all its bytes.
        dtype: the element type; by default the object's, for memory uint8.
        offset: bytes from the object's first element to the tensor's.
        strides: in bytes; dense by default.

    Raises:
        LayoutError: the memory or its context does not match the object's description, or the
            tensor would reach outside it.
        UnsupportedObjectError: it lends no USM.
    """
    whole = SYCLTensor.wrap(native)
    if shape is None and dtype is None and strides is None and not offset:
        return whole
    return SYCLTensor.wrap(usm_of(whole).described(shape, dtype, offset=offset, strides=strides))


def _describe(device: dpctl.SyclDevice) -> Device:
    kind = {"gpu": "GPU", "cpu": "CPU"}.get(device.device_type.name, device.device_type.name)
    return Device(kind, device.name.strip())
