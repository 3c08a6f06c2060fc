# SPDX-License-Identifier: Apache-2.0
"""cpu -> ffmpeg: av frames on memory that numpy arrays describe."""

from __future__ import annotations

import ctypes
from ctypes import addressof, c_void_p
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from av import AudioFrame, AudioLayout, VideoFrame
from numpy import ndarray

from samebytes import Access, Frame, FrameMeta, MemoryMapper, Storage, TensorInfo
from samebytes.errors import LayoutError, UnknownNameError
from samebytes.formats import CHANNELS, AudioInfo, ImageInfo, PlaneLayout, channel_names
from samebytes.plugins import Refused, data_address

from ._avframe_abi import FRAME_PLANES
from ._avutil import PYAV, AVFrame, buffer_unref, frame_copy_props
from ._layouts import AUDIO_FORMATS
from ._loans import lend, put
from ._meaning import FULL_RANGE_FORMATS
from ._meta import FFmpegMeta
from ._pixel_formats import Palette, image_format_named, pixel_format_name
from ._pyav import channel_count, frame_address
from ._side_data_entries import write_entries
from ._to_cpu import arrays_on

__all__ = ["CpuToFrame", "describe_native", "frame_over", "named", "row_distances", "why_not"]

_Array = ndarray[Any, np.dtype[Any]]

_POINTER = ctypes.sizeof(c_void_p)
# AVFrame has so many of `buf` (AV_NUM_DATA_POINTERS).
_FIELDS = 8
_Pointers = c_void_p * _FIELDS
_Planes = ctypes.c_ubyte * FRAME_PLANES.size

# AVFrame has linesize as int.
_MOST = 2**31 - 1

_NEITHER = "FFmpeg frames are images or sound, and this frame is neither"

_PLANAR_CHANNELS = 8
"""AVFrame.data has room for so many; frames with more channels keep them in extended_data."""


class CpuToFrame(MemoryMapper):
    """An av.VideoFrame or av.AudioFrame whose buffers are the planes of a cpu frame.

    Mapped for reading, the buffers are marked read-only, so that FFmpeg copies before it writes.
    PyAV's own plane objects are writable all the same.
    """

    __slots__ = ()

    def connect(
        self, item: Frame, access: Access
    ) -> tuple[VideoFrame | AudioFrame, TensorInfo | None, Storage | None]:
        """The av frame; the memory is the cpu frame's, so there is nothing to give back."""
        try:
            native = frame_over(item.native, item.meta, access == "r")
        except LayoutError as error:
            raise Refused(str(error)) from error
        return native, None, None


def frame_over(
    arrays: tuple[_Array, ...], meta: FrameMeta, readonly: bool
) -> VideoFrame | AudioFrame:
    """An av frame whose buffers are the memory of `arrays`, which FFmpeg holds.

    Raises:
        LayoutError: FFmpeg lacks the format.
        Refused: it cannot express how the arrays lie.
    """
    info = meta.info
    native: VideoFrame | AudioFrame
    if isinstance(info, ImageInfo):
        native = _image(arrays, info, readonly, _full_range_name(meta))
    elif isinstance(info, AudioInfo):
        native = _sound(arrays, info, readonly)
    else:
        raise Refused(_NEITHER)
    describe_native(native, meta)
    return native


def why_not(info: ImageInfo | AudioInfo | None) -> str | None:
    """Say why no frame of FFmpeg's can be such media, or return None."""
    try:
        if isinstance(info, ImageInfo):
            pixel_format_name(info.format)
        elif isinstance(info, AudioInfo):
            _sample_format_name(info.dtype, info.interleaved)
            _channel_layout(info)
        else:
            return _NEITHER
    except (LayoutError, Refused) as reason:
        return str(reason)
    return None


def named(name: str, native: VideoFrame, meta: FrameMeta) -> VideoFrame:
    """The same picture, on the same bytes, under another name of its layout.

    Args:
        name: FFmpeg's name of a pixel format: "yuv420p" for yuvj420p.
        native: an av frame in memory of the CPU.
        meta: its FrameMeta.

    Raises:
        Refused: its planes do not lie as FFmpeg can express it.
    """
    assert isinstance(meta.info, ImageInfo), "formats of full range are those of pictures"
    made = _image(arrays_on(native, False), meta.info, True, name)
    describe_native(made, meta)
    return made


def row_distances(arrays: tuple[_Array, ...], info: ImageInfo) -> list[int]:
    """The bytes from row to row of each plane, as FFmpeg counts them.

    Raises:
        LayoutError: FFmpeg lacks the format.
        Refused: it cannot express how the arrays lie.
    """
    _, extents = _image_extents(info, tuple([(a.shape, a.strides, a.dtype) for a in arrays]))
    return [extent.linesize for extent in extents]


