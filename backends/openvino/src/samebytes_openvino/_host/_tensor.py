# SPDX-License-Identifier: Apache-2.0
"""Host memory as openvino.Tensor: the tensors, their one context, and the edges from and to "cpu".

All of these edges are the same bytes.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import openvino

import samebytes
from samebytes import (
    Access,
    DType,
    Frame,
    FrameMeta,
    ImageInfo,
    MemoryMapper,
    Storage,
    Tensor,
    TensorInfo,
)
from samebytes.errors import UnknownNameError
from samebytes.plugins import HostContext, Refused, sweep_loans

from ._layout import (
    carried_tensor,
    element_type,
    from_element_type,
    layout_of,
    packed_nbytes,
    tensor_over,
)
from ._pinned import PinnedTensor, ReadOnlyTensor

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self, Unpack

    from samebytes import Context, ImageFormat
    from samebytes.plugins import FrameSays

__all__ = [
    "OPENVINO",
    "CpuFrameToOpenVINO",
    "CpuToOpenVINO",
    "OpenVINOContext",
    "OpenVINOFrameToCpu",
    "OpenVINOTensor",
    "OpenVINOToCpu",
    "array_of",
    "data_of",
]


# The dtypes of openvino.Tensor.data that stand for other types too: float16 for bf16, int8 for
# i4, and uint8 for all other types that numpy lacks. By number: a dtype takes long to hash.
_AMBIGUOUS = frozenset(np.dtype(name).num for name in ("float16", "int8", "uint8"))


# The getter that ReadOnlyTensor overrides.
data_of: Callable[[Any], Any] = openvino.Tensor.data.fget
"""A new array over an openvino.Tensor's bytes. The caller makes it read-only where it must be."""


def array_of(native: Any, readonly: bool = False) -> tuple[np.ndarray[Any, Any], DType | None]:
    """A new array over an openvino.Tensor's bytes, and what it carries if numpy lacks the type.

    Args:
        native: the tensor.
        readonly: neither the array nor what it is a view of can be written.
    """
    array: np.ndarray[Any, Any] = data_of(native)
    if readonly:  # before it has views, which could be made writable again
        array.setflags(False)  # type: ignore[call-arg]  # a third of the cost by place
    if array.dtype.num in _AMBIGUOUS:
        element = from_element_type(native.element_type)
        if element.numpy is None:
            return array.view(element.carrier), element
    return array, None


class OpenVINOTensor(Tensor):
    """A tensor in host memory of OpenVINO. `native` is an openvino.Tensor.

    Shape and strides are those of `native`; regions of other tensors keep their strides. OpenVINO
    has no read-only tensors: where `readonly` is True, natives that samebytes made are a
    `ReadOnlyTensor`; writing through others is possible, and an error of the writer.

    Attributes:
        plain: whether numpy has its element type. For this package's edges; there only after it
            was asked for.
    """

    __slots__ = ("plain",)

    native: openvino.Tensor
    plain: bool

    @classmethod
    def wrap(cls, native: Any) -> Self:
        """A tensor over the user's openvino.Tensor.

        A region of another tensor keeps that one's memory alive if samebytes made that one. The
        region of a tensor over an array of yours does not: it is OpenVINO's rule.

        Raises:
            LayoutError: its elements are strings.
        """
        element = from_element_type(native.element_type)
        tensor = cls.borrowed(native, OPENVINO, readonly=getattr(native, "readonly", False))
        tensor.plain = element.numpy is not None
        return tensor

    def host_array(self) -> np.ndarray[Any, Any]:
        """An array over the tensor's bytes, strided as the tensor is. It keeps them alive.

        Element types that numpy does not have are carried by unsigned integers of the same size.
        Elements below eight bits come as the packed bytes, one-dimensional.
        """
        return array_of(self.native, self.readonly)[0]

    def _describe(self) -> TensorInfo:
        native = self.native
        element = from_element_type(native.element_type)
        if element.packed:
            return TensorInfo(element, tuple(native.shape))
        # openvino.Shape and openvino.Strides are read element by element; numpy's are tuples.
        array = native.data
        return TensorInfo(element, array.shape, array.strides)


class OpenVINOContext(HostContext[OpenVINOTensor]):
    """Host memory of OpenVINO. There is one: `samebytes.context("openvino")`."""

    memory_type = "openvino"
    node = "openvino"
    tensor_class = OpenVINOTensor

    @classmethod
    def create(cls, device: str | None, parent: Context | None) -> Self:
        """The one context of host memory; "openvino:CPU" names it too."""
        if device not in (None, "CPU"):
            raise UnknownNameError("device of openvino", str(device), ["CPU"])
        return OPENVINO  # type: ignore[return-value]  # the singleton is of this very class

    def readonly_native(self, native: Any) -> Any:
        """`native` itself: OpenVINO has no read-only tensors, so Tensor.readonly must do."""
        return native

    def allocate(self, shape: tuple[int, ...], dtype: Any = "uint8") -> OpenVINOTensor:
        """New zeroed memory on its own pages.

        Raises:
            LayoutError: a negative extent.
            UnknownNameError: no such dtype, or none that OpenVINO has.
        """
        sweep_loans()  # what OpenVINO used on, and does not use any more
        info = TensorInfo(dtype, shape)
        element = info.dtype
        if element_type(element) is None:
            raise UnknownNameError("dtype of openvino", element.name, ())
        size = (packed_nbytes(element, math.prod(info.shape)),) if element.packed else info.shape
        host = samebytes.context("cpu").allocate(size, "uint8" if element.packed else element)
        storage = host.storage
        if element.numpy is not None:
            array = host.native
            layout = layout_of(array.shape, array.strides, array.dtype)
            native = tensor_over(array, layout, False)
            return OpenVINOTensor.owned(native, self, storage)
        native = carried_tensor(host.native, element, info.shape, False)
        return OpenVINOTensor.owned(native, self, storage, info=info)

    def allocate_frame(
        self, format: str | ImageFormat, width: int, height: int, **says: Unpack[FrameSays]
    ) -> Frame[OpenVINOTensor]:
        """A new image in one piece of memory; its planes are [1, rows, columns, channels].

        Args:
            says: `pts`, `time_base`, `duration` and `metadata`, as for `samebytes.frame`.

        Raises:
            LayoutError: a size that the format cannot have.
            UnknownNameError: no such format.
        """
        host = samebytes.context("cpu").allocate_frame(format, width, height)
        native = tuple(
            tensor_over(a, layout_of(a.shape, a.strides, a.dtype, True), False) for a in host.native
        )
        storage = host.storage
        meta = FrameMeta(host.meta.info)
        return samebytes.Frame.owned(native, self, meta, storage)


OPENVINO = OpenVINOContext()


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
