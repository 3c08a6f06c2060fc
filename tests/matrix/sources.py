# SPDX-License-Identifier: Apache-2.0
"""The matrix of devices: its rows, which are kinds of memory and how their frameworks make them;
its columns, which are layouts; and the nodes to which the rows are mapped.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

import numpy as np
import pyopencl as cl

import samebytes
import samebytes_cuda
import samebytes_dma
import samebytes_gpu_opencl
import samebytes_sycl
from samebytes import Frame, FrameMeta, ImageInfo, Storage, Tensor, TensorInfo
from samebytes_gstreamer import GStreamerPlane

from .gstreamer_means import make_buffer

__all__ = ["IMAGES", "SOURCES", "TARGETS", "TENSORS", "Layout", "Source"]

Item = Tensor | Frame


class Layout(NamedTuple):
    """The layout of what is mapped.

    Attributes:
        what: a tensor's layout, or an image's.
        pitches: bytes from row to row of each plane of an image; None for dense planes.
        readonly: nobody may write to the source.
    """

    what: TensorInfo | ImageInfo
    pitches: tuple[int, ...] | None = None
    readonly: bool = False


TARGETS = (
    "cpu", "ffmpeg", "opencv", "openvino",
    "dma", "opencl", "opencv_umat", "level_zero", "openvino:GPU", "openvino:NPU",
    "vaapi", "ffmpeg:DRM", "ffmpeg:VAAPI", "gstreamer", "sycl", "cuda",
)  # fmt: skip
TENSORS = {
    "page": Layout(TensorInfo("uint8", (64, 64))),
    "float NCHW": Layout(TensorInfo("float32", (1, 3, 32, 32))),
    "odd size": Layout(TensorInfo("uint8", (5, 7, 3))),
    "padded rows": Layout(TensorInfo("uint8", (32, 48), (64, 1))),
    "read-only": Layout(TensorInfo("uint8", (64, 64)), readonly=True),
}
IMAGES = {
    "NV12": Layout(ImageInfo.of("NV12", 64, 32)),
    "I420": Layout(ImageInfo.of("I420", 128, 64)),
    "BGR": Layout(ImageInfo.of("BGR", 64, 32)),
    "GRAY8": Layout(ImageInfo.of("GRAY8", 64, 64)),
    "NV12 padded": Layout(ImageInfo.of("NV12", 64, 32), (128, 128)),
}


class Source(NamedTuple):
    """A row.

    Attributes:
        node: where its memory is.
        tensor: makes a tensor of a layout; None where the framework has none.
        image: makes a frame.
        layouts: the names of the layouts that this memory can have.
    """

    node: str
    tensor: Callable[[TensorInfo], Tensor] | None
    image: Callable[[Layout], Frame] | None
    layouts: Sequence[str]

    def make(self, layout: Layout) -> Item:
        """A new object, read-only if the layout is."""
        what = layout.what
        if isinstance(what, ImageInfo):
            assert self.image is not None
            item: Item = self.image(layout)
        else:
            assert self.tensor is not None
            item = self.tensor(what)
        return item.map(item.context, "r") if layout.readonly else item


def _cpu_tensor(info: TensorInfo) -> Tensor:
    """In an array that is not aligned to anything."""
    memory = np.zeros(info.extent[1] + 65, np.uint8)
    return samebytes.tensor(_inside(memory[1:], info, 0))


def _cpu_image(layout: Layout) -> Frame:
    planes = _planes(layout)
    arrays = [_inside(np.zeros(p.span + 65, np.uint8)[1:], _info(p), 0) for p in planes]
    return samebytes.frame(arrays, **_named(layout))


def _pages_tensor(info: TensorInfo) -> Tensor:
    """In memory of the CPU on its own pages. Padded rows are a part of dense ones."""
    context = samebytes.context("cpu")
    if info.is_contiguous:
        return context.allocate(info.shape, info.dtype)
    assert info.strides is not None
    rows = context.allocate((info.shape[0], info.strides[0]), info.dtype)
    return samebytes.tensor(rows.native[:, : info.shape[1]])


def _pages_image(layout: Layout) -> Frame:
    image = _named(layout)
    if layout.pitches is None:
        return samebytes.context("cpu").allocate_frame(*image.values())
    planes = _planes(layout)
    starts = [int(n) for n in np.cumsum([0, *(p.pitch * p.shape[0] for p in planes)])]
    memory = samebytes.context("cpu").allocate((starts[-1],)).native
    arrays = [_inside(memory, _info(p), s) for p, s in zip(planes, starts, strict=False)]
    return samebytes.frame(arrays, **image)


def _over_pages(node: str) -> tuple[Any, Any]:
    """Makers of tensors and frames of a host framework over such memory."""
    return (
        lambda info: _pages_tensor(info).map(node, "rw"),
        lambda layout: _pages_image(layout).map(node, "rw"),
    )


def _dma_tensor(info: TensorInfo) -> Tensor:
    fd = _memfd(info.extent[1])
    return samebytes_dma.from_fd(
        fd, info.shape, info.dtype, strides=info.strides, take_ownership=True
    )


def _dma_image(layout: Layout) -> Frame:
    """All planes in one buffer."""
    planes = _planes(layout)
    starts = [int(n) for n in np.cumsum([0, *(p.pitch * p.shape[0] for p in planes)])]
    image = _named(layout)
    return samebytes_dma.frame_from_fds(
        _memfd(starts[-1]), image["format"], image["width"], image["height"],
        pitches=[p.pitch for p in planes], offsets=starts[:-1], take_ownership=True,
    )  # fmt: skip


def _opencl_tensor(info: TensorInfo) -> Tensor:
    context: Any = samebytes.context("opencl")
    whole_rows = info.shape[0] * (info.strides or (info.nbytes,))[0]
    buffer = cl.Buffer(context.native, cl.mem_flags.READ_WRITE, whole_rows)
    return samebytes_gpu_opencl.tensor(buffer, info.shape, info.dtype, strides=info.strides)


def _opencl_image(layout: Layout) -> Frame:
    context: Any = samebytes.context("opencl")
    planes = _planes(layout)
    buffers = [cl.Buffer(context.native, cl.mem_flags.READ_WRITE, p.span) for p in planes]
    image = _named(layout)
    return samebytes_gpu_opencl.frame(buffers, image["format"], image["width"], image["height"])


def _opencl_kind(kind: str) -> Callable[[TensorInfo], Tensor]:
    def make(info: TensorInfo) -> Tensor:
        context: Any = samebytes.context("opencl")
        made: Tensor = context.allocate(info.shape, info.dtype, kind)
        return made

    return make


def _opencl_frames(kind: str) -> Callable[[Layout], Frame]:
    def make(layout: Layout) -> Frame:
        context: Any = samebytes.context("opencl")
        made: Frame = context.allocate_frame(*_named(layout).values(), kind=kind)
        return made

    return make


def _umat_tensor(info: TensorInfo) -> Tensor:
    return samebytes.context("opencv_umat").allocate(info.shape, info.dtype)


def _opencl_of_umat(info: TensorInfo) -> Tensor:
    return _umat_tensor(info).map("opencl", "rw")


def _umat_image(layout: Layout) -> Frame:
    """A UMat for each plane: OpenCV has no frames."""
    context = samebytes.context("opencv_umat")
    planes = [context.allocate(p.shape, p.dtype) for p in _planes(layout)]
    assert isinstance(layout.what, ImageInfo)
    owner = Storage(keep=planes)
    natives = tuple(plane.native for plane in planes)
    return context.frame_class.borrowed(natives, context, FrameMeta(layout.what), keep=owner)


def _level_zero_tensor(**how: Any) -> Callable[[TensorInfo], Tensor]:
    def make(info: TensorInfo) -> Tensor:
        context: Any = samebytes.context("level_zero")
        made: Tensor
        if info.is_contiguous:
            made = context.allocate(info.shape, info.dtype, **how)
            return made
        whole = context.allocate((info.extent[1],), **how)
        made = context.wrap_pointer(
            whole.handle("usm_ptr"), info.shape, info.dtype, strides=info.strides, keep=whole
        )
        return made

    return make


def _level_zero_image(**how: Any) -> Callable[[Layout], Frame]:
    def make(layout: Layout) -> Frame:
        context: Any = samebytes.context("level_zero")
        made: Frame = context.allocate_frame(*_named(layout).values(), **how)
        return made

    return make


def _gpu_tensor(info: TensorInfo) -> Tensor:
    return samebytes.context("openvino:GPU").allocate(info.shape, info.dtype)


def _gpu_image(layout: Layout) -> Frame:
    return samebytes.context("openvino:GPU").allocate_frame(*_named(layout).values())


def _gpu_usm(method: str) -> Callable[[TensorInfo], Tensor]:
    def make(info: TensorInfo) -> Tensor:
        made: Tensor = getattr(samebytes.context("openvino:GPU"), method)(info.dtype, info.shape)
        return made

    return make


def _npu_tensor(info: TensorInfo) -> Tensor:
    return samebytes.context("openvino:NPU").allocate(info.shape, info.dtype)


def _npu_image(layout: Layout) -> Frame:
    return samebytes.context("openvino:NPU").allocate_frame(*_named(layout).values())


def _frames_of(node: str) -> Callable[[Layout], Frame]:
    """A maker of frames that the node's context allocates."""
    return lambda layout: samebytes.context(node).allocate_frame(*_named(layout).values())


