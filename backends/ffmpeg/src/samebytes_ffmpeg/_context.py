# SPDX-License-Identifier: Apache-2.0
"""The one context of FFmpeg's frames in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from av import VideoFrame

from samebytes.errors import LayoutError, UnknownNameError
from samebytes.formats import ImageFormat, ImageInfo
from samebytes.plugins import HostContext

from ._frame import FFmpegFrame
from ._pixel_formats import image_format_named, pixel_format_name
from ._plane import FFmpegPlane

if TYPE_CHECKING:
    from typing import Self, Unpack

    from samebytes.plugins import FrameSays

__all__ = ["FFMPEG", "FFmpegContext"]


class FFmpegContext(HostContext[FFmpegPlane, FFmpegFrame]):
    """Frames of FFmpeg that lie in memory. There is one: `samebytes.context("ffmpeg")`."""

    memory_type = "ffmpeg"
    node = "ffmpeg"
    tensor_class = FFmpegPlane
    frame_class = FFmpegFrame

    @classmethod
    def create(cls, device: str | None, parent: object) -> Self:
        """The one FFmpeg context.

        Raises:
            UnknownNameError: there is no such kind of FFmpeg's frames.
        """
        if device is not None:
            known = ("ffmpeg", "ffmpeg:VAAPI", "ffmpeg:DRM", "ffmpeg:CUDA")
            raise UnknownNameError("memory type", f"ffmpeg:{device}", known)
        return FFMPEG  # type: ignore[return-value]  # the singleton is of this very class

    def allocate_frame(
        self, format_: str | ImageFormat, width: int, height: int, **says: Unpack[FrameSays]
    ) -> FFmpegFrame:
        """A new av.VideoFrame, with rows aligned as FFmpeg likes them.

        Args:
            format_: an image format, or any name of it; the names of FFmpeg's own formats that
                samebytes does not list ("bayer_rggb8", "pal8") are taken too.
            width, height: in pixels.
            says: `pts`, `time_base`, `duration` and `metadata`, as of `samebytes.frame`.

        Raises:
            LayoutError: FFmpeg lacks the format, or cannot have one of that size.
            UnknownNameError: the format is unknown.
        """
        image = _named(format_)
        info = ImageInfo(image, width, height)
        try:
            native = VideoFrame(width, height, pixel_format_name(image))
        except (OSError, ValueError) as error:
            raise LayoutError(f"FFmpeg cannot represent {info}: {error}") from error
        return FFmpegFrame.wrap(native)

    def readonly_native(self, native: Any) -> Any:
        """The av object itself: PyAV has no read-only ones, so the flag alone says it."""
        return native


def _named(format_: str | ImageFormat) -> ImageFormat:
    try:
        return ImageFormat.of(format_)
    except UnknownNameError:
        try:
            return image_format_named(str(format_))
        except UnknownNameError:
            pass
        raise


FFMPEG = FFmpegContext()
