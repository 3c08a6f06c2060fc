# SPDX-License-Identifier: Apache-2.0
"""Side data of av frames: copies of what libavutil/frame.h hangs on an AVFrame.

PyAV's own `Frame.side_data` is not used: its container and the frame refer to each other, so a
frame whose side data were read would stay until Python's garbage collector ran.
"""

from __future__ import annotations

from ctypes import Structure, c_int, c_size_t, c_void_p, memmove, sizeof, string_at
from typing import TYPE_CHECKING, Any

from ._avutil import PYAV, AVFrame
from ._owned import made
from ._pyav import frame_address

if TYPE_CHECKING:
    from av import AudioFrame, VideoFrame

__all__ = [
    "SIDE_DATA_NAMES",
    "AVFrameSideData",
    "filled",
    "read_side_data",
    "set_side_data",
    "side_data_of",
]

SIDE_DATA_NAMES = (
    "PANSCAN", "A53_CC", "STEREO3D", "MATRIXENCODING", "DOWNMIX_INFO", "REPLAYGAIN",
    "DISPLAYMATRIX", "AFD", "MOTION_VECTORS", "SKIP_SAMPLES", "AUDIO_SERVICE_TYPE",
    "MASTERING_DISPLAY_METADATA", "GOP_TIMECODE", "SPHERICAL", "CONTENT_LIGHT_LEVEL", "ICC_PROFILE",
    "S12M_TIMECODE", "DYNAMIC_HDR_PLUS", "REGIONS_OF_INTEREST", "VIDEO_ENC_PARAMS",
    "SEI_UNREGISTERED", "FILM_GRAIN_PARAMS", "DETECTION_BBOXES", "DOVI_RPU_BUFFER", "DOVI_METADATA",
    "DYNAMIC_HDR_VIVID", "AMBIENT_VIEWING_ENVIRONMENT", "VIDEO_HINT", "LCEVC", "VIEW_ID",
    "3D_REFERENCE_DISPLAYS", "EXIF",
)  # fmt: skip
"""Names of AVFrameSideDataType without AV_FRAME_DATA_, by number; new ones come at the end."""


class AVFrameSideData(Structure):
    """libavutil/frame.h: the same in all versions that are known."""

    _fields_ = (
        ("type", c_int), ("data", c_void_p), ("size", c_size_t), ("metadata", c_void_p),
        ("buf", c_void_p),
    )  # fmt: skip


_new = PYAV.quick("av_frame_new_side_data", c_void_p, c_void_p, c_int, c_size_t)
_remove = PYAV.quick("av_frame_remove_side_data", None, c_void_p, c_int)


def read_side_data(native: VideoFrame | AudioFrame) -> dict[str, bytes]:
    """Return the frame's side data: name of the type, or its number as text -> a copy of the bytes.

    Of several entries of one type the last one counts.
    """
    return side_data_of(AVFrame.from_address(frame_address(native)))


def side_data_of(frame: Any) -> dict[str, bytes]:
    """Return what `read_side_data` does, of an AVFrame."""
    found = {}
    for n in range(frame.nb_side_data):
        entry = c_void_p.from_address(frame.side_data + n * sizeof(c_void_p)).value
        assert entry  # the array has no gaps
        side_data = AVFrameSideData.from_address(entry)
        found[_name(side_data.type)] = string_at(side_data.data, side_data.size)
    return found


def set_side_data(native: VideoFrame | AudioFrame, name: str, content: bytes | None) -> None:
    """Hang side data on a frame, in place of what it has of that type.

    Args:
        native: the frame.
        name: one of SIDE_DATA_NAMES.
        content: the bytes; None to take it off.

    Raises:
        NativeError: there is no memory.
    """
    frame, number = frame_address(native), SIDE_DATA_NAMES.index(name)
    _remove(frame, number)
    if content is not None:
        filled(made(_new(frame, number, len(content)), "av_frame_new_side_data"), content)


def filled(entry: int, content: bytes) -> AVFrameSideData:
    """Fill an AVFrameSideData* that was made for this content."""
    found = AVFrameSideData.from_address(entry)
    memmove(found.data, content, len(content))
    return found


def _name(number: int) -> str:
    return SIDE_DATA_NAMES[number] if number < len(SIDE_DATA_NAMES) else str(number)
