# SPDX-License-Identifier: Apache-2.0
"""Make buffers from GstMemory, with their metas."""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import c_int, c_size_t
from typing import Any

from samebytes import AudioInfo, FrameMeta, ImageInfo
from samebytes.errors import LayoutError, UnknownNameError
from samebytes.plugins import OwnedPointer, Refused

from .._abi.gi import Gst, GstAudio, pointer_of
from .._abi.gstreamer import GST_MEMORY_FLAG_READONLY, GstMiniObject
from .._abi.libraries import audio, video
from .._abi.video import GST_VIDEO_MAX_PLANES
from .._caps.caps import caps_for
from .._caps.formats import video_format_of
from .._caps.interlacing import FRAME_FLAGS_SHIFT, buffer_flags
from .._memory.loans import append
from .._metadata.meta import write_meta

__all__ = [
    "buffer_of",
    "check_picture",
    "describe_buffer",
    "mark_readonly",
    "memory_object",
]

_Offsets = c_size_t * GST_VIDEO_MAX_PLANES
_Strides = c_int * GST_VIDEO_MAX_PLANES

# GstVideoMeta has strides as gint.
_MOST = 2**31 - 1


def mark_readonly(memory: OwnedPointer) -> None:
    """Have elements copy a new GstMemory* before they write."""
    GstMiniObject.from_address(memory.address).flags |= GST_MEMORY_FLAG_READONLY


def memory_object(memory: OwnedPointer) -> Any:
    """A Gst.Memory that takes over the reference to a GstMemory*."""
    # gi makes objects of what its own calls return; the buffer is in use for no longer.
    return buffer_of([memory]).get_memory(0)


def buffer_of(memories: Sequence[OwnedPointer]) -> Any:
    """A new Gst.Buffer that takes over GstMemory*s."""
    buffer = Gst.Buffer.new()
    for memory in memories:
        append(pointer_of(buffer), memory)
    return buffer


def check_picture(image: ImageInfo, pitches: Sequence[int]) -> None:
    """Check that a VideoMeta can express the layout.

    Raises:
        Refused: GStreamer lacks the format, or cannot express the way in which rows lie.
    """
    try:
        video_format_of(image.format)
    except LayoutError as error:
        raise Refused(str(error)) from error
    for pitch in pitches:
        if not 0 < pitch <= _MOST:
            raise Refused(f"rows are {pitch} bytes apart, which GStreamer cannot express")


def describe_buffer(buffer: Any, meta: FrameMeta, offsets: Sequence[int], pitches: Sequence[int]) \
        -> None:  # fmt: skip
    """Attach the places of the planes, and the frame's other metadata.

    Args:
        offsets: bytes from the start of the buffer to each plane.
        pitches: bytes from row to row, of pictures.

    Raises:
        Refused: GStreamer lacks the format, or cannot express the metadata.
    """
    try:
        _describe(buffer, meta, offsets, pitches)
    except (LayoutError, UnknownNameError) as error:
        raise Refused(str(error)) from error


def _describe(buffer: Any, meta: FrameMeta, offsets: Sequence[int], pitches: Sequence[int]) -> None:
    info, pointer = meta.info, pointer_of(buffer)
    if isinstance(info, ImageInfo):
        image = info
        details = meta.metadata.get("gstreamer")
        known = details if isinstance(details, dict) else {}
        flags = buffer_flags(meta.metadata, known) >> FRAME_FLAGS_SHIFT
        video.gst_buffer_add_video_meta_full(
            pointer, flags, video_format_of(image.format), image.width, image.height, len(offsets),
            _Offsets(*offsets), _Strides(*pitches),
        )  # fmt: skip
    elif isinstance(info, AudioInfo) and not info.interleaved:
        _add_audio_meta(pointer, info, offsets)
    write_meta(pointer, meta)


def _add_audio_meta(buffer: int, info: AudioInfo, offsets: Sequence[int]) -> None:
    described = GstAudio.AudioInfo.new_from_caps(caps_for(info))
    audio.gst_buffer_add_audio_meta(
        buffer, pointer_of(described), info.samples, (c_size_t * len(offsets))(*offsets)
    )