class _Extent(NamedTuple):
    """The extent of one plane around the address of its first element.

    Attributes:
        linesize: the value passed to FFmpeg: bytes from row to row, 0 for a palette.
        low: from the first element to the lowest byte; below zero where it is stored bottom up.
        span: bytes from the lowest on.
    """

    linesize: int
    low: int
    span: int


# Shape, strides and dtype of an array.
_Form = tuple[tuple[int, ...], tuple[int, ...], np.dtype[Any]]


def _full_range_name(meta: FrameMeta) -> str | None:
    """The name of the original's pixel format, if that says more than the layout ("yuvj420p")."""
    if not isinstance(meta, FFmpegMeta):
        return None
    name = FULL_RANGE_FORMATS.get(AVFrame.from_address(frame_address(meta.native)).format)
    if name is None or image_format_named(name) != getattr(meta.info, "format", None):
        return None
    # The frame may have been marked otherwise since.
    return name if meta.metadata.get("color_range") == "full" else None


def _image(
    arrays: tuple[_Array, ...], info: ImageInfo, readonly: bool, name: str | None
) -> VideoFrame:
    usual_name, extents = _image_extents(
        info, tuple([(a.shape, a.strides, a.dtype) for a in arrays])
    )
    try:
        # PyAV sets a frame's format and size only when it makes the frame and its buffers.
        # Nothing was written to these yet, and they are given back below.
        native = VideoFrame(info.width, info.height, name or usual_name)
    except (OSError, ValueError) as error:
        raise Refused(f"FFmpeg cannot represent {info}: {error}") from error
    frame = frame_address(native)
    addresses = [data_address(array) for array in arrays]
    pieces = [
        (address + low, span) for address, (_, low, span) in zip(addresses, extents, strict=True)
    ]
    lent = lend(pieces, arrays, readonly)
    linesize = [extent.linesize for extent in extents]
    unused = [0] * (_FIELDS - len(lent))
    first = frame + AVFrame.buf.offset
    for number, buffer in enumerate(lent):
        put(buffer, first + number * _POINTER)
    buffers = _Pointers.from_address(first)
    for number in range(len(lent), _FIELDS):
        if not buffers[number]:
            break
        buffer_unref(first + number * _POINTER)
    FRAME_PLANES.pack_into(_Planes.from_address(frame), 0, *addresses, *unused, *linesize, *unused)
    return native


@lru_cache(maxsize=512)
def _image_extents(info: ImageInfo, forms: tuple[_Form, ...]) -> tuple[str, tuple[_Extent, ...]]:
    """FFmpeg's name of the format, and where the planes lie."""
    name = pixel_format_name(info.format)
    layouts = info.plane_layouts()
    if len(forms) != len(layouts):
        raise Refused(f"planes of {info.format}: {len(layouts)}, of the frame: {len(forms)}")
    return name, tuple(
        _extent_of(f"plane {number}", form, layout, isinstance(plane, Palette))
        for number, (form, layout, plane) in enumerate(
            zip(forms, layouts, info.format.planes, strict=True)
        )
    )


def _extent_of(what: str, form: _Form, dense: PlaneLayout, palette: bool) -> _Extent:
    shape, strides, dtype = form
    _check_form(what, form, dense)
    rows, row = shape[0], dense.row_nbytes
    pitch = row if rows == 1 else strides[0]
    inner = zip(shape[1:], strides[1:], dense.strides[1:], strict=True)
    if any(given != wanted for extent, given, wanted in inner if extent > 1):
        raise Refused(
            f"{what}: the elements of a row have gaps (strides {strides}), which FFmpeg cannot "
            "express"
        )
    if not row <= abs(pitch) <= _MOST or (palette and pitch != row) or pitch % dtype.itemsize:
        raise Refused(
            f"{what}: rows of {row} bytes are {pitch} bytes apart, which FFmpeg cannot express"
        )
    reach = pitch * (rows - 1)
    # FFmpeg gives palettes no linesize.
    return _Extent(0 if palette else pitch, min(reach, 0), abs(reach) + row)


def _check_form(what: str, form: _Form, dense: PlaneLayout) -> None:
    shape, _, dtype = form
    if shape != dense.shape or dtype != np.dtype(dense.dtype):
        raise Refused(f"{what} is {dtype}{list(shape)}, not {dense.dtype}{list(dense.shape)}")


