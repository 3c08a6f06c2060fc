# SPDX-License-Identifier: Apache-2.0
"""OpenCV reads and writes the mapped memory itself."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import pytest

import samebytes
from samebytes.errors import (
    AccessError,
    CopyRequiredError,
    LayoutError,
    NoRouteError,
    UnsupportedObjectError,
)
from samebytes_opencv import OpenCVTensor, in_place

Array = np.ndarray[Any, Any]
Mat: Any = cv2.Mat  # untyped in OpenCV's stubs


def address(array: Array) -> int:
    return int(array.__array_interface__["data"][0])


@pytest.fixture
def nv12() -> Array:
    """A 32x16 NV12 image of one colour, with padded rows: (24, 40), of which 32 columns count."""
    pitched = np.zeros((24, 40), np.uint8)
    pitched[:16, :32] = 81
    pitched[16:, 0:32:2] = 90
    pitched[16:, 1:32:2] = 240
    return pitched


def test_drawing_shows_in_the_source() -> None:
    image = np.zeros((20, 32, 3), np.uint8)
    mapped = samebytes.tensor(image).map("opencv", "rw")
    result = cv2.rectangle(mapped.native, (2, 3), (6, 7), (1, 2, 3), -1)
    assert address(result) == address(image)
    assert image[5, 4].tolist() == [1, 2, 3]


def test_drawing_in_a_region_shows_in_the_source() -> None:
    image = np.zeros((20, 32, 3), np.uint8)
    mapped = samebytes.tensor(image[4:, 8:]).map("opencv", "rw")
    cv2.rectangle(mapped.native, (0, 0), (1, 1), (9, 8, 7), -1)
    assert image[4, 8].tolist() == [9, 8, 7]
    assert not image[:4].any()


def test_a_function_reads_what_the_source_holds_now() -> None:
    image = np.zeros((20, 32), np.uint8)
    mapped = samebytes.tensor(image).map("opencv")
    image[3, 5] = 77
    assert cv2.minMaxLoc(mapped.native)[1] == 77


def test_dst_is_written_in_place() -> None:
    target = np.zeros((20, 40, 3), np.uint8)
    mapped = samebytes.tensor(target[:, :32]).map("opencv", "w")
    source = np.full((20, 32, 3), 50, np.uint8)
    in_place(cv2.blur(source, (3, 3), dst=mapped.native), mapped)
    assert (target[:, :32] == 50).all()
    assert not target[:, 32:].any()


@pytest.mark.parametrize(("shape", "dtype"), [((10, 10, 3), "uint8"), ((20, 32, 3), "int16")])
def test_a_dst_that_does_not_fit_is_noticed(shape: tuple[int, ...], dtype: str) -> None:
    mapped = samebytes.tensor(np.zeros(shape, dtype)).map("opencv", "w")
    result = cv2.blur(np.zeros((20, 32, 3), np.uint8), (3, 3), dst=mapped.native)
    with pytest.raises(LayoutError, match=r"its own memory.*uint8\[20, 32, 3\]"):
        in_place(result, mapped)


@pytest.mark.parametrize("result", [None, (np.zeros((4, 4), np.uint8), 3)])
def test_a_result_that_is_not_an_array(result: Any) -> None:
    target = samebytes.context("opencv").allocate((4, 4))
    with pytest.raises(UnsupportedObjectError, match=r"returned, not (NoneType|tuple)"):
        in_place(result, target)


def test_a_read_only_mapping_is_not_an_output() -> None:
    image = np.zeros((20, 32), np.uint8)
    mapped = samebytes.tensor(image).map("opencv")
    with pytest.raises(cv2.error, match="marked as readonly"):
        cv2.rectangle(mapped.native, (0, 0), (4, 4), 255, -1)
    with pytest.raises(cv2.error, match="marked as readonly"):
        cv2.blur(image, (3, 3), dst=mapped.native)
    assert not image.any()
    with pytest.raises(AccessError):
        mapped.map("cpu", "rw")


@pytest.mark.parametrize("wrap_channels", [False, True])
def test_a_mat_is_wrapped_and_mapped(wrap_channels: bool) -> None:
    array = np.zeros((4, 5, 3), np.uint8)
    mat = Mat(array, wrap_channels=wrap_channels)
    tensor = samebytes.wrap(mat)
    assert isinstance(tensor, OpenCVTensor)
    assert tensor.native is mat
    plain = tensor.map("cpu", "rw")
    assert type(plain.native) is np.ndarray
    plain.native[1, 2] = 9
    assert array[1, 2].tolist() == [9, 9, 9]
    assert type(tensor.map("opencv").native) is cv2.Mat


def test_a_mat_that_opencv_would_copy_is_not_wrapped() -> None:
    with pytest.raises(LayoutError, match="negative strides"):
        samebytes.wrap(Mat(np.zeros((4, 5), np.uint8)[::-1]))


def test_a_plain_array_stays_cpu_memory() -> None:
    assert samebytes.wrap(np.zeros((4, 5), np.uint8)).memory_type == "cpu"


def test_a_transposed_array_needs_a_copy() -> None:
    array = np.arange(12, dtype=np.uint8).reshape(3, 4).T
    tensor = samebytes.tensor(array)
    with pytest.raises(CopyRequiredError, match="cpu -> opencv: the elements of a row"):
        tensor.map("opencv")
    samebytes.reset_stats()
    copied = tensor.map("opencv", copy=True)
    assert samebytes.stats().by_edge["cpu -> cpu"].nbytes == 12
    np.testing.assert_array_equal(copied.native, array)
    assert address(copied.native) != address(array)
    held = copied.native[1:]
    assert copied.close() is False
    del held
    copied.close()


def test_a_dense_array_is_not_copied_although_it_may_be() -> None:
    array = np.zeros((4, 5), np.uint8)
    samebytes.reset_stats()
    assert address(samebytes.tensor(array).map("opencv", copy=True).native) == address(array)
    assert samebytes.stats().copies == 0


@pytest.mark.parametrize("dtype", ["int64", "complex64", "bfloat16"])
def test_elements_that_no_mat_has(dtype: str) -> None:
    tensor = samebytes.context("cpu").allocate((4, 4), dtype)
    with pytest.raises((NoRouteError, CopyRequiredError), match=f"no Mat of {dtype}"):
        tensor.map("opencv")
    with pytest.raises(LayoutError, match=f"no Mat of {dtype}"):
        samebytes.context("opencv").allocate((4, 4), dtype)


def test_two_plane_nv12_becomes_bgr_without_a_copy(nv12: Array) -> None:
    planes = [nv12[:16, :32], nv12[16:, :32].reshape(8, 16, 2)]
    frame = samebytes.frame(planes, format="NV12")
    target = np.zeros((16, 48, 3), np.uint8)
    bgr = samebytes.frame(target[:, :32], format="BGR")
    samebytes.reset_stats()
    y, uv = frame.map("opencv")
    (into,) = bgr.map("opencv", "w")
    assert (address(y.native), address(uv.native)) == (address(nv12), address(nv12) + 16 * 40)
    in_place(cv2.cvtColorTwoPlane(y.native, uv.native, cv2.COLOR_YUV2BGR_NV12, into.native), into)
    assert target[7, 9].tolist() == [0, 0, 254]
    assert not target[:, 32:].any()
    assert samebytes.stats().copies == 0


def test_allocated_memory_is_given_back() -> None:
    tensor = samebytes.context("opencv").allocate((16, 16, 3))
    cv2.circle(tensor.native, (8, 8), 4, (255, 0, 0), -1)
    view = tensor.native[2:]
    assert tensor.close() is False
    assert view[6, 8].tolist() == [255, 0, 0]
    assert tensor.closed


def test_allocated_frames_are_mats_in_one_piece_of_memory() -> None:
    frame = samebytes.context("opencv").allocate_frame("NV12", 64, 48)
    luma, chroma = frame.native
    assert (luma.shape, chroma.shape) == ((48, 64), (24, 32, 2))
    assert address(chroma) == address(luma) + luma.nbytes
    assert frame.planes[0].memory_type == "opencv"
    cv2.rectangle(frame.native[0], (2, 3), (6, 7), 200, -1)
    there = frame.map("cpu", "rw")
    assert there.planes[0].native[5, 4] == 200
    there.planes[1].native[1, 2] = (7, 8)
    assert chroma[1, 2].tolist() == [7, 8]
