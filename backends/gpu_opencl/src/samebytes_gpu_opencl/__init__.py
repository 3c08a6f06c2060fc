# SPDX-License-Identifier: Apache-2.0
"""OpenCL buffers, images and USM as samebytes memory.

    context = samebytes.context("opencl")            # or "opencl:GPU.1", or context(queue)
    tensor = context.allocate((1080, 1920, 3))
    kernel(context.queue, ..., tensor.native)        # tensor.native is a pyopencl.Buffer
    with tensor.map("cpu") as view:                  # a numpy array, once the queue is done
        print(view.native.mean())

Importing this does not import pyopencl, and loads no OpenCL; using one of its names does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from samebytes.plugins import lazy_exports

if TYPE_CHECKING:
    from ._context import OpenCLContext, context
    from ._external import import_nt_handle, nt_handle_properties
    from ._tensor import OpenCLFrame, OpenCLTensor
    from ._usm import USMAllocation
    from ._wrapping import frame, tensor, usm_tensor

__version__ = "0.1.0"

__all__ = [
    "OpenCLContext",
    "OpenCLFrame",
    "OpenCLTensor",
    "USMAllocation",
    "context",
    "frame",
    "import_nt_handle",
    "nt_handle_properties",
    "tensor",
    "usm_tensor",
]

_HOME = {
    "OpenCLContext": "._context",
    "OpenCLFrame": "._tensor",
    "OpenCLTensor": "._tensor",
    "USMAllocation": "._usm",
    "context": "._context",
    "frame": "._wrapping",
    "import_nt_handle": "._external",
    "nt_handle_properties": "._external",
    "tensor": "._wrapping",
    "usm_tensor": "._wrapping",
}


if not TYPE_CHECKING:  # to a type checker, any misspelt name would be there
    __getattr__, __dir__ = lazy_exports(__name__, _HOME)
