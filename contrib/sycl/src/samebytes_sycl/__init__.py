# SPDX-License-Identifier: Apache-2.0
"""SYCL's unified shared memory (USM), through dpctl, as samebytes tensors.

    tensor = samebytes.context("sycl").allocate((1080, 1920, 3))     # shared USM
    memory = dpctl.memory.as_usm_memory(tensor.native)               # for kernels of dpctl's
    with tensor.map("cpu", "rw") as view:                            # the same bytes, in numpy
        view.native[...] = 0

Importing this does not import dpctl, and loads no SYCL; using one of its names does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from samebytes.plugins import lazy_exports

if TYPE_CHECKING:
    from ._context import SYCLContext, SYCLTensor, context, tensor
    from ._usm_array import USMArray

__version__ = "0.1.0"

__all__ = ["SYCLContext", "SYCLTensor", "USMArray", "context", "tensor"]

_HOME = {
    "SYCLContext": "._context",
    "SYCLTensor": "._context",
    "USMArray": "._usm_array",
    "context": "._context",
    "tensor": "._context",
}


if not TYPE_CHECKING:  # to a type checker, any misspelt name would be there
    __getattr__, __dir__ = lazy_exports(__name__, _HOME)
