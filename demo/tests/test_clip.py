# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import av
import cv2
import numpy as np
import pytest
from av.video.frame import PictureType

from samebytes_demo._boxes import Box
from samebytes_demo._clip import RATE, make_clip, tiles

from .conftest import FRAMES, HEIGHT, WIDTH, Images, decode


def boxes_seen(image: Images) -> list[Box]:
    """Everything that is brighter than the background and its grid, from the top down."""
    bright = (image.max(axis=2) > 130).astype(np.uint8)
    closed = cv2.morphologyEx(bright, cv2.MORPH_CLOSE, np.ones((5, 5), np.uint8))
    count, _, stats, _ = cv2.connectedComponentsWithStats(closed)
    return [Box(*stats[i, :4].tolist()) for i in range(1, count) if stats[i, 4] > 50]


def test_every_tile_is_where_it_is_said_to_be(clip: Path) -> None:
    images = decode(clip, "bgr24")
    assert images.shape == (FRAMES, HEIGHT, WIDTH, 3)
    for number, image in enumerate(images):
        seen = boxes_seen(image)
        expected = [tile.at(number) for tile in tiles(WIDTH, HEIGHT)]
        assert len(seen) == len(expected), number
        for one, other in zip(seen, expected, strict=True):
            edges = np.array(
                [one.x - other.x, one.y - other.y, one.width - other.width,
                 one.height - other.height]
            )  # fmt: skip
            assert np.abs(edges).max() <= 2, (number, one, other)


def test_it_is_h264_with_b_frames(clip: Path) -> None:
    with av.open(clip) as container:
        stream = container.streams.video[0]
        assert stream.codec_context.name == "h264"
        assert stream.average_rate == RATE
        kinds = [frame.pict_type for frame in container.decode(stream)]
    assert kinds.count(PictureType.B) > 10
    assert kinds.count(PictureType.I) < 5


@pytest.mark.parametrize("size", [(640, 360), (1920, 1080), (320, 240), (64, 64)])
def test_tiles_stay_inside_and_never_meet(size: tuple[int, int]) -> None:
    width, height = size
    for number in range(300):
        places = [tile.at(number) for tile in tiles(width, height)]
        for place in places:
            assert place.x >= 0
            assert place.x + place.width <= width
            assert place.y >= 0
            assert place.y + place.height <= height
        assert all(a.overlap(b) == 0 for a in places for b in places if a is not b)


def test_tiles_move_in_every_frame() -> None:
    for tile in tiles():
        for number in range(300):
            here, there = tile.at(number), tile.at(number + 1)
            assert abs(here.x - there.x) == tile.x.step


@pytest.mark.parametrize("size", [(321, 240), (320, 241), (62, 64)])
def test_other_sizes_are_refused(size: tuple[int, int], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="even size"):
        make_clip(tmp_path / "clip.mp4", 1, *size)
