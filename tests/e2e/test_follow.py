# SPDX-License-Identifier: Apache-2.0
"""samples/follow.py: detections to supervision and back, and numbers by ByteTrack."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import numpy as np
import openvino
import pytest
from openvino import opset13 as ops

import samebytes as sb
import samebytes.elements as el
from samebytes.metadata import (
    Classification,
    Detection,
    ObjectId,
    SourceIdentifier,
    add,
    all_of,
    find,
)

from .sample_inputs import FRAMES, make_model, make_video, place

SAMPLE = Path(__file__).parents[2] / "samples" / "follow.py"


@pytest.fixture(scope="module", autouse=True)
def packages() -> None:
    for package, command in (
        ("supervision", "pip install supervision==0.31.2"),
        ("rich", "pip install rich"),
        ("trackers", "pip install --no-deps trackers==2.6.1"),
    ):
        try:
            distribution(package)
        except PackageNotFoundError:
            pytest.skip(f"missing package {package}: {command}")


@pytest.fixture(scope="module")
def sample() -> dict[str, Any]:
    return runpy.run_path(str(SAMPLE))


def classifier(path: Path) -> None:
    """Write a model that says whether a picture is dark or bright."""
    image = ops.parameter([1, 3, 32, 32], np.float32, name="image")
    mean = ops.reduce_mean(image, np.array([1, 2, 3]))
    half = ops.subtract(ops.unsqueeze(mean, np.array(1)), ops.constant(np.float32(128)))
    scores = ops.concat([ops.negative(half), half], 1)
    model = openvino.Model([ops.result(scores)], [image], "light")
    for word, value in {"model_type": "Classification", "labels": "dark bright",
                        "scale_values": "1"}.items():  # fmt: skip
        model.set_rt_info(value, ["model_info", word])
    openvino.save_model(model, path)


@pytest.mark.parametrize("kind", ["CPU", "GPU", "NPU"])
def test_the_sample(kind: str, device: Callable[..., None], tmp_path: Path) -> None:
    device(kind)
    make_video(tmp_path / "video.mp4")
    make_model(tmp_path / "detector.xml")
    classifier(tmp_path / "light.xml")
    # Planes of a small video share pages, of which an NPU holds each for one model at a time.
    classify = ["--classifier", "light.xml"] if kind != "NPU" else []
    done = subprocess.run(
        [sys.executable, SAMPLE, "video.mp4", "detector.xml", "out.mp4", "found.json",
         "--device", kind, *classify],
        cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[-1] == "0 bytes copied"
    numbers = ["None", *["ObjectId(id=0)"] * (FRAMES - 1)]
    assert lines[:-1] == [f"frame {n}: {place(n)} {number}" for n, number in enumerate(numbers)]
    documents = [json.loads(line) for line in (tmp_path / "found.json").read_text().splitlines()]
    objects = [one for document in documents for one in document["objects"]]
    assert [one.get("id") for one in objects] == [None, *[0] * (FRAMES - 1)]
    if classify:
        assert {one["classification"]["label"] for one in objects} == {"bright"}
    assert (tmp_path / "out.mp4").stat().st_size > 1000


def frame_of(*found: Detection) -> sb.Frame[Any]:
    frame = sb.context("cpu").allocate_frame("NV12", 640, 360)
    for one in found:
        add(frame, one)
    return frame


def test_there_and_back(sample: dict[str, Any]) -> None:
    found = [
        Detection(0.25, 0.5, 0.5, 0.75, "car", 0.5, 3),
        Detection(0.0, 0.0, 1.0, 1.0, "Kraftfahrzeug"),
    ]
    detections = sample["to_supervision"](frame_of(*found))
    np.testing.assert_array_equal(detections.xyxy, [(160, 180, 320, 270), (0, 0, 640, 360)])
    assert detections.confidence.tolist() == [0.5, 1.0]
    assert detections.class_id.tolist() == [3, -1]
    assert detections.data["class_name"].tolist() == ["car", "Kraftfahrzeug"]
    detections.tracker_id = np.array([7, -1])
    frame = frame_of()
    sample["from_supervision"](frame, detections)
    came = all_of(frame, Detection)
    assert came == [found[0], Detection(0.0, 0.0, 1.0, 1.0, "Kraftfahrzeug", 1.0)]
    assert [find(one.region, ObjectId) for one in came] == [ObjectId(7), None]


def test_a_frame_in_which_nothing_was_found(sample: dict[str, Any]) -> None:
    frame = frame_of()
    detections = sample["to_supervision"](frame)
    assert len(detections) == 0
    sample["number_regions"](frame, sample["ByteTrackTracker"]().update(detections))
    sample["from_supervision"](frame, detections)
    assert not frame.regions


def test_numbers_find_their_regions(sample: dict[str, Any]) -> None:
    """A filter leaves some of them, in another order; what else a region has stays."""
    frame = frame_of(*[Detection(0.1 * n, 0.0, 0.1 * n + 0.1, 1.0, str(n)) for n in range(4)])
    add(frame.regions[3], Classification("red"))
    some = sample["to_supervision"](frame)[np.array([3, 1])]
    some.tracker_id = np.array([10, 11])
    sample["number_regions"](frame, some)
    numbers = [find(region, ObjectId) for region in frame.regions]
    assert numbers == [None, ObjectId(11), None, ObjectId(10)]
    assert find(frame.regions[3], Classification) == Classification("red")


@el.source(gives=el.Image("NV12", memory="cpu", width=640, height=360))
def moving(*, step: float) -> Iterator[sb.Frame[Any]]:
    for number in range(4):
        left = 0.4 + number * step
        yield frame_of(Detection(left, 0.4, left + 0.2, 0.6, "car", 0.9))


@pytest.mark.parametrize("threads", [0, 2])
def test_streams_have_trackers_of_their_own(sample: dict[str, Any], threads: int) -> None:
    pipe = el.Pipeline([moving(step=0.02), moving(step=-0.02)], sample["Follow"]())
    numbers: dict[int, list[Any]] = {0: [], 1: []}
    with pipe.start(threads=threads) as out:
        for frame in out:
            source = find(frame, SourceIdentifier)
            assert source is not None
            numbers[source.stream_id].append(find(frame.regions[0], ObjectId))
    assert numbers == {n: [None, ObjectId(0), ObjectId(0), ObjectId(0)] for n in (0, 1)}
