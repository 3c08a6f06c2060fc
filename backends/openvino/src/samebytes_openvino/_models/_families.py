# SPDX-License-Identifier: Apache-2.0
"""The family of a model, by what it states and by the shapes of its outputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, get_args

from samebytes.errors import LayoutError

from ._card import Card
from ._detectors import anchors_of
from ._yolo import grid

__all__ = ["FAMILIES", "Family", "family_of", "pairs_of", "shapes_of"]

Family = Literal[
    "yolo", "yolo-end2end", "yolo-obb", "yolo-obb-end2end", "yolov5", "yolox", "ssd", "rtdetr",
    "picodet", "centerface", "blazeface", "classification", "none",
]  # fmt: skip

FAMILIES: tuple[str, ...] = get_args(Family)
_STRIDES = (8, 16, 32, 64)
Shape = tuple[int, ...]
"""Of an output; -1 where it is open."""


def shapes_of(model: Any) -> list[Shape]:
    """The shapes of a model's outputs; an empty one where not even the rank is known."""
    return [
        tuple(int(d.get_length()) if d.is_static else -1 for d in port.partial_shape)
        if port.partial_shape.rank.is_static
        else ()
        for port in model.outputs
    ]


def family_of(
    card: Card, model: Any, shapes: Sequence[Shape], size: tuple[int, int]
) -> tuple[str, str]:
    """The family, and by what it was recognised; ("none", "") if it was not.

    Args:
        shapes: of the outputs, for one frame of that size.
        size: (width, height) of the model's image.

    Raises:
        LayoutError: two families fit, and nothing says which of them it is; or it is of one whose
            outputs are not read.
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
        found = _ultralytics(card, shapes, task, size)
        if task == "obb":
            found = found.replace("yolo", "yolo-obb")
        return found, f"{place}, and the shapes of its outputs"
    if task:
        raise LayoutError(
            f"{place} says {task!r}, whose outputs are not read: pass postprocess=, or "
            'family="none" for the tensors as they are'
        )
    return "none", ""


def _ultralytics(card: Card, shapes: Sequence[Shape], task: str, size: tuple[int, int]) -> str:
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
    if card.get("end2end") is False:  # exporters that know the word
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
    """YOLOv5 has three boxes for each cell of its grids, YOLOX one."""
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
    # Outputs come by their kind: all of scores, then all of distributions, or two by two.
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
