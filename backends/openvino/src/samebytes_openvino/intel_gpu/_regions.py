# SPDX-License-Identifier: Apache-2.0
"""Regions of remote tensors: OpenVINO reports the handle and properties of the whole tensor.

The plugin's inferences and copies use the right bytes. Whoever asks for a handle or a pointer, or
maps the memory, would get those of the whole tensor. Python can ask for neither the offset nor
whether a tensor is a region; but a region is smaller than its memory.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from samebytes import Context, TensorInfo
from samebytes.errors import UnknownNameError

from .._host._element_types import packed_nbytes
from .._remote._errors import RegionError
from .._remote._pins import pinned
from . import _opencl

__all__ = ["IMAGES", "USM", "check_whole", "cl_context_of", "may_be_region"]

IMAGES = ("OCL_IMAGE2D", "VA_SURFACE")
USM = ("USM_USER_BUFFER", "USM_HOST_BUFFER", "USM_DEVICE_BUFFER")


def cl_context_of(context: Context) -> int:
    """The cl_context of a GPU context; 0 where the plugin works on Level Zero and has none."""
    try:
        return context.handle("cl_context")
    except UnknownNameError:
        return 0


def may_be_region(
    native: Any, params: Mapping[str, int | str], info: TensorInfo, cl_context: int
) -> bool:
    """True if an openvino.RemoteTensor can be a region of another one.

    A tensor that samebytes made, or wrapped as a whole, is not a region. Any other can be one if
    its memory is larger than the tensor; Level Zero (a `cl_context` of 0) is not asked for that.
    """
    if pinned(native) is not None:
        return False
    if not cl_context:
        return True
    handle, kind = int(params["MEM_HANDLE"]), params["SHARED_MEM_TYPE"]
    if kind in IMAGES:
        width, height = _opencl.image_size(handle)
        return info.shape[-3:-1] != (height, width)
    nbytes = packed_nbytes(info.dtype, math.prod(info.shape)) if info.dtype.packed else info.nbytes
    if kind in USM:
        found = _opencl.allocation(cl_context, handle)
        return found.kind != "unknown" and found.room(handle) > nbytes
    return _opencl.mem_size(handle) > nbytes


def check_whole(
    native: Any, params: Mapping[str, int | str], info: TensorInfo, cl_context: int
) -> None:
    """Raise RegionError if an openvino.RemoteTensor can be a region of another one."""
    if may_be_region(native, params, info, cl_context):
        raise RegionError(
            "this openvino.RemoteTensor is smaller than its memory, so it may be a region of "
            "another one, and OpenVINO gives a region the handle of the whole: take the part of "
            "the whole tensor's array or buffer, copy with tensor.map('cpu', copy=True), or, if "
            "it is not a region, wrap it with context.wrap_tensor(native, whole=True)"
        )
