# SPDX-License-Identifier: Apache-2.0
"""The context of OpenCV's Mats in CPU memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import samebytes
from samebytes import FrameMeta
from samebytes.errors import LayoutError
from samebytes.plugins import HostContext

from ._tensor import OpenCVTensor

if TYPE_CHECKING:
    from typing import Self, Unpack

    from samebytes import Frame, ImageFormat, TensorInfo
    from samebytes.plugins import FrameSays

__all__ = ["OPENCV", "OpenCVContext"]


class OpenCVContext(HostContext[OpenCVTensor]):
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
        """New zeroed memory on its own pages, as `samebytes.context("cpu")` allocates it.

        Raises:
            LayoutError: no Mat can have that shape or dtype.
        """
        pages = samebytes.context("cpu").allocate(shape, dtype)
        _check(pages.info)
        return OpenCVTensor.owned(pages.native, self, pages.storage, info=pages.info)

    def allocate_frame(
        self, format: str | ImageFormat, width: int, height: int, **says: Unpack[FrameSays]
    ) -> Frame[OpenCVTensor]:
        """A new image in one piece of memory, one Mat for each plane; `native` is their tuple.

        Args:
            says: `pts`, `time_base`, `duration` and `metadata`, as for `samebytes.frame`.

        Raises:
            LayoutError: a size that the format cannot have, or no Mat can be one of its planes.
            UnknownNameError: no such format.
        """
        host = samebytes.context("cpu").allocate_frame(format, width, height)
        for plane in host.planes:
            _check(plane.info)
        storage = host.storage
        meta = FrameMeta(host.meta.info)
        return samebytes.Frame.owned(host.native, self, meta, storage)


def _check(info: TensorInfo) -> None:
    from ._layout import why_not

    reason = why_not(info)
    if reason is not None:
        raise LayoutError(reason)


OPENCV = OpenCVContext()
OpenCVTensor.home = OPENCV
