# SPDX-License-Identifier: Apache-2.0
"""A pipeline that runs as a service: a line of JSON for each frame, with the detected regions.

CAMERA=rtsp://... MODEL=detector.xml samebytes run samples/service/street.py --listen 9464
"""

import os

import samebytes.elements as el


def pipeline() -> el.Pipeline:
    """The pipeline that `samebytes run` runs, with camera and model from the environment."""
    return el.Pipeline(
        el.create("ffmpeg.source", os.environ["CAMERA"], live=True, reconnect=1000),
        el.create("openvino.infer", os.environ["MODEL"], os.environ.get("DEVICE", "CPU")),
        el.create("json.sink", add_empty_results=True),
    )
