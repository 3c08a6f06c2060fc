# SPDX-License-Identifier: Apache-2.0
"""Tensors that are OpenCV UMats: OpenCL buffers of OpenCV's own context."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import cv2

from samebytes import Storage, Tensor, TensorInfo
from samebytes.errors import NativeError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

__all__ = ["UMatStorage", "UMatTensor", "in_our_words", "umat_of"]

_ACCESS_RW = 3 << 24
"""cv::ACCESS_RW, opencv2/core/mat.hpp."""


class UMatStorage(Storage):
    """The memory of a UMat, which it holds, so that mappings from here can be mapped back to it."""

    __slots__ = ("umat",)

    umat: Any

    def __init__(self, umat: Any, keep: Storage | None = None) -> None:
        # OpenCV enqueues and returns; each thread has its own queue, so this waits for what
        # the calling thread enqueued.
        super().__init__(keep=keep or umat, wait=cv2.ocl.finish)
        self.umat = umat


def in_our_words(call: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function of OpenCV's, whose errors are raised as NativeError.

    Args:
        call: the name of the function.
        function: the function.
        arguments: its arguments.

    Returns:
        The result of the function.
    """
    try:
        return function(*arguments)
    except cv2.error as error:
        raise NativeError(call, getattr(error, "code", 0), str(error)) from error


def umat_of(tensor: Tensor) -> Any:
    """The UMat that a tensor's memory lies in, or None."""
    storage: object = tensor.storage
    while isinstance(storage, Storage):
        if isinstance(storage, UMatStorage):
            return storage.umat
        storage = storage.keep
    return None


class UMatTensor(Tensor):
    """A tensor in OpenCV's OpenCL memory. `native` is a cv2.UMat.

    A UMat counts its own references: its memory lives as long as any UMat over it. OpenCV has no
    read-only UMats, so `readonly` is a flag only.

    OpenCV enqueues its work, on one queue for each thread, and returns. A mapping waits for the
    queue of the calling thread: map in the thread that did the work, or call `cv2.ocl.finish()`
    there first.
    """

    __slots__ = ()

    native: cv2.UMat

    @classmethod
    def wrap(cls, native: Any) -> Self:
        """A tensor over the user's UMat, which may be a region of another one.

        Raises:
            LayoutError: it has more than two axes, or is empty.
            MissingDependencyError: OpenCV does not use OpenCL here.
        """
        import samebytes

        from ._umat_layout import umat_layout

        context = samebytes.context("opencv_umat")
        info, _ = umat_layout(native)
        return cls.borrowed(native, context, keep=UMatStorage(native), info=info)

    def _handle(self, key: str) -> int | None:
        if key == "cl_mem":
            return int(self.native.handle(_ACCESS_RW))
        if key == "offset":
            return int(self.native.offset)
        return None

    def _describe(self) -> TensorInfo:
        from ._umat_layout import umat_layout

        return umat_layout(self.native)[0]
