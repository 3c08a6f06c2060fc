# SPDX-License-Identifier: Apache-2.0
"""A decoder's frame in OpenVINO: named by its class, a target has types.

OpenVINO's wheel has stubs but no py.typed: pyright reads them, to mypy all of it is Any.
"""

from typing import Any, assert_type

import av
import cv2
import openvino  # mypy import-untyped: it has no py.typed

import samebytes as sb
from samebytes_ffmpeg import FFmpegContext, FFmpegFrame
from samebytes_opencv import OpenCVContext, OpenCVTensor
from samebytes_openvino import OpenVINOContext, OpenVINOTensor

av_frame = av.VideoFrame(320, 240, "yuv420p")
frame = sb.frame(av_frame)
assert_type(frame, sb.Frame)

y, u, v = frame.map(OpenVINOContext)
assert_type(y, OpenVINOTensor)
native: openvino.Tensor = y.native
shape: openvino.Shape = native.get_shape()

with frame.map(OpenCVContext, "rw") as mats:
    assert_type(mats.planes[0], OpenCVTensor)
    cv2.rectangle(mats.planes[0].native, (20, 20), (90, 70), (235,), 2)

back = frame.map(FFmpegContext)
assert_type(back, FFmpegFrame)
assert_type(back.native.width if isinstance(back.native, av.VideoFrame) else 0, int)

# By name it works alike, and is a tensor whose native object can be anything.
for plane in frame.map("openvino"):
    assert_type(plane, sb.Tensor)
    assert_type(plane.native, Any)
print(sb.route(FFmpegContext, OpenVINOContext))
