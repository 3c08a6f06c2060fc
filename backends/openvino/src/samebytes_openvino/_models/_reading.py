# SPDX-License-Identifier: Apache-2.0
"""Reading: the pictures that a model takes and what its outputs mean, by its file and arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from samebytes import Frame, Region
from samebytes.errors import LayoutError
from samebytes.metadata import AffineTransform, Classification, add

from ._detections import Array, Box, Found, regions_of_found
from ._detectors import (
    BlazeFace,
    CenterFace,
    DetectionOutput,
    Limits,
    PicoDet,
    RtDetr,
    Scores,
    Yolo,
    anchors_of,
)
from ._families import Card, card_of, family_of, pairs_of, shapes_of

__all__ = ["Reading", "read_model_file"]

_PADDLE = {"mean": (123.675, 116.28, 103.53), "scale": (58.395, 57.12, 57.375)}
# The settings of a family's models, unless their file or the user states others.
_HABITS: dict[str, dict[str, Any]] = {
    "yolo": {"color": "RGB", "scale": 255.0, "fit": "letterbox", "pad": 114.0, "iou": 0.7},
    "yolox": {"fit": "letterbox top-left", "pad": 114.0, "confidence": 0.3, "iou": 0.65},
    "rtdetr": {"color": "RGB", "scale": 255.0, "fit": "stretch"},
    "picodet": {**_PADDLE, "confidence": 0.4, "iou": 0.5},
    "centerface": {"color": "RGB", "confidence": 0.5, "iou": 0.3, "labels": ("face",)},
    "blazeface": {
        "color": "RGB", "mean": 127.5, "scale": 127.5, "fit": "letterbox", "pad": 0.0,
        "confidence": 0.5, "iou": 0.3, "labels": ("face",),
    },
    "ssd": {"confidence": 0.5},
    "classification": {"color": "RGB", "scale": 255.0, "fit": "crop", "confidence": 0.0},
}  # fmt: skip
_HABITS |= dict.fromkeys(
    ("yolo-end2end", "yolo-obb", "yolo-obb-end2end", "yolov5"), _HABITS["yolo"]
)
_LAST = {"color": "BGR", "fit": "stretch", "pad": 0.0, "confidence": 0.25, "iou": 0.5}
_INPUT = ("color", "mean", "scale", "fit", "align", "pad", "size")
_ULTRALYTICS = ("task", "head")
_UNKNOWN = "nothing says one: frames get the outputs as tensors; family= says how they are read"


@dataclass
class Reading:
    """The settings of a model, and where each of them was read.

    Attributes:
        family: "none" where the outputs are not read.
        settings: "color", "mean", "scale", "fit", "align", "pad", "size" for `image_model`;
            "labels", "confidence", "iou".
        lines: each setting in words, with the place where it was read.
        places: by setting, where it was read; "" if nothing states it.
        classes: the number of classes that the outputs have scores for; None if each row holds the
            number of its class instead, since the largest such number is unknown.
    """

    family: str
    settings: dict[str, Any]
    lines: list[str] = field(default_factory=list)
    decode: Callable[[Sequence[Array]], Any] | None = None
    places: dict[str, str] = field(default_factory=dict)
    classes: int | None = None

    @property
    def image_options(self) -> dict[str, Any]:
        """The arguments of `image_model`."""
        return {name: self.settings[name] for name in _INPUT}

    def add_to(self, frame: Frame[Any], outputs: Sequence[Any], transform: AffineTransform) -> None:
        """Add to a frame what the model found in it.

        Args:
            outputs: the outputs of the model, as tensors that the CPU can read.
            transform: from the model's image to the frame.
        """
        found = self._decoded(outputs)
        if isinstance(found, Found):
            whole = (0, 0, frame.width, frame.height)
            labels = self.settings["labels"]
            frame.regions.extend(regions_of_found(found, frame, transform, labels, whole))
        else:
            self._classify(frame, found)

    def add_to_region(
        self,
        frame: Frame[Any],
        region: Region,
        box: Box,
        outputs: Sequence[Any],
        transform: AffineTransform,
        attribute: str,
    ) -> list[Region]:
        """Add to a region what the model found in it; return the regions found.

        Args:
            box: the part of the frame that the model saw.
            outputs, transform: as for `add_to`.
            attribute: the attribute that a classification gives, such as "color".
        """
        found = self._decoded(outputs)
        if isinstance(found, Found):
            return regions_of_found(found, frame, transform, self.settings["labels"], box)
        self._classify(region, found, attribute)
        return []

    def _decoded(self, outputs: Sequence[Any]) -> Any:
        assert self.decode is not None, "the caller has asked for the family"
        with np.errstate(all="ignore"):  # what is not finite is left out
            return self.decode([_floats(tensor) for tensor in outputs])

    def _classify(self, holder: Frame[Any] | Region, scores: Array, attribute: str = "") -> None:
        best, labels = int(scores.argmax()), self.settings["labels"]
        name = labels[best] if best < len(labels) else str(best)
        if scores[best] > self.settings["confidence"]:
            add(holder, Classification(name, float(scores[best]), best, attribute))


def _floats(tensor: Any) -> Array:
    array = np.asarray(tensor.host_array())
    return array if array.dtype == np.float32 else array.astype(np.float32)


def read_model_file(
    model: Any, path: Path | None, given: Mapping[str, Any], size: tuple[int, int] | None
) -> Reading | None:
    """The reading of a model; None if that depends on the size of its image, which is unknown.

    Args:
        model: an openvino.Model of one image input. It is not changed.
        path: the path of its file, if it has one.
        given: the user's settings, which take precedence over those in the file.
        size: (width, height) of its image in pixels if neither states one, or None.

    Raises:
        LayoutError: its family is not clear, or its outputs do not fit the family.
    """
    card = card_of(model, path)
    said = {name: value for name, value in given.items() if value is not None}
    sure = said.get("size") or _own_size(model) or card.get("size") or size
    if sure is None:
        return None
    shapes = _shapes_at(model, sure)
    family, place = said.pop("family", None), "family="
    if family is None:
        family, place = family_of(card, model, shapes, sure)
    reading = Reading(family, {}, [f"family: {family} ({place or _UNKNOWN})"])
    if str(model.inputs[0].element_type.type_name) == "u8":  # it converts the bytes itself
        said = {"mean": (), "scale": (), **said}
    _settle(reading, card, said, sure)
    if family != "none":
        reading.decode = _decoder(reading, card, model, shapes, sure, said)
    return reading


def _settle(reading: Reading, card: Card, said: Mapping[str, Any], size: tuple[int, int]) -> None:
    habits = _HABITS.get(reading.family, {})
    if reading.family == "classification" and not any(n in card.facts for n in _ULTRALYTICS):
        habits = {"confidence": 0.0}
    known = dict(card.facts)
    if reading.family in ("rtdetr", "classification"):
        known.pop("fit", None)  # Ultralytics writes the fit of YOLO's detectors for these, too
    if reading.family == "none":
        known = {}
    for name in ("color", "mean", "scale", "fit", "pad", "confidence", "iou", "labels"):
        if name in said:
            value, place = said[name], f"{name}=" if said[name] != () else ""
            value = None if value == () and name != "labels" else value
        elif name in known:
            value, place = known[name], card.places[name]
        elif name in habits:
            value, place = habits[name], "as models of the family take it"
        else:
            value, place = _LAST.get(name, () if name == "labels" else None), ""
        reading.settings[name], reading.places[name] = value, place
        if place and reading.family != "none":
            reading.lines.append(f"{name}: {_shown(name, value)} ({place})")
    fit, _, align = str(reading.settings["fit"]).partition(" ")
    reading.settings["fit"] = fit
    reading.settings["align"] = said.get("align") or align or "center"
    reading.settings["size"] = said.get("size") or (size if reading.family != "none" else None)


def _decoder(
    reading: Reading,
    card: Card,
    model: Any,
    shapes: Sequence[tuple[int, ...]],
    size: tuple[int, int],
    said: Mapping[str, Any],
) -> Callable[[Sequence[Array]], Any]:
    settings, family = reading.settings, reading.family
    limits = Limits(settings["confidence"], settings["iou"], bool(said.get("agnostic")))
    if not _fits(family, shapes):
        raise LayoutError(_misfit(family, shapes))
    if family == "classification":
        last = model.outputs[0].get_node().input(0).get_source_output().get_node()
        softmax = last.get_type_name() != "Softmax"
        if softmax:
            reading.lines.append("scores: by softmax, which the model has not at its end")
        _count_scores(reading, shapes[0])
        return Scores(softmax)
    if family == "ssd":
        return DetectionOutput(limits)
    if family == "rtdetr":
        chosen = shapes[0][2] == 6
        reading.classes = None if chosen else _count(shapes[0], 4)
        return RtDetr(limits, chosen)
    if family == "picodet":
        pairs = pairs_of(shapes, size)
        if not pairs:
            raise LayoutError(_misfit(family, shapes))
        reading.classes = _count(shapes[pairs[0][1]])
        return PicoDet(limits, size, pairs)
    if family == "blazeface":
        anchors = anchors_of(shapes, size)
        if anchors is None:
            raise LayoutError(_misfit(family, shapes))
        return BlazeFace(limits, size, anchors)
    if family == "centerface":
        order = [n for channels in (1, 2, 10) for n, s in enumerate(shapes) if s[1] == channels]
        if len(order) != 4:
            raise LayoutError(_misfit(family, shapes))
        return CenterFace(limits, size, (order[0], order[1], order[2], order[3]))
    points = said.get("keypoints")
    if points is None and card.get("task") == "pose":
        points = card.get("kpt_shape")
    if len(shapes[0]) != 3:
        raise LayoutError(_misfit(family, shapes))
    turned, kind = "-obb" in family, family.replace("-obb", "")
    more = points[0] * points[1] if points else int(turned)
    if len(shapes) > 1 and len(shapes[1]) == 4:
        more = shapes[1][1]
    classes = shapes[0][1] - 4 - more if kind == "yolo" else shapes[0][2] - 5
    fits = shapes[0][2] >= 6 + more if kind == "yolo-end2end" else classes > 0
    if not fits:
        raise LayoutError(_misfit(family, shapes))
    reading.classes = None if kind == "yolo-end2end" else classes
    return Yolo(kind, size, classes, limits, points, turned=turned)


def _fits(family: str, shapes: Sequence[tuple[int, ...]]) -> bool:
    """True unless the first output cannot be of a family whose outputs are read as they come."""
    shape = shapes[0]
    if family == "ssd":
        return not shape or shape[-1] in (7, -1)
    if family == "classification":
        batch = shape[:1] if len(shape) > 1 else ()
        return set(batch) <= {1, -1} and sum(length != 1 for length in shape[1:]) <= 1
    return family != "rtdetr" or (len(shape) == 3 and (shape[2] > 4 or shape[2] == -1))


def _count(shape: tuple[int, ...], before: int = 0) -> int | None:
    """The classes at the end of rows, behind so many other values; None where that is open."""
    return shape[-1] - before if shape and shape[-1] > before else None


def _count_scores(reading: Reading, shape: tuple[int, ...]) -> None:
    """Note the classes of a classifier, whose scores are [1, classes] or [1, classes, 1, 1]."""
    classes = prod(shape[1:] or shape)
    if not shape or classes < 1:  # its rank or a length is open
        return
    labels = reading.settings["labels"]
    # Model API takes its files so: one label may be missing, and others may be left over.
    if labels and reading.places["labels"] == "rt_info model_info.labels":
        if classes == len(labels) + 1:
            reading.settings["labels"] = ("other", *labels)
            reading.lines.append('labels: "other" first, as Model API has it where one is missing')
        if classes <= len(labels) + 1:
            return
    reading.classes = classes


def _misfit(family: str, shapes: Sequence[tuple[int, ...]]) -> str:
    return f'outputs {list(shapes)} are not those of family="{family}"'


def _own_size(model: Any) -> tuple[int, int] | None:
    """(width, height) of a model's image of 3 channels, where it is fixed, whatever the batch."""
    shape = model.inputs[0].partial_shape
    if shape.rank.is_dynamic or len(shape) != 4 or any(shape[n].is_dynamic for n in (1, 2, 3)):
        return None
    _, first, second, third = (length.max_length for length in shape)
    return (third, second) if first == 3 else (second, first)


def _shapes_at(model: Any, size: tuple[int, int]) -> list[tuple[int, ...]]:
    """The shapes of the outputs for one frame of that size."""
    shape = model.inputs[0].partial_shape
    if shape.rank.is_dynamic or len(shape) != 4:
        return shapes_of(model)
    nchw = shape[1].is_static and shape[1].get_length() == 3
    wanted = [1, 3, size[1], size[0]] if nchw else [1, size[1], size[0], 3]
    if shape.is_static and list(shape.to_shape()) == wanted:
        return shapes_of(model)
    tried = model.clone()
    try:
        tried.reshape(wanted)
    except RuntimeError:
        return shapes_of(model)  # image_model() says what is wrong with the size
    return shapes_of(tried)


def _shown(name: str, value: Any) -> str:
    if name == "labels":
        return f"{len(value)}, {', '.join(value[:3])}{' ...' if len(value) > 3 else ''}"
    return f"{value:g}" if isinstance(value, float) else str(value)
