# SPDX-License-Identifier: Apache-2.0
"""The context of CPU memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _exchange
from .._core.edges.context import HostContext
from .._core.memory.frame import Frame
from .._core.memory.info import TensorInfo
from .._core.memory.meta import FrameMeta
from .._core.memory.tensor import CpuTensor
from .._dtypes import BY_NUMPY
from ..formats import ImageFormat, ImageInfo

if TYPE_CHECKING:
    from typing import Self, Unpack

    from .._core.memory.meta import FrameSays

__all__ = ["CPU", "CpuContext", "wrap_array", "wrap_exported"]


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

    def allocate(
        self, shape: tuple[int, ...], dtype: Any = "uint8", *, zeroed: bool = True
    ) -> CpuTensor:
        """New memory on its own pages: its address is a multiple of the page size.

        The size in memory is rounded up to whole pages as well, so that an API which imports
        whole pages (OpenVINO's NPU, OpenCL) can take it.

        Args:
            shape: elements along each axis.
            dtype: in any spelling.
            zeroed: whether all bytes are zero. False for memory that will be written as a whole:
                it comes from numpy's allocator, which has pages that were used before, and new
                ones take longer to get than to fill.

        Raises:
            LayoutError: a negative extent, or more bytes than there are addresses.
            NativeError: the system has no memory for it.
            UnknownNameError: no such dtype.
        """
        from .._core.native.arrays import array_in  # many programs only wrap what others allocate
        from .pages import allocate_pages

        info = TensorInfo(dtype, shape)
        storage = allocate_pages(info.nbytes, zeroed=zeroed)
        lazy = info if info.dtype.numpy is None else None
        return CpuTensor.owned(array_in(storage, info), self, storage, info=lazy)

    def allocate_frame(
        self,
        format: str | ImageFormat,
        width: int,
        height: int,
        *,
        zeroed: bool = True,
        **says: Unpack[FrameSays],
    ) -> Frame[CpuTensor]:
        """A new image in one piece of memory: dense planes one after another.

        Each plane begins at a multiple of 128 bytes, as GPUs want it.

        Args:
            format: in any spelling.
            width: pixels.
            height: pixels.
            zeroed: whether all bytes are zero, as in `allocate()`.
            says: `pts`, `time_base`, `duration` and `metadata`, as for `samebytes.frame`.

        Raises:
            LayoutError: a size that the format cannot have.
            NativeError: the system has no memory for it.
            UnknownNameError: no such format.
        """
        from .pages import allocate_pages, places_of_planes, planes_in  # as in allocate()

        image = ImageInfo(ImageFormat.of(format), width, height)
        layouts = image.plane_layouts()
        offsets, nbytes = places_of_planes([p.span for p in layouts])
        storage = allocate_pages(nbytes, zeroed=zeroed)
        native = planes_in(storage, layouts, offsets)
        return Frame.owned(native, self, FrameMeta(image), storage)


CPU = CpuContext()
CpuTensor.home = CPU


def wrap_array(native: np.ndarray[Any, Any]) -> CpuTensor:
    """`CpuTensor.wrap` for what is a numpy.ndarray and no subclass: most objects are."""
    base = native.base
    if native.dtype not in BY_NUMPY or (
        base is not None and (type(base) is not np.ndarray or base.base is not None)
    ):
        return CpuTensor.wrap(native)
    # By position and without a call between: this is the call that wraps most arrays.
    return CpuTensor(native, CPU, native, None, not native.flags.writeable)


def wrap_exported(native: Any) -> CpuTensor:
    """`CpuTensor.wrap` for what has said by DLPack that it lies in memory of the CPU."""
    array, dtype = _exchange.from_dlpack(native, _exchange.DEVICE_CPU)
    tensor = CpuTensor(array, CPU, native, None, not array.flags.writeable)
    if dtype.numpy is None:
        tensor.known_info = TensorInfo(dtype, array.shape, array.strides)
    return tensor
