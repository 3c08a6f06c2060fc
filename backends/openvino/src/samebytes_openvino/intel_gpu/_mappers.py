# SPDX-License-Identifier: Apache-2.0
"""The edges of "openvino:GPU", for tensors and for frames."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import samebytes
from samebytes import Access, Context, Frame, ImageInfo, MemoryMapper, Storage, Tensor, TensorInfo
from samebytes.errors import UnknownNameError
from samebytes.plugins import MapperSpec, NativeStorage, Refused

from .._errors import OpenVINOError, PropertyError
from ._context import ClContext
from ._creation import nhwc
from ._sharing import (
    copied_from_array,
    copied_to_array,
    copy_to_array,
    gpu,
    is_image,
    over_array,
    over_host_memory,
    over_opencl,
    settled,
    why_no_tensor,
)
from ._tensors import GpuTensor
from ._video_contexts import VAContext

__all__ = [
    "CpuFrameToGpu",
    "CpuFrameToGpuCopy",
    "CpuToGpu",
    "CpuToGpuCopy",
    "GpuFrameToCpu",
    "GpuFrameToCpuCopy",
    "GpuToCpu",
    "GpuToCpuCopy",
    "OpenCLFrameToGpu",
    "OpenCLToGpu",
    "SameContext",
    "VaapiToGpu",
]

Connected = tuple[Any, TensorInfo | None, Storage | None]


class SameContext(MemoryMapper):
    """The base of edges whose two ends must have the same cl_context."""

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
        """None if both ends have the same cl_context, else the reason for a refusal."""
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
    """cpu -> openvino:GPU: the GPU works in CPU memory, if it can."""

    __slots__ = ()

    def connect(self, item: Tensor, access: Access) -> Connected:
        """The remote tensor over the array's bytes."""
        info = item.info
        return over_array(item, info, gpu(self.target), access), info, None


class CpuToGpuCopy(MemoryMapper):
    """cpu -> openvino:GPU: into a new cl_mem of the plugin's."""

    __slots__ = ()

    def accepts(self, item: Tensor) -> str | None:
        """None if the plugin has tensors of such elements and so many axes."""
        return why_no_tensor(item.info)

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
    """openvino:GPU -> cpu: the memory itself, if the CPU can read it."""

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


ConnectedPlanes = tuple[tuple[Any, ...], None, Storage | None]
Over = Callable[[Tensor, TensorInfo, ClContext, Access], Any]


class OpenCLFrameToGpu(SameContext):
    """opencl -> openvino:GPU: images for GPU_SURFACE inputs, buffers for GPU_BUFFER inputs."""

    __slots__ = ()

    def connect(self, item: Frame, access: Access) -> ConnectedPlanes:
        """A remote tensor over each plane."""
        settled(item, self.source)
        return _over_planes(over_opencl, item, gpu(self.target), access)


class CpuFrameToGpu(MemoryMapper):
    """cpu -> openvino:GPU: the GPU works in the planes themselves, if it can."""

    __slots__ = ()

    def connect(self, item: Frame, access: Access) -> ConnectedPlanes:
        """A remote tensor over each plane."""
        return _over_planes(over_array, item, gpu(self.target), access)


class CpuFrameToGpuCopy(MemoryMapper):
    """cpu -> openvino:GPU: each plane into a new cl_mem of the plugin's."""

    __slots__ = ()

    def connect(self, item: Frame, access: Access) -> ConnectedPlanes:
        """The new remote tensors."""
        target = gpu(self.target)
        natives = tuple(
            copied_from_array(plane.native, plane.info, shape, target)
            for plane, shape in zip(item.planes, _shapes(item), strict=True)
        )
        return natives, None, NativeStorage(keep=natives)


