# SPDX-License-Identifier: Apache-2.0
"""The context of CPU memory: allocates whole pages, so that devices can import them later."""

from __future__ import annotations

import ctypes
import mmap
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.context import HostContext
from .._core.frame import Frame
from .._core.frame_meta import FrameMeta
from .._core.info import TensorInfo
from .._core.storage import Storage
from .._dtypes import BY_NUMPY, from_numpy
from ..errors import LayoutError, NativeError
from ..formats import ImageFormat, ImageInfo
from .tensor import CpuTensor

if TYPE_CHECKING:
    from typing import Self

__all__ = ["CPU", "CpuContext", "allocate_pages", "places_of_planes", "wrap_array"]


class CpuContext(HostContext[CpuTensor]):
    """CPU memory. There is one: `samebytes.context("cpu")`."""

    memory_type = "cpu"
    node = "cpu"
    tensor_class = CpuTensor

    @classmethod
    def create(cls, device: str | None, parent: object) -> Self:
        """The one CPU context."""
        super().create(device, None)
        return CPU  # type: ignore[return-value]  # the singleton is of this very class

    def allocate(self, shape: tuple[int, ...], dtype: Any = "uint8") -> CpuTensor:
        """New zeroed memory on its own pages: its address is a multiple of the page size.

        The size in memory is rounded up to whole pages as well, so that an API which imports
        whole pages (OpenVINO's NPU, OpenCL) can take it.

        Raises:
            LayoutError: a negative extent, or more bytes than there are addresses.
            NativeError: the system has no memory for it.
            UnknownNameError: no such dtype.
        """
        info = TensorInfo(dtype, shape)
        storage = allocate_pages(info.nbytes)
        lazy = info if info.dtype.numpy is None else None
        return CpuTensor.owned(_array_in(storage, 0, info), self, storage, info=lazy)

    def allocate_frame(
        self, format_: str | ImageFormat, width: int, height: int
    ) -> Frame[CpuTensor]:
        """A new image in one piece of memory: dense planes one after another.

        Each plane begins at a multiple of 128 bytes, as GPUs want it.

        Raises:
            LayoutError: a size that the format cannot have.
            NativeError: the system has no memory for it.
            UnknownNameError: no such format.
        """
        image = ImageInfo(ImageFormat.of(format_), width, height)
        layouts = image.plane_layouts()
        offsets, nbytes = places_of_planes([p.span for p in layouts])
        storage = allocate_pages(nbytes)
        native = tuple(
            _array_in(storage, offset, TensorInfo(p.dtype, p.shape, p.strides))
            for offset, p in zip(offsets, layouts, strict=True)
        )
        return Frame.owned(native, self, FrameMeta(image), storage)


def _array_in(storage: Storage, offset: int, info: TensorInfo) -> np.ndarray[Any, Any]:
    pages = np.asarray(storage)
    if info.dtype.packed:
        return pages[offset : offset + info.nbytes]
    return np.ndarray(info.shape, info.dtype.carrier, pages, offset, info.strides)


# Vector code (FFmpeg's scaler, for one) reads up to a register past the last pixel.
_SLACK = 64
# Windows has neither fork() nor these flags.
_PRIVATE: dict[str, int] = (
    {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if sys.platform != "win32" else {}
)


# OpenCL drivers copy host memory that begins within a cache line of 64 bytes, and Intel's let
# sub-buffers begin at multiples of 128 (CL_DEVICE_MEM_BASE_ADDR_ALIGN).
_PLANE_ALIGNMENT = 128


def places_of_planes(sizes: Iterable[int]) -> tuple[list[int], int]:
    """Where in one piece of memory planes of these bytes begin, and the bytes of the piece."""
    offsets, end = [], 0
    for size in sizes:
        offsets.append(end)
        end += -(-size // _PLANE_ALIGNMENT) * _PLANE_ALIGNMENT
    return offsets, end


def allocate_pages(nbytes: int) -> Storage:
    """At least `nbytes` zeroed bytes in whole anonymous pages, unmapped with the last holder.

    After fork() parent and child have their own pages, as with any array.
    """
    size = -(-(nbytes + _SLACK) // mmap.PAGESIZE) * mmap.PAGESIZE
    try:
        pages = mmap.mmap(-1, size, **_PRIVATE)
    except OverflowError as error:
        raise LayoutError(f"{nbytes} bytes exceed the address space") from error
    except OSError as error:
        raise NativeError("mmap", error.errno or 0, f"no memory for {nbytes} bytes") from error
    # The mmap object unmaps when it is dropped; a held memoryview would make close() refuse, so
    # the address is taken and the export given back at once.
    address = ctypes.addressof(ctypes.c_char.from_buffer(pages))
    return Storage(pages.close, address=address, nbytes=size)


CPU = CpuContext()
CpuTensor.home = CPU


def wrap_array(native: np.ndarray[Any, Any]) -> CpuTensor:
    """`CpuTensor.wrap` for what is a numpy.ndarray and no subclass: most objects are."""
    if native.dtype not in BY_NUMPY:
        from_numpy(native.dtype)  # says what is wrong with it
    # By position and without a call between: this is the call that wraps most arrays.
    return CpuTensor(native, CPU, native, None, not native.flags.writeable)
