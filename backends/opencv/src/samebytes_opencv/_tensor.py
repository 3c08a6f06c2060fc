# SPDX-License-Identifier: Apache-2.0
"""Tensors that are OpenCV Mats."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from samebytes import CpuTensor
from samebytes.errors import LayoutError

if TYPE_CHECKING:
    from typing import Self

__all__ = ["OpenCVTensor"]


class OpenCVTensor(CpuTensor):
    """An array that OpenCV takes in place, for reading and as an output.

    `native` is a numpy.ndarray, or the cv2.Mat that was wrapped. A read-only one is refused by
    OpenCV as an output ("marked as output argument, but provided NumPy array marked as
    readonly"): OpenCV enforces access "r". As its C++ code has no such notion, a Mat that a
    function keeps for later (a VideoWriter, a background model) is not protected.

    A wrong-sized `dst=` makes OpenCV allocate silently: `in_place` detects that.
    """

    __slots__ = ()

    @classmethod
    def wrap(cls, native: Any) -> Self:
        """A tensor over a cv2.Mat.

        Raises:
            LayoutError: its dtype or strides are not those of a Mat: OpenCV would copy it.
        """
        from ._layout import why_not

        tensor = super().wrap(native)
        tensor.native = native
        reason = why_not(tensor.info)
        if reason is not None:
            raise LayoutError(reason)
        return tensor
