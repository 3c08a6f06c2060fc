# SPDX-License-Identifier: Apache-2.0
"""Tensors whose native object is an openvino.Tensor, and the one context of host memory."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import openvino

import samebytes
from samebytes import DType, FrameMeta, Tensor, TensorInfo
from samebytes.errors import UnknownNameError
from samebytes.plugins import HostContext, sweep_loans

from ._element_types import element_type, from_element_type, packed_nbytes
from ._layout import carried_tensor, layout_of, tensor_over

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self, Unpack

    from samebytes import Context, Frame, ImageFormat
    from samebytes.plugins import FrameSays

__all__ = ["OPENVINO", "OpenVINOContext", "OpenVINOTensor", "array_of", "data_of"]

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
        self, format_: str | ImageFormat, width: int, height: int, **says: Unpack[FrameSays]
    ) -> Frame[OpenVINOTensor]:
        """A new image in one piece of memory; its planes are [1, rows, columns, channels].

        Args:
            says: `pts`, `time_base`, `duration` and `metadata`, as of `samebytes.frame`.

        Raises:
            LayoutError: a size that the format cannot have.
            UnknownNameError: no such format.
        """
        host = samebytes.context("cpu").allocate_frame(format_, width, height)
        native = tuple(
            tensor_over(a, layout_of(a.shape, a.strides, a.dtype, True), False) for a in host.native
        )
        storage = host.storage
        meta = FrameMeta(host.meta.info)
        return samebytes.Frame.owned(native, self, meta, storage)


OPENVINO = OpenVINOContext()
