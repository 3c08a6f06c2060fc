# SPDX-License-Identifier: Apache-2.0
"""Every memory type to every other one: each access mode, each layout, tensors and frames.

A cell is either the same bytes, shown by pointers and by writes on either side, or a refusal that
says why. Nothing else is accepted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
import pytest

import samebytes
from samebytes import Access, Frame, ImageInfo, Tensor
from samebytes.errors import AccessError, CopyRequiredError, NoRouteError
from samebytes.testing import Memory, address_of, fill

Array = np.ndarray[Any, Any]
Level = Literal["tensor", "frame"]

TYPES = ("cpu", "ffmpeg", "opencv", "openvino")
ACCESSES: tuple[Access, ...] = ("r", "w", "rw")


class Layout(NamedTuple):
    """The layout of what is mapped.

    Attributes:
        make: makes the arrays: one for a tensor, one for each plane of a frame.
        sources: the memory types that can have it.
        refused: part of the reason for each target, or "source -> target", that cannot have it.
        image: the format, for frames.
        readonly: the arrays are read-only.
        pitched: the rows lie in a way that FFmpeg would not have chosen.
    """

    make: Callable[[], list[Array]]
    sources: tuple[str, ...]
    refused: dict[str, str]
    image: ImageInfo | None = None
    readonly: bool = False
    pitched: bool = False


HOST = ("cpu", "opencv", "openvino")
NO_TENSORS: dict[str, str] = {"ffmpeg": "tensors"}  # FFmpeg has frames only; the error says so


def _grey() -> Array:
    return np.zeros((6, 64), np.uint8)[:, :8]


def _image() -> Array:
    return np.zeros((6, 8, 3), np.uint8)


def _constant() -> Array:
    array = _image()
    array.flags.writeable = False
    return array


def _tensor(
    make: Callable[[], Array],
    sources: tuple[str, ...] = HOST,
    *,
    readonly: bool = False,
    between: dict[str, str] | None = None,
    **refused: str,
) -> Layout:
    reasons = {**NO_TENSORS, **refused, **(between or {})}
    return Layout(lambda: [make()], sources, reasons, readonly=readonly)


TENSORS = {
    "dense": _tensor(_image),
    "float NCHW": _tensor(lambda: np.zeros((1, 3, 4, 4), np.float32)),
    "one axis": _tensor(lambda: np.zeros(7, np.int32)),
    "padded rows": _tensor(
        _grey,
        (*HOST, "ffmpeg"),
    ),
    "region": _tensor(lambda: np.zeros((9, 12, 3), np.uint8)[1:7, 2:10]),
    "read-only": _tensor(_constant, readonly=True),
    "int64": _tensor(
        lambda: np.zeros((6, 8), np.int64), ("cpu", "openvino"), opencv="no Mat of int64"
    ),
    "no elements": _tensor(
        lambda: np.zeros((0, 8), np.uint8), ("cpu", "openvino"), opencv="one element"
    ),
    "no axes": _tensor(lambda: np.zeros((), np.float32), ("cpu", "openvino"), opencv="one axis"),
    "complex": _tensor(
        lambda: np.zeros((6, 8), np.complex64),
        ("cpu",),
        opencv="no Mat of complex64",
        openvino="no element type for complex64",
    ),
    "flipped": _tensor(
        lambda: _image()[::-1], ("cpu",), opencv="negative strides", openvino="negative"
    ),
    "transposed": _tensor(
        lambda: np.zeros((8, 6), np.uint8).T,
        ("cpu",),
        opencv="elements of a row",
        openvino="transposed",
    ),
    "every 2nd column": _tensor(
        lambda: np.zeros((6, 16, 3), np.uint8)[:, ::2],
        ("cpu", "openvino"),
        opencv="pixels in a row",
    ),
}


def _frame(
    image: ImageInfo,
    sources: tuple[str, ...] = TYPES,
    *,
    pitch: Callable[[int], int] | None = None,
    bottom_up: bool = False,
    between: dict[str, str] | None = None,
    **refused: str,
) -> Layout:
    def make() -> list[Array]:
        planes = []
        for layout in image.plane_layouts():
            row = pitch(layout.row_nbytes) if pitch else layout.row_nbytes
            memory = np.zeros(row * layout.shape[0], np.uint8)
            strides = (row, *layout.strides[1:])
            plane = np.ndarray(layout.shape, layout.dtype, memory, 0, strides)
            planes.append(plane[::-1] if bottom_up else plane)
        return planes

    reasons = {**refused, **(between or {})}
    return Layout(make, sources, reasons, image, pitched=bottom_up or pitch is not None)


FRAMES = {
    "NV12": _frame(ImageInfo.of("NV12", 64, 32)),
    "NV12 padded": _frame(
        ImageInfo.of("NV12", 60, 32),
        pitch=lambda row: row + 4,
        between={"ffmpeg -> openvino": "buffer ends before the padding"},
    ),
    "I420": _frame(ImageInfo.of("I420", 64, 32)),
    "I420 odd": _frame(ImageInfo.of("I420", 47, 31)),
    "P010": _frame(ImageInfo.of("P010", 64, 32)),
    "BGR": _frame(ImageInfo.of("BGR", 64, 32)),
    "BGR, pitch 100": _frame(
        ImageInfo.of("BGR", 32, 24),
        ("cpu", "ffmpeg", "opencv"),
        pitch=lambda _: 100,
        openvino="not a multiple of the 3 bytes",
    ),
    "GRAY8": _frame(ImageInfo.of("GRAY8", 64, 32)),
    "GRAY8 bottom up": _frame(
        ImageInfo.of("GRAY8", 64, 32),
        ("cpu", "ffmpeg"),
        bottom_up=True,
        opencv="negative strides",
        openvino="negative",
    ),
}

LAYOUTS: dict[Level, dict[str, Layout]] = {"tensor": TENSORS, "frame": FRAMES}


def _cases() -> list[Any]:
    return [
        pytest.param(
            level, source, target, name, access, id=f"{level}-{source}-{target}-{name}-{access}"
        )
        for level, layouts in LAYOUTS.items()
        for source in TYPES
        for target in TYPES
        for name, layout in layouts.items()
        for access in ACCESSES
        if source in layout.sources
    ]


@pytest.mark.parametrize(("level", "source", "target", "name", "access"), _cases())
def test_matrix(
    level: Level,
    source: str,
    target: str,
    name: str,
    access: Access,
    memories: dict[str, Memory],
    prove: Callable[[tuple[str, ...]], None],
) -> None:
    layout = LAYOUTS[level][name]
    item, arrays = _source(memories[source], layout)
    samebytes.reset_stats()
    if layout.readonly and access != "r":
        with pytest.raises(AccessError, match="read-only"):
            item.map(target, access)
        return
    reason = layout.refused.get(target) or layout.refused.get(f"{source} -> {target}")
    if reason is not None and target != source:
        with pytest.raises((NoRouteError, CopyRequiredError)) as refusal:
            item.map(target, access)
        assert reason in str(refusal.value)
        assert samebytes.stats().copies == 0
        prove((level, source, target, name, "no"))
        return
    mapped = item.map(target, access)
    memory = memories[target]
    views = memory.views(mapped.native) if layout.image else (memory.view(mapped.native),)
    assert len(views) == len(arrays)
    for view, array in zip(views, arrays, strict=True):
        _check_same(view, array, access, readonly=layout.readonly)
        if access == "r" and memory.readonly_enforced:
            assert not view.flags.writeable
    assert mapped.readonly == (access == "r")
    assert mapped.parent is item
    assert samebytes.stats().copies == 0
    prove((level, source, target, name, access))


def _over_arrays(source: str, layout: Layout) -> tuple[Tensor | Frame, list[Array]]:
    """A source object, and arrays over its memory that were there first."""
    arrays = layout.make()
    access: Access = "r" if layout.readonly else "rw"
    if layout.image is None:
        return samebytes.tensor(arrays[0]).map(source, access), arrays
    frame = samebytes.frame(
        arrays, format=layout.image.format, width=layout.image.width, height=layout.image.height
    )
    return frame.map(source, access), arrays


def _source(memory: Memory, layout: Layout) -> tuple[Tensor | Frame, list[Array]]:
    """From memory that FFmpeg allocated where that can be, else from arrays of ours."""
    if memory.memory_type == "ffmpeg":
        if layout.image is None:
            plane = samebytes.frame(memory.make_frame(ImageInfo.of("GRAY8", 8, 6))).planes[0]
            return plane, [memory.view(plane.native)]
        if not layout.pitched:
            frame = memory.frame(memory.make_frame(layout.image), layout.image)
            return frame, list(memory.views(frame.native))
    return _over_arrays(memory.memory_type, layout)


def _check_same(view: Array, array: Array, access: Access, *, readonly: bool) -> None:
    assert (view.shape, view.dtype) == (array.shape, array.dtype)
    if array.size:
        assert address_of(view) == address_of(array)
        used = [axis for axis, extent in enumerate(array.shape) if extent > 1]
        assert [view.strides[a] for a in used] == [array.strides[a] for a in used]
    if access != "r":
        written = fill(view, 7)
        np.testing.assert_array_equal(array, written)
    if not readonly:
        written = fill(array, 60)
        np.testing.assert_array_equal(view, written)
