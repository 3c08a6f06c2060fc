# SPDX-License-Identifier: Apache-2.0
"""openvino.infer(regions=): a model on the regions of frames, its results on these regions."""

from __future__ import annotations

import json
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import openvino
import pytest
from openvino import opset13 as ops

import samebytes as sb
import samebytes.elements as el
from samebytes import Region
from samebytes.errors import ElementError, NegotiationError, ParameterError
from samebytes.metadata import (
    AffineTransform,
    Classification,
    Detection,
    InferenceResult,
    all_of,
    find,
    to_json,
)
from samebytes_openvino import OpenVINOInfer

from .reading.detectors import answering, yolo_rows

RED, GREEN, BLUE = (40, 40, 220), (40, 220, 40), (220, 40, 40)
YOLO = {"model_type": "YOLO", "labels": "cat dog", "resize_type": "fit_to_window_letterbox"}


def of_colours() -> openvino.Model:
    """A classifier: the most of red, green and blue."""
    image = ops.parameter([1, 3, 32, 32], np.float32, name="image")
    means = ops.reduce_mean(image, np.array([2, 3]))
    means.output(0).get_tensor().set_names({"colours"})
    model = openvino.Model([ops.result(means)], [image], "colours")
    for word, value in {
        "model_type": "Classification",
        "labels": "red green blue",
        "reverse_input_channels": "YES",
        "scale_values": "16",
    }.items():
        model.set_rt_info(value, ["model_info", word])
    return model


def picture(number: int, format_: str = "NV12") -> sb.Frame[Any]:
    """Three rectangles at odd places, of colours that change with the number, and a region each."""
    colours = [(RED, GREEN, BLUE)[(number + n) % 3] for n in range(3)]
    boxes = [(11, 7, 31, 41), (71, 5, 33, 50), (125, 61, 21, 19)]
    frame = sb.context("cpu").allocate_frame(format_, 161, 97)
    frame.meta.pts = number
    for box, colour in zip([(0, 0, 161, 97), *boxes], [(90, 90, 90), *colours], strict=True):
        paint(frame, box, colour)
    frame.regions.extend(Region(*box, label="person") for box in boxes)
    frame.regions.insert(1, Region(0, 0, 60, 60, "tree", 0.5))
    return frame


def paint(frame: sb.Frame[Any], box: tuple[int, int, int, int], bgr: Any) -> None:
    """Fill a box; of what shares a sample of chroma, all."""
    from samebytes.formats import color_components, colors_of

    format_ = frame.image.format
    values = color_components(bgr[::-1], format_, *colors_of(format_, frame.metadata))
    x, y, width, height = box
    for plane, shape, names in zip(frame.planes, format_.planes, format_.plane_names, strict=True):
        rows = slice(y >> shape.y_shift, -(-(y + height) >> shape.y_shift))
        columns = slice(x >> shape.x_shift, -(-(x + width) >> shape.x_shift))
        found = [round(values[name]) for name in names]
        plane.native[rows, columns] = found if len(found) > 1 else found[0]


def pictures(format_: str = "NV12", count: int = 5) -> Any:
    @el.source(gives=el.Image(format_, memory="cpu", width=161, height=97))
    def given() -> Iterator[sb.Frame[Any]]:
        yield from (picture(number, format_) for number in range(count))

    return given()


def classes(frame: sb.Frame[Any]) -> list[str | None]:
    found = [find(region, Classification) for region in frame.regions]
    return [None if one is None else one.label for one in found]


def wanted(number: int) -> list[str | None]:
    first, *others = [("red", "green", "blue")[(number + n) % 3] for n in range(3)]
    return [first, None, *others]


OPTIONS: tuple[dict[str, Any], ...] = ({}, {"batch": 2}, {"batch": 4}, {"requests": 3})
# All on the CPU; on a device, whose models take long to compile, each of both once.
WAYS = [
    *(("CPU", threads, options) for threads in (0, 1, 2) for options in OPTIONS),
    *(("GPU", *way) for way in zip((0, 1, 2, 2), OPTIONS, strict=True)),
    *(("NPU", *way) for way in zip((2, 0, 1, 0), OPTIONS, strict=True)),
]


