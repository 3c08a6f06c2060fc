# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from samebytes import ImageInfo
from samebytes_demo._boxes import Box
from samebytes_demo._detector import CELL, MotionDetector
from samebytes_demo._reader import Picture

Plane = npt.NDArray[np.uint8]


def picture(width: int, height: int, pitch: int = 0) -> Picture:
    return Picture(ImageInfo.of("GRAY8", width, height), "gray", (pitch or width,))


def mask_of(detector: MotionDetector, previous: Plane, current: Plane) -> Plane:
    request = detector.compiled.create_infer_request()
    request.infer({"previous": previous[None, ..., None], "current": current[None, ..., None]})
    mask: Plane = request.get_output_tensor().data.copy()
    return mask


def noise(width: int, height: int) -> Plane:
    return np.random.default_rng(1).integers(16, 236, (height, width), np.uint8)


def test_nothing_moves_in_equal_frames() -> None:
    detector = MotionDetector(picture(160, 120))
    frame = noise(160, 120)
    assert not mask_of(detector, frame, frame).any()


@pytest.mark.parametrize("size", [(160, 120), (161, 121), (9, 9), (1, 1)])
def test_what_changed_is_found(size: tuple[int, int]) -> None:
    width, height = size
    detector = MotionDetector(picture(width, height))
    frame = np.full((height, width), 40, np.uint8)
    other = frame.copy()
    other[height // 2 :, width // 2 :] = 200
    mask = mask_of(detector, frame, other)
    assert mask.shape == (-(-height // CELL), -(-width // CELL))
    assert mask[-1, -1] == 255
    assert set(np.unique(mask)) <= {0, 255}
    if width > 2 * CELL:
        assert mask[0, 0] == 0
        (box,) = detector.boxes(mask)
        truth = Box(width // 2, height // 2, width - width // 2, height - height // 2)
        assert box.overlap(truth) > 0.8


def test_both_directions_of_change_count() -> None:
    detector = MotionDetector(picture(64, 64))
    dark, light = np.full((64, 64), 40, np.uint8), np.full((64, 64), 80, np.uint8)
    assert mask_of(detector, dark, light).all()
    assert mask_of(detector, light, dark).all()


def test_a_gap_of_one_cell_closes() -> None:
    detector = MotionDetector(picture(80, 80))
    frame = np.full((80, 80), 40, np.uint8)
    other = frame.copy()
    other[16:64, 16:32] = 200
    other[16:64, 40:56] = 200
    assert len(detector.boxes(mask_of(detector, frame, other))) == 1


def test_small_changes_are_noise() -> None:
    detector = MotionDetector(picture(64, 64))
    frame = np.full((64, 64), 40, np.uint8)
    assert not mask_of(detector, frame, frame + np.uint8(8)).any()


def test_padding_is_read_but_does_not_count() -> None:
    width, height, pitch = 100, 60, 128
    previous, current = noise(pitch, height), noise(pitch, height)
    current[20:40, 30:60] ^= 128
    # Padding holds anything at all.
    previous[:, width:], current[:, width:] = 0, 255
    padded = MotionDetector(picture(width, height, pitch))
    assert [list(port.shape) for port in padded.compiled.inputs] == [[1, height, pitch, 1]] * 2
    dense = MotionDetector(picture(width, height))
    expected = mask_of(
        dense,
        np.ascontiguousarray(previous[:, :width]),
        np.ascontiguousarray(current[:, :width]),
    )
    assert expected.any()
    assert np.array_equal(mask_of(padded, previous, current), expected)
