# SPDX-License-Identifier: Apache-2.0
"""Side data of av frames: copies of what libavutil/frame.h hangs on an AVFrame.

PyAV's own `Frame.side_data` is not used: its container and the frame refer to each other, so each
frame whose side data were read would stay until Python's garbage collector runs.
"""

from __future__ import annotations

from ctypes import Structure, c_int, c_size_t, c_void_p, sizeof, string_at
from typing import TYPE_CHECKING

from ._avutil import AVFrame
from ._pyav import frame_address

if TYPE_CHECKING:
    from av import AudioFrame, VideoFrame

__all__ = ["SIDE_DATA_NAMES", "read_side_data"]

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


class _AVFrameSideData(Structure):
    """libavutil/frame.h, as far as it is read: the same in all versions that are known."""

    _fields_ = (("type", c_int), ("data", c_void_p), ("size", c_size_t))


def read_side_data(native: VideoFrame | AudioFrame) -> dict[str, bytes]:
    """Return the frame's side data: name of the type, or its number as text -> a copy of the bytes.

    Of several entries of one type the last one counts.
    """
    frame = AVFrame.from_address(frame_address(native))
    found = {}
    for n in range(frame.nb_side_data):
        entry = c_void_p.from_address(frame.side_data + n * sizeof(c_void_p)).value
        assert entry  # the array has no gaps
        side_data = _AVFrameSideData.from_address(entry)
        found[_name(side_data.type)] = string_at(side_data.data, side_data.size)
    return found


def _name(number: int) -> str:
    return SIDE_DATA_NAMES[number] if number < len(SIDE_DATA_NAMES) else str(number)
