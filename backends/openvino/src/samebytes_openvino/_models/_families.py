# SPDX-License-Identifier: Apache-2.0
"""The facts in a model file, and the model's family, by these and by the shapes of its outputs.

Facts are read in three places: `rt_info` of the model under "model_info" (Model API, Geti,
Ultralytics), the properties of an ONNX file (rt_info under "framework"), and the file
`metadata.yaml` beside the model (Ultralytics). Each has its own word for the same fact, and here
the fact has one name.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from samebytes.errors import LayoutError

from ._detectors import anchors_of, grid

__all__ = [
    "FAMILIES",
    "Card",
    "Family",
    "card_of",
    "family_of",
    "flat_yaml",
    "pairs_of",
    "shapes_of",
]


_BESIDE = "metadata.yaml"
_EMBEDDED = ("reverse_input_channels", "mean_values", "scale_values")


@dataclass
class Card:
    """Facts of a model.

    Attributes:
        facts: values by name: "task", "head", "labels", "end2end", "nms", "kpt_shape", "size",
            "author", "description" (Ultralytics' words); "model_type", "fit", "pad", "mean",
            "scale", "color", "confidence", "iou" (Model API's).
        places: where each was read, by the same names.
    """

    facts: dict[str, Any] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)

    def get(self, name: str, default: Any = None) -> Any:
        """The fact of that name."""
        return self.facts.get(name, default)

    def put(self, name: str, value: Any, place: str) -> None:
        """Note a fact, unless it is known already."""
        if name not in self.facts:
            self.facts[name], self.places[name] = value, place


def card_of(model: Any, path: Path | None) -> Card:
    """The facts that are known about a model.

    Args:
        model: an openvino.Model.
        path: the path of its file, if it has one.
    """
    card = Card()
    if path is not None and (beside := path.parent / _BESIDE).is_file():
        _ultralytics(card, flat_yaml(beside.read_text(encoding="utf-8")), _BESIDE)
    _ultralytics(card, _rt_info(model, "framework"), "the ONNX file's properties")
    _model_info(card, _rt_info(model, "model_info"))
    return card


def _rt_info(model: Any, group: str) -> dict[str, Any]:
    if not model.has_rt_info(group):
        return {}
    found = model.get_rt_info(group).value
    if not isinstance(found, dict):
        return {}
    return {str(name): getattr(value, "value", value) for name, value in found.items()}


def _ultralytics(card: Card, said: dict[str, Any], place: str) -> None:
    """Note facts in the words of Ultralytics; in an ONNX file all values are texts."""
    words: dict[str, tuple[str, Callable[[Any], Any]]] = {
        "task": ("task", str),
        "author": ("author", str),
        "description": ("description", str),
        "head": ("head", str),
        "end2end": ("end2end", _truth),
        "kpt_shape": ("kpt_shape", _numbers),
        "imgsz": ("size", lambda v: tuple(reversed(_numbers(v)))),
        "names": ("labels", _labels),
        "character": ("labels", lambda v: tuple(str(v).splitlines())),  # PaddlePaddle's word
        "nms": ("nms", _truth),
    }
    _note(card, {**said, **_nested(said)}, words, place + " {}")


def _nested(said: dict[str, Any]) -> dict[str, Any]:
    """`nms`, which is one of the arguments that the model was exported with."""
    arguments = said.get("args")
    if isinstance(arguments, str):
        arguments = _literal(arguments)
    return {"nms": arguments.get("nms")} if isinstance(arguments, dict) else {}


def _model_info(card: Card, said: dict[str, Any]) -> None:
    """Note facts in the words of Model API, whose values are all texts."""
    fits = {
        "standard": "stretch",
        "fit_to_window": "letterbox top-left",
        "fit_to_window_letterbox": "letterbox",
        "crop": "crop",
    }
    words: dict[str, tuple[str, Callable[[Any], Any]]] = {
        "model_type": ("model_type", str),
        "labels": ("labels", lambda v: tuple(str(v).split())),
        "resize_type": ("fit", lambda v: fits[str(v)]),
        "pad_value": ("pad", float),
        "reverse_input_channels": ("color", lambda v: "RGB" if _truth(v) else "BGR"),
        "mean_values": ("mean", _channels),
        "scale_values": ("scale", _channels),
        "confidence_threshold": ("confidence", float),
        "iou_threshold": ("iou", float),
    }
    if _truth(said.get("embedded_processing")):  # the model does it itself
        said = {k: v for k, v in said.items() if k not in _EMBEDDED}
    _note(card, said, words, "rt_info model_info.{}")


def _note(
    card: Card,
    said: dict[str, Any],
    words: dict[str, tuple[str, Callable[[Any], Any]]],
    place: str,
) -> None:
    for word, (name, read) in words.items():
        value = said.get(word)
        if value is None or value == "":
            continue
        try:
            card.put(name, read(value), place.format(word))
        except (KeyError, TypeError, ValueError, SyntaxError):
            continue  # a value of unknown form: where the fact is needed, an argument can give it


def _truth(value: Any) -> bool:
    return str(value).strip().lower() in ("true", "yes", "1")


def _numbers(value: Any) -> tuple[int, ...]:
    found = _literal(value) if isinstance(value, str) else value
    numbers = tuple(int(number) for number in found)
    return numbers * 2 if len(numbers) == 1 else numbers


def _channels(value: Any) -> float | tuple[float, ...]:
    numbers = tuple(float(one) for one in str(value).replace(",", " ").strip("[]() ").split())
    return numbers[0] if len(numbers) == 1 else numbers


def _labels(value: Any) -> tuple[str, ...]:
    found = _literal(value) if isinstance(value, str) else value
    if isinstance(found, dict):
        found = [found[number] for number in sorted(found, key=int)]
    return tuple(str(one) for one in found)


def _literal(text: str) -> Any:
    return ast.literal_eval(text)


_KEY = re.compile(r"(?P<indent> *)(?P<key>'[^']*'|\"[^\"]*\"|[^\s:'\"][^:]*):(?: +(?P<value>.*))?$")
_ITEM = re.compile(r" *- +(?P<value>.*)$")
_WORDS = {"true": True, "false": False, "null": None, "~": None, "": None}


def flat_yaml(text: str) -> dict[str, Any]:
    """The top-level entries of a YAML document: values, lists of values, and tables of values.

    Exporters write nothing else, so a YAML library is not needed. Lines of other forms are skipped.

    Args:
        text: the text of the document.

    Returns:
        Numbers, texts, True, False and None by key; lists of them, and dicts of one level.
    """
    made: dict[str, Any] = {}
    inside = ""
    for line in text.splitlines():
        item, key = _ITEM.match(line), _KEY.match(line)
        if item is not None and inside:
            if not isinstance(made[inside], list):
                made[inside] = []
            made[inside].append(_value(item["value"]))
        elif key is not None and not key["indent"]:
            name = str(_value(key["key"]))
            made[name] = _value(key["value"] or "")
            inside = name
        elif key is not None and inside and made[inside] is not False:
            if not isinstance(made[inside], dict):
                made[inside] = {}
            made[inside][_value(key["key"])] = _value(key["value"] or "")
    return made


def _value(text: str) -> Any:
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        inner = text[1:-1]
        return inner.replace("''", "'") if text[0] == "'" else inner.replace('\\"', '"')
    if text.startswith("[") and text.endswith("]"):
        return [_value(part) for part in text[1:-1].split(",") if part.strip()]
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


Family = Literal[
    "yolo", "yolo-end2end", "yolo-obb", "yolo-obb-end2end", "yolov5", "yolox", "ssd", "rtdetr",
    "picodet", "centerface", "blazeface", "classification", "none",
]  # fmt: skip

FAMILIES: tuple[str, ...] = get_args(Family)
_STRIDES = (8, 16, 32, 64)
Shape = tuple[int, ...]
"""The shape of an output, with -1 for a dynamic dimension."""


def shapes_of(model: Any) -> list[Shape]:
    """The shapes of a model's outputs; () for an output of unknown rank."""
    return [
        tuple(int(d.get_length()) if d.is_static else -1 for d in port.partial_shape)
        if port.partial_shape.rank.is_static
        else ()
        for port in model.outputs
    ]


def family_of(
    card: Card, model: Any, shapes: Sequence[Shape], size: tuple[int, int]
) -> tuple[str, str]:
    """The family and what shows it; ("none", "") if nothing does.

    Args:
        shapes: the shapes of the outputs, for one frame of that size.
        size: (width, height) of the model's image.

    Raises:
        LayoutError: several families fit, or none; or it does a task whose outputs are not read.
    """
    if any(node.get_type_name() == "DetectionOutput" for node in model.get_ops()):
        return "ssd", "its operation DetectionOutput"
    if _is_centerface(shapes):
        return "centerface", "the shapes of its four outputs"
    if anchors_of(shapes, size) is not None:
        return "blazeface", "the shapes of its two outputs"
    if pairs_of(shapes, size):
        return "picodet", "the shapes of its outputs, scores and distributions for each stride"
    kind = str(card.get("model_type", "")).lower()
    task = card.get("task") or ("detect" if kind.startswith("yolo") else "")
    place = card.places.get("task") or card.places.get("model_type", "")
    if task == "classify" or kind == "classification" or (task and _is_scores(shapes)):
        return "classification", place
    if kind == "yolox":
        return "yolox", place
    if kind == "ssd":
        return "ssd", place
    if task in ("detect", "segment", "pose", "obb"):
        found = _ultralytics_family(card, shapes, task, size)
        if task == "obb":
            found = found.replace("yolo", "yolo-obb")
        return found, f"{place}, and the shapes of its outputs"
    if task:
        raise LayoutError(
            f"{place} says {task!r}, whose outputs are not read: pass postprocess=, or "
            'family="none" for the tensors as they are'
        )
    return "none", ""


def _ultralytics_family(
    card: Card, shapes: Sequence[Shape], task: str, size: tuple[int, int]
) -> str:
    if not shapes or len(shapes[0]) != 3:
        raise LayoutError(
            f"a model for {task!r} has an output of three dimensions, but this one has "
            f"{_shown(shapes)}: pass family=, or postprocess="
        )
    _, first, second = shapes[0]
    classes = len(card.get("labels", ()))
    said = f"{card.get('head', '')} {card.get('description', '')}".lower().replace("-", "")
    if "rtdetr" in said:
        return "rtdetr"
    more = 0
    if task == "segment":
        more = shapes[1][1] if len(shapes) > 1 and len(shapes[1]) == 4 else 32
    elif task == "pose":
        points, each = card.get("kpt_shape", (0, 0))
        more = points * each
    elif task == "obb":
        more = 1
    fits = {
        "yolo": first == 4 + classes + more if classes else 4 + more < first < second,
        "yolo-end2end": second == 6 + more,
        "yolov5": task == "detect" and (second == 5 + classes if classes else second > 6),
    }
    if card.get("end2end") or card.get("nms"):
        return "yolo-end2end"
    if card.get("end2end") is False:  # only from exporters that write this fact
        fits["yolo-end2end"] = False
    found = [name for name, fit in fits.items() if fit]
    if found == ["yolov5"]:
        found = _by_cells(first, size)
    if len(found) == 1:
        return found[0]
    what = " or ".join(repr(name) for name in found) or "none of the families for that"
    raise LayoutError(
        f"outputs {_shown(shapes)} of a model for {task!r} with {classes or 'unknown'} classes "
        f"may be {what}: pass family=, one of {', '.join(FAMILIES)}"
    )


def _by_cells(rows: int, size: tuple[int, int]) -> list[str]:
    """YOLOv5 or YOLOX, by rows: the first has three boxes for each cell of its grids, YOLOX one."""
    cells = len(grid(size, _STRIDES[:3])[0])
    return {3 * cells: ["yolov5"], cells: ["yolox"]}.get(rows, ["yolov5", "yolox"])


def pairs_of(shapes: Sequence[Shape], size: tuple[int, int]) -> tuple[tuple[int, int, int], ...]:
    """(stride, output of scores, output of distributions) of a PicoDet; () for other models."""
    strides = {len(grid(size, (stride,))[0]): stride for stride in (*_STRIDES, 128)}
    by_stride: dict[int, list[int]] = {}
    for number, shape in enumerate(shapes):
        if len(shape) != 3 or shape[1] not in strides:
            return ()
        by_stride.setdefault(strides[shape[1]], []).append(number)
    if len(by_stride) < 3 or any(len(two) != 2 for two in by_stride.values()):
        return ()
    widths = [[shapes[number][2] for number in two] for two in by_stride.values()]
    # For each stride the scores come first, whether outputs are ordered by kind or by stride.
    if any(width != widths[0] for width in widths) or widths[0][1] % 4 or widths[0][1] < 8:
        return ()
    return tuple((stride, two[0], two[1]) for stride, two in sorted(by_stride.items()))


def _is_centerface(shapes: Sequence[Shape]) -> bool:
    return (
        [shape[1] for shape in shapes if len(shape) == 4] == [1, 2, 2, 10]
        and len({shape[2:] for shape in shapes}) == 1
    )  # fmt: skip


def _is_scores(shapes: Sequence[Shape]) -> bool:
    return len(shapes) == 1 and len(shapes[0]) == 2


def _shown(shapes: Sequence[Shape]) -> str:
    parts = [[n if n >= 0 else "?" for n in shape] for shape in shapes]
    return ", ".join(str(part).replace("'", "") for part in parts)