def _sound(arrays: tuple[_Array, ...], info: AudioInfo, readonly: bool) -> AudioFrame:
    name = _sample_format_name(info.dtype, info.interleaved)
    layouts = info.plane_layouts()
    if len(arrays) != len(layouts):
        raise Refused(f"planes of {info}: {len(layouts)}, of the frame: {len(arrays)}")
    nbytes = layouts[0].nbytes
    if nbytes > _MOST:
        raise Refused(f"a plane of {nbytes} bytes is more than FFmpeg can express")
    for number, (array, layout) in enumerate(zip(arrays, layouts, strict=True)):
        _check_form(f"plane {number}", (array.shape, array.strides, array.dtype), layout)
        if not array.flags.c_contiguous:
            raise Refused(f"plane {number} has gaps (strides {array.strides})")
    native = AudioFrame(name, _channel_layout(info), 0)
    native.sample_rate = info.rate
    frame = AVFrame.from_address(frame_address(native))
    frame.nb_samples = info.samples
    frame.linesize[0] = nbytes
    count = len(arrays)
    pointers: Any = frame.data
    if count >= _PLANAR_CHANNELS:
        # One more than there are channels: PyAV counts planes up to the first NULL.
        frame.extended_data = None
        _allocate(addressof(frame) + AVFrame.extended_data.offset, count + 1)
        pointers = (c_void_p * count).from_address(frame.extended_data)
    if count > _PLANAR_CHANNELS:
        _allocate(addressof(frame) + AVFrame.extended_buf.offset, count - _PLANAR_CHANNELS)
        frame.nb_extended_buf = count - _PLANAR_CHANNELS
    addresses = [data_address(array) for array in arrays]
    lent = lend([(address, nbytes) for address in addresses], arrays, readonly)
    for number, (address, buffer) in enumerate(zip(addresses, lent, strict=True)):
        if number < _PLANAR_CHANNELS:
            put(buffer, addressof(frame) + AVFrame.buf.offset + number * _POINTER)
            frame.data[number] = address
        else:
            put(buffer, frame.extended_buf + (number - _PLANAR_CHANNELS) * _POINTER)
        pointers[number] = address
    return native


def _sample_format_name(dtype: str, interleaved: bool) -> str:
    names = {"uint8": "u8", "int16": "s16", "int32": "s32", "int64": "s64", "float32": "flt",
             "float64": "dbl"}  # fmt: skip
    if (dtype, interleaved) not in AUDIO_FORMATS.values():
        raise Refused(f"no FFmpeg sample format for {dtype}")
    return names[dtype] + ("" if interleaved else "p")


def _channel_layout(info: AudioInfo) -> AudioLayout:
    """The layout for FFmpeg. Three or more channels without a layout belong to no loudspeakers.

    Raises:
        Refused: channels in another order than FFmpeg's, or another number of them.
    """
    usual = {1: "mono", 2: "stereo"}.get(info.channels, f"{info.channels} channels")
    name = info.channel_layout or usual
    channels = channel_names(name)
    if channels is not None:
        places = [CHANNELS.index(channel) for channel in channels]
        if places != sorted(set(places)):
            # FFmpeg could express it by a map on the heap. But PyAV would free that once for each
            # of its objects, which would end the process.
            wanted = "+".join(CHANNELS[place] for place in sorted(set(places)))
            raise Refused(
                f"the channels are in the order {'+'.join(channels)}, but FFmpeg takes {wanted}: "
                "reorder them, which copies"
            )
    # The channels one by one are for a libavutil that lacks the name of the layout.
    for text in (name, "+".join(channels or ()), f"{info.channels} channels"):
        try:
            layout = AudioLayout(text)
        except ValueError:
            continue
        if channel_count(layout) != info.channels:
            raise Refused(f"the layout {text!r} does not have {info.channels} channels")
        return layout
    raise Refused(f"no FFmpeg channel layout for {info.channels} channels")


def _allocate(place: int, count: int) -> None:
    """Room for `count` pointers, all NULL, which FFmpeg frees together with the frame.

    Args:
        place: the address of the field that will point there, and is NULL now.
    """
    nbytes = count * _POINTER
    PYAV.checked("av_reallocp", PYAV.reallocp(place, nbytes))
    ctypes.memset(c_void_p.from_address(place).value or 0, 0, nbytes)


def describe_native(native: Any, meta: FrameMeta) -> None:
    """Give an av frame its time and metadata, and what else FFmpeg knew if it came from there.

    Raises:
        Refused: an entry of the metadata has a value that it cannot have.
    """
    if isinstance(meta, FFmpegMeta):
        frame_copy_props(frame_address(native), frame_address(meta.native))
    if meta.pts is not None:
        native.pts = meta.pts
    if meta.time_base is not None:
        native.time_base = meta.time_base
    if isinstance(meta, FFmpegMeta) and not meta.metadata_was_read:
        return  # nobody changed what was copied
    try:
        write_entries(native, meta.metadata)
    except (LayoutError, UnknownNameError) as error:
        raise Refused(str(error)) from error
