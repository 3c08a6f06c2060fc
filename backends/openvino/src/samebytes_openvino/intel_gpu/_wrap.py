# SPDX-License-Identifier: Apache-2.0
"""Wrap remote tensors of a GPU."""

from __future__ import annotations

from typing import Any

from samebytes.errors import AmbiguousTargetError

from .._remote._values import params_of
from ._context import CONTEXTS, ClContext
from ._tensors import GpuTensor

__all__ = ["wrap"]


def wrap(native: Any) -> GpuTensor:
    """A tensor over a remote tensor of the GPU plugin.

    Its context is the living one over the same cl_context.

    Raises:
        AmbiguousTargetError: there are several: `ClContext.wrap_tensor` of the right one does it.
        LayoutError: its elements are strings.
    """
    cl_context = int(params_of(native)["OCL_CONTEXT"])
    living = [c for c in CONTEXTS.all() if c.handle(c.context_handle) == cl_context]
    if len(living) > 1:
        raise AmbiguousTargetError(
            "an openvino.RemoteTensor", "openvino:GPU", [f"{c!r}.wrap_tensor" for c in living]
        )
    context = living[0] if living else ClContext.from_cl_context(cl_context)
    return context.wrap_tensor(native)
