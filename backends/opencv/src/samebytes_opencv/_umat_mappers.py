# SPDX-License-Identifier: Apache-2.0
"""The edges of UMats that need nothing but OpenCV."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import cv2

from samebytes import Access, MemoryMapper, Storage, Tensor, TensorInfo
from samebytes.plugins import Refused, deferred, ordering_queue

from ._layout import why_not
from ._umat_layout import umat_layout
from ._umat_tensor import UMatStorage, in_our_words, umat_of

__all__ = ["CpuToUMat", "OpenCLToUMat", "UMatToCpu"]

Connected = tuple[Any, TensorInfo | None, Storage | None]


class OpenCLToUMat(MemoryMapper):
    """opencl -> opencv_umat: the UMat that the memory came from."""

    __slots__ = ()

    def connect(self, item: Tensor, access: Access) -> Connected:
        """The UMat itself.

        Raises:
            Refused: the memory is not a UMat's, or the tensor is another part of it.
        """
        umat = umat_of(item)
        if umat is None:
            raise Refused(
                "cv2 cannot wrap existing OpenCL memory in a UMat: allocate it with "
                "samebytes.context('opencv_umat').allocate(shape, dtype)"
            )
        info, offset = umat_layout(umat)
        if (info, offset) != (item.info, item.handle("offset")):
            raise Refused(f"the tensor is not the whole UMat {info} that its memory belongs to")
        if ordering_queue() is None:
            item.wait()
            # OpenCV's commands are on its own queue, which may be another one.
            finish = getattr(item.context, "sync", None)
            if finish is not None:
                finish()
        return umat, info, None


class CpuToUMat(MemoryMapper):
    """cpu -> opencv_umat: an upload."""

    __slots__ = ()

    def accepts(self, item: Tensor) -> str | None:
        """None if a UMat can have that shape and those elements."""
        return why_no_umat(item.info)

    def connect(self, item: Tensor, access: Access) -> Connected:
        """A new UMat with the array's values.

        Raises:
            NativeError: a call of OpenCL fails.
        """
        info = item.info
        # A signal handler that raises in there ends the process: OpenCV 5.0.0.
        with deferred():
            native = in_our_words("cv2.UMat", cv2.UMat, item.native)
        # OpenCV's blocking writes are those of the driver, which may return early.
        cv2.ocl.finish()
        return native, TensorInfo(info.dtype, info.shape), UMatStorage(native)


@lru_cache(maxsize=256)
def why_no_umat(info: TensorInfo) -> str | None:
    """None if an array of that layout can be uploaded, else the reason why not."""
    if (reason := why_not(info)) is None and info.ndim not in (2, 3):
        return f"a UMat has rows, columns and optional channels, not shape {info.shape}"
    return reason


class UMatToCpu(MemoryMapper):
    """opencv_umat -> cpu: a download."""

    __slots__ = ()

    def connect(self, item: Tensor, access: Access) -> Connected:
        """A new array with the UMat's values. get() waits for the work that OpenCV enqueued.

        Raises:
            NativeError: a call of OpenCL fails.
        """
        array = in_our_words("cv2.UMat.get", item.native.get).reshape(item.info.shape)
        if access == "r":
            array.flags.writeable = False
        return array, None, None
