# SPDX-License-Identifier: Apache-2.0
"""Tensors and frames over arrays of other libraries in CUDA memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from samebytes import Frame, FrameMeta, ImageFormat, ImageInfo, TensorInfo
from samebytes.errors import DeviceMismatchError, LayoutError
from samebytes.plugins import joint_owner

from ._context import CudaTensor, array_of

__all__ = ["frame", "tensor"]


def tensor(
    native: Any,
    shape: Sequence[int] | None = None,
    dtype: Any = None,
    *,
    offset: int = 0,
    strides: Sequence[int] | None = None,
) -> CudaTensor:
    """A tensor over CUDA memory of yours, which is held.

    Args:
        native: an object with DLPack on a CUDA device, or with `__cuda_array_interface__`.
        shape: elements along each axis; by default the object's.
        dtype: the element type; by default the object's.
        offset: bytes from the object's first element to the tensor's.
        strides: in bytes; dense by default.

    Raises:
        LayoutError: the object does not match its own description, or the tensor would reach
            outside it.
        UnsupportedObjectError: it lends no CUDA memory.
    """
    whole = CudaTensor.wrap(native)
    if shape is None and dtype is None and strides is None and not offset:
        return whole
    return CudaTensor.wrap(array_of(whole).described(shape, dtype, offset=offset, strides=strides))


def frame(
    natives: Sequence[Any],
    format: str | ImageFormat,  # the field's word for it
    width: int,
    height: int,
) -> Frame[CudaTensor]:
    """An image over arrays in CUDA memory, one for each plane, which are held.

    Args:
        natives: objects with DLPack on a CUDA device, or with `__cuda_array_interface__`, such as
            tensors of torch. Rows may be padded.
        format: the image format ("NV12", "yuv420p", "bgr24" ...).
        width, height: in pixels.

    Raises:
        LayoutError: the arrays do not have the number, shapes and dtypes of the format's planes.
        DeviceMismatchError: the arrays lie in several contexts.
        UnknownNameError: there is no such format.
        UnsupportedObjectError: one of them lends no CUDA memory.
    """
    image = ImageInfo(ImageFormat.of(format), width, height)
    planes = tuple(tensor(native) for native in natives)
    layouts = image.plane_layouts()
    if len(planes) != len(layouts):
        raise LayoutError(f"planes of {image}: {len(layouts)}, arrays: {len(planes)}")
    for plane, layout in zip(planes, layouts, strict=True):
        wanted = TensorInfo(layout.dtype, layout.shape)
        if (plane.dtype, plane.shape) != (wanted.dtype, wanted.shape):
            raise LayoutError(
                f"plane {layout.name} of {image} is {wanted}, the array is {plane.info}"
            )
        if plane.context is not planes[0].context:
            raise DeviceMismatchError(
                f"the planes are in different CUDA contexts, {planes[0].context!r} and "
                f"{plane.context!r}: allocate all of them in one"
            )
    readonly = any(plane.readonly for plane in planes)
    owner = joint_owner([plane.storage for plane in planes])
    arrays = tuple(plane.native for plane in planes)
    home, meta = planes[0].context, FrameMeta(image)
    return Frame.borrowed(arrays, home, meta, keep=owner, readonly=readonly)
