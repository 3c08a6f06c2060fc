# SPDX-License-Identifier: Apache-2.0
"""From Y, U and V to R, G and B, as operations of OpenVINO."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
from openvino import Type
from openvino import opset13 as ops

from samebytes.formats import LUMA_WEIGHTS

__all__ = ["MATRICES", "NAMES", "RANGES", "ColorMatrix", "ColorRange", "Conversion", "channel",
           "conversion", "corrected"]  # fmt: skip

ColorMatrix = Literal["BT.601", "BT.709", "BT.2020", "SMPTE 240M", "FCC"]
ColorRange = Literal["limited", "full"]

NAMES: dict[str, ColorMatrix] = {
    "bt470bg": "BT.601",
    "smpte170m": "BT.601",
    "bt709": "BT.709",
    "bt2020nc": "BT.2020",
    "smpte240m": "SMPTE 240M",
    "fcc": "FCC",
}
"""The matrix for each value of a frame's metadata["color_matrix"]. Two of them mean BT.601."""

# (Kr, Kb).
MATRICES: dict[str, tuple[float, float]] = {
    name: LUMA_WEIGHTS[said] for said, name in NAMES.items()
}
RANGES = ("limited", "full")
# What OpenVINO's NV12toBGR and I420toBGR multiply with (their specification): BT.601, rounded.
_OPENVINO = (1.164, 1.596, 0.391, 0.813, 2.018)


class Conversion(NamedTuple):
    """Factors of a colour conversion.

    R = luma * (Y - black) + red * V,  G = ... - green_u * U - green_v * V,  B = ... + blue * U
    with U and V less 128.
    """

    black: float
    luma: float
    red: float
    green_u: float
    green_v: float
    blue: float

    def chroma(self, letter: str) -> dict[str, float]:
        """The factors of U and V (less 128) in the sum with the luma; none for gray ("y")."""
        factors = {
            "r": {"v": self.red},
            "g": {"u": -self.green_u, "v": -self.green_v},
            "b": {"u": self.blue},
        }
        return factors.get(letter, {})


def conversion(matrix: str, range_: str) -> Conversion:
    """The factors. Those of BT.601 in limited range are OpenVINO's own, rounded ones."""
    if (matrix, range_) == ("BT.601", "limited"):
        luma, red, green_u, green_v, blue = _OPENVINO
        return Conversion(16, luma, red, green_u, green_v, blue)
    kr, kb = MATRICES[matrix]
    kg = 1 - kr - kb
    luma, chroma = (255 / 219, 255 / 224) if range_ == "limited" else (1.0, 1.0)
    red, blue = 2 * (1 - kr) * chroma, 2 * (1 - kb) * chroma
    black = 16 if range_ == "limited" else 0
    return Conversion(black, luma, red, blue * kb / kg, red * kr / kg, blue)


def corrected(node: Any, matrix: str, color: str) -> Any:
    """RGB of another matrix, from what OpenVINO's conversion of limited range by BT.601 made of it.

    Both conversions are linear, so that a matrix leads from one to the other, exactly but for
    what the first has clipped: colours that BT.601 makes of the frame outside of 0 to 255.

    Args:
        node: [..., 3], the channels in the order of `color`.
        matrix: of the frame.
        color: "RGB" or "BGR".
    """
    step = _factors(conversion(matrix, "limited")) @ np.linalg.inv(
        _factors(conversion("BT.601", "limited"))
    )
    if color == "BGR":
        step = step[::-1, ::-1]
    kind = node.get_element_type()
    numbers = node if kind == Type.f32 else ops.convert(node, Type.f32)
    made = ops.matmul(numbers, ops.constant(step.astype(np.float32)), False, True)
    made = ops.clamp(made, 0.0, 255.0)
    return made if kind == Type.f32 else ops.convert(ops.round(made, "half_to_even"), kind)


def _factors(how: Conversion) -> Any:
    """R, G and B by Y, U and V."""
    return np.array(
        [
            [how.luma, 0, how.red],
            [how.luma, -how.green_u, -how.green_v],
            [how.luma, how.blue, 0],
        ]
    )


def channel(letter: str, component: Callable[[str], Any], how: Conversion | None) -> Any:
    """One channel as a float32 node, which shares nothing with other channels.

    Args:
        letter: "r", "g" or "b"; "y" for gray.
        component: makes the float32 node of a component; it is asked for those that are needed.
        how: None where nothing is converted: RGB, and gray of full range.
    """
    if how is None:
        return component(letter)
    node = _scaled(_less(component("y"), how.black), how.luma)
    for chroma, factor in how.chroma(letter).items():
        node = ops.add(node, _scaled(_less(component(chroma), 128), factor))
    return ops.clamp(node, 0.0, 255.0)


def _less(node: Any, value: float) -> Any:
    return ops.subtract(node, ops.constant(np.float32(value))) if value else node


def _scaled(node: Any, factor: float) -> Any:
    return node if factor == 1 else ops.multiply(node, ops.constant(np.float32(factor)))
