# SPDX-License-Identifier: Apache-2.0
"""CUDA memory of NVIDIA GPUs as samebytes tensors, ordered by streams.

    tensor = samebytes.tensor(torch_tensor)                # or anything with DLPack on a GPU
    with tensor.map("cpu", copy=True) as view:             # downloaded, counted
        print(view.native)
    made = samebytes.context("cuda").allocate((1080, 1920, 3), kind="managed")
    torch.from_dlpack(made)                                # the same bytes

Importing this does not import cuda-bindings, and loads no driver; using one of its names does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from samebytes.plugins import lazy_exports

if TYPE_CHECKING:
    from ._array import CudaArray
    from ._context import CudaContext, CudaTensor, context
    from ._frame import frame, tensor
    from ._memory import Kind

__version__ = "0.1.0"

__all__ = ["CudaArray", "CudaContext", "CudaTensor", "Kind", "context", "frame", "tensor"]

_HOME = {
    "CudaArray": "._array",
    "CudaContext": "._context",
    "CudaTensor": "._context",
    "Kind": "._memory",
    "context": "._context",
    "frame": "._frame",
    "tensor": "._frame",
}

if not TYPE_CHECKING:  # to a type checker, any misspelt name would be there
    __getattr__, __dir__ = lazy_exports(__name__, _HOME)
