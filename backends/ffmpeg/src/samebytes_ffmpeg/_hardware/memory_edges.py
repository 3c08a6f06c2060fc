# SPDX-License-Identifier: Apache-2.0
"""Edges between FFmpeg's frames of devices and the memory of these: VA surfaces and DMA-BUFs."""

from __future__ import annotations

from ctypes import addressof, sizeof
from typing import TYPE_CHECKING, Any

from av import VideoFrame

from samebytes import Access, Fd, Frame, FrameMeta, MemoryMapper, Storage, Tensor
from samebytes.errors import AccessError, LayoutError
from samebytes.formats import ImageInfo
from samebytes.plugins import Refused, joint_owner, memory_size

from .._loans import lend, put
from .drm_descriptor import descriptor_of, planes_of
from .frame import HardwareFrame, carry_meta, described_and_held
from .objects import empty_frame

if TYPE_CHECKING:
    from .device import HardwareDevice

__all__ = ["DMAToDRMFrame", "DRMFrameToDMA", "VAAPIFrameToVA"]


class VAAPIFrameToVA(MemoryMapper):
    """ffmpeg:VAAPI -> vaapi: the surface, under its own number.

    It has a reference of its own to the AVFrame's buffer. While that lives, FFmpeg's pool does not
    use the surface again.
    """

    __slots__ = ()

    def connect(self, item: Frame, access: Access) -> tuple[Any, None, Storage | None]:
        """A native surface of the target's.

        Raises:
            LayoutError: the frame was given back meanwhile.
            Refused: the target has another display.
        """
        target: Any = self.target
        if target.handle("va_display") != self.source.handle("va_display"):
            raise Refused(
                "the surface belongs to another VADisplay: derive the target from the frame's "
                'context, as frame.map("vaapi") does'
            )
        found, keep = described_and_held(item.native)
        surface = target.import_surface(found.data, found.image, keep=keep)
        return surface, None, surface.storage


class DRMFrameToDMA(MemoryMapper):
    """ffmpeg:DRM -> dma: descriptors of our own for the frame's DMA-BUFs.

    There is one for each buffer, however many planes lie in it. They hold a reference to the
    AVFrame.
    """

    __slots__ = ()

    def connect(self, item: Frame, access: Access) -> tuple[Any, None, Storage | None]:
        """A native plane of the target's for each plane.

        Raises:
            LayoutError: the frame was given back meanwhile, or its descriptor contradicts itself.
            Refused: its file descriptors are not what it says of them.
        """
        target: Any = self.target
        found, keep = described_and_held(item.native)
        planes = planes_of(found)
        try:
            buffers = {}
            for plane in planes:
                if plane.number not in buffers:
                    buffers[plane.number] = target.import_fd(Fd.borrow(plane.fd), keep=keep)
                buffer = buffers[plane.number]
                if plane.size > buffer.size:
                    raise LayoutError(
                        f"the frame says that descriptor {plane.fd} has {plane.size} bytes, and "
                        f"it has {buffer.size}"
                    )
                if access != "r" and buffer.readonly:
                    raise Refused(f"descriptor {plane.fd} is read-only")
            natives = tuple(
                buffers[p.number].plane(p.info, offset=p.offset, pitch=p.pitch, modifier=p.modifier)
                for p in planes
            )
        except (AccessError, LayoutError) as error:
            raise Refused(str(error)) from error
        return natives, None, joint_owner([plane.buffer.storage for plane in natives])


class DMAToDRMFrame(MemoryMapper):
    """dma -> ffmpeg:DRM: an AV_PIX_FMT_DRM_PRIME frame over the DMA-BUFs of a frame.

    The descriptors stay the source's, which is kept until FFmpeg has released the frame.
    """

    __slots__ = ()

    def connect(self, item: Frame, access: Access) -> tuple[Any, None, Storage | None]:
        """The frame; the memory is the source's, so there is nothing to give back."""
        device: HardwareDevice = self.target  # type: ignore[assignment]  # the node's class
        image = item.meta.info
        if not isinstance(image, ImageInfo):
            raise Refused("FFmpeg's DRM frames are images")
        try:
            descriptor = descriptor_of(image.format, [_place(p) for p in item.planes])
            held = descriptor, item.native, item.storage
            native = _drm_frame(descriptor, held, device, item.meta, access == "r")
        except LayoutError as error:
            raise Refused(str(error)) from error
        return native, None, None


def _drm_frame(
    descriptor: Any, held: object, device: HardwareDevice, meta: FrameMeta, readonly: bool
) -> VideoFrame | HardwareFrame:
    """A frame of the device's libavutil.

    Args:
        descriptor: an AVDRMFrameDescriptor.
        held: the descriptor, and what keeps its file descriptors open.
        device: whose frame it will be.
        meta: of an image.
        readonly: FFmpeg copies before it writes.

    Raises:
        LayoutError: FFmpeg lacks the format.
    """
    image = meta.info
    assert isinstance(image, ImageInfo)
    library = device.library
    pool = device.pool_of(image)
    native, address = empty_frame(library, device.pixel_format)
    frame = library.AVFrame.from_address(address)
    piece = addressof(descriptor), sizeof(descriptor)
    (buffer,) = lend([piece], held, readonly, library)
    put(buffer, address + library.AVFrame.buf.offset, library)
    frame.data[0] = addressof(descriptor)
    frame.width, frame.height = image.width, image.height
    put(pool.reference, address + library.AVFrame.hw_frames_ctx.offset, library)
    carry_meta(native, meta)
    return native


def _place(plane: Tensor) -> tuple[int, int, int, int, int]:
    fd, offset, pitch = (plane.handle(key) for key in ("dma_fd", "offset", "pitch"))
    if offset < 0 or pitch < 0:
        raise LayoutError("FFmpeg's DRM frames are not stored bottom up")
    return fd, memory_size(fd), offset, pitch, plane.handle("drm_modifier")
