# SPDX-License-Identifier: Apache-2.0
"""The components of a pixel in the rows of their planes, and the image made from them.

Operations of OpenVINO turn Y, U and V into R, G and B. Converting colour at full size, and then
resizing, computes pixels that nobody looks at: bilinear resizing reads four pixels of the source
for each one of the result, however large the source is. So these four are gathered from the planes,
as bytes: first their rows, which are dense, then their columns; chroma at half the index. Then
colour is converted, clipped to 0 to 255 as at full size, and weighted. The result is the same as
when converting first, except that a picture of bytes would be rounded in between, by at most half a
step. It is faster if the source has several times as many pixels as the result; the limit is in
`gathering_is_faster`.

If nothing is resized, the three channels are one operation, which multiplies by the factors of all
three. Otherwise each channel is computed by itself. If two of them shared an operation, OpenVINO's
CPU plugin would write its result to memory, as float32, and read it again for each, which takes
longer than computing it twice. The plugin also merges equal operations, so the nodes of each
channel have a shape of their own: one dimension of 1 more than those of the channel before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np
from openvino import Type
from openvino import opset13 as ops

from samebytes import ImageFormat
from samebytes.errors import UnknownNameError
from samebytes.formats import LUMA_WEIGHTS, known_formats

__all__ = [
    "MATRICES",
    "NAMES",
    "RANGES",
    "ColorMatrix",
    "ColorRange",
    "Component",
    "Conversion",
    "channel",
    "components_of",
    "conversion",
    "corrected",
    "is_readable",
    "picture",
    "supported_formats",
    "without_subsampling",
]


ColorMatrix = Literal[
    "BT.601", "BT.709", "BT.2020", "SMPTE 240M", "FCC",
    "bt470bg", "smpte170m", "bt709", "bt2020nc", "smpte240m", "fcc",
]  # fmt: skip
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
    """RGB by another matrix, from the result of OpenVINO's conversion by BT.601 in limited range.

    Both conversions are linear, so a matrix leads from one to the other. It is exact except for
    what the first one has clipped: colours that are outside of 0 to 255 by BT.601.

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
        component: makes the float32 node of a component; it is called for those that are needed.
        how: None if nothing is converted: RGB, and gray of full range.
    """
    if how is None:
        return component(letter)
    node = _scaled(_less(component("y"), how.black), how.luma)
    for chroma, factor in how.chroma(letter).items():
        node = ops.add(node, _scaled(_less(component(chroma), 128), factor))
    return ops.clamp(node, 0.0, 255.0)


def _at_once(component: Callable[[str], Any], how: Conversion, color: str) -> Any:
    """All channels as one float32 node [3, rows, columns], with the numbers of `channel`.

    Args:
        component: makes the float32 node [1, rows, columns] of Y, U or V.
    """
    node = _scaled(_less(component("y"), how.black), how.luma)
    for chroma in "uv":
        factors = [how.chroma(letter).get(chroma, 0.0) for letter in color.lower()]
        of_channels = ops.constant(np.array(factors, np.float32)[:, None, None])
        node = ops.add(node, ops.multiply(_less(component(chroma), 128), of_channels))
    return ops.clamp(node, 0.0, 255.0)


def _less(node: Any, value: float) -> Any:
    return ops.subtract(node, ops.constant(np.float32(value))) if value else node


def _scaled(node: Any, factor: float) -> Any:
    return node if factor == 1 else ops.multiply(node, ops.constant(np.float32(factor)))


class Component(NamedTuple):
    """One of Y, U, V, R, G, B.

    The component of the pixel in column x and row y begins at byte
    (x >> x_shift) * step + offset of row (y >> y_shift) of its plane.

    Attributes:
        plane: number of the plane.
        nbytes: 1 or 2, the low one first.
        scale: the factor from the stored number to one from 0 to 255.
    """

    plane: int
    offset: int
    step: int
    x_shift: int
    y_shift: int
    nbytes: int
    scale: float


_WANTED = {"yuv": "yuv", "rgb": "rgb", "gray": "y"}


def is_readable(format_: ImageFormat) -> bool:
    """True if a format has the components of its colour model, each of one or two whole bytes.

    Palettes, Bayer patterns and XYZ have other components.
    """
    letters = set("".join(format_.plane_names))
    return set(_WANTED[format_.color_model]) <= letters <= set("yuvrgbax") and all(
        plane.dtype in ("uint8", "uint16")
        and plane.channels * plane.x_multiple == len(name)
        # A group of four pixels (uyyvyy411) has more of a letter than it has columns.
        and all(plane.x_multiple % name.count(letter) == 0 for letter in name)
        for plane, name in zip(format_.planes, format_.plane_names, strict=True)
    )


@lru_cache(maxsize=64)
def components_of(format_: ImageFormat, limited: bool = False) -> dict[str, Component]:
    """The components by their letters: y, u and v; y alone; or r, g and b. Alpha is left out.

    Args:
        format_: of the frames.
        limited: whether gray has the limited range.

    Raises:
        UnknownNameError: pixels of several components to a word, or elements of float.
    """
    if not is_readable(format_):
        names = [known.name for known in supported_formats()]
        raise UnknownNameError(
            "format of image_model",
            format_.name,
            names,
            f"(planes {', '.join(format_.plane_names)} of {format_.planes[0].dtype}): convert the "
            "frames first: frame.convert('RGB'), in a pipeline el.create('convert', 'RGB')",
            nearest=(),
        )
    wide = format_.bit_depth > 8
    # 10 bits of YUV are 8 bits with a fraction, as those of any limited range; an RGB of 10 bits
    # has 1023 where 8 have 255.
    full = 2.0 ** (format_.bit_depth - 8) if limited or format_.color_model == "yuv" else 0.0
    full = full or ((1 << format_.bit_depth) - 1) / 255
    scale = 1 / (full * (1 << format_.bit_shift)) if wide else 1.0
    found: dict[str, Component] = {}
    for number, (plane, letters) in enumerate(
        zip(format_.planes, format_.plane_names, strict=True)
    ):
        size = plane.itemsize
        for letter in dict.fromkeys(letters):
            # A letter that occurs once in a pair of pixels belongs to both.
            shared = plane.x_multiple // letters.count(letter)
            found[letter] = Component(
                number,
                letters.index(letter) * size,
                plane.channels * shared * size,
                plane.x_shift + shared.bit_length() - 1,
                plane.y_shift,
                size,
                scale,
            )
    return {letter: found[letter] for letter in _WANTED[format_.color_model]}


@lru_cache(maxsize=64)
def without_subsampling(format_: ImageFormat) -> ImageFormat:
    """The same format with chroma for each pixel; the format itself if it has that already."""
    planes = tuple(replace(plane, x_shift=0, y_shift=0) for plane in format_.planes)
    return (
        format_
        if planes == format_.planes
        else ImageFormat(
            f"{format_.name} with full chroma",
            planes,
            plane_names=format_.plane_names,
            color_model=format_.color_model,
            bit_depth=format_.bit_depth,
            bit_shift=format_.bit_shift,
        )
    )


@lru_cache(maxsize=1)
def supported_formats() -> tuple[ImageFormat, ...]:
    """Every known format that `components_of` takes."""
    return tuple(known for known in known_formats() if is_readable(known))


Array = np.ndarray[Any, Any]


class _Axis(NamedTuple):
    """The two rows or columns of the source between which each one of the result lies.

    Attributes:
        before, after: their numbers; `after` is None if source and result have the same size.
        weight: the weight of `after`, 0 to 1.
    """

    before: Array
    after: Array | None
    weight: Array


def picture(
    rows: Sequence[Any],
    components: Mapping[str, Component],
    firsts: Sequence[int],
    part: tuple[int, int, int, int],
    target: tuple[int, int],
    how: Conversion | None,
    color: str,
) -> Any:
    """A float32 node of shape [3, height, width], or [1, 3, ...], with numbers from 0 to 255.

    Args:
        rows: for each plane a uint8 node of shape [rows, bytes of a row], padding included.
        components: see `components_of`.
        firsts: for each plane the byte of its rows at which its first pixel begins.
        part: x, y, width and height of what is seen of the frame.
        target: (width, height) of the result.
        how: the colour conversion, or None.
        color: "RGB" or "BGR".
    """
    across, down = (_axis(part[n], part[n + 2], target[n]) for n in (0, 1))
    wanted = [down.before] if down.after is None else [down.before, down.after]
    lines = _Lines(rows, np.concatenate(wanted))
    if how is not None and "u" in components and across.after is None and down.after is None:

        def whole(name: str) -> Any:
            found = components[name]
            return lines.column(found, across.before, firsts[found.plane], 3)

        return _at_once(whole, how, color)

    def made(letter: str, dimensions: int) -> Any:
        def colour(columns: Array) -> Any:
            def component(name: str) -> Any:
                found = components[name]
                return lines.column(found, columns, firsts[found.plane], dimensions)

            return channel(letter, component, how)

        node = colour(across.before)
        if across.after is not None:
            node = _between(node, colour(across.after), across.weight)
        if down.after is not None:
            halves = ops.split(node, ops.constant(np.int32(dimensions - 2)), 2)
            node = _between(halves.output(0), halves.output(1), down.weight[:, None])
        return ops.reshape(node, np.array([1, 1, *reversed(target)]), False)

    letters = "y" if "y" in components and "u" not in components else color.lower()
    channels = [made(letter, 2 + number) for number, letter in enumerate(letters)]
    return ops.concat(channels if len(channels) == 3 else channels * 3, 1)


class _Lines:
    """The rows of each plane that the result needs, and their columns, each gathered once."""

    def __init__(self, planes: Sequence[Any], wanted: Array) -> None:
        self._planes = planes
        self._wanted = wanted
        self._rows: dict[tuple[int, int], Any] = {}
        self._columns: dict[tuple[int, int, bytes], Any] = {}

    def column(self, component: Component, columns: Array, first: int, dimensions: int) -> Any:
        """float32 [1, ..., rows, columns] of a component, with so many dimensions."""
        begin = (columns >> component.x_shift) * component.step + component.offset + first
        node = self._floats(component, begin, dimensions)
        if component.nbytes == 2:
            high = self._floats(component, begin + 1, dimensions)
            node = ops.add(node, ops.multiply(high, ops.constant(np.float32(256))))
        if component.scale != 1:
            node = ops.multiply(node, ops.constant(np.float32(component.scale)))
        return node

    def _floats(self, component: Component, places: Array, dimensions: int) -> Any:
        node = self._bytes(component, places)
        if dimensions > 2:
            shape = [1] * (dimensions - 2) + list(node.shape)
            node = ops.reshape(node, ops.constant(np.array(shape)), False)
        return ops.convert(node, np.float32)

    def _bytes(self, component: Component, places: Array) -> Any:
        row_key = component.plane, component.y_shift
        if row_key not in self._rows:
            wanted = self._wanted >> component.y_shift
            self._rows[row_key] = _gathered(self._planes[component.plane], wanted, 0)
        key = (*row_key, places.tobytes())
        if key not in self._columns:
            self._columns[key] = _gathered(self._rows[row_key], places, 1)
        return self._columns[key]


def _axis(first: int, source: int, target: int) -> _Axis:
    """The places of half-pixel centres, as Interpolate has them by default."""
    if source == target:
        return _Axis(np.arange(source) + first, None, np.zeros(source, np.float32))
    step = np.float32(source / target)
    half = np.float32(0.5)
    place = (np.arange(target, dtype=np.float32) + half) * step - half
    before = np.floor(place).astype(np.int64)
    weight = (place - before).astype(np.float32)
    last = source - 1
    return _Axis(before.clip(0, last) + first, (before + 1).clip(0, last) + first, weight)


def _gathered(node: Any, numbers: Array, axis: int) -> Any:
    if len(numbers) == list(node.shape)[axis] and (numbers == np.arange(len(numbers))).all():
        return node
    return ops.gather(node, ops.constant(numbers.astype(np.int32)), ops.constant(np.int32(axis)))


def _between(first: Any, second: Any, weight: Array) -> Any:
    return ops.add(first, ops.multiply(ops.subtract(second, first), ops.constant(weight)))
