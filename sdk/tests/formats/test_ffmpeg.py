# SPDX-License-Identifier: Apache-2.0
"""The table against FFmpeg: sizes by its own descriptors, component order by its own scaler."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from samebytes.formats import ImageFormat, PlaneLayout, known_formats

if TYPE_CHECKING:
    import av
else:
    av = pytest.importorskip("av", reason="missing package av: pip install av")

IN_FFMPEG = [fmt for fmt in known_formats() if fmt.ffmpeg_name]

# Bits of each component in a packed word, from the low end.
WORD_BITS = {
    "RGB565": (5, 6, 5),
    "BGR565": (5, 6, 5),
    "RGB555": (5, 5, 5, 1),
    "BGR555": (5, 5, 5, 1),
    "RGB444": (4, 4, 4, 4),
    "BGR444": (4, 4, 4, 4),
    "XV30": (10, 10, 10, 2),
    "V30X": (2, 10, 10, 10),
    "X2RGB10": (10, 10, 10, 2),
    "X2BGR10": (10, 10, 10, 2),
}

COLOR = {"r": 200, "g": 120, "b": 40}


@pytest.mark.parametrize("fmt", IN_FFMPEG, ids=str)
@pytest.mark.parametrize("size", [(5, 3), (64, 48)], ids=str)
def test_sizes(fmt: ImageFormat, size: tuple[int, int]) -> None:
    width, height = size
    assert fmt.ffmpeg_name is not None
    described = av.VideoFormat(fmt.ffmpeg_name, width, height)
    frame = av.VideoFrame(width, height, fmt.ffmpeg_name)
    pitches = [plane.line_size for plane in frame.planes]
    # Fails by itself where a row of ours is longer than FFmpeg's.
    layouts = fmt.plane_layouts(width, height, pitches)
    for layout, plane, ours in zip(layouts, frame.planes, fmt.planes, strict=True):
        assert layout.shape[0] == plane.height
        assert layout.shape[1] == -(-plane.width // ours.x_multiple) * ours.x_multiple
        assert layout.span <= plane.buffer_size
    bits = sum(
        plane.channels * plane.itemsize * 8 / (1 << plane.x_shift + plane.y_shift)
        for plane in fmt.planes
    )
    assert bits == described.padded_bits_per_pixel
    assert fmt.bit_depth == max(component.bits for component in described.components)
    components = fmt.channel_order.replace("X", "")
    assert len(set(components)) == len(described.components)
    assert described.is_rgb == (fmt.color_model == "rgb")


def test_every_alias_that_ffmpeg_knows_is_the_same_memory() -> None:
    compared = 0
    for fmt in known_formats():
        for alias in (fmt.name, *fmt.aliases):
            try:
                frame = av.VideoFrame(5, 3, alias.lower())
            except ValueError:
                continue
            compared += 1
            shapes = [(plane.height, plane.width) for plane in frame.planes]
            rows = [
                (layout.shape[0], -(-5 // (1 << plane.x_shift)))
                for layout, plane in zip(fmt.plane_layouts(5, 3), fmt.planes, strict=True)
            ]
            assert shapes == rows, alias
            assert fmt.color_model == "rgb" or not frame.format.is_rgb, alias
    assert compared >= len(IN_FFMPEG)


def component_values(fmt: ImageFormat, array: np.ndarray[Any, Any], name: str) -> dict[str, float]:
    """Each component of a plane of one colour, as a fraction of its full scale."""
    values: dict[str, float] = {}
    if array.ndim == 2 and len(name) > 1:
        word = int(array[0, 0])
        for letter, bits in zip(name, WORD_BITS[fmt.name], strict=True):
            values[letter] = (word & (1 << bits) - 1) / ((1 << bits) - 1)
            word >>= bits
        return values
    # In packed 4:2:2 the letters are those of two columns.
    for letter, element in zip(name, array[0].ravel()[: len(name)], strict=True):
        if fmt.planes[0].dtype.startswith("float"):
            values[letter] = float(element)
        else:
            values[letter] = (int(element) >> fmt.bit_shift) / ((1 << fmt.bit_depth) - 1)
            unused = (1 << fmt.bit_shift) - 1
            assert letter in "ax" or int(element) & unused == 0
    return values


def scaled(source: av.VideoFrame, name: str) -> av.VideoFrame:
    try:
        return source.reformat(format=name)
    except (ValueError, NotImplementedError, OSError) as error:
        pytest.skip(f"this FFmpeg's scaler does not write {name}: {error}")


def view(plane: Any, layout: PlaneLayout) -> np.ndarray[Any, Any]:
    return np.ndarray(
        layout.shape,
        layout.dtype,
        buffer=memoryview(plane),
        offset=layout.offset,
        strides=layout.strides,
    )


@pytest.mark.parametrize("fmt", IN_FFMPEG, ids=str)
def test_components_are_where_the_table_says(fmt: ImageFormat) -> None:
    assert fmt.ffmpeg_name is not None
    source = av.VideoFrame.from_ndarray(
        np.full((16, 32, 3), list(COLOR.values()), np.uint8), format="rgb24"
    )
    frame = scaled(source, fmt.ffmpeg_name)
    expected = {letter: value / 255 for letter, value in COLOR.items()}
    if fmt.color_model != "rgb":
        reference = source.reformat(format="yuv444p" if fmt.color_model == "yuv" else "gray")
        for letter, plane in zip("yuv", reference.planes, strict=False):
            expected[letter] = memoryview(plane)[0] / 255
    pitches = [plane.line_size for plane in frame.planes]
    layouts = fmt.plane_layouts(32, 16, pitches)
    found = {}
    for name, layout, plane in zip(fmt.plane_names, layouts, frame.planes, strict=True):
        found.update(component_values(fmt, view(plane, layout), name))
    # The scaler rounds, and dithers where components are coarse. The colours lie 0.3 apart.
    tolerance = 0.02 if fmt.bit_depth >= 8 else 0.1
    for letter in set(found) - set("ax"):
        assert found[letter] == pytest.approx(expected[letter], abs=tolerance), letter
    if "a" in found:
        assert found["a"] == pytest.approx(1, abs=tolerance)
