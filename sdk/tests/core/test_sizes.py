# SPDX-License-Identifier: Apache-2.0
"""Sizes that no memory can have, and what is not a size: refused by name, where they are passed."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import samebytes as sb
from samebytes.errors import LayoutError, SamebytesError, UnsupportedObjectError
from samebytes.formats import known_formats

CPU = sb.context("cpu")
NV12 = sb.ImageFormat.of("NV12")

NOT_INTEGERS: list[Any] = [True, False, np.True_, 3.0, np.float32(3), "3", b"3", None, [3], (3,)]
BAD_SIZES: list[Any] = [*NOT_INTEGERS, 0, -1, -(2**63), 2**57, 2**64, 2**200]

BAD_SHAPES: list[Any] = [
    *[(2, n) for n in NOT_INTEGERS], "33", b"33", bytearray(b"3"), 3, None, {2, 3}, {2: 3}, (-1,),
    (2, -(2**70)), (1,) * 65, (0,) * 65, (2**58,), (2**70,), (2**30, 2**30), (0, 2**62, 2**62),
    (0, 2**70), np.array([2.0, 3.0]),
]  # fmt: skip


@pytest.mark.parametrize("shape", BAD_SHAPES, ids=repr)
@pytest.mark.parametrize("dtype", ["uint8", "float64", "nf4"])
def test_shapes(shape: Any, dtype: str) -> None:
    for make in (lambda: sb.TensorInfo(dtype, shape), lambda: CPU.allocate(shape, dtype)):
        with pytest.raises(LayoutError):
            make()


@pytest.mark.parametrize(
    ("shape", "numbers"),
    [
        ([2, 3], (2, 3)),
        (np.array([2, 3]), (2, 3)),
        ((np.int64(2), np.uint8(3)), (2, 3)),
        (range(2, 4), (2, 3)),
        (iter((2, 3)), (2, 3)),
        ((0, 2**40), (0, 2**40)),
        ((1,) * 64, (1,) * 64),
    ],
)
def test_shapes_that_are_accepted(shape: Any, numbers: tuple[int, ...]) -> None:
    tensor = CPU.allocate(shape)
    assert tensor.shape == numbers
    assert all(type(n) is int for n in tensor.info.shape)
    assert np.asarray(tensor).shape == numbers


@pytest.mark.parametrize(
    "strides",
    [*[(n, 1) for n in NOT_INTEGERS], "31", 3, {3, 1}, (3,), (3, 1, 1), (2**60, 1), (-(2**60), 1),
     (2**70, 1)],
    ids=repr,
)  # fmt: skip
def test_strides(strides: Any) -> None:
    with pytest.raises(LayoutError):
        sb.TensorInfo("uint8", (2, 3), strides)


def test_strides_of_axes_with_one_element_say_nothing() -> None:
    assert sb.TensorInfo("uint8", (1, 3), (2**62, 1)).extent == (0, 3)


@pytest.mark.parametrize("size", BAD_SIZES, ids=repr)
@pytest.mark.parametrize(
    "make",
    [
        lambda n: CPU.allocate_frame("NV12", n, 4),
        lambda n: CPU.allocate_frame("NV12", 4, n),
        lambda n: sb.ImageInfo(NV12, n, 4),
        lambda n: sb.ImageInfo(NV12, 4, n),
        lambda n: sb.ImageInfo.of("NV12", n, 4),
        lambda n: NV12.plane_layouts(n, 4),
        lambda n: NV12.packed_layouts(4, n),
        lambda n: NV12.frame_nbytes(n, 4),
        lambda n: sb.AudioInfo(n, 2, 48_000, "int16"),
        lambda n: sb.AudioInfo(4, n, 48_000, "int16"),
        lambda n: sb.AudioInfo(4, 2, n, "int16"),
    ],
)
def test_sizes(make: Callable[[Any], Any], size: Any) -> None:
    with pytest.raises(LayoutError):
        make(size)


@pytest.mark.parametrize("size", [n for n in BAD_SIZES if n is not None], ids=repr)
@pytest.mark.parametrize("which", ["width", "height"])
def test_sizes_of_arrays(which: str, size: Any) -> None:
    with pytest.raises(LayoutError):
        sb.frame(np.zeros((6, 4), np.uint8), format="NV12", **{which: size})


def test_sizes_together() -> None:
    """Each number is in range, the bytes are not."""
    for make in (
        lambda: sb.ImageInfo(NV12, 2**30, 2**30),
        lambda: CPU.allocate_frame("NV12", 2**30, 2**30),
        lambda: NV12.plane_layouts(4, 2**30, pitches=(2**30, 2**30)),
        lambda: NV12.plane_layouts(4, 4, offsets=(0, 2**60)),
        lambda: sb.AudioInfo(2**30, 2**30, 1, "int16"),
        lambda: sb.AudioInfo(2**30, 2**30, 1, "int16", interleaved=False),
    ):
        with pytest.raises(LayoutError, match="address space"):
            make()


@pytest.mark.parametrize("value", [True, 4.0, "4", [4]], ids=repr)
def test_pitches_and_offsets(value: Any) -> None:
    for given in ({"pitches": (value, 4)}, {"offsets": (0, value)}, {"pitches": value}):
        with pytest.raises(LayoutError):
            NV12.plane_layouts(4, 4, **given)


def test_numpys_integers_become_ints() -> None:
    image = sb.ImageInfo(NV12, np.int64(4), np.uint8(4))  # type: ignore[arg-type]
    assert (type(image.width), type(image.height)) == (int, int)
    assert str(image) == "NV12 4x4"
    sound = sb.AudioInfo(np.int64(4), 2, 8_000, "int16")  # type: ignore[arg-type]
    assert type(sound.samples) is int


@pytest.mark.parametrize("bad", ["NV12", None, 3, ["NV12"]], ids=repr)
def test_an_image_info_has_a_format(bad: Any) -> None:
    with pytest.raises(UnsupportedObjectError, match=r"ImageInfo\.of"):
        sb.ImageInfo(bad, 4, 4)


@pytest.mark.parametrize("bad", [None, 3, ["NV12"], "", "NV1"], ids=repr)
def test_names_of_formats(bad: Any) -> None:
    for make in (
        lambda: sb.ImageFormat.of(bad),
        lambda: sb.ImageInfo.of(bad, 4, 4),
        lambda: CPU.allocate_frame(bad, 4, 4),
    ):
        with pytest.raises(SamebytesError, match="unknown image format"):
            make()


@pytest.mark.parametrize("bad", [3, None, ["int16"], "int17"], ids=repr)
def test_dtypes_of_sound(bad: Any) -> None:
    with pytest.raises(LayoutError, match="dtype"):
        sb.AudioInfo(4, 2, 48_000, bad)


def test_audio_is_an_audio_info() -> None:
    bad: Any = 3
    with pytest.raises(UnsupportedObjectError, match="AudioInfo"):
        sb.frame(np.zeros((4, 2), np.int16), audio=bad)


@pytest.mark.parametrize("number", [True, "3", 3.0, None, -1, 2**31, 2**70], ids=repr)
def test_descriptors(number: Any, recwarn: pytest.WarningsRecorder) -> None:
    for make in (sb.Fd, sb.Fd.borrow):
        with pytest.raises(LayoutError):
            make(number)
    assert not recwarn.list  # of __del__


def test_a_descriptor_of_numpys_integer() -> None:
    number: Any
    read, write = os.pipe()
    with sb.Fd(read), sb.Fd(write):
        number = np.int64(read)
        sb.Fd.borrow(number).close()


@pytest.mark.parametrize("format_", known_formats(), ids=str)
def test_every_format_has_its_limit(format_: sb.ImageFormat) -> None:
    assert sb.ImageInfo(format_, 2**15, 2**15).nbytes < 2**40
    with pytest.raises(LayoutError, match="address space"):
        sb.ImageInfo(format_, 2**31, 2**31)
