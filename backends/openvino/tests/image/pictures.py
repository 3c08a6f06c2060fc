# SPDX-License-Identifier: Apache-2.0
"""Frames of noise, and what a model of images should see of them, worked out with numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import openvino
from openvino import opset13 as ops

import samebytes
from samebytes import Frame, ImageFormat

__all__ = ["Array", "echo", "expected", "noise"]

Array = np.ndarray[Any, Any]

_KR_KB = {
    "BT.601": (0.299, 0.114),
    "BT.709": (0.2126, 0.0722),
    "BT.2020": (0.2627, 0.0593),
    "SMPTE 240M": (0.212, 0.087),
    "FCC": (0.30, 0.11),
}


def echo(
    height: int = 30, width: int = 40, layout: str = "NCHW", dtype: Any = np.float32
) -> openvino.Model:
    """A model of one image, "image", that gives the image back as float32. -1 is dynamic."""
    shape = [1, 3, height, width] if layout == "NCHW" else [1, height, width, 3]
    x = ops.parameter(openvino.PartialShape(shape), dtype, name="image")
    model = openvino.Model([ops.result(ops.convert(x, np.float32))], [x], "echo")
    model.inputs[0].tensor.set_names({"image"})
    return model


def noise(name: str, width: int, height: int, padding: int = 0, seed: int = 1) -> Frame:
    """Random planes; after each row lie `padding` pixels more, that must not be seen."""
    format_ = ImageFormat.of(name)
    random = np.random.default_rng(seed)
    top = (1 << format_.bit_depth) - 1
    planes = []
    for layout in format_.plane_layouts(width, height):
        rows, columns, *channels = layout.shape
        shape = (rows, columns + padding, *channels)
        whole = random.integers(0, top, shape, layout.dtype, endpoint=True) << format_.bit_shift
        planes.append(whole.astype(layout.dtype)[:, :columns])
    return samebytes.frame(planes, format=format_, width=width, height=height)


def expected(
    frame: Frame,
    size: tuple[int, int],
    color: str = "BGR",
    matrix: str = "BT.601",
    range_: str = "limited",
) -> Array:
    """The picture at full size, rounded, then resized: (3, height, width)."""
    parts = _components(frame)
    if "r" in parts:
        rgb = parts
    elif "u" in parts:
        rgb = _from_yuv(parts, matrix, range_)
    else:
        y = parts["y"] if range_ == "full" else ((parts["y"] - 16) * 255 / 219).clip(0, 255)
        rgb = dict.fromkeys("rgb", y)
    whole = frame.format.bit_depth == 8
    full = np.stack([np.round(rgb[c]) if whole else rgb[c] for c in color.lower()])
    return _resized(_resized(full, size[1], 1), size[0], 2)


def _components(frame: Frame) -> dict[str, Array]:
    """Each component at full size, from 0 to 255."""
    format_, found = frame.format, {}
    for plane, shape, names in zip(frame.planes, format_.planes, format_.plane_names, strict=True):
        array = np.asarray(plane.map("cpu")).astype(np.float64)
        if shape.x_multiple > 1:  # y u y v: a pair of pixels is four numbers
            array = array.reshape(len(array), -1, len(names))
            luma = [i for i, name in enumerate(names) if name == "y"]
            found["y"] = array[..., luma].reshape(len(array), -1)
            found |= {n: array[..., names.index(n)].repeat(2, 1) for n in "uv"}
            continue
        array = array.reshape(*array.shape[:2], -1)
        for number, name in enumerate(names):
            part = array[..., number]
            found[name] = part.repeat(1 << shape.y_shift, 0).repeat(1 << shape.x_shift, 1)
    scale = 2.0 ** (format_.bit_depth - 8)
    if format_.color_model != "yuv":
        scale = ((1 << format_.bit_depth) - 1) / 255
    scale *= 1 << format_.bit_shift
    return {n: p[: frame.height, : frame.width] / scale for n, p in found.items() if n not in "ax"}


def _from_yuv(parts: dict[str, Array], matrix: str, range_: str) -> dict[str, Array]:
    kr, kb = _KR_KB[matrix]
    y, u, v = parts["y"], parts["u"] - 128, parts["v"] - 128
    if range_ == "limited":
        y, u, v = (y - 16) * 255 / 219, u * 255 / 224, v * 255 / 224
    r, b = y + 2 * (1 - kr) * v, y + 2 * (1 - kb) * u
    g = (y - kr * r - kb * b) / (1 - kr - kb)
    return {"r": r.clip(0, 255), "g": g.clip(0, 255), "b": b.clip(0, 255)}


def _resized(image: Array, length: int, axis: int) -> Array:
    """Bilinear, with centres of pixels at their halves."""
    source = image.shape[axis]
    place = (np.arange(length) + 0.5) * source / length - 0.5
    before = np.floor(place).astype(int)
    weight = place - before
    weight = weight[:, None] if axis == 1 else weight
    first = image.take(before.clip(0, source - 1), axis)
    second = image.take((before + 1).clip(0, source - 1), axis)
    between: Array = first * (1 - weight) + second * weight
    return between


def nearest(source: Array, target: Array) -> None:
    """Resize a plane to the nearest pixels, as `resize=` does."""
    rows = np.arange(target.shape[0]) * source.shape[0] // target.shape[0]
    columns = np.arange(target.shape[1]) * source.shape[1] // target.shape[1]
    target[...] = source[rows][:, columns]