def _drm_image(layout: Layout) -> Frame:
    """Of FFmpeg's, over a descriptor: it allocates none."""
    return _dma_image(layout).map("ffmpeg:DRM", "rw")


def _gstreamer_tensor(info: TensorInfo) -> Tensor:
    buffer = make_buffer([info.extent[1]])
    return samebytes.tensor(GStreamerPlane(buffer.get_memory(0), info, keep=buffer))


def _gstreamer_image(layout: Layout) -> Frame:
    """A memory for each plane, which has its own pitches in a VideoMeta."""
    return _cpu_image(layout).map("gstreamer", "rw")


def _sycl_tensor(kind: str) -> Callable[[TensorInfo], Tensor]:
    def make(info: TensorInfo) -> Tensor:
        context: Any = samebytes.context("sycl")
        if info.is_contiguous:
            return cast("Tensor", context.allocate(info.shape, info.dtype, kind))
        whole = context.allocate((info.extent[1],), "uint8", kind)
        return samebytes_sycl.tensor(whole.native, info.shape, info.dtype, strides=info.strides)

    return make


def _cuda_tensor(kind: str) -> Callable[[TensorInfo], Tensor]:
    def make(info: TensorInfo) -> Tensor:
        context: Any = samebytes.context("cuda")
        if info.is_contiguous:
            return cast("Tensor", context.allocate(info.shape, info.dtype, kind))
        whole = context.allocate((info.extent[1],), "uint8", kind)
        return samebytes_cuda.tensor(whole.native, info.shape, info.dtype, strides=info.strides)

    return make


