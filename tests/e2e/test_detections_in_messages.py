# SPDX-License-Identifier: Apache-2.0
"""Results of detectors go to other processes with their frames, without a word of the program."""

from __future__ import annotations

import socket

import numpy as np
import openvino
import pytest
from openvino import opset13 as ops

import samebytes as sb
import samebytes.elements as el
import samebytes_ipc

BOX = 16.25, 8.5, 40.75, 30.25


def model(*row: float) -> openvino.Model:
    """A model that finds the same in each picture."""
    image = ops.parameter([1, 3, 64, 64], np.float32, name="image")
    rows = ops.constant(np.array([[row]], np.float32))
    nothing = ops.multiply(ops.reduce_mean(image, ops.constant([1, 2, 3])), np.float32(0))
    return openvino.Model([ops.result(ops.add(rows, nothing))], [image])


@pytest.mark.parametrize(
    ("family", "row", "said"),
    [
        ("yolo-end2end", (*BOX, 0.5, 1), {"label_id", "exact_box"}),
        ("yolo-obb-end2end", (*BOX, 0.5, 1, 0.25), {"label_id", "exact_box", "oriented_box"}),
        ("yolo-end2end", (*BOX, 0.5, 1, 20, 10, 0.75), {"label_id", "exact_box", "samebytes"}),
    ],
)
def test_regions_arrive_as_they_were(family: str, row: tuple[float, ...], said: set[str]) -> None:
    points = {"keypoints": (1, 3)} if "samebytes" in said else {}
    infer = el.create("openvino.infer", model(*row), family=family, labels=["a", "b"], **points)
    sent = sb.context("dma").allocate_frame("NV12", 128, 96)
    with el.Pipeline([sent], infer).start(threads=0) as out:
        (found,) = out
    (region,) = found.regions
    assert region.metadata.keys() == said
    ours, theirs = socket.socketpair()
    with ours, theirs:
        samebytes_ipc.send(ours, found, copy=True)
        received = samebytes_ipc.receive(theirs)
    assert isinstance(received, sb.Frame)
    (got,) = received.regions
    entries, theirs_entries = (r.metadata.pop("samebytes", []) for r in (region, got))
    assert got == region
    assert [e.array.tolist() for e in entries] == [e.array.tolist() for e in theirs_entries]
    parts = [f.map("cpu").crop(0, 0, 64, 48).regions[0].metadata for f in (found, received)]
    assert parts[0] == parts[1]
