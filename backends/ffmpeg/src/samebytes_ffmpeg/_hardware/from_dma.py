# SPDX-License-Identifier: Apache-2.0
"""dma -> ffmpeg:DRM: an AV_PIX_FMT_DRM_PRIME frame over the DMA-BUFs of a frame."""

from __future__ import annotations

from ctypes import addressof, sizeof
from typing import TYPE_CHECKING, Any

from av import VideoFrame

from samebytes.errors import LayoutError
from samebytes.formats import ImageInfo
from samebytes.plugins import Access, Frame, FrameMeta, MemoryMapper, Refused, Storage, Tensor

from .._lending import lend
from .._lent import Lent
from .drm_descriptor import descriptor_of, size_of
from .frame import HardwareFrame, carry_meta
from .pool import empty_frame

if TYPE_CHECKING:
    from .device import HardwareDevice

__all__ = ["DMAToDRMFrame", "drm_frame_over"]


class DMAToDRMFrame(MemoryMapper):
    """The descriptors stay the source's, which is kept until FFmpeg has let go of the frame."""

    __slots__ = ()

    def connect(self, item: Frame, access: Access) -> tuple[Any, None, Storage | None]:
        """The frame; the memory is the source's, so there is nothing to give back."""
        device: HardwareDevice = self.target  # type: ignore[assignment]  # the node's class
        image = item.meta.info
        if not isinstance(image, ImageInfo):
            raise Refused("FFmpeg's DRM frames are images")
        try:
            descriptor = descriptor_of(image.format, [_place(p) for p in item.planes])
            lent = Lent((descriptor, item.native, item.storage))
            native = drm_frame_over(lent, device, item.meta, access == "r")
        except LayoutError as error:
            raise Refused(str(error)) from error
        return native, None, None


def drm_frame_over(
    lent: Lent, device: HardwareDevice, meta: FrameMeta, readonly: bool
) -> VideoFrame | HardwareFrame:
    """A frame of the device's libavutil.

    Args:
        lent: holds the AVDRMFrameDescriptor, and what keeps its file descriptors open.
        device: whose frame it will be.
        meta: of an image.
        readonly: FFmpeg copies before it writes.

    Raises:
        LayoutError: FFmpeg lacks the format.
    """
    descriptor, image = lent.held[0], meta.info
    assert isinstance(image, ImageInfo)
    library = device.library
    pool = device.pool_of(image)
    native, address = empty_frame(library, device.pixel_format)
    frame = library.AVFrame.from_address(address)
    piece = addressof(descriptor), sizeof(descriptor)
    (buffer,) = lend([piece], lent, readonly, library)
    frame.buf[0] = buffer
    frame.data[0] = addressof(descriptor)
    frame.width, frame.height = image.width, image.height
    frame.hw_frames_ctx = library.buffer_ref(pool.pointer)
    carry_meta(native, meta)
    return native


def _place(plane: Tensor) -> tuple[int, int, int, int, int]:
    fd, offset, pitch = (plane.handle(key) for key in ("dma_fd", "offset", "pitch"))
    if offset < 0 or pitch < 0:
        raise LayoutError("FFmpeg's DRM frames are not stored bottom up")
    return fd, size_of(fd), offset, pitch, plane.handle("drm_modifier")