@pytest.mark.parametrize(("device", "threads", "options"), WAYS, indirect=["device"], ids=str)
def test_a_classifier_of_regions(device: str, threads: int, options: dict[str, Any]) -> None:
    sb.reset_stats()
    infer = el.create("openvino.infer", of_colours(), device, regions="person", **options)
    with el.Pipeline(pictures(), infer).start(threads=threads) as out:
        frames = list(out)
    assert [frame.meta.pts for frame in frames] == list(range(5))
    assert [classes(frame) for frame in frames] == [wanted(number) for number in range(5)]
    assert sb.stats().copied_bytes == 0
    found = find(frames[0].regions[0], Classification)
    assert found is not None
    assert (found.label_id, found.attribute) == (0, "")
    assert found.confidence == pytest.approx(1, abs=0.01)
    assert not all_of(frames[0], Classification)


@pytest.mark.parametrize("batch", [1, 2])
def test_a_classifier_of_any_batch(device: str, batch: int) -> None:
    model = of_colours()
    model.reshape(openvino.PartialShape([-1, 3, 32, 32]))
    infer = OpenVINOInfer(model, device, regions="person", batch=batch)
    with el.Pipeline(pictures(count=2), infer).start(threads=0) as out:
        assert [classes(frame) for frame in out] == [wanted(0), wanted(1)]
    assert "family: classification" in infer.explain()


@pytest.mark.parametrize("format_", ["I420", "BGR"])
def test_formats(device: str, format_: str) -> None:
    infer = OpenVINOInfer(of_colours(), device, regions="person", batch=2)
    with el.Pipeline(pictures(format_, 2), infer).start(threads=0) as out:
        assert [classes(frame) for frame in out] == [wanted(0), wanted(1)]


@pytest.mark.parametrize(
    ("labels", "which"),
    [
        ("tree", [1]),
        (["tree", "person"], [0, 1, 2, 3]),
        (True, [0, 1, 2, 3]),
        ("car", []),
        ((), []),
    ],
)
def test_which_regions(labels: Any, which: list[int]) -> None:
    (frame,) = el.Pipeline(pictures(count=1), OpenVINOInfer(of_colours(), regions=labels)).start()
    assert [n for n, label in enumerate(classes(frame)) if label is not None] == which


def test_frames_without_such_regions_pass_without_an_inference() -> None:
    infer = OpenVINOInfer(of_colours(), regions="car")
    with el.Pipeline(pictures(count=3), infer).start(threads=0) as out:
        assert len(list(out)) == 3
        said = infer.explain()
    assert said.endswith("regions of car: 0 in 0 of 3 frames")
    assert "frames, for CPU" not in said  # nothing was compiled
    assert infer.explain() == said


def test_regions_beyond_the_picture() -> None:
    frame = picture(0, "I420")
    for box in [(150, 80, 40, 40), (-10, -10, 12, 12), (200, 10, 5, 5), (20, 20, 0, 10),
                (30, 30, -4, 4), (160, 96, 1, 1)]:  # fmt: skip
        frame.regions.append(Region(*box, label="part"))
    infer = OpenVINOInfer(of_colours(), regions="part")
    el.Pipeline([frame], infer).run(threads=0)
    found = [label is not None for label in classes(frame)[4:]]
    assert found == [True, True, False, False, False, True]
    said = "regions of part: 3 in 1 of 1 frames, 3 without a pixel of the picture left out"
    assert infer.explain().endswith(said)


