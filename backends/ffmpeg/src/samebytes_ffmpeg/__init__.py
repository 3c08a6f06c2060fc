# SPDX-License-Identifier: Apache-2.0
"""FFmpeg frames, through PyAV, as samebytes memory. Importing this does not import PyAV."""

from __future__ import annotations

from typing import TYPE_CHECKING

from samebytes.plugins import lazy_exports

if TYPE_CHECKING:
    from ._elements._sink import FFmpegSink
    from ._elements._source import FFmpegSource
    from ._frame import FFmpegContext, FFmpegFrame, FFmpegPlane
    from ._hardware.device import HardwareDevice
    from ._hardware.frame import HardwareFrame
    from ._hardware.objects import (
        FFmpegHardwareFrame,
        FFmpegHardwarePlane,
        HardwareFramePool,
    )
    from ._hardware.vaapi_decoder import VAAPIDecoder
    from ._open import Video, open
    from ._rows import whole_rows

__all__ = [
    "FFmpegContext",
    "FFmpegFrame",
    "FFmpegHardwareFrame",
    "FFmpegHardwarePlane",
    "FFmpegPlane",
    "FFmpegSink",
    "FFmpegSource",
    "HardwareDevice",
    "HardwareFrame",
    "HardwareFramePool",
    "VAAPIDecoder",
    "Video",
    "open",
    "whole_rows",
]

_HOME = {
    "FFmpegContext": "._frame",
    "FFmpegFrame": "._frame",
    "FFmpegHardwareFrame": "._hardware.objects",
    "FFmpegHardwarePlane": "._hardware.objects",
    "FFmpegSink": "._elements._sink",
    "FFmpegSource": "._elements._source",
    "HardwareDevice": "._hardware.device",
    "HardwareFrame": "._hardware.frame",
    "HardwareFramePool": "._hardware.objects",
    "VAAPIDecoder": "._hardware.vaapi_decoder",
    "FFmpegPlane": "._frame",
    "Video": "._open",
    "open": "._open",
    "whole_rows": "._rows",
}


if not TYPE_CHECKING:  # to a type checker, any misspelt name would be there
    __getattr__, __dir__ = lazy_exports(__name__, _HOME)
