# SPDX-License-Identifier: Apache-2.0
"""FFmpegFrame: a frame over an av.VideoFrame or av.AudioFrame."""

from __future__ import annotations

from ctypes import c_ubyte
from functools import cache
from typing import TYPE_CHECKING, Any

from av import AudioFrame, VideoFrame

from samebytes import Frame
from samebytes.errors import CopyRequiredError, UnknownNameError, UnsupportedObjectError
from samebytes.formats import ImageInfo
from samebytes.plugins import count_copy, read_slot

from ._avutil import FRAME_HEAD, get_pix_fmt
from ._meta import FFmpegMeta
from ._plane import ADVICE, FFmpegPlane
from ._pyav import channel_count, frame_address
from ._reference import is_writable

if TYPE_CHECKING:
    from typing import Self

__all__ = ["FFmpegFrame"]

# The slot of the base class, which the property of the same name stands before.
_slot: Any = Frame.readonly


_unpack = FRAME_HEAD.unpack
_head_at = (c_ubyte * FRAME_HEAD.size).from_address
# What a picture of an AVPixelFormat, width and height holds: to ask PyAV takes a quarter of wrap().
_images: dict[tuple[int, int, int], ImageInfo] = {}
_MOST_IMAGES = 256
# Their frames have their own nodes, such as "ffmpeg:VAAPI".
_OF_DEVICES = frozenset(map(get_pix_fmt, (b"vaapi", b"drm_prime", b"cuda"))) - {-1}


class FFmpegFrame(Frame[FFmpegPlane]):
    """A frame over an av frame, which is `native` and stays its owner's.

    Attributes:
        readonly: whether somebody else would notice a write; evaluated each time, since a
            decoder releases a frame later.
    """

    __slots__ = ()

    native: VideoFrame | AudioFrame
    readonly_advice = ADVICE
    may_become_writable = True

    @classmethod
    def wrap(cls, native: Any) -> Self:
        """A frame over an av.VideoFrame or av.AudioFrame.

        Of pixel format vaapi, drm_prime or cuda it is an FFmpegHardwareFrame.

        Raises:
            LayoutError: an empty frame, a pixel format that has no planes of elements, or sound
                without a sample rate; the message says what to do.
            UnsupportedObjectError: it is neither.
        """
        if not isinstance(native, VideoFrame | AudioFrame):
            raise UnsupportedObjectError(
                f"{native!r} is neither an av.VideoFrame nor an av.AudioFrame"
            )
        *_, width, height, _, format_, _ = _unpack(_head_at(frame_address(native)))
        if format_ in _OF_DEVICES:
            return _on_device(native)  # type: ignore[return-value]  # it has its own class
        meta = FFmpegMeta(native)
        image = _images.get((format_, width, height)) if type(native) is VideoFrame else None
        if image is not None:
            meta.info = image
        else:
            # Found out here, where the error helps most.
            _remember((format_, width, height), native, meta.info)
        # By position and without a call between: this wraps every decoded frame.
        return cls(native, _context(), native, None, False, meta)

    @property
    def readonly(self) -> bool:  # evaluated each time
        return bool(read_slot(_slot, self)) or not is_writable(self.native)

    @readonly.setter
    def readonly(self, value: bool) -> None:
        _slot.__set__(self, value)

    @property
    def writable(self) -> bool:
        """True if "w" and "rw" mappings are possible now."""
        return not self.readonly

    def make_writable(self, *, copy: bool = False) -> None:
        """Make sure that nothing else refers to the bytes. Does nothing if that is so already.

        Args:
            copy: allow the copy that is needed otherwise. It is counted in `samebytes.stats()`.
                The av frame then has new memory. Mappings made before keep the old bytes, and
                see no writes to the new ones: map again.

        Raises:
            CopyRequiredError: a copy is needed, and `copy` is False.
        """
        if self.writable:
            return
        if not copy:
            node = self.context.node
            raise CopyRequiredError(node, node, f"{node} -> {node} (make_writable)")
        nbytes = sum(plane.info.nbytes for plane in self.planes)
        self.native.make_writable()
        self.readonly = False
        self._planes_moved()
        count_copy("ffmpeg -> ffmpeg (make_writable)", nbytes)

    def _make_planes(self) -> tuple[FFmpegPlane, ...]:
        native = self.native
        planes = native.planes
        if isinstance(native, AudioFrame):
            # PyAV counts pointers up to a NULL, and there is none after a full row of eight.
            count = channel_count(native.layout) if native.format.is_planar else 1
            planes = planes[:count]
        return self._planes_over(planes)

    def _handle(self, key: str) -> int:
        if key != "av_frame":
            raise UnknownNameError("handle of an FFmpegFrame", key, ("av_frame",))
        return frame_address(self.native)


def _remember(key: tuple[int, int, int], native: Any, info: Any) -> None:
    # Not of frames of a device, whose format in memory is another question.
    if type(native) is VideoFrame and native.format.name == info.format.ffmpeg_name:
        if len(_images) >= _MOST_IMAGES:
            _images.clear()
        _images[key] = info


@cache
def _context() -> Any:
    from ._context import FFMPEG

    return FFMPEG


def _on_device(native: Any) -> Frame:
    from ._hardware.objects import FFmpegHardwareFrame

    return FFmpegHardwareFrame.wrap(native)
