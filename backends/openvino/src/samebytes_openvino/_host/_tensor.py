# SPDX-License-Identifier: Apache-2.0
"""Tensors whose native object is an openvino.Tensor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import openvino

from samebytes import DType, Tensor, TensorInfo

from ._element_types import from_element_type

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

__all__ = ["OpenVINOTensor", "array_of", "data_of"]

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
        from ._context import OPENVINO

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
