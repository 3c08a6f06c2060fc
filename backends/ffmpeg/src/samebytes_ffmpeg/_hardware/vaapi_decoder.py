# SPDX-License-Identifier: Apache-2.0
"""VAAPIDecoder: packets of PyAV's, decoded to surfaces by the libavcodec that has VA-API."""

from __future__ import annotations

import errno
import time
from typing import TYPE_CHECKING, Any

import av

from samebytes.errors import (
    ClosedError,
    NativeError,
    PoolTimeoutError,
    UnsupportedObjectError,
)
from samebytes.plugins import Lock, OwnedPointer

from .._loans import put
from .._pyav import fraction
from .device import VAAPIDevice
from .frame import place_of
from .libavcodec import AVERROR_EOF, AVERROR_INVALIDDATA, NO_TIME, AVPacket, libavcodec_of
from .objects import empty_frame

if TYPE_CHECKING:
    from collections.abc import Iterator
    from fractions import Fraction
    from typing import Self

    from .._libavutil import Libavutil

__all__ = ["VAAPIDecoder"]

_CODECS = ("mjpeg", "mpeg2video", "h264", "hevc", "vp8", "vp9", "av1")
"""Codecs whose streams have all that a decoder needs, in their headers or their data."""

_EAGAIN, _ENOMEM = -errno.EAGAIN, -errno.ENOMEM
_EIO = -errno.EIO
"""libavcodec/vaapi_decode.c: a call of the driver failed."""
_MOST_REFUSED = 30
"""Pictures in a row that a driver may refuse before it counts as broken: about a second of them."""
_NAP, _LONGEST_NAP = 0.0005, 0.02


