# SPDX-License-Identifier: Apache-2.0
"""The rules for elements, tried on those of GStreamer."""

from __future__ import annotations

from typing import Any, ClassVar

from samebytes.testing import ElementSuite

GRAY = "video/x-raw,format=GRAY8,width=64,height=48,framerate=30/1"


class TestSource(ElementSuite):
    element = "gstreamer.source"
    parameters: ClassVar[dict[str, Any]] = {"pipeline": f"videotestsrc num-buffers=12 ! {GRAY}"}
    many = 200


class TestSink(ElementSuite):
    element = "gstreamer.sink"
    parameters: ClassVar[dict[str, Any]] = {"pipeline": "fakesink sync=false"}
    many = 300