def test_explaining_what_it_does() -> None:
    infer = OpenVINOInfer(of_colours(), regions=["person", "car"], batch=2)
    with el.Pipeline(pictures(count=2), infer).start(threads=0) as out:
        frame = next(out)
        assert "regions of person, car: 3 in 1 of 1 frames" in infer.explain(frame)
        next(out)
    said = infer.explain()
    assert said.startswith("family: classification")
    assert "regions: 2 in an inference, where they lie in the planes, at any pixel" in said
    assert "regions of person, car: 6 in 2 of 2 frames" in said


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
def test_a_detector_in_regions(device: str, rotation: int) -> None:
    """Its image of 64x64 shows regions of 32x16 and 16x32 twice as large, and half of it is pad."""
    frame = sb.context("cpu").allocate_frame("I420", 160, 96, metadata={"rotation": rotation})
    frame.regions.append(Region(33, 17, 32, 16, "person", metadata={"id": 7}))
    frame.regions.append(Region(101, 51, 16, 32, "person"))
    # 0.25 to 0.75 across and 0.375 to 0.5 down: of the letterbox's half, from 0.25 to 0.5.
    model = answering(yolo_rows(2, (32.0, 28.0, 32.0, 8.0, 1, 0.9)), info=YOLO)
    infer = OpenVINOInfer(model, device, regions="person", upright=True, batch=2, config={})
    el.Pipeline([frame], infer).run(threads=0)
    first, second, *found = frame.regions
    assert (first.metadata["id"], second.metadata["id"]) == (7, 8)
    assert [(r.label, r.metadata["parent_id"]) for r in found] == [("dog", 7), ("dog", 8)]
    for parent, region in zip((first, second), found, strict=True):
        wide = parent.width > parent.height
        wide ^= rotation in (90, 270)
        # In the upright region, whose long side fills the image, and whose short one half of it.
        left, top, right, bottom = (
            (0.25, 0.25, 0.75, 0.5) if wide else (0.0, 0.375, 1.0, 0.5)
        )  # fmt: skip
        turned = {
            0: (left, top, right, bottom),
            90: (top, 1 - right, bottom, 1 - left),
            180: (1 - right, 1 - bottom, 1 - left, 1 - top),
            270: (1 - bottom, left, 1 - top, right),
        }[rotation]
        x, y, width, height = region.metadata["exact_box"]
        sides = np.array((x, y, x + width, y + height))
        ours = (sides - (parent.x, parent.y) * 2) / ((parent.width, parent.height) * 2)
        np.testing.assert_allclose(ours, turned, atol=2e-3 if device != "CPU" else 1e-5)
    document = json.loads(to_json(frame))
    assert [one.get("parent_id") for one in document["objects"]] == [None, None, 7, 8]


def test_outputs_of_no_family_become_entries_of_the_region(device: str) -> None:
    infer = OpenVINOInfer(of_colours(), device, regions="person", family="none", scale=1, batch=2)
    (frame,) = el.Pipeline(pictures("BGR", 1), infer).start(threads=0)
    results = [find(region, InferenceResult) for region in frame.regions]
    assert results[1] is None
    for result, colour in zip([results[0], *results[2:]], (RED, GREEN, BLUE), strict=True):
        assert result is not None
        assert (result.model_name, result.layer_name) == ("colours", "colours")
        np.testing.assert_allclose(result.array.reshape(-1), colour, atol=1)
    objects = json.loads(to_json(frame, add_tensor_data=True))["objects"]
    assert objects[0]["tensors"][0]["dims"] == [1, 3]


def test_attributes_keep_classifiers_apart() -> None:
    first = OpenVINOInfer(of_colours(), regions="person", attribute="shirt")
    second = OpenVINOInfer(of_colours(), regions="person", attribute="hat", entries=True)
    (frame,) = el.Pipeline(pictures("BGR", 1), first, second).start(threads=0)
    person = json.loads(to_json(frame))["objects"][0]
    assert (person["shirt"]["label"], person["hat"]["label"]) == ("red", "red")
    assert len(all_of(frame.regions[0], InferenceResult)) == 1


@pytest.mark.parametrize("rotation", [0, 90])
def test_postprocess_gets_the_region(rotation: int) -> None:
    asked = []

    def read(_: sb.Frame[Any], outputs: Any, region: Region) -> list[Region] | None:
        asked.append((region, find(outputs, AffineTransform)))
        if region.label == "tree":
            return None
        # The left half of what the model saw, in pixels of the picture as it is shown.
        width, height = (97, 161) if rotation else (161, 97)
        left, top, right, bottom = outputs.transform.bounds(0, 0, 0.5, 1)
        x, y = round(left * width), round(top * height)
        return [Region(x, y, round(right * width) - x, round(bottom * height) - y, "half")]

    frame = picture(0, "BGR")
    frame.metadata["rotation"] = rotation
    infer = OpenVINOInfer(of_colours(), regions=True, postprocess=read, upright=True)
    el.Pipeline([frame], infer).run(threads=0)
    assert [region for region, _ in asked] == frame.regions[:4]
    halves = frame.regions[4:]
    parents = [frame.regions[n] for n in (0, 2, 3)]
    assert [h.metadata["parent_id"] for h in halves] == [p.metadata["id"] for p in parents]
    for half, parent in zip(halves, parents, strict=True):
        x, y, width, height = parent.box
        # Turned clockwise, its left half is the lower one of the frame.
        lower = (x, y + height / 2, width, height / 2)
        expected = lower if rotation == 90 else (x, y, width / 2, height)
        np.testing.assert_allclose(half.box, expected, atol=0.51)


