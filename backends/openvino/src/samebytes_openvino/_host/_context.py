# SPDX-License-Identifier: Apache-2.0
"""The context of OpenVINO's tensors in host memory."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import samebytes
from samebytes import FrameMeta, TensorInfo
from samebytes.errors import UnknownNameError
from samebytes.plugins import HostContext, sweep_loans

from ._element_types import element_type, packed_nbytes
from ._layout import carried_tensor, layout_of, tensor_over
from ._tensor import OpenVINOTensor

if TYPE_CHECKING:
    from typing import Self, Unpack

    from samebytes import Context, Frame, ImageFormat
    from samebytes.plugins import FrameSays

__all__ = ["OPENVINO", "OpenVINOContext"]


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
