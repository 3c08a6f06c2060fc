# SPDX-License-Identifier: Apache-2.0
"""The part of Frame that describes its picture or sound, and says that it is not one array."""

from __future__ import annotations

from typing import Any, NoReturn

from ..errors import ExportError, UnsupportedObjectError
from ..formats import AudioInfo, ImageFormat, ImageInfo
from .frame_meta import FrameMeta, Region

__all__ = ["DescribedFrame"]


class DescribedFrame:
    """The part of Frame that reads its `meta`."""

    __slots__ = ()

    meta: FrameMeta

    @property
    def media(self) -> str:
        """ "image", "audio" or "tensors"."""
        info = self.meta.info
        if isinstance(info, ImageInfo):
            return "image"
        return "audio" if isinstance(info, AudioInfo) else "tensors"

    @property
    def image(self) -> ImageInfo:
        """Format and size.

        Raises:
            AttributeError: this is not an image.
        """
        info = self.meta.info
        if not isinstance(info, ImageInfo):
            raise AttributeError(f"a frame of {self.media} has no image format or size")
        return info

    @property
    def audio(self) -> AudioInfo:
        """Samples, channels and rate.

        Raises:
            AttributeError: this is not sound.
        """
        info = self.meta.info
        if not isinstance(info, AudioInfo):
            raise AttributeError(f"a frame of {self.media} has no audio layout")
        return info

    @property
    def format(self) -> ImageFormat:
        """The pixel format."""
        return self.image.format

    @property
    def width(self) -> int:
        """Pixels in a row."""
        return self.image.width

    @property
    def height(self) -> int:
        """Rows."""
        return self.image.height

    @property
    def pts(self) -> int | None:
        """Presentation time in units of `meta.time_base`."""
        return self.meta.pts

    @property
    def metadata(self) -> dict[str, Any]:
        """The user's own entries."""
        return self.meta.metadata

    @property
    def regions(self) -> list[Region]:
        """Rectangles of interest."""
        return self.meta.regions

    # Without an answer numpy.asarray(frame) is an array of one Python object, the frame.
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NoReturn:
        raise UnsupportedObjectError(_why_not_one_array(self))

    # DLPack's consumers expect a BufferError of a producer that cannot export.
    def __dlpack__(self, **_: Any) -> NoReturn:
        raise ExportError(_why_not_one_array(self))

    def __dlpack_device__(self) -> NoReturn:
        raise ExportError(_why_not_one_array(self))


def _why_not_one_array(frame: Any) -> str:
    """Explain that the frame is not an array, and which expression gives its planes, which are."""
    info = frame.meta.info
    names = info.format.plane_names if isinstance(info, ImageInfo) else ()
    count = len(names) or len(frame.planes)
    planes = "1 plane" if count == 1 else f"{count} planes"
    listed = f" ({', '.join(names)})" if names else ""
    # Memory of a context that is not the process's one of its type may lie on a device.
    on_cpu = "frame" if frame.context.singleton else 'frame.map("cpu")'
    which = "planes[0]" if count == 1 else "planes[i]"
    what = f"{info} frame" if info is not None else "frame of tensors"
    return (
        f"this {what} in {frame.context.node} has {planes}{listed} and is not an array itself: "
        f"pass {on_cpu}.{which}"
    )
