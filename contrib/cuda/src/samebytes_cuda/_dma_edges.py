# SPDX-License-Identifier: Apache-2.0
"""The edges between CUDA memory and DMA-BUFs."""

from __future__ import annotations

import mmap
import threading
from functools import partial
from typing import Any, cast

from samebytes import Access, Fd, MemoryMapper, Storage, Tensor, TensorInfo
from samebytes.errors import AccessError, LayoutError, NativeError
from samebytes.formats import is_linear_modifier
from samebytes.plugins import Refused, file_identity, memory_size, ordering_queue

from ._array import CudaArray
from ._context import CudaContext, CudaTensor, array_of
from ._driver import Current, Pending, acquire, attribute, call, descriptor, driver
from ._streams import handle_of, precede
from ._to_cpu import wait_for
from ._use import owner

__all__ = ["CudaToDma", "DmaToCuda"]


class CudaToDma(MemoryMapper):
    """cuda -> dma: a DMA-BUF of the whole allocation, and the place of the array in it."""

    __slots__ = ()

    def connect(
        self, item: CudaTensor, access: Access
    ) -> tuple[Any, TensorInfo | None, Storage | None]:
        """An array in a buffer around the exported descriptor."""
        native = array_of(item)
        target: Any = self.target  # a class of the dma plugin, which must not be imported here
        if native.host_visible:
            raise Refused(
                f"{native.kind} memory belongs to the host: the driver exports only device memory"
            )
        if not native.context.supports("DMA_BUF_SUPPORTED"):
            raise Refused("the device cannot export its memory as a DMA-BUF")
        # CUDA 13 has the attribute first.
        mappable = bool(attribute("DMA_BUF_MMAP_SUPPORTED", native.context.ordinal))
        fd, base = _exported(native)
        try:
            buffer = target.import_fd(fd, keep=native.pin, mappable=mappable)
            plane = buffer.plane(native.info, offset=native.address - base)
        except (AccessError, LayoutError) as error:
            raise Refused(str(error)) from error
        queue = ordering_queue()
        if queue is not None:
            native.order_before(handle_of(queue))
        else:
            wait_for(native)
        native.pin.hand_out()
        return plane, None, buffer.storage


def _exported(native: CudaArray) -> tuple[Fd, int]:
    """A DMA-BUF of the allocation that the array lies in, and the allocation's address."""
    kind = driver.CUmemRangeHandleType.CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD
    try:
        with Current(native.context.native):
            base, size = call(driver.cuMemGetAddressRange, native.address)
            base, size = int(base), int(size)
            if base % mmap.PAGESIZE:
                raise Refused(
                    f"the allocation at {base:#x} does not begin with a page, as a DMA-BUF must: "
                    'allocate it with kind="exportable"'
                )
            whole = -(-size // mmap.PAGESIZE) * mmap.PAGESIZE
            return descriptor(driver.cuMemGetHandleForAddressRange, base, whole, kind, 0), base
    except NativeError as error:
        raise Refused(
            f'the driver does not export this memory ({error}): allocate it with kind="exportable"'
        ) from error


class DmaToCuda(MemoryMapper):
    """dma -> cuda: a DMA-BUF as external memory, on drivers that take one."""

    __slots__ = ()

    def connect(
        self, item: Tensor, access: Access
    ) -> tuple[Any, TensorInfo | None, Storage | None]:
        """Device memory over the same bytes, through the driver's import of the buffer."""
        target = cast(CudaContext, self.target)
        modifier = item.handle("drm_modifier")
        if not is_linear_modifier(modifier):
            raise Refused(f"memory of modifier {modifier:#x} is not linear")
        info, offset = item.info, item.handle("offset")
        low, high = info.extent
        item.wait()
        pending: Pending = []
        pin = owner(target, pending, nbytes=high - low, keep=item.storage)
        try:
            address = _imported(target, pending, item.handle("dma_fd"), offset + high)
        except NativeError as error:
            raise Refused(
                f"NVIDIA's driver does not import DMA-BUFs here ({error}): copy through the CPU, "
                'map("cpu") and then map("cuda", copy=True)'
            ) from error
        queue = ordering_queue()
        if queue is not None:
            precede(target, handle_of(queue))
        return CudaArray(target, address + offset, info, "device", pin, access == "r"), info, pin


class _Descriptions(threading.local):
    """The argument of cuImportExternalMemory, made once for each thread.

    cuda-bindings' object refers to itself: one for each import would wait for Python's collector.
    """

    def __init__(self) -> None:
        self.memory = driver.CUDA_EXTERNAL_MEMORY_HANDLE_DESC()


_descriptions = _Descriptions()


def _imported(target: CudaContext, pending: Pending, fd: int, nbytes: int) -> int:
    """The address of the buffer's first byte; `pending` gets the calls that give it back."""
    description = _descriptions.memory
    kinds = driver.CUexternalMemoryHandleType
    kind = getattr(kinds, "CU_EXTERNAL_MEMORY_HANDLE_TYPE_DMABUF_FD", None)
    if kind is None:
        raise NativeError("cuImportExternalMemory", 801, "this cuda-bindings knows no DMA-BUFs")
    own = Fd.borrow(fd)
    pending.append(partial(_close_if_ours, own, file_identity(fd)))
    description.type = kind
    description.handle.fd = own.fileno()
    description.size = max(memory_size(fd), nbytes)
    part = driver.CUDA_EXTERNAL_MEMORY_BUFFER_DESC()
    part.offset, part.size = 0, nbytes
    with Current(target.native):
        destroy = driver.cuDestroyExternalMemory
        memory = acquire(pending, destroy, driver.cuImportExternalMemory, description)
        map_ = driver.cuExternalMemoryGetMappedBuffer
        return int(acquire(pending, driver.cuMemFree, map_, memory, part))


def _close_if_ours(fd: Fd, file: tuple[int, int]) -> None:
    """Close a descriptor unless the driver took it, on which CUDA's documentation is silent."""
    if fd.closed:  # a release that was interrupted is called again
        return
    # Owned until that is known: an exception of a signal handler would leave it open.
    try:
        taken = file_identity(fd.fileno()) != file
    except LayoutError:  # closed
        taken = True
    if taken:
        fd.detach()
    else:
        fd.close()
