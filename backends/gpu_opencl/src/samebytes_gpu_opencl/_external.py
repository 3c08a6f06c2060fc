# SPDX-License-Identifier: Apache-2.0
"""Memory of other APIs as buffers: cl_khr_external_memory.

OpenCL's rule (specification, "External Memory Objects"): memory is acquired before commands use it
and released before the other API does; in between the other side must not touch it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from ctypes import byref, c_uint64, c_void_p
from functools import partial
from typing import TYPE_CHECKING

from pyopencl import mem_flags

from samebytes import Fd, TensorInfo
from samebytes.errors import (
    LayoutError,
    MissingDependencyError,
    UnsupportedObjectError,
)
from samebytes.plugins import KeyLocks, file_identity

from ._abi import external_memory as abi
from ._devices import has_extension
from ._handles import platform_of
from ._library import call_noting, extension_function, making
from ._natives import pinned_buffer
from ._parts import MemStorage, check_extent
from ._queues import WorkQueue

if TYPE_CHECKING:
    from typing import Any

    from ._context import OpenCLContext
    from ._tensor import OpenCLTensor

__all__ = ["ExternalBuffer", "import_dma_buf", "import_nt_handle", "nt_handle_properties"]


class ExternalBuffer(MemStorage):
    """The owner of an imported buffer: acquired now, released before it is given back.

    Its flush() makes writes visible to the other side: the buffer is released and acquired again.
    """

    __slots__ = ()

    def __init__(
        self,
        context: OpenCLContext,
        make: Callable[[c_void_p], None],
        nbytes: int,
        queue: WorkQueue,
        keep: object,
    ) -> None:
        super().__init__(context, make, nbytes, keep)
        handle = self.handle
        platform = platform_of(context.native_device)
        acquired = c_void_p()
        hand = partial(_hand, platform, queue, handle)
        self.release = partial(_give_back, hand, acquired, self.release)
        hand(_ACQUIRE, acquired)
        self.flush = partial(_let_see, hand, acquired)


def import_dma_buf(
    context: OpenCLContext, fd: int, nbytes: int, queue: WorkQueue, *, readonly: bool, keep: object
) -> ExternalBuffer:
    """A buffer over a whole linear DMA-BUF.

    The specification gives the descriptor to the implementation, and not every driver takes it.
    One that does gets a duplicate; see `_takes_descriptors`.

    Args:
        fd: the descriptor, which stays the caller's, and open as long as `keep` lives.
        nbytes: the size of the DMA-BUF.
        keep: the owner of the descriptor.

    Raises:
        MissingDependencyError: the device imports no DMA-BUFs.
        NativeError: the driver refuses this one.
    """
    _check_extension(context, abi.DMA_BUF_EXTENSION)
    make = partial(_make, context, nbytes, readonly)
    if _takes_descriptors(context, fd, make):
        with Fd.borrow(fd) as own:
            importing = make(_dma_buf_properties(own.fileno()))

            def import_(cell: c_void_p) -> None:
                importing(cell)
                own.detach()

            return ExternalBuffer(context, import_, nbytes, queue, keep)
    return ExternalBuffer(context, make(_dma_buf_properties(fd)), nbytes, queue, keep)


def import_nt_handle(
    context: OpenCLContext, handle: int, shape: Sequence[int], dtype: Any = "uint8"
) -> OpenCLTensor:
    """A tensor over memory that Direct3D 12, Vulkan or CUDA exported as an NT handle. Windows only.

    Args:
        context: the context to import it into; its device needs cl_khr_external_memory_win32.
        handle: the HANDLE, which stays the caller's: close it when the tensor is gone.
        shape, dtype: its layout, dense.

    Raises:
        UnsupportedObjectError: this is not Windows.
        LayoutError: no handle, or an empty layout.
        MissingDependencyError: the device imports no NT handles.
        NativeError: the driver refuses this one.
    """
    info = TensorInfo(dtype, shape)
    properties = nt_handle_properties(handle)
    nbytes = check_extent(info, 1 << 63, "memory")
    if not nbytes:
        raise LayoutError("OpenCL does not support empty buffers")
    if sys.platform != "win32":
        raise UnsupportedObjectError(
            "NT handles exist only on Windows: on Linux memory is shared by DMA-BUF, see "
            "samebytes-dma"
        )
    _check_extension(context, abi.WIN32_EXTENSION)
    make = _make(context, nbytes, False, properties)
    storage = ExternalBuffer(context, make, nbytes, WorkQueue(context.queue, False), None)
    native = pinned_buffer(storage.handle, storage, info)
    return context.tensor_class.owned(native, context, storage, info=info)


def nt_handle_properties(handle: int) -> tuple[int, ...]:
    """The property list with which clCreateBufferWithProperties imports an NT handle.

    Args:
        handle: the HANDLE, as a number. It stays the caller's.

    Raises:
        LayoutError: null, INVALID_HANDLE_VALUE, or more bits than a HANDLE has.
    """
    if not isinstance(handle, int) or not 0 < handle < (1 << 64) - 1:
        raise LayoutError(f"{handle!r} is not an NT handle")
    return abi.CL_EXTERNAL_MEMORY_HANDLE_OPAQUE_WIN32_KHR, handle, 0


def _dma_buf_properties(fd: int) -> tuple[int, ...]:
    return abi.CL_EXTERNAL_MEMORY_HANDLE_DMA_BUF_KHR, fd, 0


def _check_extension(context: OpenCLContext, name: str) -> None:
    if not has_extension(context.native_device, name):
        raise MissingDependencyError(
            "opencl", f"{name} on {context.native_device.name.strip()}", "use a device that has it"
        )


def _make(
    context: OpenCLContext, nbytes: int, readonly: bool, properties: tuple[int, ...]
) -> Callable[[c_void_p], None]:
    name = "clCreateBufferWithProperties"
    create = extension_function(platform_of(context.native_device), name)
    if create is None:
        raise MissingDependencyError("opencl", f"{name} (OpenCL 3.0)", "update the driver")
    flags = int(mem_flags.READ_ONLY if readonly else mem_flags.READ_WRITE)
    values = (c_uint64 * len(properties))(*properties)
    return making(name, context.native.int_ptr, values, flags, nbytes, None, function=create)


_taking: dict[int, bool] = {}
_trying = KeyLocks()


def _takes_descriptors(context: OpenCLContext, fd: int, make: Any) -> bool:
    """True if this driver closes the descriptors that it imports.

    Tried once for each driver, by checking if a duplicate is open after the import was undone.
    """
    platform = platform_of(context.native_device)
    if platform in _taking:
        return _taking[platform]
    # Two trials at a time would take each other's descriptors for their own.
    with _trying.of(platform):
        if platform not in _taking:
            trial = Fd.borrow(fd)
            number = trial.fileno()
            before = file_identity(number)
            MemStorage(context, make(_dma_buf_properties(number)), 1)  # and released
            try:
                open_ = file_identity(number) == before
            except LayoutError:
                open_ = False
            if not open_:
                trial.detach()
            trial.close()
            _taking[platform] = not open_
        return _taking[platform]


_ACQUIRE = "clEnqueueAcquireExternalMemObjectsKHR"
_RELEASE = "clEnqueueReleaseExternalMemObjectsKHR"


def _hand(platform: int, queue: WorkQueue, handle: int, name: str, noted: c_void_p) -> None:
    """Acquire or release, by the name of the function; the cell records if it is acquired."""
    function = extension_function(platform, name)
    if function is None:
        raise MissingDependencyError("opencl", name, "update the driver")
    arguments = queue.handle, 1, byref(c_void_p(handle)), 0, None, None
    now = handle if name == _ACQUIRE else None
    call_noting(noted, now, name, *arguments, function=function)
    queue.hand_over()


def _let_see(hand: Any, acquired: c_void_p) -> None:
    if acquired.value:  # it is not where this failed, or was interrupted, in between
        hand(_RELEASE, acquired)
    hand(_ACQUIRE, acquired)


def _give_back(hand: Any, acquired: c_void_p, release: Any) -> None:
    try:
        if acquired.value:
            hand(_RELEASE, acquired)
    except Exception:
        release()
        raise
    release()
