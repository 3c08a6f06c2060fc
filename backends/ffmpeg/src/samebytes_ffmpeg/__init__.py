# SPDX-License-Identifier: Apache-2.0
"""FFmpeg frames, through PyAV, as samebytes memory. Importing this does not import PyAV."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._context import FFmpegContext
    from ._frame import FFmpegFrame
    from ._hardware.device import HardwareDevice
    from ._hardware.frame import HardwareFrame
    from ._hardware.objects import FFmpegHardwareFrame, FFmpegHardwarePlane
    from ._hardware.pool import HardwareFramePool
    from ._plane import FFmpegPlane
    from ._rows import whole_rows

__all__ = [
    "FFmpegContext",
    "FFmpegFrame",
    "FFmpegHardwareFrame",
    "FFmpegHardwarePlane",
    "FFmpegPlane",
    "HardwareDevice",
    "HardwareFrame",
    "HardwareFramePool",
    "whole_rows",
]

_MODULES = {
    "FFmpegContext": "_context",
    "FFmpegFrame": "_frame",
    "FFmpegHardwareFrame": "_hardware.objects",
    "FFmpegHardwarePlane": "_hardware.objects",
    "HardwareDevice": "_hardware.device",
    "HardwareFrame": "_hardware.frame",
    "HardwareFramePool": "_hardware.pool",
    "FFmpegPlane": "_plane",
    "whole_rows": "_rows",
}


def __getattr__(name: str) -> Any:
    try:
        module = _MODULES[name]
    except KeyError:
        raise AttributeError(f"module {__name__} has no attribute {name!r}") from None
    from importlib import import_module

    return getattr(import_module(f".{module}", __name__), name)


def __dir__() -> list[str]:
    return sorted(__all__)
