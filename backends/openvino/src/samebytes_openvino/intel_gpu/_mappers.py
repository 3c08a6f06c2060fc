# SPDX-License-Identifier: Apache-2.0
"""The edges of "openvino:GPU" for tensors."""

from __future__ import annotations

from typing import Any

from samebytes import Access, Context, MemoryMapper, Storage, Tensor, TensorInfo
from samebytes.errors import UnknownNameError
from samebytes.plugins import MapperSpec, NativeStorage

from ._creation import nhwc
from ._over import (
    copied_from_array,
    copied_to_array,
    gpu,
    is_image,
    over_array,
    over_host_memory,
    over_opencl,
    settled,
)
from ._tensors import GpuTensor

__all__ = ["CpuToGpu", "CpuToGpuCopy", "GpuToCpu", "GpuToCpuCopy", "OpenCLToGpu", "SameContext"]

Connected = tuple[Any, TensorInfo | None, Storage | None]


class SameContext(MemoryMapper):
    """The base of edges both of whose ends must be of one cl_context."""

    __slots__ = ("_foreign",)

    def __init__(self, spec: MapperSpec, source: Context, target: Context) -> None:
        super().__init__(spec, source, target)
        self._foreign: str | None = None
        try:
            theirs, ours = source.handle("cl_context"), target.handle("cl_context")
        except UnknownNameError as error:  # OpenVINO's plugin works on Level Zero
            self._foreign = str(error)
            return
        if theirs != ours:
            self._foreign = (
                f"its cl_context is {theirs:#x}, and OpenVINO's is {ours:#x}: derive one context "
                "from the other"
            )

    def accepts(self, item: Any) -> str | None:
        """None where both are."""
        return self._foreign


class OpenCLToGpu(SameContext):
    """opencl -> openvino:GPU: a remote tensor over the same cl_mem or USM pointer."""

    __slots__ = ()

    def connect(self, item: Tensor, access: Access) -> Connected:
        """The remote tensor. An image is a plane: it becomes [1, rows, columns, channels]."""
        settled(item, self.source)
        info = item.info
        if is_image(info):
            shape = nhwc(info.shape) if info.ndim < 4 else info.shape
            seen = TensorInfo(info.dtype, shape)
            native = over_opencl(item, seen, gpu(self.target), access)
            return native, TensorInfo(info.dtype, shape, opaque=True), None
        return over_opencl(item, info, gpu(self.target), access), info, None


class CpuToGpu(MemoryMapper):
    """cpu -> openvino:GPU: the GPU works in the memory of the CPU, where it can."""

    __slots__ = ()

    def connect(self, item: Tensor, access: Access) -> Connected:
        """The remote tensor over the array's bytes."""
        info = item.info
        return over_array(item, info, gpu(self.target), access), info, None


class CpuToGpuCopy(MemoryMapper):
    """cpu -> openvino:GPU: into a new cl_mem of the plugin's."""

    __slots__ = ()

    def connect(self, item: Tensor, access: Access) -> Connected:
        """The new remote tensor."""
        info = item.info
        native = copied_from_array(item.native, info, info.shape, gpu(self.target))
        return (
            native,
            TensorInfo(info.dtype, info.shape),
            NativeStorage(keep=native, nbytes=info.nbytes),
        )


class GpuToCpu(MemoryMapper):
    """openvino:GPU -> cpu: the memory itself, where the CPU can read it."""

    __slots__ = ()

    def connect(self, item: GpuTensor, access: Access) -> Connected:
        """The array over the tensor's bytes."""
        settled(item, self.source)
        array, storage = over_host_memory(item)
        if access == "r":
            array.setflags(write=False)
        return array, None if item.dtype.numpy is not None else item.info, storage


class GpuToCpuCopy(MemoryMapper):
    """openvino:GPU -> cpu: into new memory, which is not written back."""

    __slots__ = ()

    def connect(self, item: GpuTensor, access: Access) -> Connected:
        """The new array."""
        settled(item, self.source)
        info = item.info
        array, storage = copied_to_array(item, info.shape)
        dense = TensorInfo(info.dtype, info.shape)
        return array, None if info.dtype.numpy is not None else dense, storage
