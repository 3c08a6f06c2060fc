# SPDX-License-Identifier: Apache-2.0
"""Conversions of frames to RGB, and what the frames have then."""

from __future__ import annotations

from typing import Any

import av
import numpy as np

import samebytes as sb
import samebytes.elements as el

from .material import Planes

__all__ = ["CONVERTS", "CollectRGB", "converted", "converted_by_hand", "rgb_branch"]

Array = np.ndarray[Any, np.dtype[np.uint8]]

CONVERTS = {
    "none": "nobody",
    "numpy": 'the program, by `frame.convert("RGB24")`, as an array of NumPy',
    "torch": "the same, as a tensor of torch",
    "branch": "the element `convert`, in a branch that is the last item",
}


def converted(frame: sb.Frame, name: str) -> Array | None:
    """A copy of what the program has of a frame; None if it converts nothing.

    Args:
        frame: the frame.
        name: of CONVERTS.
    """
    if name not in ("numpy", "torch"):
        return None
    picture = frame.convert("RGB24").map("cpu")
    address = picture.planes[0].native.ctypes.data
    if name == "numpy":
        array: Array = np.asarray(np.from_dlpack(picture.planes[0]), np.uint8)
        assert array.ctypes.data == address
        return array.copy()
    import torch

    tensor = torch.from_dlpack(picture.planes[0])
    assert tensor.data_ptr() == address
    found: Array = tensor.clone().numpy()
    return found


def converted_by_hand(planes: Planes, *, full_range: bool) -> Array:
    """The same picture by PyAV.

    Args:
        planes: of I420 or NV12.
        full_range: of their numbers.
    """
    rows = [plane.reshape(-1, planes[0].shape[1]) for plane in planes]
    name = "nv12" if len(planes) == 2 else "yuv420p"
    frame = av.VideoFrame.from_ndarray(np.concatenate(rows), name)
    frame.color_range = 2 if full_range else 1
    return np.asarray(frame.to_ndarray(format="rgb24"), np.uint8)


class CollectRGB(el.Sink):
    """Keeps copies of pictures of RGB."""

    name = "collect_rgb"
    takes = el.Image("RGB", memory="cpu")

    def open(self, context: Any) -> None:
        self.pictures: list[Array] = []

    def write(self, frame: Any) -> None:
        self.pictures.append(frame.planes[0].native.copy())


def rgb_branch(name: str) -> tuple[list[Any], CollectRGB | None]:
    """The items that convert, and what keeps the pictures.

    Args:
        name: of CONVERTS.
    """
    if name != "branch":
        return [], None
    collect = CollectRGB()
    return [[el.create("convert", "RGB24"), collect]], collect
