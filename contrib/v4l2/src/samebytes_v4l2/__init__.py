# SPDX-License-Identifier: Apache-2.0
"""Cameras of V4L2, whose frames are memory of "dma", without a copy and without a library.

with samebytes_v4l2.Camera("/dev/video0") as camera:
    camera.set_format("NV12", 1280, 720, rate=30)
    for frame in camera.start():
        tensor = frame.map("openvino")

In a pipeline: el.create("v4l2.source", "/dev/video0").
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from samebytes.plugins import lazy_exports

if TYPE_CHECKING:
    from ._camera import Camera
    from ._errors import CameraGoneError, CameraTimeoutError
    from ._formats import CameraFormat
    from ._listing import CameraInfo, cameras
    from ._stream import CameraStatistics

__version__ = "0.1.0"

__all__ = [
    "Camera",
    "CameraFormat",
    "CameraGoneError",
    "CameraInfo",
    "CameraStatistics",
    "CameraTimeoutError",
    "cameras",
]

_HOME = {
    "Camera": "._camera",
    "CameraFormat": "._formats",
    "CameraGoneError": "._errors",
    "CameraInfo": "._listing",
    "CameraStatistics": "._stream",
    "CameraTimeoutError": "._errors",
    "cameras": "._listing",
}


if not TYPE_CHECKING:  # to a type checker, any misspelt name would be there
    __getattr__, __dir__ = lazy_exports(__name__, _HOME)
