# SPDX-License-Identifier: Apache-2.0
"""From GStreamer through a model to an element that writes, on every device: nothing is copied."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import samebytes as sb
import samebytes.elements as el
from samebytes.testing import missing_device

openvino = pytest.importorskip(
    "openvino", reason="missing package samebytes-openvino: pip install samebytes-openvino"
)
ops = openvino.opset13

FRAMES = 8


def model() -> Any:
    """The mean of each channel."""
    image = ops.parameter([1, 3, 32, 32], np.float32)
    return openvino.Model([ops.result(ops.reduce_mean(image, ops.constant([2, 3])))], [image], "")


def as_region(_: Any, outputs: Any) -> list[sb.Region]:
    return [sb.Region(0, 0, 8, 8, confidence=float(outputs[0].host_array().mean()))]


@el.inplace(takes=el.Image("NV12|I420", memory="cpu", access="rw"))
def mark(frame: Any) -> None:
    frame.planes[0].native[:8, :8] = 235


def source(size: str) -> el.Element:
    caps = f"video/x-raw,format=I420,{size}"
    return el.create("gstreamer.source", f"videotestsrc pattern=ball num-buffers={FRAMES} ! {caps}")


def by_hand(size: str) -> list[np.ndarray[Any, Any]]:
    pictures = []
    for frame in el.Pipeline(source(size), lambda frame: frame).start(threads=0):
        picture = frame.map("cpu").planes[0].native.copy()
        picture[:8, :8] = 235
        pictures.append(picture)
    return pictures


@pytest.mark.parametrize("device", ["CPU", "GPU", "NPU"])
@pytest.mark.parametrize(
    ("size", "parameters", "threads"),
    [
        ("width=320,height=240", {}, 0),
        ("width=320,height=240", {}, 1),
        ("width=320,height=240", {"requests": 2}, 1),
        ("width=94,height=62", {}, 2),
        ("width=94,height=62", {"batch": 3}, 0),
    ],
)
def test_what_a_model_has_read_can_be_written(
    device: str, size: str, parameters: dict[str, int], threads: int
) -> None:
    if not any(name.partition(".")[0] == device for name in openvino.Core().available_devices):
        pytest.skip(missing_device(device))
    infer = el.create("openvino.infer", model(), device, postprocess=as_region, **parameters)
    means, pictures = [], []
    with el.Pipeline(source(size), infer, mark()).start(threads=threads) as out:
        for frame in out:
            means.append(frame.regions[0].confidence or 0.0)
            pictures.append(frame.map("cpu").planes[0].native.copy())
        copied = sum(row.copied_bytes for row in out.statistics())
    assert copied == sb.stats().copied_bytes == 0
    np.testing.assert_array_equal(pictures, by_hand(size))
    plain = el.create("openvino.infer", model(), "CPU", postprocess=as_region)
    out = el.Pipeline(source(size), plain).start(threads=0)
    expected = [frame.regions[0].confidence or 0.0 for frame in out]
    np.testing.assert_allclose(means, expected, atol=0.6)
