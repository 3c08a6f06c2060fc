# SPDX-License-Identifier: Apache-2.0
"""Frames of FFmpeg in memory, their planes, and the one context of them."""

from __future__ import annotations

from ctypes import c_ubyte, c_void_p
from functools import cache
from typing import TYPE_CHECKING, Any

from av import AudioFrame, VideoFrame

from samebytes import Frame, Tensor, TensorInfo
from samebytes.errors import (
    CopyRequiredError,
    LayoutError,
    UnknownNameError,
    UnsupportedObjectError,
)
from samebytes.formats import AudioInfo, ImageFormat, ImageInfo
from samebytes.plugins import HostContext, Refused, count_copy, read_slot

from ._avutil import FRAME_HEAD, AVFrame, get_pix_fmt
from ._meta import FFmpegMeta
from ._pixel_formats import image_format_named, pixel_format_name
from ._pyav import (
    FRAME_POINTER,
    AnyPlane,
    channel_count,
    frame_address,
    frame_of_plane,
    plane_index,
)
from ._reference import ADVICE, is_writable
from ._to_cpu import arrays_on, places_on

if TYPE_CHECKING:
    from typing import Self, Unpack

    import numpy as np

    from samebytes.plugins import FrameSays

__all__ = ["FFMPEG", "FFmpegContext", "FFmpegFrame", "FFmpegPlane"]

# The slots of the base classes, which the properties of the same name stand before.
_frame_slot: Any = Frame.readonly
_plane_slot: Any = Tensor.readonly  # type: ignore[misc]  # the slot itself

_KINDS = VideoFrame, AudioFrame
_unpack = FRAME_HEAD.unpack
_head_at = (c_ubyte * FRAME_HEAD.size).from_address
_pointer_at = c_void_p.from_address
# The ImageInfo of an AVPixelFormat, width and height: asking PyAV takes a quarter of wrap().
_images: dict[tuple[int, int, int], ImageInfo] = {}
_MOST_IMAGES = 256
# Their frames have their own nodes, such as "ffmpeg:VAAPI".
_OF_DEVICES = frozenset(map(get_pix_fmt, (b"vaapi", b"drm_prime", b"cuda"))) - {-1}


class FFmpegPlane(Tensor):
    """One plane of an av frame. `native` is the av plane, which keeps its frame alive.

    The plane is wherever the av frame has it now: after make_writable() at another address.
    What was mapped or exported from it before keeps the bytes that it had then.

    Attributes:
        readonly: whether somebody else would notice a write; evaluated each time, since a
            decoder releases a frame later.
    """

    __slots__ = ()

    readonly_advice = ADVICE

    @classmethod
    def wrap(cls, native: Any) -> Self:
        """A tensor over an av plane.

        Raises:
            LayoutError: its format has no planes of elements; the message says why.
            UnsupportedObjectError: it is not a plane of a frame.
        """
        if not isinstance(native, AnyPlane):
            raise UnsupportedObjectError(f"{native!r} is not a plane of an av frame")
        plane = cls.borrowed(native, FFMPEG)
        plane._describe()
        return plane

    @property
    def readonly(self) -> bool:  # evaluated each time
        return bool(read_slot(_plane_slot, self)) or not is_writable(frame_of_plane(self.native))

    @readonly.setter
    def readonly(self, value: bool) -> None:
        _plane_slot.__set__(self, value)

    @property
    def info(self) -> TensorInfo:
        """dtype, shape and byte strides, where the plane is now."""
        return self._describe()

    def host_array(self) -> np.ndarray[Any, Any]:
        """The plane's bytes; they stay valid wherever the av frame moves."""
        try:
            return arrays_on(frame_of_plane(self.native), not self.readonly)[self._index]
        except Refused as reason:
            raise LayoutError(str(reason)) from reason

    @property
    def _index(self) -> int:
        return plane_index(self.native)

    def _describe(self) -> TensorInfo:
        try:
            return places_on(frame_of_plane(self.native))[self._index].info
        except Refused as reason:
            raise LayoutError(str(reason)) from reason

    def _handle(self, key: str) -> int | None:
        if key == "plane_index":
            return self._index
        if key == "data":
            native = self.native  # the pointer is valid as long as it is held here
            owner = frame_of_plane(native)
            frame = AVFrame.from_address(frame_address(owner))
            return c_void_p.from_address(frame.extended_data + 8 * plane_index(native)).value or 0
        return None


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
        if not isinstance(native, _KINDS):
            raise UnsupportedObjectError(
                f"{native!r} is neither an av.VideoFrame nor an av.AudioFrame"
            )
        address: Any = _pointer_at(id(native) + FRAME_POINTER).value  # `frame_address`
        *_, width, height, _, format_, _ = _unpack(_head_at(address))
        if format_ in _OF_DEVICES:
            return _on_device()(native)  # type: ignore[no-any-return]  # it has its own class
        meta = FFmpegMeta(native)
        image = _images.get((format_, width, height)) if type(native) is VideoFrame else None
        if image is not None:
            meta.info = image
        else:
            # Found out here, where the error helps most.
            _remember((format_, width, height), native, meta.info)
        # By position, and without another call in between: this wraps every decoded frame.
        return cls(native, FFMPEG, native, None, False, meta)

    def _is_readonly(self) -> bool:  # evaluated each time
        return bool(read_slot(_frame_slot, self)) or not is_writable(self.native)

    # Each decoded frame sets it, and a setter in Python takes as long as the rest of a constructor.
    readonly = property(_is_readonly, _frame_slot.__set__)

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

    def _handle(self, key: str) -> int | None:
        return frame_address(self.native) if key == "av_frame" else None


def _remember(key: tuple[int, int, int], native: Any, info: Any) -> None:
    # Not for frames of a device, whose own format is not the one that they would have in memory.
    if type(native) is VideoFrame and native.format.name == info.format.ffmpeg_name:
        if len(_images) >= _MOST_IMAGES:
            _images.clear()
        _images[key] = info


@cache
def _on_device() -> Any:
    """Return what wraps frames of devices; its modules are imported with the first of these."""
    from ._hardware.objects import FFmpegHardwareFrame

    return FFmpegHardwareFrame.wrap


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
        self, format: str | ImageFormat, width: int, height: int, **says: Unpack[FrameSays]
    ) -> FFmpegFrame:
        """A new av.VideoFrame, with rows aligned as FFmpeg likes them.

        Args:
            format: an image format, or any name of it; the names of FFmpeg's own formats that
                samebytes does not list ("bayer_rggb8", "pal8") are taken too.
            width, height: in pixels.
            says: `pts`, `time_base`, `duration` and `metadata`, as for `samebytes.frame`.

        Raises:
            LayoutError: FFmpeg lacks the format, or cannot have one of that size.
            UnknownNameError: the format is unknown.
        """
        image = _named(format)
        info = ImageInfo(image, width, height)
        try:
            native = VideoFrame(width, height, pixel_format_name(image))
        except (OSError, ValueError) as error:
            raise LayoutError(f"FFmpeg cannot represent {info}: {error}") from error
        return FFmpegFrame.wrap(native)

    def rules_out(self, info: ImageInfo | AudioInfo | None) -> str | None:
        """Say why FFmpeg has no frames of such media, or return None."""
        from ._from_cpu import why_not  # for errors alone

        return why_not(info)

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
