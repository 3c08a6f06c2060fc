# SPDX-License-Identifier: Apache-2.0
"""From OpenCL to OpenCV's UMats, by a copy on the device.

Python's cv2 cannot put a UMat over memory that exists. So a UMat is allocated, and the bytes are
copied into its buffer without going through the CPU.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, cast

import pyopencl as cl

import samebytes
from samebytes import Access, DType, MemoryMapper, Storage, Tensor, TensorInfo
from samebytes.errors import LayoutError, RouteError
from samebytes.plugins import Refused, ordering_queue
from samebytes_gpu_opencl import OpenCLContext

__all__ = ["OpenCLToUMat"]


class OpenCLToUMat(MemoryMapper):
    """opencl -> opencv_umat: a new UMat, filled by the device."""

    __slots__ = ()

    def accepts(self, item: Tensor) -> str | None:
        """None unless the device cannot copy from there: another cl_context, USM, or an image.

        This is asked before anything is copied, so that a route does not promise this copy for
        memory that will go by way of the CPU.
        """
        context = cast(OpenCLContext, item.context)
        ours, theirs = context.handle("cl_context"), self.target.handle("cl_context")
        if ours != theirs:
            return (
                f"it belongs to the cl_context {ours:#x}, OpenCV is on {theirs:#x}: allocate it "
                "with samebytes.context('opencv_umat').derive('opencl')"
            )
        if not isinstance(item.native, cl.Buffer):
            return "only buffers are copied on the device; map USM to cpu first"
        if not item.info.is_contiguous:
            return f"strides {item.info.strides} leave gaps: a UMat is dense"
        shape = item.shape
        if len(shape) not in (2, 3) or not item.info.size:
            return f"a UMat has rows, columns and optional channels, not shape {shape}"
        return _why_no_umat((1, 1, *shape[2:]), item.dtype)

    def connect(
        self, item: Tensor, access: Access
    ) -> tuple[Any, TensorInfo | None, Storage | None]:
        """The new UMat.

        Raises:
            Refused: OpenCV's memory cannot be reached from the context.
        """
        info, context = item.info, cast(OpenCLContext, item.context)
        made = self.target.allocate(info.shape, info.dtype)
        queue = ordering_queue()
        try:
            # Without queue= this waits for what is pending in OpenCV.
            there = made.map(context, "w")
        except RouteError as error:
            raise Refused(f"the UMat cannot be reached from that context: {error}") from error
        event = cl.enqueue_copy(
            queue or context.queue, there.native, item.native, byte_count=info.nbytes
        )
        native, storage = made.native, made.storage
        if queue is None:
            event.wait()
        else:  # OpenCV waits for its own queue, and does not know this one
            storage.wait = partial(_wait, event, storage.wait)
        return native, info, storage


@lru_cache(maxsize=256)
def _why_no_umat(shape: tuple[int, ...], element: DType) -> str | None:
    """None if OpenCV has UMats of one such pixel, else the reason why not."""
    try:
        samebytes.context("opencv_umat").allocate(shape, element)
    except LayoutError as error:
        return str(error)
    return None


def _wait(event: cl.Event, others: Callable[[], object] | None) -> None:
    event.wait()
    if others is not None:
        others()