def test_what_is_refused() -> None:
    def two(frame: Any, outputs: Any) -> None: ...

    with pytest.raises(ParameterError, match=r"postprocess\(frame, outputs, region\).*two takes"):
        OpenVINOInfer(of_colours(), regions=True, postprocess=two)
    with pytest.raises(ParameterError, match=r"'resize' is of whole frames.*leave resize= out"):
        OpenVINOInfer(of_colours(), regions=True, resize=lambda source, target: None)
    with pytest.raises(ParameterError, match="'regions' must be"):
        OpenVINOInfer(of_colours(), regions=5)

    @el.source(gives=el.Tensors(memory="cpu"))
    def tensors() -> Iterator[sb.Frame[Any]]:
        yield from ()

    with pytest.raises(NegotiationError, match=r"have no regions: leave regions= out"):
        el.Pipeline(tensors(), OpenVINOInfer(of_colours(), regions=True)).start()
    x = ops.parameter([1, 3, 32, 32], np.float32, name="image")
    model = openvino.Model([ops.result(ops.reduce_mean(x, np.array([0])))], [x], "no batch")
    infer = OpenVINOInfer(model, regions=True, batch=2)
    with pytest.raises(ParameterError, match="parameter 'batch' is 2"):
        el.Pipeline(pictures(), infer).run(threads=0)
    x = ops.parameter([1, 3, -1, -1], np.float32, name="image")
    model = openvino.Model([ops.result(ops.reduce_mean(x, np.array([2, 3])))], [x], "open")
    with pytest.raises(ElementError, match=r"pass size="):
        el.Pipeline(pictures(), OpenVINOInfer(model, regions=True)).run(threads=0)


@pytest.mark.parametrize("options", [{}, {"requests": 2}, {"batch": 2}], ids=str)
def test_after_an_error_the_next_frame_is_fine(device: str, options: dict[str, Any]) -> None:
    def read(frame: sb.Frame[Any], _: Any, region: Region) -> None:
        if frame.meta.pts == 1:
            raise ValueError("not this one")
        region.metadata["seen"] = True

    infer = OpenVINOInfer(of_colours(), device, regions=True, postprocess=read, **options)
    pipe = el.Pipeline(pictures(count=4), infer)
    with pipe.start(threads=0, on_error="drop") as out:
        frames = list(out)
    assert [frame.meta.pts for frame in frames] == [0, 2, 3]
    assert all(region.metadata["seen"] for frame in frames for region in frame.regions)


class Watched(np.ndarray[Any, Any]):
    """An array that weak references see."""


@pytest.mark.parametrize("options", [{}, {"requests": 2}, {"batch": 2}], ids=str)
def test_frames_are_dropped_when_their_results_are_out(
    device: str, options: dict[str, Any]
) -> None:
    infer = OpenVINOInfer(of_colours(), device, regions=True, **options)
    infer.negotiate(el.FrameInfo("image", "cpu", "GRAY8", 64, 64))
    infer.open(None)
    for _ in range(3):
        memory = sb.context("cpu").allocate((64, 64)).native.view(Watched)
        held = weakref.ref(memory)
        frame = sb.frame(memory, format="GRAY8")
        del memory
        frame.regions.extend(Region(n, n, 20, 20) for n in range(3))
        infer.process(frame)
        assert held() is not None
        assert all(find(region, Classification) for region in frame.regions)
        del frame
        assert held() is None
    infer.close()


def test_results_are_of_detections() -> None:
    (frame,) = el.Pipeline(pictures("BGR", 1), OpenVINOInfer(of_colours(), regions=True)).start()
    labels = [find(found.region, Classification) for found in all_of(frame, Detection)]
    assert all(labels)
