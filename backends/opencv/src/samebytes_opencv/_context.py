# SPDX-License-Identifier: Apache-2.0
"""The context of OpenCV's Mats in CPU memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import samebytes
from samebytes.errors import LayoutError
from samebytes.plugins import HostContext

from ._tensor import OpenCVTensor

if TYPE_CHECKING:
    from typing import Self

__all__ = ["OPENCV", "OpenCVContext"]


class OpenCVContext(HostContext):
    """Mats in CPU memory. There is one: `samebytes.context("opencv")`."""

    memory_type = "opencv"
    node = "opencv"
    tensor_class = OpenCVTensor

    @classmethod
    def create(cls, device: str | None, parent: object) -> Self:
        """The one OpenCV context."""
        super().create(device, None)
        return OPENCV  # type: ignore[return-value]  # the singleton is of this very class

    def allocate(self, shape: tuple[int, ...], dtype: Any = "uint8") -> OpenCVTensor:
        """New zeroed memory on pages of its own, as `samebytes.context("cpu")` allocates it.

        Raises:
            LayoutError: no Mat can have that shape or dtype.
        """
        from ._layout import why_not

        pages = samebytes.context("cpu").allocate(shape, dtype)
        reason = why_not(pages.info)
        if reason is not None:
            raise LayoutError(reason)
        return OpenCVTensor(
            pages.native, self, pages.storage, None, False, pages.info, (pages.storage,)
        )


OPENCV = OpenCVContext()
OpenCVTensor.home = OPENCV