class VAAPIDecoder:
    """Decodes the packets of a stream on a device of VA-API.

        with av.open("video.mp4") as container:
            stream = container.streams.video[0]
            with VAAPIDecoder(stream) as decoder:
                for packet in container.demux(stream):
                    for frame in decoder.decode(packet):   # on the device, "ffmpeg:VAAPI"
                        surface = samebytes.frame(frame).map("vaapi")

    PyAV reads the stream, and the libavcodec of the libavutil that has VA-API decodes it: the
    system's, if PyAV brings one without. Frames keep their surfaces, and these keep their device,
    so frames can be used after the decoder is closed.

    FFmpeg allocates all surfaces of a size at once, and drivers decode into no others. Frames that
    are kept take surfaces away from the decoder, so `extra_hw_frames` of them can be kept; with
    more, decode() waits for one to be dropped.

    Any thread may use it, one at a time.

    Args:
        stream: an av.VideoStream.
        device: a DRM node ("/dev/dri/renderD128"), an X11 display, or an open device; None for that
            of the node "ffmpeg:VAAPI".
        extra_hw_frames: how many frames can be kept.
        timeout: seconds to wait for one of them to be dropped.

    Attributes:
        device: the context of its frames.

    Raises:
        MissingDependencyError: no libavcodec with VA-API, no driver, or no permission.
        NativeError: FFmpeg cannot open the device.
        UnsupportedObjectError: FFmpeg decodes nothing of the stream's codec by VA-API, or the
            device is of another kind.
    """

    def __init__(
        self,
        stream: av.VideoStream,
        device: str | VAAPIDevice | None = None,
        *,
        extra_hw_frames: int = 8,
        timeout: float = 10.0,
    ) -> None:
        if extra_hw_frames < 1:
            raise ValueError(f"extra_hw_frames={extra_hw_frames}: at least one frame is given")
        codec = stream.codec_context.codec
        name = getattr(codec, "canonical_name", codec.name)  # not in PyAV 12 and 13
        self.device = _device(device)
        self._avutil: Libavutil = self.device.library
        self._codec = libavcodec_of(self._avutil)
        decoder = self._codec.decoder(name, "vaapi") if name in _CODECS else None
        if decoder is None:
            raise UnsupportedObjectError(
                f"{name} is not decoded by VA-API here: FFmpeg decodes {', '.join(_CODECS)}, "
                "as far as it was built with them"
            )
        self._name = name
        self._most, self._timeout = extra_hw_frames, timeout
        self._time_base: Fraction | None = fraction(stream.time_base)
        self._lock = Lock()
        # A buffer without memory for each frame that was given. FFmpeg counts the references to it
        # from that frame and from all that were made of it.
        self._given: list[OwnedPointer] = []
        self._refused = 0
        extradata = stream.codec_context.extradata or b""
        context = self._codec.context(decoder, self.device.reference, extradata)
        self._codec.set_options(context, stream.codec_context.options)
        self._codec.set_option(context, "extra_hw_frames", extra_hw_frames)
        if self._time_base is not None:
            self._codec.set_time_base(context, *self._time_base.as_integer_ratio())
        self._checked("avcodec_open2", self._codec.open(context, decoder, None))
        self._context: OwnedPointer | None = context

    @property
    def held(self) -> int:
        """The number of frames that it gave and that somebody still holds."""
        count = self._avutil.buffer_get_ref_count
        with self._lock:
            self._given = [token for token in self._given if count(token) > 1]
            return len(self._given)

    def decode(self, packet: Any) -> list[Any]:
        """Decode a packet: the frames that are complete now, on the device.

        Args:
            packet: an av.Packet of the stream; an empty one, which PyAV's demux() gives last,
                does nothing.

        Returns:
            HardwareFrame objects, or av.VideoFrame if that FFmpeg is PyAV's own.

        Raises:
            av.error.InvalidDataError: the packet is damaged, or the driver refused its picture
                (`errno` is EIO then); later ones can be decoded.
            ClosedError: the decoder was closed.
            NativeError: the driver refused many pictures in a row, as after the loss of the device.
            PoolTimeoutError: too many frames are kept, and none was dropped in time.
            UnsupportedObjectError: the driver does not decode such pictures.
        """
        if not packet.size:
            return []
        self._wait()
        with self._lock:
            data = self._codec.packet(packet)
            made = AVPacket.from_address(data.address)
            made.pts, made.dts = _number(packet.pts), _number(packet.dts)
            made.duration, made.flags = packet.duration or 0, int(packet.is_keyframe)
            return list(self._decoded(data))

    def flush(self) -> list[Any]:
        """The frames that were still to come when the stream ended. Another one can follow.

        Raises:
            ClosedError, NativeError, PoolTimeoutError, UnsupportedObjectError: as decode().
        """
        self._wait()
        with self._lock:
            frames = list(self._decoded(None))
            self._codec.flush_buffers(self._opened())
            return frames

    def forget(self) -> None:
        """Begin again: the next packet is from another place of the stream.

        Raises:
            ClosedError: the decoder was closed.
        """
        with self._lock:
            self._codec.flush_buffers(self._opened())

    def close(self) -> None:
        """End the decoder. Frames that it gave stay as they are."""
        with self._lock:
            self._context = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _opened(self) -> OwnedPointer:
        if self._context is None:
            raise ClosedError("the decoder was closed")
        return self._context

    def _wait(self) -> None:
        """Wait until the decoder has a surface to decode into, or is closed."""
        until, nap = time.monotonic() + self._timeout, _NAP
        while self._opened() and self.held >= self._most:
            if time.monotonic() >= until:
                raise self._all_held()
            # No event announces that a frame is gone: its last holder just drops it.
            time.sleep(nap)
            nap = min(2 * nap, _LONGEST_NAP)

    def _all_held(self) -> PoolTimeoutError:
        return PoolTimeoutError(
            "VA-API decoder",
            f"{self.held} of its frames are held, of at most {self._most}, and none was "
            f"dropped in {self._timeout:g} s: drop frames, copy them, or allow more by "
            "extra_hw_frames",
        )

    def _decoded(self, packet: OwnedPointer | None) -> Iterator[Any]:
        """Send a packet, or None for the end, and receive what there is."""
        context = self._opened()
        self._checked("avcodec_send_packet", self._codec.send_packet(context, packet))
        while True:
            native, address = empty_frame(self._avutil, VAAPIDevice.pixel_format)
            code = self._codec.receive_frame(context, address)
            if code in (_EAGAIN, AVERROR_EOF):
                return
            self._checked("avcodec_receive_frame", code)
            yield self._on_device(native)

    def _on_device(self, native: Any) -> Any:
        """A frame as it is given: on the device, with its time, and counted."""
        library, address = place_of(native)
        frame = library.AVFrame.from_address(address)
        kind = library.pixel_format_name(frame.format)
        if kind != VAAPIDevice.pixel_format:
            raise UnsupportedObjectError(
                f"{self.device} does not decode this {self._name} by VA-API: FFmpeg went on with "
                f"frames of {kind} in memory, as it does if the driver lacks its profile or size"
            )
        token: OwnedPointer = library.lender.new_token(None)
        self._refused = 0
        put(token, address + library.AVFrame.opaque_ref.offset, library)
        self._given.append(token)
        if frame.pts == NO_TIME:
            frame.pts = frame.best_effort_timestamp
        if self._time_base is not None:
            native.time_base = self._time_base
        return native

    def _checked(self, call: str, code: int) -> None:
        """Raise the error of a call that failed."""
        if code >= 0:
            return
        if code == _ENOMEM and self.held:
            raise self._all_held()
        if code == AVERROR_INVALIDDATA:
            raise av.error.InvalidDataError(-code, f"the packet of {self._name} is damaged")
        if code == _EIO:
            self._refuse(call)
        self._avutil.checked(call, code)

    def _refuse(self, call: str) -> None:
        """Raise the error of a picture that the driver refused; FFmpeg does not say why."""
        self._refused += 1
        if self._refused >= _MOST_REFUSED:
            raise NativeError(
                call,
                _EIO,
                f"the driver of {self.device} refused {self._refused} pictures in a row: it lacks "
                f"their kind of {self._name}, or the device was lost; open it again, or decode in "
                "software",
            )
        raise av.error.InvalidDataError(
            errno.EIO,
            f"the driver of {self.device} refused a picture of this {self._name}: it is damaged, "
            "or of a kind that the driver lacks, such as 4:2:2, or the device was lost; software "
            "decodes it unless it is damaged",
        )


def _device(name: str | VAAPIDevice | None) -> VAAPIDevice:
    if isinstance(name, VAAPIDevice):
        return name
    if name is not None and not isinstance(name, str):
        raise UnsupportedObjectError(
            f"{name!r} is not a device of FFmpeg's for VA-API: pass a DRM node, or "
            'samebytes.context("ffmpeg:VAAPI")'
        )
    made = VAAPIDevice.create(None, None) if name is None else VAAPIDevice.open("vaapi", name)
    assert isinstance(made, VAAPIDevice)
    return made


def _number(value: int | None) -> int:
    return NO_TIME if value is None else value
