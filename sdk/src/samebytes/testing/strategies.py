# SPDX-License-Identifier: Apache-2.0
"""Hypothesis strategies for layouts of arrays and images, including odd ones.

    @given(strategies.layouts(("uint8", "float32"), negative=False))
    def test_any_layout(layout: Layout) -> None:
        array = layout.array()

A drawn layout describes memory; its `array()` or `arrays()` allocates it. Each keyword that is
False leaves one oddity out; the oddities are those of `samebytes.testing.Layouts`.
"""

from __future__ import annotations

from collections.abc import Sequence

from . import _requirements  # noqa: F401 - first: it says what is missing

# isort: split
from hypothesis import strategies as st

from samebytes import ImageInfo, TensorInfo, dtype
from samebytes.formats import ImageFormat, known_formats

from ._layouts import ImageLayout, Layout

__all__ = ["DTYPES", "image_layouts", "images", "layouts", "shapes"]

DTYPES = ("uint8", "int16", "float32", "float64")
"""The element types that are drawn unless others are named."""

_OFFSETS = (0, 0, 1, 16, 24, 64)
_GAPS = (0, 0, 0, 1, 5)
_PADDINGS = (0, 0, 1, 2, 16)


def shapes(
    *, max_dims: int = 4, max_side: int = 4, empty: bool = True, scalar: bool = True
) -> st.SearchStrategy[tuple[int, ...]]:
    """Shapes of arrays, by default including empty ones and the one without axes.

    Args:
        max_dims: the maximum number of axes.
        max_side: the maximum number of elements along an axis.
        empty: draw axes of no elements too.
        scalar: draw the shape without axes too.
    """
    sides = st.integers(0 if empty else 1, max_side)
    return st.lists(sides, min_size=0 if scalar else 1, max_size=max_dims).map(tuple)


@st.composite
def layouts(
    draw: st.DrawFn,
    dtypes: Sequence[str] = DTYPES,
    shape: tuple[int, ...] | None = None,
    *,
    max_dims: int = 4,
    max_side: int = 4,
    pitched: bool = True,
    gaps: bool = True,
    transposed: bool = True,
    negative: bool = True,
    overlapping: bool = True,
    empty: bool = True,
    scalar: bool = True,
    offset: bool = True,
    readonly: bool = False,
) -> Layout:
    """Layouts as views of arrays have them: axes in any order, gaps, flips, repeats, empty axes.

    Args:
        draw: passed by hypothesis, not by the caller.
        max_dims: the maximum number of axes.
        max_side: the maximum number of elements along an axis.
        dtypes: names of element types of at least one byte.
        shape: the only shape; None for any with up to `max_dims` axes of up to `max_side`.
        pitched, gaps, transposed, negative, overlapping, empty, scalar: draw such layouts too.
        offset: let the lowest byte lie anywhere in a page, at multiples of the element's size.
        readonly: draw memory that cannot be written, too.
    """
    element = dtype(draw(st.sampled_from(list(dtypes))))
    item = element.itemsize
    assert item is not None, "packed types have no strides"
    if shape is None:
        shape = draw(shapes(max_dims=max_dims, max_side=max_side, empty=empty, scalar=scalar))
    inwards = list(range(len(shape)))
    if transposed:
        inwards = list(draw(st.permutations(inwards)))
    outermost = next((axis for axis in inwards if shape[axis] > 1), None)
    several = sum(extent > 1 for extent in shape) > 1
    factors = [1, 1, 1, 1] + [-1] * negative + [0] * overlapping
    strides = [0] * len(shape)
    step = item
    for axis in reversed(inwards):
        wanted = pitched if axis == outermost and several else gaps
        strides[axis] = step + (item * draw(st.sampled_from(_GAPS)) if wanted else 0)
        if shape[axis] > 1:  # no element lies at the stride of any other axis
            step = strides[axis] * shape[axis]
        strides[axis] *= draw(st.sampled_from(factors))
    return Layout(
        TensorInfo(element, shape, strides),
        item * draw(st.sampled_from(_OFFSETS)) if offset else 0,
        draw(st.booleans()) if readonly else False,
    )


@st.composite
def images(
    draw: st.DrawFn,
    formats: Sequence[str | ImageFormat] | None = None,
    *,
    max_width: int = 33,
    max_height: int = 17,
    odd: bool = True,
) -> ImageInfo:
    """Images of any format and size.

    Args:
        draw: passed by hypothesis, not by the caller.
        max_width: the maximum width, in pixels.
        max_height: the maximum height, in rows.
        formats: the formats to draw from; None for all known ones.
        odd: draw widths and heights too that the format's subsampling does not divide.
    """
    names = known_formats() if formats is None else [ImageFormat.of(f) for f in formats]
    chosen = draw(st.sampled_from(names))
    width = draw(st.integers(1, max_width))
    height = draw(st.integers(1, max_height))
    if not odd:
        columns = max(max(1 << p.x_shift, p.x_multiple) for p in chosen.planes)
        rows = max(1 << p.y_shift for p in chosen.planes)
        width, height = -(-width // columns) * columns, -(-height // rows) * rows
    return ImageInfo(chosen, width, height)


@st.composite
def image_layouts(
    draw: st.DrawFn,
    formats: Sequence[str | ImageFormat] | None = None,
    *,
    max_width: int = 33,
    max_height: int = 17,
    odd: bool = True,
    pitched: bool = True,
    negative: bool = False,
    offset: bool = True,
    readonly: bool = False,
) -> ImageLayout:
    """Images whose planes lie in one piece of memory.

    Args:
        draw: passed by hypothesis, not by the caller.
        formats, max_width, max_height, odd: as for `images`.
        pitched: draw padding at the end of rows, independently for each plane.
        negative: draw planes that are stored bottom up, too.
        offset: draw gaps before the planes.
        readonly: draw memory that cannot be written, too.
    """
    image = draw(images(formats, max_width=max_width, max_height=max_height, odd=odd))
    pitches, offsets, end = [], [], 0
    for plane in image.plane_layouts():
        padding = draw(st.sampled_from(_PADDINGS)) if pitched else 0
        pitch = plane.row_nbytes + padding * plane.itemsize
        gap = draw(st.sampled_from(_OFFSETS)) if offset else 0
        start = -(-end // plane.itemsize) * plane.itemsize + gap * plane.itemsize
        reach = pitch * (plane.shape[0] - 1)
        flipped = negative and draw(st.booleans())
        pitches.append(-pitch if flipped else pitch)
        offsets.append(start + reach if flipped else start)
        end = start + reach + plane.row_nbytes
    planes = image.plane_layouts(pitches, offsets, allow_negative=negative)
    return ImageLayout(image, planes, draw(st.booleans()) if readonly else False)
