# SPDX-License-Identifier: Apache-2.0
"""OpenVINO's GPU remote API, typed: contexts and tensors over OpenCL, USM and video surfaces.

    context = ClContext.from_queue(queue)                       # a pyopencl.CommandQueue
    tensor = context.create_tensor("float32", (1, 16), buffer)  # a pyopencl.Buffer

The names are those of openvino/runtime/intel_gpu/ocl/{ocl,va,dx}.hpp. Importing this module imports
neither openvino nor OpenCL; using one of its names does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from samebytes.plugins import lazy_exports

if TYPE_CHECKING:
    from .._errors import ForeignMemoryError, OpenVINOError, PropertyError, RegionError
    from .._image._yuv import i420_inputs, nv12_inputs
    from ._context import ClContext, ZeContext, ZeTensor
    from ._properties import FileDescriptor, SharedBufferHandle, VirtualAddressMemory
    from ._tensors import (
        ClBufferTensor,
        ClImage2DTensor,
        D3DBufferTensor,
        D3DSurface2DTensor,
        GpuTensor,
        USMTensor,
        VASurfaceTensor,
    )
    from ._video_contexts import D3DContext, VAContext

__all__ = [
    "ClBufferTensor",
    "ClContext",
    "ClImage2DTensor",
    "D3DBufferTensor",
    "D3DContext",
    "D3DSurface2DTensor",
    "FileDescriptor",
    "ForeignMemoryError",
    "GpuTensor",
    "OpenVINOError",
    "PropertyError",
    "RegionError",
    "SharedBufferHandle",
    "USMTensor",
    "VAContext",
    "VASurfaceTensor",
    "VirtualAddressMemory",
    "ZeContext",
    "ZeTensor",
    "i420_inputs",
    "nv12_inputs",
]

_HOME = {
    "ClBufferTensor": "._tensors",
    "ClContext": "._context",
    "ClImage2DTensor": "._tensors",
    "D3DBufferTensor": "._tensors",
    "D3DContext": "._video_contexts",
    "D3DSurface2DTensor": "._tensors",
    "FileDescriptor": "._properties",
    "ForeignMemoryError": ".._errors",
    "GpuTensor": "._tensors",
    "OpenVINOError": ".._errors",
    "PropertyError": ".._errors",
    "RegionError": ".._errors",
    "SharedBufferHandle": "._properties",
    "USMTensor": "._tensors",
    "VAContext": "._video_contexts",
    "VASurfaceTensor": "._tensors",
    "VirtualAddressMemory": "._properties",
    "ZeContext": "._context",
    "ZeTensor": "._context",
    "i420_inputs": ".._image._yuv",
    "nv12_inputs": ".._image._yuv",
}


if not TYPE_CHECKING:  # a type checker would accept any misspelt name
    __getattr__, __dir__ = lazy_exports(__name__, _HOME)
