# SPDX-License-Identifier: Apache-2.0
"""Arrays of any layout, and the oddities of a layout."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np

from samebytes import ImageInfo, TensorInfo
from samebytes.formats import PlaneLayout

__all__ = ["EXAMPLES", "ImageLayout", "Layout", "Layouts", "array_of", "oddities"]


def array_of(info: TensorInfo, *, before: int = 0) -> np.ndarray[Any, Any]:
    """A new zeroed array of exactly that layout; its gaps are memory of its own too.

    Args:
        info: dtype, shape and strides in bytes; negative and zero strides are kept.
        before: how many bytes of memory lie before the lowest element.
    """
    low, high = info.extent
    buffer = np.zeros(before - low + high, np.uint8)
    return np.ndarray(info.shape, info.dtype.carrier, buffer, before - low, info.strides)


class Layout(NamedTuple):
    """The layout of an array, and its place in memory.

    Attributes:
        info: dtype, shape and strides in bytes.
        offset: bytes from the beginning of a page to the lowest byte in use.
        readonly: the array cannot be written.
    """

    info: TensorInfo
    offset: int = 0
    readonly: bool = False

    def array(self) -> np.ndarray[Any, Any]:
        """A new zeroed array of this layout, on pages of its own."""
        low, high = self.info.extent
        pages = _pages(self.offset - low + high)
        start = self.offset - low
        array = np.ndarray(
            self.info.shape, self.info.dtype.carrier, pages, start, self.info.strides
        )
        array.flags.writeable = not self.readonly
        return array


class ImageLayout(NamedTuple):
    """The layout of the planes of an image, in one piece of memory.

    Attributes:
        image: format and size.
        planes: the layout of each plane, with its pitch and offset.
        readonly: the planes cannot be written.
    """

    image: ImageInfo
    planes: tuple[PlaneLayout, ...]
    readonly: bool = False

    def arrays(self) -> tuple[np.ndarray[Any, Any], ...]:
        """New zeroed planes of these layouts, on pages of their own."""
        pages = _pages(max(p.start + p.span for p in self.planes))
        arrays = tuple(
            np.ndarray(p.shape, p.dtype, pages, p.offset, p.strides) for p in self.planes
        )
        for array in arrays:
            array.flags.writeable = not self.readonly
        return arrays


def _pages(nbytes: int) -> np.ndarray[Any, Any]:
    return np.frombuffer(mmap.mmap(-1, max(nbytes, 1)), np.uint8)


@dataclass(frozen=True, kw_only=True, slots=True)
class Layouts:
    """A declaration of the odd layouts that are served.

    Each attribute is True if that oddity is served, though perhaps not together with others; False
    if it is always refused; None if nothing is declared. The suites check this: a served layout
    lies in memory exactly as requested, and others are refused by an error of samebytes that says
    why.

    Attributes:
        pitched: a gap between rows, as the padded rows of images have it.
        gaps: a gap further in: between pixels, or between the elements of a row.
        transposed: axes that are not in the order of memory.
        negative: an axis that runs backwards, as in images stored bottom up.
        overlapping: elements that share bytes, as in broadcast arrays.
        empty: an axis without elements.
        scalar: no axes.
        offset: the bytes begin anywhere; False means that they must begin at the start of a page.
        readonly: memory that cannot be written (mapped with access "r").
    """

    pitched: bool | None = None
    gaps: bool | None = None
    transposed: bool | None = None
    negative: bool | None = None
    overlapping: bool | None = None
    empty: bool | None = None
    scalar: bool | None = None
    offset: bool | None = None
    readonly: bool | None = None

    def declared(self) -> Iterator[tuple[str, bool]]:
        """The declared oddities: pairs of a name and True if the oddity is served."""
        for field in fields(self):
            served = getattr(self, field.name)
            if served is not None:
                yield field.name, served

    def refuses(self, layout: Layout) -> bool:
        """True if a layout has an oddity that is not served.

        Args:
            layout: of a tensor or image.
        """
        return any(getattr(self, oddity) is False for oddity in oddities(layout))


def oddities(layout: Layout) -> frozenset[str]:
    """The oddities of a layout: names of attributes of `Layouts`."""
    info = layout.info
    found = set()
    if layout.readonly:
        found.add("readonly")
    if layout.offset:
        found.add("offset")
    if not info.ndim:
        found.add("scalar")
    if not info.size:
        return frozenset(found | {"empty"})
    assert info.strides is not None
    assert info.dtype.itemsize is not None
    steps = [(s, n) for s, n in zip(info.strides, info.shape, strict=True) if n > 1]
    if any(s < 0 for s, _ in steps):
        found.add("negative")
    if info.overlaps:
        return frozenset(found | {"overlapping"})
    sizes = [abs(s) for s, _ in steps]
    if sizes != sorted(sizes, reverse=True):
        found.add("transposed")
    dense = info.dtype.itemsize
    for axis, (stride, extent) in enumerate(sorted(((abs(s), n) for s, n in steps)), 1):
        if stride > dense:
            found.add("pitched" if axis == len(steps) > 1 else "gaps")
        dense = stride * extent
    return frozenset(found)


# One layout for each oddity, without any other.
EXAMPLES = {
    "pitched": Layout(TensorInfo("uint8", (16, 48), (64, 1))),
    "gaps": Layout(TensorInfo("uint8", (16, 16), (64, 4))),
    "transposed": Layout(TensorInfo("uint8", (64, 64), (1, 64))),
    "negative": Layout(TensorInfo("uint8", (64, 64), (-64, 1))),
    "overlapping": Layout(TensorInfo("uint8", (64, 64), (0, 1))),
    "empty": Layout(TensorInfo("uint8", (0, 64))),
    "scalar": Layout(TensorInfo("float32", ())),
    "offset": Layout(TensorInfo("float32", (32, 32)), 20),
    "readonly": Layout(TensorInfo("uint8", (64, 64)), 0, True),
}
