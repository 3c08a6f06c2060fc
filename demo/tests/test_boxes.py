# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import cv2
import numpy as np
import pytest

from samebytes import ImageInfo
from samebytes_demo._boxes import COLOUR, Box, draw_boxes, find_boxes, line_width

SMALL = ImageInfo.of("I420", 64, 48)


def planes_of(image: ImageInfo) -> list[np.ndarray[tuple[int, ...], np.dtype[np.uint8]]]:
    return [np.zeros(layout.shape, np.uint8) for layout in image.plane_layouts()]


def test_one_box_for_each_group_of_cells() -> None:
    mask = np.zeros((6, 8), np.uint8)
    mask[0, 0:2] = 255
    mask[3:5, 4] = 255
    mask[5, 5] = 255  # touches at a corner
    assert find_boxes(mask, 8, SMALL) == [Box(0, 0, 16, 8), Box(32, 24, 16, 24)]


def test_a_single_cell_is_noise() -> None:
    mask = np.zeros((6, 8), np.uint8)
    mask[2, 2] = 255
    assert find_boxes(mask, 8, SMALL) == []


def test_boxes_end_at_the_edge_of_the_picture() -> None:
    mask = np.full((6, 8), 255, np.uint8)
    assert find_boxes(mask, 8, ImageInfo.of("I420", 61, 45)) == [Box(0, 0, 61, 45)]


def test_overlap_is_intersection_over_union() -> None:
    assert Box(0, 0, 10, 10).overlap(Box(0, 0, 10, 10)) == 1
    assert Box(0, 0, 10, 10).overlap(Box(5, 0, 10, 10)) == pytest.approx(1 / 3)
    assert Box(0, 0, 10, 10).overlap(Box(20, 20, 5, 5)) == 0


def test_exactly_the_outline_is_drawn() -> None:
    planes = planes_of(SMALL)
    line = line_width(SMALL)
    draw_boxes(planes, SMALL, [Box(8, 4, 24, 16)])
    expected = np.zeros((48, 64), bool)
    expected[4:20, 8:32] = True
    expected[4 + line : 20 - line, 8 + line : 32 - line] = False
    y, u, v = planes
    assert np.array_equal(y == COLOUR["y"], expected)
    assert np.array_equal(y == 0, ~expected)
    assert np.array_equal(u == COLOUR["u"], expected[::2, ::2])
    assert np.array_equal(v == COLOUR["v"], expected[::2, ::2])


def test_an_odd_size_is_drawn_up_to_its_last_pixel() -> None:
    image = ImageInfo.of("I420", 63, 47)
    y, u, _ = planes = planes_of(image)
    draw_boxes(planes, image, [Box(0, 0, 63, 47)])
    assert y[46, 62] == COLOUR["y"]
    assert u.shape == (24, 32)
    assert u[23, 31] == COLOUR["u"]


def test_interleaved_chroma() -> None:
    image = ImageInfo.of("NV12", 64, 48)
    _, uv = planes = planes_of(image)
    draw_boxes(planes, image, [Box(8, 4, 24, 16)])
    assert uv[2, 4].tolist() == [COLOUR["u"], COLOUR["v"]]


def test_gray_has_luma_alone() -> None:
    image = ImageInfo.of("GRAY8", 64, 48)
    (y,) = planes = planes_of(image)
    draw_boxes(planes, image, [Box(8, 4, 24, 16)])
    assert y[4, 8] == COLOUR["y"]


def test_padded_rows_are_drawn_into_where_they_lie() -> None:
    image = ImageInfo.of("GRAY8", 64, 48)
    whole = np.zeros((48, 96), np.uint8)
    draw_boxes([whole[:, :64]], image, [Box(40, 4, 24, 16)])
    assert whole[4, 63] == COLOUR["y"]
    assert not whole[:, 64:].any()


def test_read_only_planes_are_refused() -> None:
    image = ImageInfo.of("GRAY8", 64, 48)
    plane = np.zeros((48, 64), np.uint8)
    plane.flags.writeable = False
    with pytest.raises(cv2.error):
        draw_boxes([plane], image, [Box(8, 4, 24, 16)])
    assert not plane.any()