def _cuda_image(layout: Layout) -> Frame:
    context: Any = samebytes.context("cuda")
    made: Frame = context.allocate_frame(*_named(layout).values(), kind="pinned")
    return made


def _named(layout: Layout) -> dict[str, Any]:
    image = layout.what
    assert isinstance(image, ImageInfo)
    return {"format": str(image.format), "width": image.width, "height": image.height}


def _planes(layout: Layout) -> tuple[Any, ...]:
    image = layout.what
    assert isinstance(image, ImageInfo)
    return image.plane_layouts(layout.pitches)


def _info(plane: Any) -> TensorInfo:
    return TensorInfo(plane.dtype, plane.shape, plane.strides)


def _inside(memory: Any, info: TensorInfo, offset: int) -> np.ndarray[Any, Any]:
    return np.ndarray(info.shape, info.dtype.carrier, memory, offset, info.strides)


def _memfd(nbytes: int) -> int:
    fd = os.memfd_create("matrix")
    os.ftruncate(fd, nbytes)
    return fd


_DENSE = ("page", "float NCHW", "odd size", "read-only")
_FRAMES = ("NV12", "I420", "BGR", "GRAY8")
_ALL = (*TENSORS, *IMAGES)
_SURFACES = ("NV12", "I420", "GRAY8")
# OpenCV has no tensors of four axes.
_PICTURES = ("page", "odd size", "read-only", *_FRAMES)

