# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import samebytes
from samebytes import ImageInfo
from samebytes_demo import pipelines
from samebytes_demo._boxes import COLOUR, line_width
from samebytes_demo._clip import tiles
from samebytes_demo._errors import DemoError
from samebytes_demo._loop import STAGES
from samebytes_demo._pipeline import Held, SamebytesWay
from samebytes_demo._verify import VerifyingWay
from samebytes_demo.pipelines import Box, Result

from .conftest import FRAMES, HEIGHT, WIDTH, Run, Transcode, decode

FRAME_BYTES = WIDTH * HEIGHT * 3 // 2
MASK_BYTES = (WIDTH // 8) * (HEIGHT // 8)
KINDS = ("samebytes", "by hand", "copying")


@pytest.mark.parametrize("kind", KINDS)
def test_boxes_lie_on_what_moves(runs: dict[str, Run], kind: str) -> None:
    boxes = runs[kind].result.boxes
    assert len(boxes) == FRAMES
    assert boxes[0] == []
    good = 0
    for number in range(1, FRAMES):
        truth = [tile.at(number) for tile in tiles(WIDTH, HEIGHT)]
        found = boxes[number]
        good += len(found) == len(truth) and all(
            one.overlap(other) > 0.55 for one, other in zip(found, truth, strict=True)
        )
    assert good >= 0.95 * (FRAMES - 1)


def test_all_pipelines_find_the_same_boxes(runs: dict[str, Run]) -> None:
    one, other, third = (runs[kind].result.boxes for kind in KINDS)
    assert sum(map(len, one)) > 100
    assert one == other == third


def test_all_pipelines_write_the_same_pictures(runs: dict[str, Run]) -> None:
    """The copying one cannot spoil the decoder's frames; the others would, if they came too early.

    libx264 gives the same stream for the same frames, so the pictures are equal bit by bit.
    """
    one, other, third = (decode(runs[kind].output) for kind in KINDS)
    assert len(one) == FRAMES
    assert np.array_equal(one, third)
    assert np.array_equal(other, third)


def outline(box: Box, line: int) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    mask = np.zeros((HEIGHT, WIDTH), bool)
    mask[box.y : box.y + box.height, box.x : box.x + box.width] = True
    mask[box.y + line : box.y + box.height - line, box.x + line : box.x + box.width - line] = False
    return mask


@pytest.mark.parametrize("kind", KINDS)
def test_the_colour_is_where_boxes_were_drawn_and_nowhere_else(
    runs: dict[str, Run], kind: str
) -> None:
    images = decode(runs[kind].output)
    line = line_width(ImageInfo.of("I420", WIDTH, HEIGHT))
    for number, boxes in enumerate(runs[kind].result.boxes):
        luma = images[number, :HEIGHT].astype(int)
        blue = images[number, HEIGHT:].reshape(-1)[: WIDTH * HEIGHT // 4]
        chroma = blue.reshape(HEIGHT // 2, WIDTH // 2).astype(int)
        yellow = (np.abs(luma - COLOUR["y"]) < 40) & (np.abs(chroma - COLOUR["u"]) < 40).repeat(
            2, 0
        ).repeat(2, 1)
        drawn = np.zeros((HEIGHT, WIDTH), bool)
        for box in boxes:
            drawn |= outline(box, line)
        assert yellow[drawn].mean() > 0.9 if boxes else True
        assert yellow[~drawn].mean() < 0.01


def test_nothing_is_copied(runs: dict[str, Run]) -> None:
    assert runs["samebytes"].result.copied_bytes == 0
    assert runs["by hand"].result.copied_bytes == 0
    # Two inputs of three addresses each, the mask, and three planes in three frameworks.
    per_frame = 2 * 2 + 1 + 3 * 2
    assert runs["samebytes"].result.equal_addresses == per_frame * FRAMES
    # A write to each of three planes is seen by FFmpeg and by OpenVINO.
    assert runs["samebytes"].result.writes_seen == 3 * 2 * FRAMES
    assert runs["by hand"].result.writes_seen == 0


def test_the_copying_idiom_copies(runs: dict[str, Run]) -> None:
    luma = WIDTH * HEIGHT
    per_frame = FRAME_BYTES + luma + MASK_BYTES + FRAME_BYTES
    assert runs["copying"].result.copied_bytes == per_frame * FRAMES


@pytest.mark.parametrize("kind", KINDS)
def test_results_are_complete(runs: dict[str, Run], kind: str) -> None:
    result = runs[kind].result
    assert result.frames == FRAMES
    assert result.encoder == "libx264"
    assert result.timing.frames == FRAMES
    stages = result.timing.stages
    assert list(stages) == list(STAGES)
    assert all(cost.wall > 0 for cost in stages.values())
    assert sum(cost.wall for cost in stages.values()) == result.seconds
    assert sum(cost.copied_bytes for cost in stages.values()) == result.copied_bytes


def test_the_routes_are_those_of_the_frames(runs: dict[str, Run]) -> None:
    routes = runs["samebytes"].result.routes
    assert [(r.source.node, r.target.node, r.access) for r in routes] == [
        ("ffmpeg", "openvino", "r"),
        ("openvino", "opencv", "r"),
        ("ffmpeg", "opencv", "rw"),
    ]
    assert not any(route.copies for route in routes)


def test_frames_wait_for_the_decoder(runs: dict[str, Run]) -> None:
    assert 2 <= runs["samebytes"].result.longest_wait < pipelines.WAIT


def test_drawing_too_early_is_refused(clip: Path, tmp_path: Path) -> None:
    with pytest.raises(DemoError, match="still refers to a frame"):
        pipelines.run_samebytes(clip, tmp_path / "out.mp4", wait=1)


@pytest.mark.parametrize("function", [pipelines.run_samebytes, pipelines.run_native])
def test_a_frame_that_waited_in_vain_is_an_error(
    function: Callable[..., Result], transcode: Transcode, tmp_path: Path
) -> None:
    source = transcode(frames=40, options={"x264-params": "ref=16:bframes=3"})
    with pytest.raises(DemoError, match=r"--wait.*--allow-copy"):
        function(source, tmp_path / "out.mp4", wait=2)


@pytest.mark.parametrize("function", [pipelines.run_samebytes, pipelines.run_native])
def test_a_copy_that_is_allowed_is_counted(
    function: Callable[..., Result], transcode: Transcode, tmp_path: Path
) -> None:
    source = transcode(frames=40, options={"x264-params": "ref=16:bframes=3"})
    expected, output = tmp_path / "expected.mp4", tmp_path / "out.mp4"
    patient = pipelines.run_copying(source, expected)
    hasty = function(source, output, wait=2, allow_copy=True)
    assert hasty.copied_bytes > 0
    assert hasty.copied_bytes % FRAME_BYTES == 0
    assert hasty.longest_wait == 2
    assert hasty.boxes == patient.boxes
    assert np.array_equal(decode(output), decode(expected))


def elsewhere(held: Held) -> Held:
    """The same with copies in place of OpenVINO's tensors."""
    held.tensors = {
        number: samebytes.tensor(np.array(t.native.data)).map("openvino")
        for number, t in held.tensors.items()
    }
    return held


def test_moved_bytes_are_noticed(
    clip: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The addresses are compared for real: a tensor elsewhere ends the run."""
    map_ = SamebytesWay.map
    monkeypatch.setattr(SamebytesWay, "map", lambda self, frame: elsewhere(map_(self, frame)))
    with pytest.raises(DemoError, match="bytes were copied"):
        pipelines.run_samebytes(clip, tmp_path / "out.mp4", frames=3)
    pipelines.run_samebytes(clip, tmp_path / "out.mp4", frames=3, verify=False)


def test_writes_that_do_not_arrive_are_noticed(
    clip: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Writing through is tried for real, even where somebody lied about addresses."""
    monkeypatch.setattr(VerifyingWay, "_same", lambda self, *_: None)
    map_ = SamebytesWay.map
    monkeypatch.setattr(SamebytesWay, "map", lambda self, frame: elsewhere(map_(self, frame)))
    with pytest.raises(DemoError, match="OpenVINO does not see what OpenCV wrote"):
        pipelines.run_samebytes(clip, tmp_path / "out.mp4", frames=3)


def test_verifying_leaves_the_pictures_as_they_are(
    runs: dict[str, Run], clip: Path, tmp_path: Path
) -> None:
    output = tmp_path / "out.mp4"
    pipelines.run_samebytes(clip, output, verify=False)
    assert np.array_equal(decode(output), decode(runs["samebytes"].output))


def test_a_number_of_frames(clip: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.mp4"
    done: list[int] = []
    result = pipelines.run_samebytes(clip, output, frames=7, on_frame=done.append)
    assert done == list(range(1, 8))
    assert result.frames == 7 == len(decode(output))


def test_the_input_is_not_overwritten(clip: Path) -> None:
    before = clip.read_bytes()
    with pytest.raises(DemoError, match="would be overwritten"):
        pipelines.run_samebytes(clip, clip)
    assert clip.read_bytes() == before
