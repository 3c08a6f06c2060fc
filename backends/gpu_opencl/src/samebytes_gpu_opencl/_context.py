# SPDX-License-Identifier: Apache-2.0
"""OpenCLContext: a cl_context with one of its devices and a queue."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pyopencl

from samebytes import Context, FrameMeta, ImageFormat, ImageInfo
from samebytes.errors import (
    DeviceMismatchError,
    LayoutError,
    NoRouteError,
    UnknownNameError,
    UnsupportedObjectError,
)
from samebytes.plugins import ContextRegistry, Lock, intern, native_pointer

from ._allocation import allocate, allocate_planes
from ._devices import describe, devices, find_device, same_device
from ._handles import check_handle
from ._library import in_our_words, native_error
from ._queues import check_queue
from ._tensor import OpenCLFrame, OpenCLTensor

if TYPE_CHECKING:
    from typing import Self, Unpack

    from samebytes.plugins import FrameSays

    from ._allocation import Kind

__all__ = ["OpenCLContext", "context", "context_of"]


class OpenCLContext(Context[OpenCLTensor, OpenCLFrame]):
    """A cl_context, one of its devices, and a queue on which mappings work.

    Get one from `samebytes.context("opencl")` or "opencl:GPU.1", from `context()` for OpenCL
    objects of your own, or by deriving it from a context that has a cl_context or a VA display.
    There is one object for each set of handles. It holds a reference to its cl_context and to a
    queue that it was given, and gives both back when it is closed or dropped.

    Attributes:
        native: the pyopencl.Context.
        native_device: the pyopencl.Device.
    """

    memory_type = "opencl"
    node = "opencl"
    tensor_class = OpenCLTensor
    frame_class = OpenCLFrame
    primary_handle = "cl_mem"
    may_be_opaque = True

    native: pyopencl.Context
    native_device: pyopencl.Device

    def __init__(
        self,
        native: pyopencl.Context,
        device: pyopencl.Device,
        queue: pyopencl.CommandQueue | None = None,
        parent: Context | None = None,
    ) -> None:
        handles = {"cl_context": native.int_ptr, "cl_device": device.int_ptr}
        if queue is not None:
            handles["cl_queue"] = queue.int_ptr
        super().__init__(describe(device), handles=handles, parent=parent)
        self.native = native
        self.native_device = device
        self._queue = queue
        _living.enter(id(self), self)

    @classmethod
    def create(cls, device: str | None, parent: Context | None) -> Self:
        """The default context of a device, or one with the handles of `parent`.

        A device has one default context for as long as something holds it. If the parent has no
        cl_context but a VA display, the default context of the display's GPU is used.

        Raises:
            MissingDependencyError: there is no OpenCL device.
            AmbiguousTargetError: there are several, or none that is the GPU of the parent.
            DeviceMismatchError: `device` is not the GPU of the parent.
            NoRouteError: `parent` has neither a cl_context nor a VA display.
        """
        if parent is None:
            return _default(find_device(device))  # type: ignore[return-value]  # of this class
        try:
            handle = parent.handle("cl_context")
        except UnknownNameError as error:
            if parent.find_handle("va_display") is not None:
                return _on_device_of(parent, device)  # type: ignore[return-value]  # of this class
            raise NoRouteError(
                parent.node, "opencl", ["it has no cl_context: it is not on OpenCL"]
            ) from error
        return cls._of_handle(handle, parent, device)

    @classmethod
    @in_our_words
    def _of_handle(cls, handle: int, parent: Any, device: Any) -> Self:
        native = pyopencl.Context.from_int_ptr(handle, retain=True)
        queue = chosen = None
        if (handle := parent.find_handle("cl_queue")) is not None:
            queue = pyopencl.CommandQueue.from_int_ptr(handle, retain=True)
            chosen = queue.device
        if (device_handle := parent.find_handle("cl_device")) is not None:
            chosen = _of_context(native, device_handle)
        if device is not None:
            chosen = find_device(device)
            _of_context(native, chosen.int_ptr)
        return cls(native, chosen or native.devices[0], queue, parent)

    @property
    def queue(self) -> pyopencl.CommandQueue:
        """The queue on which mappings work: the one given, or an in-order one of its own."""
        if self._queue is None:
            try:
                made = pyopencl.CommandQueue(self.native, self.native_device)
            except pyopencl.Error as error:
                raise native_error(error) from error
            with _lock:
                if self._queue is None:  # else another thread was faster
                    self._queue = made
        return self._queue

    @in_our_words
    def sync(self, queue: pyopencl.CommandQueue | None = None) -> None:
        """Wait until all work on a queue is done.

        Mappings wait for this context's own queue. Work that you enqueued on another queue is
        unknown to it: call this with that queue before you map, or pass map(queue=).

        Args:
            queue: a queue of this cl_context; None for the context's own.

        Raises:
            DeviceMismatchError: a queue of another cl_context.
        """
        if queue is None:
            self.queue.finish()
            return
        check_queue(queue, self)
        queue.finish()

    def allocate(
        self, shape: tuple[int, ...], dtype: Any = "uint8", kind: Kind = "buffer"
    ) -> OpenCLTensor:
        """New memory, owned by the tensor that is returned. Its contents are undefined.

        Args:
            shape: elements along each axis; for an image (rows, columns[, 2 or 4]).
            dtype: the element type.
            kind: "buffer", "image" (2-D), "usm_host", "usm_device", "usm_shared" (with
                cl_intel_unified_shared_memory), or "svm" (coarse-grained).

        Raises:
            LayoutError: a shape that this kind cannot have, or a negative extent.
            UnknownNameError: no such dtype or kind.
            MissingDependencyError: the device has no such memory.
            NativeError: the driver has no memory for it.
        """
        native, storage, info = allocate(self, shape, dtype, kind)
        return OpenCLTensor.owned(native, self, storage, info=info)

    def allocate_frame(
        self,
        format: str | ImageFormat,
        width: int,
        height: int,
        kind: Kind = "buffer",
        **says: Unpack[FrameSays],
    ) -> OpenCLFrame:
        """A new image, owned by the frame that is returned. Its contents are undefined.

        With kind "buffer" all planes are sub-buffers of one buffer, dense, each at an offset that
        the device can take. With every other kind, each plane is an allocation of its own: two
        images for NV12.

        Args:
            kind: "buffer", "image", "usm_host", "usm_shared", "usm_device" or "svm".
            says: `pts`, `time_base`, `duration` and `metadata`, as for `samebytes.frame`.

        Raises:
            LayoutError: a size that the format cannot have.
            UnknownNameError: no such format or kind.
            MissingDependencyError: the device has no such memory.
        """
        image = ImageInfo(ImageFormat.of(format), width, height)
        natives, pieces = allocate_planes(self, image, kind)
        return OpenCLFrame.owned(natives, self, FrameMeta(image), pieces[-1], made=pieces)


_lock = Lock()
# By cl_device_id.
_defaults: ContextRegistry[OpenCLContext] = ContextRegistry()
_living: ContextRegistry[OpenCLContext] = ContextRegistry()


def _default(device: pyopencl.Device) -> OpenCLContext:
    """The living context made for a device, else a new one: drivers take long to make one."""
    return _defaults.find_or_make(device.int_ptr, partial(_make, device))


@in_our_words
def _make(device: pyopencl.Device) -> OpenCLContext:
    return OpenCLContext(pyopencl.Context([device]), device)


def _on_device_of(parent: Context, name: str | None) -> OpenCLContext:
    """The default context of the GPU of `parent`, or of the named device if it can be that."""
    if name is None:
        return _default(same_device(parent))
    device = find_device(name)
    if describe(device).same(parent.device) is False:
        raise DeviceMismatchError(
            f"opencl:{name} ({device.name.strip()}) is not the device of {parent!r}: "
            f"use samebytes.context('opencl:{name}') if it need not be the same device"
        )
    return _default(device)


@in_our_words
def context(source: Any, *, device_index: int = 0) -> OpenCLContext:
    """The context over OpenCL objects of yours.

    Args:
        source: a pyopencl.Context, a cl_context as an int, a `ctypes.c_void_p` or a PyCapsule, a
            pyopencl.CommandQueue (its context and device are taken, and mappings work on it), or a
            samebytes context that has a cl_context or a VA display.
        device_index: the index of the device in a cl_context; a queue has its own device.

    Raises:
        LayoutError: no such device, or a number that is not a valid cl_context.
        UnsupportedObjectError: it is none of these.
    """
    if isinstance(source, OpenCLContext):
        return source
    if isinstance(source, Context):
        derived = source.derive("opencl")
        assert isinstance(derived, OpenCLContext)
        return derived
    if isinstance(source, pyopencl.CommandQueue):
        return intern(OpenCLContext(source.context, source.device, source))
    if not isinstance(source, pyopencl.Context):
        try:
            handle = native_pointer(source, "a cl_context")
        except UnsupportedObjectError:
            raise UnsupportedObjectError(
                f"a {type(source).__name__} is not an OpenCL context: pass a pyopencl.Context or "
                "CommandQueue, a cl_context as an int or a ctypes.c_void_p, or a samebytes context"
            ) from None
        drivers = [(d.platform.int_ptr, d.int_ptr) for d in devices().values()]
        check_handle(handle, "cl_context", drivers)
        source = pyopencl.Context.from_int_ptr(handle, retain=True)
    found = source.devices
    if not 0 <= device_index < len(found):
        raise LayoutError(
            f"device_index {device_index} of a cl_context with {len(found)} devices: "
            f"pass 0 to {len(found) - 1}"
        )
    return intern(OpenCLContext(source, found[device_index]))


def context_of(native: pyopencl.Context) -> OpenCLContext:
    """The context to which memory of a cl_context belongs.

    That is the living one, if there is only one: it knows the queue. Else it is the one without a
    queue, made if need be.
    """
    entry = "cl_context", native.int_ptr
    living = [found for found in _living.all() if entry in found.key[2]]
    return living[0] if len(living) == 1 else context(native)


def _of_context(native: pyopencl.Context, device: int) -> pyopencl.Device:
    for found in native.devices:
        if found.int_ptr == device:
            return found
    raise DeviceMismatchError(
        f"the cl_device_id {device:#x} is none of the devices of the cl_context {native.int_ptr:#x}"
    )