SOURCES = {
    "cpu": Source("cpu", _cpu_tensor, _cpu_image, _ALL),
    "cpu, own pages": Source("cpu", _pages_tensor, _pages_image, _ALL),
    "ffmpeg": Source("ffmpeg", None, _over_pages("ffmpeg")[1], (*_FRAMES, "NV12 padded")),
    "opencv": Source("opencv", *_over_pages("opencv"), ("page", "padded rows", *_FRAMES)),
    "openvino": Source("openvino", *_over_pages("openvino"), ("page", "float NCHW", *_FRAMES)),
    "dma": Source("dma", _dma_tensor, _dma_image, _ALL),
    "opencl": Source("opencl", _opencl_tensor, _opencl_image, (*TENSORS, *_FRAMES)),
    "opencl, image": Source(
        "opencl", _opencl_kind("image"), _opencl_frames("image"), ("page", "read-only", "NV12")
    ),
    "opencl, SVM": Source("opencl", _opencl_kind("svm"), _opencl_frames("svm"), ("page", "NV12")),
    "opencl, host USM": Source(
        "opencl", _opencl_kind("usm_host"), _opencl_frames("usm_host"), (*_DENSE, *_FRAMES)
    ),
    "opencl, shared USM": Source("opencl", _opencl_kind("usm_shared"), None, ("page",)),
    "opencl, device USM": Source("opencl", _opencl_kind("usm_device"), None, ("page", "odd size")),
    "opencl, of a UMat": Source("opencl", _opencl_of_umat, None, ("page", "odd size")),
    "opencv_umat": Source("opencv_umat", _umat_tensor, _umat_image, _PICTURES),
    "level_zero": Source(
        "level_zero", _level_zero_tensor(), _level_zero_image(), (*TENSORS, *_FRAMES)
    ),
    "level_zero, exportable": Source(
        "level_zero",
        _level_zero_tensor(exportable=True),
        _level_zero_image(exportable=True),
        (*TENSORS, *_FRAMES),
    ),
    "level_zero, device USM": Source(
        "level_zero", _level_zero_tensor(kind="device"), None, ("page",)
    ),
    "openvino:GPU": Source("openvino:GPU", _gpu_tensor, _gpu_image, (*_DENSE, *_FRAMES)),
    "openvino:GPU, host USM": Source(
        "openvino:GPU", _gpu_usm("create_usm_host_tensor"), None, _DENSE
    ),
    "openvino:GPU, device USM": Source(
        "openvino:GPU", _gpu_usm("create_usm_device_tensor"), None, ("page",)
    ),
    "openvino:GPU, CPU_VA": Source(
        "openvino:GPU", *_over_pages("openvino:GPU"), ("page", "float NCHW", *_FRAMES)
    ),
    "openvino:NPU": Source("openvino:NPU", _npu_tensor, _npu_image, (*_DENSE, *_FRAMES)),
    "vaapi": Source("vaapi", None, _frames_of("vaapi"), _SURFACES),
    "ffmpeg:VAAPI": Source("ffmpeg:VAAPI", None, _frames_of("ffmpeg:VAAPI"), _SURFACES),
    "ffmpeg:DRM": Source("ffmpeg:DRM", None, _drm_image, _SURFACES),
    "gstreamer": Source("gstreamer", _gstreamer_tensor, _gstreamer_image, _ALL),
    "gstreamer, DMA-BUF": Source(
        "gstreamer",
        lambda info: _dma_tensor(info).map("gstreamer", "rw"),
        lambda layout: _dma_image(layout).map("gstreamer", "rw"),
        _ALL,
    ),
    "cpu, USM of SYCL": Source(
        "cpu", lambda info: _sycl_tensor("shared")(info).map("cpu", "rw"), None, ("odd size",)
    ),
    "opencl, USM of SYCL": Source(
        "opencl", lambda info: _sycl_tensor("shared")(info).map("opencl", "rw"), None, ("odd size",)
    ),
    "sycl, shared USM": Source("sycl", _sycl_tensor("shared"), _frames_of("sycl"), _ALL[:9]),
    "sycl, device USM": Source("sycl", _sycl_tensor("device"), None, ("page",)),
    "cpu, pinned by CUDA": Source(
        "cpu", lambda info: _cuda_tensor("pinned")(info).map("cpu", "rw"), None, ("odd size",)
    ),
    "cuda, device": Source("cuda", _cuda_tensor("device"), None, ("page",)),
    "cuda, pinned": Source("cuda", _cuda_tensor("pinned"), _cuda_image, _ALL[:9]),
    "cuda, managed": Source("cuda", _cuda_tensor("managed"), None, ("page", "odd size")),
    "cuda, exportable": Source("cuda", _cuda_tensor("exportable"), None, ("page",)),
}
