# SPDX-License-Identifier: Apache-2.0
"""The edges between CPU memory and OpenVINO's host memory. All of them are the same bytes."""

from __future__ import annotations

from typing import Any

import numpy as np

from samebytes import Access, Frame, ImageInfo, MemoryMapper, Storage, Tensor, TensorInfo
from samebytes.plugins import Refused

from ._layout import carried_tensor, layout_of, tensor_over
from ._pinned import PinnedTensor, ReadOnlyTensor
from ._tensor import OpenVINOTensor, array_of, data_of

__all__ = ["CpuFrameToOpenVINO", "CpuToOpenVINO", "OpenVINOFrameToCpu", "OpenVINOToCpu"]

Array = np.ndarray[Any, Any]


class CpuToOpenVINO(MemoryMapper):
    """cpu -> openvino: a tensor of the same shape, dtype and strides over the array."""

    __slots__ = ()

    def connect(
        self, item: Tensor, access: Access
    ) -> tuple[Any, TensorInfo | None, Storage | None]:
        """The tensor over `item.native`."""
        array = item.native
        info = item.known_info
        if info is None or info.dtype.numpy is not None:
            layout = layout_of(array.shape, array.strides, array.dtype)
            if not layout.plain:
                return tensor_over(array, layout, access == "r"), None, None
            # What tensor_over would do: this is the most frequent case, and a call costs.
            kind = ReadOnlyTensor if access == "r" else PinnedTensor
            return kind(array, layout.shape, layout.element), layout.info, None
        return carried_tensor(array, info.dtype, info.shape, access == "r"), info, None


class CpuFrameToOpenVINO(MemoryMapper):
    """cpu -> openvino for frames: image planes become [1, rows, columns, channels].

    That is the shape of OpenVINO's image layout NHWC, which its preprocessing takes for the
    planes of NV12 and I420. Planes of other frames keep their shapes.
    """

    __slots__ = ()

    def connect(self, item: Frame, access: Access) -> tuple[Any, None, Storage | None]:
        """A tuple of tensors, one over each plane."""
        readonly = access == "r"
        kind = ReadOnlyTensor if readonly else PinnedTensor
        if isinstance(item.meta.info, ImageInfo):
            natives = []
            for array in item.native:
                layout = layout_of(array.shape, array.strides, array.dtype, True)
                if layout.plain:  # what tensor_over would do, as above
                    natives.append(kind(array, layout.shape, layout.element))
                else:
                    natives.append(tensor_over(array, layout, readonly))
        else:
            natives = [_over_plane(plane, readonly) for plane in item.planes]
        return tuple(natives), None, None


class OpenVINOToCpu(MemoryMapper):
    """openvino -> cpu: an array over the tensor, strided as the tensor is."""

    __slots__ = ()

    def connect(
        self, item: OpenVINOTensor, access: Access
    ) -> tuple[Any, TensorInfo | None, Storage | None]:
        """The tensor's data."""
        known = item.known_info
        if (known is not None and known.dtype.numpy is not None) or getattr(item, "plain", False):
            # Its elements stay what they are. Shape and strides are asked for: a tensor that has
            # its own memory can be given another shape, and moves then.
            array = data_of(item.native)
            if access == "r":
                array.setflags(False)
            return array, None, None
        array, carried = array_of(item.native, access == "r")
        # Asked once, as above.
        item.plain = carried is None
        return array, None if carried is None else item.info, None


class OpenVINOFrameToCpu(MemoryMapper):
    """openvino -> cpu for frames: image planes become (rows, columns[, channels]) again."""

    __slots__ = ()

    def connect(self, item: Frame, access: Access) -> tuple[Any, None, Storage | None]:
        """A tuple of arrays, one over each plane."""
        info = item.meta.info
        if isinstance(info, ImageInfo):
            shapes = [layout.shape for layout in info.plane_layouts()]
            planes = zip(item.planes, shapes, strict=True)
            arrays = [_plane(plane, shape, access == "r") for plane, shape in planes]
        else:
            arrays = [_plain(plane, access == "r") for plane in item.planes]
        return tuple(arrays), None, None


def _over_plane(plane: Tensor, readonly: bool) -> Any:
    array, info = plane.native, plane.info
    if info.dtype.numpy is None:
        return carried_tensor(array, info.dtype, info.shape, readonly)
    return tensor_over(array, layout_of(array.shape, array.strides, array.dtype), readonly)


def _plane(plane: Tensor, shape: tuple[int, ...], readonly: bool) -> Array:
    array, _ = array_of(plane.native, readonly)
    if array.shape != (1, *shape, *((1,) if len(shape) == 2 else ())):
        raise Refused(
            f"a plane has shape {array.shape}, and [1, rows, columns, channels] of it is {shape}"
        )
    return array[0] if len(shape) == 3 else array[0, :, :, 0]


def _plain(plane: Tensor, readonly: bool) -> Array:
    array, carried = array_of(plane.native, readonly)
    if carried is not None:
        raise Refused(
            f"{carried} is not a numpy type, so a frame of arrays cannot hold it: map its "
            "tensors one by one"
        )
    return array
