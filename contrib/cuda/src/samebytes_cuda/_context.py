# SPDX-License-Identifier: Apache-2.0
"""CudaContext: a CUDA context, where memory is allocated; and CudaTensor, an array there."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from samebytes import (
    Context,
    Fd,
    Frame,
    FrameMeta,
    ImageFormat,
    ImageInfo,
    Tensor,
    TensorInfo,
)
from samebytes.errors import ClosedError, NativeError, UnknownNameError, UnsupportedObjectError
from samebytes.plugins import ContextRegistry, native_pointer, ordering_queue

from . import _dlpack, _streams
from ._array import CudaArray
from ._devices import describe, names, ordinal_of
from ._driver import ATTRIBUTE, LEGACY_STREAM, Current, attribute, call, driver, initialize
from ._foreign import Lent, borrow
from ._memory import Allocation, Kind, allocate
from ._staging import free_spare
from ._streams import follows_home_of, free_events, handle_of, known_handle, known_streams
from ._use import CudaStorage
from ._visiting import Uses, Visit

if TYPE_CHECKING:
    from typing import Self, Unpack

    from samebytes.plugins import FrameSays

__all__ = ["CudaContext", "CudaTensor", "array_of", "context", "home_of"]

_new = object.__new__


class CudaTensor(Tensor):
    """An array in device, pinned or managed memory.

    `native` is the wrapped object (an array of torch, CuPy, Numba or JAX), or a CudaArray.

    Handles: "cuda_ptr"; "data" of pinned and managed memory.

    As a DLPack producer, pinned memory is on the CPU and managed memory on the GPU, where array
    libraries know it; a consumer that asks for kDLCUDAHost or kDLCUDAManaged gets that. Work
    pending on the memory is ordered before the stream that the consumer names.
    """

    __slots__ = ()

    context: CudaContext

    @classmethod
    def wrap(cls, native: Any) -> Self:
        """A tensor over an object with DLPack or the array interface, which stays the user's.

        Raises:
            UnsupportedObjectError: it lends no CUDA memory.
            LayoutError: the object does not match its own description.
        """
        if isinstance(native, CudaArray):
            home, keep, readonly = native.context, native.pin, native.readonly
            return cls.borrowed(native, home, keep=keep, readonly=readonly, info=native.info)
        lent = borrow(native, home_of)
        readonly, info, home = lent.forbids_writing, lent.info, cast(CudaContext, lent.context)
        return cls.borrowed(native, home, keep=lent, readonly=readonly, info=info)

    def host_array(self) -> np.ndarray[Any, Any]:
        """An array over pinned or managed memory, which keeps it alive. The memory is complete.

        Raises:
            NotHostVisibleError: this is device memory.
        """
        array = array_of(self).array()
        self.wait()
        if self.readonly:
            array.setflags(write=False)
        return array

    @property
    def kind(self) -> str:
        """ "device", "pinned", "managed" or "exportable"."""
        return array_of(self).kind

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """The CUDA array interface, version 3; see `CudaArray`."""
        array = array_of(self)
        if self.readonly and not array.readonly:
            array = array.as_readonly()
        return array.__cuda_array_interface__

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        native = self.native
        array = native if type(native) is CudaArray else array_of(self)
        return _dlpack.export(array, self.readonly, stream, max_version, dl_device, copy)

    def __dlpack_device__(self) -> tuple[int, int]:
        native = self.native
        if type(native) is not CudaArray:
            native = array_of(self)
        if native.kind == "device" and native.context.is_primary:
            return _dlpack.CUDA, native.context.ordinal  # as nearly always, and without a call
        return _dlpack.device_of(native)

    def export_fd(self) -> Fd:
        """A new descriptor of the whole allocation, for cuMemImportFromShareableHandle().

        It is not a DMA-BUF: for one, map to "dma".

        Raises:
            UnsupportedObjectError: the memory was not allocated with kind="exportable".
            NativeError: the driver fails.
        """
        keep = cast(CudaStorage, self.storage).keep
        if not isinstance(keep, Allocation):
            raise UnsupportedObjectError(
                f"{self.kind} memory has no descriptor: allocate it with kind='exportable'"
            )
        return keep.export()

    def _describe(self) -> TensorInfo:
        return array_of(self).info

    def _handle(self, key: str) -> int | None:
        if key == "cuda_ptr":
            return array_of(self).address
        return super()._handle(key)


def array_of(item: Tensor) -> CudaArray:
    """The array of a CUDA tensor."""
    native = item.native
    if isinstance(native, CudaArray):
        return native
    return cast(Lent, item.storage).array(item.readonly)


class CudaContext(Context[CudaTensor]):
    """A CUDA context: `samebytes.context("cuda")`, "cuda:1", or `context(handle)` for your own.

    By default it is a device's primary context, which torch, CuPy, JAX and CUDA's runtime use. It
    is retained from its first use to the end of the process. This object ends with its last holder,
    or with close() once arrays of others were wrapped in it.

    All mappings are ordered by the context's legacy default stream. With `map(queue=stream)` the
    stream waits for pending work, and nothing waits on the CPU.

    Handles: "cuda_context", "cuda_device", "cuda_stream".

    Attributes:
        native: the CUcontext of cuda-bindings.
        ordinal: the device's number.
        is_primary: True if it is the device's primary context.
        queues: the latest streams that callers passed, by handle. For this package.
    """

    memory_type = "cuda"
    node = "cuda"
    tensor_class = CudaTensor
    primary_handle = "cuda_ptr"

    native: driver.CUcontext
    ordinal: int
    is_primary: bool

    def __init__(
        self, native: driver.CUcontext, ordinal: int, is_primary: bool,
        parent: Context | None = None,
    ) -> None:  # fmt: skip
        handles = {
            "cuda_context": int(native),
            "cuda_device": ordinal,
            "cuda_stream": LEGACY_STREAM,
        }
        super().__init__(describe(ordinal), handles=handles, parent=parent)
        self.queues: dict[int, Any] = {}
        self.native = native
        self.ordinal = ordinal
        self.is_primary = is_primary

    @classmethod
    def create(cls, device: str | None, parent: Context | None) -> Self:
        """The context over the primary CUDA context of a device, by default the first.

        Args:
            device: the ordinal of the device.
            parent: a context with a handle "cuda_context", whose CUcontext is then used instead.

        Raises:
            MissingDependencyError: there is no driver, or no device.
            UnknownNameError: there is no such device, or the parent has no CUcontext.
        """
        initialize()
        if parent is not None:
            return _at(parent.handle("cuda_context"), parent)  # type: ignore[return-value]  # its class
        return cls._primary(ordinal_of(device))

    @classmethod
    def _primary(cls, ordinal: int) -> Self:
        return cls._of_native(_retain(ordinal), ordinal, is_primary=True)

    @classmethod
    def _of_native(
        cls, native: driver.CUcontext, ordinal: int, *, is_primary: bool = False,
        parent: Context | None = None,
    ) -> Self:  # fmt: skip
        key = int(native), ordinal
        found = _contexts.find_or_make(key, lambda: cls(native, ordinal, is_primary, parent))
        assert isinstance(found, cls), "there is one class of contexts"
        return found

    def allocate(
        self, shape: Sequence[int], dtype: Any = "uint8", kind: Kind = "device"
    ) -> CudaTensor:
        """New memory, owned by the tensor that is returned. Its contents are undefined.

        It is given back when its last holder is gone, once all work of the context is done.

        Args:
            shape: elements along each axis.
            dtype: the element type.
            kind: "device" (which the CPU cannot read), "pinned" (memory of the host that the device
                reads and writes), "managed" (the driver moves it to whichever processor uses it),
                or "exportable" (device memory that other processes and APIs can import:
                `CudaTensor.export_fd`).

        Raises:
            LayoutError: a negative extent.
            UnknownNameError: no such dtype or kind.
            NativeError: the device has no memory for it, or none of that kind.
        """
        info = TensorInfo(dtype, shape)
        address, pin = allocate(self, info.nbytes, kind)
        native = CudaArray(self, address, info, kind, pin)
        return CudaTensor.owned(native, self, pin, info=info)

    def allocate_frame(
        self,
        format: str | ImageFormat,
        width: int,
        height: int,
        kind: Kind = "device",
        **says: Unpack[FrameSays],
    ) -> Frame[CudaTensor]:
        """A new image in one piece of memory, planes one after another without gaps.

        Args:
            kind: "device", "pinned", "managed" or "exportable".
            says: `pts`, `time_base`, `duration` and `metadata`, as for `samebytes.frame`.

        Raises:
            LayoutError: a size that the format cannot have.
            UnknownNameError: no such format or kind.
            NativeError: the device has no memory for it.
        """
        image = ImageInfo(ImageFormat.of(format), width, height)
        address, pin = allocate(self, image.nbytes, kind)
        planes = tuple(
            CudaArray(self, address + p.offset, TensorInfo(p.dtype, p.shape, p.strides), kind, pin)
            for p in image.packed_layouts()
        )
        return Frame.owned(planes, self, FrameMeta(image), pin)

    def import_planes(
        self, places: Sequence[tuple[int, TensorInfo]], *, keep: object, stream: int,
        readonly: bool, holder: object = None,
    ) -> tuple[tuple[CudaArray, ...], CudaStorage]:  # fmt: skip
        """Device memory of another framework, for mappers of plugins whose target is "cuda".

            planes, storage = self.target.import_planes(places, keep=frame, stream=0, readonly=True)
            return planes, None, storage

        Work enqueued on the framework's stream is ordered before all use of the arrays, and that
        before the work that the framework enqueues once `keep` was dropped.

        Args:
            places: the address and the layout of each array, in this CUcontext.
            keep: the object that keeps the memory valid; dropped with the last array and its
                consumers.
            stream: the CUstream on which the framework writes to the memory and uses it again; 0
                for the legacy default stream.
            readonly: True if the memory must not be written to.
            holder: an object that keeps the stream alive as long as it lives itself, so that the
                driver is asked about the stream once, not for each piece of memory.

        Returns:
            The arrays, and their owner.

        Raises:
            DeviceMismatchError: the stream belongs to another context.
            NativeError: the driver fails.
        """
        if self.closed:
            self.check_open()
        lender, queue = stream or LEGACY_STREAM, ordering_queue()
        # For each frame of each decoder, so what is known already is looked up without a call.
        known = known_streams.get(id(holder))
        if known is not None and known[0] == (int(self.native), lender):
            is_ordered = known[1]
        else:
            is_ordered = follows_home_of(self, lender, holder)
        queues: dict[int, Any] = {}
        handle: Any = LEGACY_STREAM
        if queue is not None:
            handle = getattr(queue, "cuda_stream", None)
            if type(handle) is not int or handle not in self.queues:
                handle = known_handle(self, queue)
            queues[handle] = queue
        uses = Uses(self, lender, is_ordered, keep, queues)
        # Before there is an owner, whose end would fail by the same stream. A queue waits for the
        # framework's stream alone; the default stream, which CUDA may order anyway, does so when
        # somebody is to use the memory there.
        if handle == LEGACY_STREAM:
            uses.let_home_wait()
        elif handle != lender:
            _streams.order_known(self, lender, (handle,))
        release, flush = partial(uses.settle, ends=True), None if readonly else uses.settle
        pin = Visit(release, holds=uses, wait=uses.finish, flush=flush, at_exit=True)
        pin.context, pin.handed_out, pin.uses = self, False, uses
        pin.ordered = handle
        if handle == _streams.PER_THREAD_STREAM:
            pin.hand_out()  # who gives the memory back may be another thread, which has another one
        arrays = []
        for address, info in places:
            array = _new(CudaArray)  # its constructor is a function of Python for each plane
            array.context, array.address, array.info = self, address, info
            array.kind, array.pin, array.readonly = "device", pin, readonly
            arrays.append(array)
        return tuple(arrays), pin

    def order(self, item: Tensor | Frame, queue: Any) -> bool:
        """Let a stream wait for the work pending on memory of this context."""
        stream = handle_of(queue)
        for part in item.planes if isinstance(item, Frame) else (item,):
            array_of(part).order_before(stream)
        return True

    def readonly_native(self, native: Any) -> Any:
        """The same array, marked; objects of others cannot be."""
        return native.as_readonly() if isinstance(native, CudaArray) else native

    def finish(self) -> None:
        """Wait for the legacy default stream, and so for all work that is ordered before it.

        Raises:
            NativeError: it failed, or the context is gone.
        """
        with Current(self.native):
            call(driver.cuStreamSynchronize, driver.CUstream(LEGACY_STREAM))

    def synchronize(self) -> None:
        """Wait until all work of the context is done, on every stream.

        Raises:
            NativeError: it failed, or the context is gone.
        """
        with Current(self.native):
            call(driver.cuCtxSynchronize)

    def supports(self, name: str) -> bool:
        """True if the device has an attribute, by its name in CUdevice_attribute.

        Args:
            name: such as "MANAGED_MEMORY", or in full "CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY".

        Raises:
            UnknownNameError: cuda-bindings knows no such attribute. Newer versions know more.
        """
        short = name.removeprefix(ATTRIBUTE)
        known = driver.CUdevice_attribute.__members__
        if ATTRIBUTE + short not in known:
            prefix = ATTRIBUTE if name.startswith(ATTRIBUTE) else ""
            names = (prefix + key.removeprefix(ATTRIBUTE) for key in known)
            raise UnknownNameError("attribute of a CUDA device", name, names)
        return attribute(short, self.ordinal) != 0

    def _on_close(self) -> None:
        if _homes.get(self.ordinal) is self:
            del _homes[self.ordinal]
        free_spare(self)
        free_events(self)


@cache
def _retain(ordinal: int) -> driver.CUcontext:
    """The primary context of a device, retained to the end of the process.

    Retaining it again for each tensor, in a program that holds no context, would cost calls of the
    driver, which may wait for the device's work. It is not released at exit: everything that the
    driver holds ends with the process.
    """
    initialize()  # of an empty array nothing was asked before
    return call(driver.cuDevicePrimaryCtxRetain, ordinal)


_contexts: ContextRegistry[CudaContext] = ContextRegistry()
# The primary contexts in which arrays were wrapped, by ordinal. A program that only wraps and maps
# holds none, and would make one, and compile its routes, for each frame. They hold no more than the
# CUDA context, which is retained anyway, and leave when they are closed.
_homes: dict[int, CudaContext] = {}


def context(handle: Any) -> CudaContext:
    """The context over a CUcontext of yours, which must outlive its memory: it is not held.

    Args:
        handle: the CUcontext, as an int, a `ctypes.c_void_p`, a PyCapsule, or an object of
            cuda-bindings.

    Returns:
        The context; for a device's primary context, that of `samebytes.context("cuda:N")`.

    Raises:
        UnsupportedObjectError: it is not a handle.
        ClosedError: CUDA says that the context is gone. NVIDIA's driver does not always notice.
        NativeError: the driver fails.
    """
    initialize()
    given = int(handle) if isinstance(handle, driver.CUcontext) else handle
    return _at(native_pointer(given, "a CUcontext"), None)


def _at(handle: int, parent: Context | None) -> CudaContext:
    """The context over a CUcontext, which `parent` owns."""
    native = driver.CUcontext(handle)
    try:
        with Current(native):
            ordinal = int(call(driver.cuCtxGetDevice))
    except NativeError as error:
        raise ClosedError(f"the CUcontext {int(native):#x} cannot be used: {error}") from error
    if str(ordinal) not in names():  # what NVIDIA's driver may say of a context that is gone
        raise ClosedError(f"the CUcontext {int(native):#x} cannot be used: it has no device")
    primary = CudaContext._primary(ordinal)
    if int(primary.native) == handle:
        return primary
    return CudaContext._of_native(native, ordinal, parent=parent)


def home_of(native: int, ordinal: int) -> CudaContext:
    """The context of memory, from the driver's information about it.

    Args:
        native: the CUcontext; 0 for memory that belongs to the device and not to a context.
        ordinal: the device's number.
    """
    found = _homes.get(ordinal)
    if found is None or found.closed:
        found = _homes[ordinal] = CudaContext._primary(ordinal)
    if not native or int(found.native) == native:
        return found
    return CudaContext._of_native(driver.CUcontext(native), ordinal)
