# SPDX-License-Identifier: Apache-2.0
"""A remote tensor that the user made with OpenVINO itself, as one of the model's context."""

from __future__ import annotations

from typing import Any

from samebytes import TensorInfo
from samebytes.errors import DeviceMismatchError

from ._context import RemoteContext
from ._tensor import RemoteTensor, layout_of
from ._values import params_of

__all__ = ["foreign_tensor"]

_IMAGES = ("OCL_IMAGE2D", "VA_SURFACE")


def foreign_tensor(context: RemoteContext, native: Any) -> RemoteTensor:
    """An openvino.RemoteTensor as a tensor of `context`, which it is taken to belong to.

    Raises:
        DeviceMismatchError: it is of another device, or of another native context. That it is of
            another openvino.RemoteContext over the same cl_context cannot be seen.
        LayoutError, UnsupportedObjectError: as for `layout_of`.
    """
    name = native.get_device_name()
    if name != context.device_name:
        raise DeviceMismatchError(
            f"the tensor is of {name}, and the model was compiled on {context.device_name}"
        )
    params = params_of(native)
    for key in ("OCL_CONTEXT", "L0_CONTEXT"):
        theirs, ours = params.get(key), context.params.get(key)
        if theirs is not None and theirs != ours:
            raise DeviceMismatchError(
                f"the tensor's {key} is {theirs:#x}, and that of the model {ours:#x}: make it with "
                "the context that the model was compiled on"
            )
    element, shape = layout_of(native)
    info = TensorInfo(element, shape, opaque=params.get("SHARED_MEM_TYPE") in _IMAGES)
    make: Any = context.tensor_class
    tensor: RemoteTensor = make.borrowed(native, context, info=info)
    return tensor
