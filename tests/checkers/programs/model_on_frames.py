# SPDX-License-Identifier: Apache-2.0
"""A model of RGB images on decoded frames, as the README has it."""

from typing import assert_type

import av
import numpy as np
import openvino  # mypy import-untyped: it has no py.typed

import samebytes as sb
import samebytes_openvino as sbo

with av.open("video.mp4") as video:
    frames = video.decode(video=0)
    first = sb.frame(next(frames))
    model = sbo.image_model("detector.xml", first, device="CPU", color="RGB", scale=255)
    assert_type(model, sbo.ImageModel)
    for av_frame in frames:
        outputs = model.infer(sb.frame(av_frame))
        boxes: np.ndarray[tuple[int, ...], np.dtype[np.generic]] = outputs[0].host_array()
        print(boxes.shape)
        native: openvino.Tensor = outputs[0].native
        print(native.get_shape())
assert_type(sb.stats().copied_bytes, int)
