# SPDX-License-Identifier: Apache-2.0
"""Each cell of the table of what becomes of what frames say."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

for _module, _package in (
    ("av", "av"), ("cv2", "opencv-python-headless"), ("gi", "PyGObject"), ("openvino", "openvino"),
    ("samebytes_dma", "samebytes-dma"), ("samebytes_ffmpeg", "samebytes-ffmpeg"),
    ("samebytes_gstreamer", "samebytes-gstreamer"), ("samebytes_opencv", "samebytes-opencv"),
    ("samebytes_openvino", "samebytes-openvino"),
):  # fmt: skip
    pytest.importorskip(_module, reason=f"missing package {_package}: pip install {_package}")

import samebytes.elements as el  # noqa: E402 - after what is skipped for
from samebytes.metadata import to_dict  # noqa: E402
from samebytes_openvino import image_model  # noqa: E402

from .frames import ENTRIES, HEIGHT, INSIDE, OUTSIDE, SAID, WIDTH, cut, saying  # noqa: E402
from .page import ENTRIES_OF_THE_PAGE, WAYS, reasons  # noqa: E402
from .ways import TRIES, End, echo  # noqa: E402

# What is said after ways that apply it; None for nothing. Pictures of opencv.scale and convert are
# half as high, that of opencv.warp is turned by a quarter.
TRUE_OF_THE_NEW: dict[tuple[str, str], Any] = {
    ("opencv.scale", "sample_aspect_ratio"): Fraction(2, 3),
    ("opencv.scale", "field_order"): "progressive",
    ("`Frame.convert`, convert, to RGB", "color_range"): None,
    ("`Frame.convert`, convert, to RGB", "color_matrix"): None,
    ("`Frame.convert`, convert, to RGB", "chroma_location"): None,
    ("`Frame.convert`, convert, to RGB", "sample_aspect_ratio"): Fraction(2, 3),
    ("`Frame.convert`, convert, to RGB", "field_order"): "progressive",
    ("opencv.warp", "sample_aspect_ratio"): Fraction(3, 4),
    ("opencv.warp", "field_order"): "progressive",
    ("opencv.warp", "rotation"): None,
    ("opencv.warp", "mirrored"): None,
}
MODEL = "`image_model`, the picture"


@pytest.fixture(scope="module")
def end_of(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return a function that tries a way with frames of a maker, once each, and returns the End."""

    @cache
    def end(way: str, make: Any) -> End:
        return TRIES[way](make(), tmp_path_factory.mktemp("way"))

    return end


@pytest.mark.parametrize(
    ("way", "row"),
    [
        (way, row)
        for way, outcomes in WAYS.items()
        for row in outcomes
        if way != MODEL and row not in ("crop", "container_aspect")
    ],
)
def test_what_is_said_at_the_end(way: str, row: str, end_of: Any) -> None:
    said, state = end_of(way, saying).said, WAYS[way][row]
    if state == "kept":
        assert said[row] == SAID[row]
    elif state == "dropped":
        assert said.get(row) != SAID[row]
    else:
        assert said.get(row) == TRUE_OF_THE_NEW[way, row]


@pytest.mark.parametrize("way", WAYS)
def test_the_part_that_is_shown(way: str, end_of: Any) -> None:
    """Nothing of what lies around a part of a picture is seen where it was applied."""
    applied = WAYS[way]["crop"] == "applied"
    if way == "json.sink":
        assert to_dict(cut()[0], add_empty_results=True)["resolution"] == {
            "width": 64, "height": 32,
        }  # fmt: skip
        return
    luma = end_of(way, cut if applied else saying).luma
    if applied:
        assert np.median(luma) == pytest.approx(INSIDE, abs=2)
        assert luma.max() < (INSIDE + OUTSIDE) / 2
    elif luma is not None:
        assert luma.max() > (INSIDE + OUTSIDE) / 2


@pytest.mark.parametrize("row", ENTRIES)
def test_what_a_model_sees_depends_on(row: str) -> None:
    """Entries that are applied change the picture that a model sees; no others do."""
    pictures = []
    for keys in ((), (row,)):
        frame = saying()[0]
        for key in keys:
            del frame.metadata[key]
        for number, plane in enumerate(frame.map("cpu", "rw").planes):
            shape = plane.native.shape
            plane.native[...] = np.random.default_rng(number).integers(40, 200, shape, np.uint8)
        model = image_model(echo(WIDTH, HEIGHT), frame, upright=True)
        pictures.append(np.array(model.infer(frame)[0].host_array()))
    same = np.array_equal(pictures[0], pictures[1])
    assert same == (WAYS[MODEL][row] != "applied")


def test_a_stream_of_gstreamer_in_a_file_of_ffmpeg(tmp_path: Path) -> None:
    text = (
        "videotestsrc num-buffers=3 ! video/x-raw,format=I420,width=128,height=96,"
        "framerate=50/1,pixel-aspect-ratio=4/3,colorimetry=1:6:14:7,chroma-site=cosited,"
        "interlace-mode=interleaved,field-order=top-field-first ! capssetter caps=video/x-raw,"
        "mastering-display-info=(string)34000:16000:13250:34500:7500:3000:15635:16450:10000000:50,"
        "content-light-level=(string)1000:400 ! taginject tags=image-orientation=flip-rotate-180"
    )
    path = tmp_path / "made.mp4"
    el.Pipeline(el.create("gstreamer.source", text), el.create("ffmpeg.sink", path)).run()
    with el.Pipeline(el.create("ffmpeg.source", path, frames=1)).start(threads=0) as out:
        said = next(out).metadata
    assert {key for key in ENTRIES if said.get(key) != ENTRIES[key]} == {"repeat_fields"}


def test_the_table_is_about_all_of_it() -> None:
    assert list(WAYS) == list(TRIES)
    for way, outcomes in WAYS.items():
        assert set(outcomes) == {*SAID, "crop", "container_aspect"}  # test_files.py has that
        assert set(outcomes.values()) <= {"kept", "applied", "dropped"}
        if way != "`samebytes.frame(av_frame)`":  # it is the entry, as of ffmpeg.source
            assert outcomes["container_aspect"] == outcomes["sample_aspect_ratio"]
    assert set(ENTRIES) == ENTRIES_OF_THE_PAGE  # those that backends share


def test_the_page_has_a_reason_for_all_that_is_not_kept() -> None:
    said = reasons("What becomes of it")
    for way, outcomes in WAYS.items():
        for row, outcome in outcomes.items():
            if outcome != "kept":
                text = said[way]
                assert f"`{row}`" in text or f"others {outcome}: " in text, (way, row)
