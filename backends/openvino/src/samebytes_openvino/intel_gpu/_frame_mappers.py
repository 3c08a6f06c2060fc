# SPDX-License-Identifier: Apache-2.0
"""The edges of "openvino:GPU" for frames: planes of pictures are [1, rows, columns, channels].

That is the shape in which OpenVINO's preprocessing takes the planes of NV12 and I420.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import samebytes
from samebytes import Access, Context, Frame, ImageInfo, MemoryMapper, Storage, Tensor, TensorInfo
from samebytes.plugins import MapperSpec, NativeStorage, Refused

from .._remote._errors import PropertyError
from ._context import ClContext
from ._creation import nhwc
from ._mappers import SameContext
from ._over import (
    copied_from_array,
    copy_to_array,
    gpu,
    over_array,
    over_host_memory,
    over_opencl,
    settled,
)
from ._va import VAContext

__all__ = [
    "CpuFrameToGpu",
    "CpuFrameToGpuCopy",
    "GpuFrameToCpu",
    "GpuFrameToCpuCopy",
    "OpenCLFrameToGpu",
    "VaapiToGpu",
]

Connected = tuple[tuple[Any, ...], None, Storage | None]
Over = Callable[[Tensor, TensorInfo, ClContext, Access], Any]


class OpenCLFrameToGpu(SameContext):
    """opencl -> openvino:GPU: images for GPU_SURFACE inputs, buffers for GPU_BUFFER inputs."""

    __slots__ = ()

    def connect(self, item: Frame, access: Access) -> Connected:
        """A remote tensor over each plane."""
        settled(item, self.source)
        return _over_planes(over_opencl, item, gpu(self.target), access)


class CpuFrameToGpu(MemoryMapper):
    """cpu -> openvino:GPU: the GPU works in the planes themselves, where it can."""

    __slots__ = ()

    def connect(self, item: Frame, access: Access) -> Connected:
        """A remote tensor over each plane."""
        return _over_planes(over_array, item, gpu(self.target), access)


class CpuFrameToGpuCopy(MemoryMapper):
    """cpu -> openvino:GPU: each plane into a new cl_mem of the plugin's."""

    __slots__ = ()

    def connect(self, item: Frame, access: Access) -> Connected:
        """The new remote tensors."""
        target = gpu(self.target)
        natives = tuple(
            copied_from_array(plane.native, plane.info, shape, target)
            for plane, shape in zip(item.planes, _shapes(item), strict=True)
        )
        return natives, None, NativeStorage(keep=natives)


class GpuFrameToCpu(MemoryMapper):
    """openvino:GPU -> cpu: the planes themselves, where the CPU can read them."""

    __slots__ = ()

    def connect(self, item: Frame, access: Access) -> Connected:
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

    def connect(self, item: Frame, access: Access) -> Connected:
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
        """None where both are of one display."""
        return self._foreign

    def connect(self, item: Frame, access: Access) -> Connected:
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
        except PropertyError as error:
            raise Refused(str(error)) from error


def _over_planes(over: Over, frame: Frame, target: ClContext, access: Access) -> Connected:
    """The tensors that `over` makes of the planes; each holds its plane by itself."""
    planes = zip(frame.planes, _shapes(frame), strict=True)
    made = (over(plane, TensorInfo(plane.dtype, shape), target, access) for plane, shape in planes)
    return tuple(made), None, None


def _shapes(frame: Frame) -> list[tuple[int, ...]]:
    """Each plane as OpenVINO sees it."""
    if isinstance(frame.meta.info, ImageInfo):
        return [nhwc(layout.shape) for layout in frame.meta.info.plane_layouts()]
    return [plane.shape for plane in frame.planes]


def _host_shapes(frame: Frame) -> list[tuple[int, ...]]:
    """Each plane as the CPU sees it."""
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