class GpuFrameToCpu(MemoryMapper):
    """openvino:GPU -> cpu: the planes themselves, if the CPU can read them."""

    __slots__ = ()

    def connect(self, item: Frame, access: Access) -> ConnectedPlanes:
        """An array over each plane, (rows, columns) or (rows, columns, channels)."""
        settled(item, self.source)
        arrays = []
        for plane, shape in zip(item.planes, _host_shapes(item), strict=True):
            array, _ = over_host_memory(plane)  # type: ignore[arg-type]  # planes here are
            if access == "r":
                array.setflags(write=False)
            arrays.append(array.reshape(shape))
        return tuple(arrays), None, None


class GpuFrameToCpuCopy(MemoryMapper):
    """openvino:GPU -> cpu: each plane into new memory, which is not written back."""

    __slots__ = ()

    def connect(self, item: Frame, access: Access) -> ConnectedPlanes:
        """The new arrays."""
        settled(item, self.source)
        cpu = samebytes.context("cpu")
        host = cpu.allocate_frame(item.format, item.width, item.height, zeroed=False)
        for plane, array in zip(item.planes, host.native, strict=True):
            copy_to_array(plane, array)  # type: ignore[arg-type]  # planes here are
        return host.native, None, host.storage


class VaapiToGpu(MemoryMapper):
    """vaapi -> openvino:GPU: both planes of an NV12 surface, in a context of the same display.

    The OpenCL driver waits for the surface (vaSyncSurface) at each inference.
    """

    __slots__ = ("_foreign",)

    def __init__(self, spec: MapperSpec, source: Context, target: Context) -> None:
        super().__init__(spec, source, target)
        display = source.handle("va_display")
        self._foreign: str | None = None
        if not isinstance(target, VAContext) or target.display != display:
            self._foreign = (
                f"it is of VADisplay {display:#x}: derive the context of openvino:GPU from its "
                "context, or make one with VAContext.from_display"
            )

    def accepts(self, item: Frame) -> str | None:
        """None if both ends have the same display, else the reason for a refusal."""
        return self._foreign

    def connect(self, item: Frame, access: Access) -> ConnectedPlanes:
        """A VASurfaceTensor's native for each plane."""
        target = gpu(self.target)
        assert isinstance(target, VAContext)
        surface, source = item.planes[0].handle("va_surface"), item.storage
        height, width = item.height, item.width
        try:
            return (
                tuple(
                    target.leases.lend(
                        source,
                        (surface, height, width, plane),
                        partial(target.native_plane, height, width, surface, plane),
                    )
                    for plane in (0, 1)
                ),
                None,
                None,
            )
        except (PropertyError, OpenVINOError) as error:  # a driver may refuse a tiled surface
            raise Refused(str(error)) from error


def _over_planes(over: Over, frame: Frame, target: ClContext, access: Access) -> ConnectedPlanes:
    """The tensors that `over` makes of the planes; each holds its plane by itself."""
    planes = zip(frame.planes, _shapes(frame), strict=True)
    made = (over(plane, TensorInfo(plane.dtype, shape), target, access) for plane, shape in planes)
    return tuple(made), None, None


def _shapes(frame: Frame) -> list[tuple[int, ...]]:
    """The shape of each plane as OpenVINO sees it."""
    if isinstance(frame.meta.info, ImageInfo):
        return [nhwc(layout.shape) for layout in frame.meta.info.plane_layouts()]
    return [plane.shape for plane in frame.planes]


def _host_shapes(frame: Frame) -> list[tuple[int, ...]]:
    """The shape of each plane as the CPU sees it."""
    if not isinstance(frame.meta.info, ImageInfo):
        for plane in frame.planes:
            _check_plain(plane)
        return [plane.shape for plane in frame.planes]
    shapes = [layout.shape for layout in frame.meta.info.plane_layouts()]
    for plane, shape in zip(frame.planes, shapes, strict=True):
        if plane.shape != nhwc(shape):
            raise Refused(f"a plane has shape {plane.shape}, not {nhwc(shape)}")
    return shapes


def _check_plain(plane: Tensor) -> None:
    if plane.dtype.numpy is None:
        raise Refused(
            f"{plane.dtype} is not a numpy type, so a frame of arrays cannot hold it: map its "
            "tensors one by one"
        )
