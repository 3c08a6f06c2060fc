# SPDX-License-Identifier: Apache-2.0
"""Edges between FFmpeg's frames in CUDA memory and CUDA memory itself."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from samebytes import Access, Context, Frame, MemoryMapper, Storage, Tensor, TensorInfo
from samebytes.errors import LayoutError
from samebytes.formats import ImageInfo
from samebytes.plugins import MapperSpec, Refused

from .frame import described_and_held

if TYPE_CHECKING:
    from .device import HardwareDevice

__all__ = ["CUDAFrameToCUDA", "CUDAToCUDAFrame"]


class CUDAFrameToCUDA(MemoryMapper):
    """ffmpeg:CUDA -> cuda: the planes by their pointers, with FFmpeg's pitches.

    They have a reference of their own to the AVFrame's buffers. While it lives, FFmpeg's pool does
    not use the buffers again.
    """

    __slots__ = ("_aim", "_is_same", "_stream")

    def __init__(self, spec: MapperSpec, source: Context, target: Context) -> None:
        super().__init__(spec, source, target)
        self._aim = weakref.ref(target)
        # Handles of a context stay the same.
        self._is_same = _are_in_one_context(source, target)
        self._stream = source.handle("cuda_stream")

    def connect(self, item: Frame, access: Access) -> tuple[Any, None, Storage | None]:
        """A native array of the target's for each plane.

        Raises:
            LayoutError: the frame was given back meanwhile.
            Refused: the target is another CUDA context.
        """
        if not self._is_same:
            raise Refused(_OTHER_CONTEXT)
        # What `self.target` is, without two more calls for each frame.
        target: Any = self._aim() or self.target
        found, keep = described_and_held(item.native)
        natives, storage = target.import_planes(
            found.planes,
            keep=keep,
            stream=self._stream,
            readonly=access == "r",
            holder=item.context,  # the source, whose device has the stream
        )
        return natives, None, storage


class CUDAToCUDAFrame(MemoryMapper):
    """cuda -> ffmpeg:CUDA: an AV_PIX_FMT_CUDA frame over the planes of a frame.

    The memory is kept until FFmpeg has released the frame.
    """

    __slots__ = ()

    def connect(self, item: Frame, access: Access) -> tuple[Any, None, Storage | None]:
        """The frame; the memory is the source's, so there is nothing to give back.

        Raises:
            Refused: FFmpeg has no such frames, or the target is another CUDA context.
        """
        device: HardwareDevice = self.target  # type: ignore[assignment]  # the node's class
        image = item.meta.info
        if not isinstance(image, ImageInfo):
            raise Refused("FFmpeg's CUDA frames are images")
        if not _are_in_one_context(self.source, device):
            raise Refused(_OTHER_CONTEXT)
        try:
            places = [_place(plane) for plane in item.planes]
            pool = device.pool_of(image)
        except LayoutError as error:
            raise Refused(str(error)) from error
        # FFmpeg's stream waits for what is pending, and the CPU for nothing.
        self.source.order(item, device.handle("cuda_stream"))
        held = item.native, item.storage
        native = pool.over(places, held, item.meta, readonly=access == "r")
        return native, None, None


_OTHER_CONTEXT = (
    "the memory belongs to another CUDA context: derive the target from the frame's context, as "
    "frame.map() does with a name"
)


def _are_in_one_context(source: Context, target: Context) -> bool:
    return source.handle("cuda_context") == target.handle("cuda_context")


def _place(plane: Tensor) -> tuple[int, int, int]:
    """Address, bytes from row to row, and bytes from the first to the end of the last row."""
    info = plane.info
    strides = info.strides
    if strides is None or info.extent[0] < 0:
        raise LayoutError("FFmpeg's CUDA frames are in rows, and not stored bottom up")
    row = TensorInfo(info.dtype, info.shape[1:])
    if strides[1:] != row.strides:
        raise LayoutError(f"the rows of {info} have gaps, which FFmpeg's frames cannot have")
    pitch = strides[0] if info.shape[0] > 1 else row.nbytes
    return plane.handle("cuda_ptr"), pitch, info.extent[1]
