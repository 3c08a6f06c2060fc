# SPDX-License-Identifier: Apache-2.0
"""One case: the pipeline is made and run, and everything is compared with the plain loop."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import samebytes as sb
import samebytes.elements as el
from samebytes.errors import ElementError

from .accounts import account, check_copies
from .cases import Case
from .converting import converted, converted_by_hand, rgb_branch
from .drawing import COLOR, draw
from .elements import Collect, addresses, boxes_of, read, write
from .ends import ENDS
from .material import FRAMES, Planes
from .models import MARK, Box, boxes_by_hand, element_for
from .room import Room
from .rules import copies_needed
from .sources import SOURCES
from .stages import lights_by_hand, lights_of, stage_for

__all__ = ["Plain", "Seen", "check", "plain", "run"]


@dataclass
class Plain:
    """The frames of a source as the plain loop has them; a live source can begin with any of them.

    Attributes:
        pictures: the planes, without boxes.
        drawn: the same with boxes.
        boxes: those of each picture.
        lights: how light the second stage finds each box of each picture.
    """

    pictures: list[Planes]
    drawn: list[Planes]
    boxes: list[list[Box]]
    lights: list[list[float]]


def plain(case: Case, room: Room) -> Plain:
    """The frames of a case, by a loop over the frameworks themselves.

    Args:
        case: of whose pipeline.
        room: where the source is.
    """
    source = SOURCES[case.source]
    pictures: list[Planes] = room.once(f"pictures of {source.name}", lambda: source.by_hand(room))
    if case.access == "rw":
        pictures = [[planes[0] + np.uint8(1), *planes[1:]] for planes in pictures]
    full, found = source.full_range, [MARK] * len(pictures)
    if case.model != "none":
        found = room.once(
            f"boxes of {source.name}, {case.access == 'rw'}",
            lambda: boxes_by_hand(pictures, full_range=full),
        )
    both = zip(pictures, found, strict=True)
    drawn = [draw(planes, box, full_range=full) for planes, box in both]
    boxes = [[box] if _adds_boxes(case) else [] for box in found]
    lights = [
        lights_by_hand(case.regions, planes, of_frame, full_range=full)
        for planes, of_frame in zip(pictures, boxes, strict=True)
    ]
    return Plain(pictures, drawn, boxes, lights)


def _adds_boxes(case: Case) -> bool:
    """True if an element does: without a model, one that marks what is drawn or classified then."""
    drawn = case.writer not in ("none", "reader")
    return case.model != "none" or drawn or case.regions != "none"


def check(case: Case, room: Room) -> None:
    """Run a case; where it needs a copy, see also that it is refused if that is not permitted.

    Args:
        case: the case.
        room: of the run.

    Raises:
        AssertionError: something is not as it should be.
        SamebytesError: of the pipeline.
    """
    needed = copies_needed(case)
    for who in needed:
        others = [one for one in needed if one != who]
        with pytest.raises(ElementError, match="copy"):
            run(case, room, others)
    run(case, room, needed)


@dataclass
class Seen:
    """A record of the frames that somebody has seen.

    Attributes:
        who: for errors.
        pictures, boxes: of each frame, as far as they are known.
        moved: whether the bytes were elsewhere than where the element behind the source saw them.
        lights: of each frame, what the second stage said of its regions.
        rgb: of each frame, the picture that was converted.
    """

    who: str
    pictures: list[Planes] | None = None
    boxes: list[list[Box]] | None = None
    moved: list[bool] | None = None
    lights: list[list[float]] | None = None
    rgb: list[Any] | None = None


def run(case: Case, room: Room, permit: Collection[str] = ()) -> None:
    """Run it, and see that everything is as the plain loop has it.

    Args:
        case: the case.
        room: of the run.
        permit: who may copy: "pipeline", "model", "ring".

    Raises:
        AssertionError: something is not.
        SamebytesError: of the pipeline.
    """
    source = SOURCES[case.source]
    want = plain(case, room)
    height, width = want.pictures[0][0].shape
    sb.reset_stats()
    program = Seen("the program", [], [], [], [], [] if case.convert != "none" else None)
    with source.start(room) as first, ENDS[case.end](room, "ring" in permit) as end:
        end.size = (width, height)
        model = element_for(case.model, width, height, copy="model" in permit)
        items, collect = _after_model(case, end.element)
        branch, rgb = rgb_branch(case.convert)
        looks = [model] if _adds_boxes(case) else []
        items = [*_touch(case), *looks, *stage_for(case.regions), *items, *branch]
        pipeline = el.Pipeline(first, *items, copy="pipeline" in permit)
        drops: dict[str, Any] = {"when_full": "drop-oldest", "queue": 1} if source.live else {}
        try:
            with pipeline.start(threads=int(case.threads), **drops) as out:
                if source.live and case.threads != "0" and set(permit) == set(copies_needed(case)):
                    _let_it_leave_frames_out(out)
                kept = _take(out, program, case)
                explained = out.explain()
        except ElementError as error:
            if program.pictures:
                text = f"refused after {len(program.pictures)} frames"
                raise AssertionError(text) from error
            raise
        rows = out.statistics()
        for planes, frame in zip(program.pictures or (), kept, strict=False):
            assert _equal(planes, _planes_of(frame)), "the program's frames changed later"
        del kept
    copied = sb.stats()
    sb.reset_stats()
    seen = [program, Seen("the end", end.pictures, end.boxes)]
    order = _order_of(program, want.drawn if case.writer == "draw" else want.pictures)
    if collect is not None:
        by = "the reader" if case.writer == "reader" else "the branch"
        seen.append(Seen(by, collect.pictures, collect.boxes, collect.moved))
    if rgb is not None:
        program.rgb = [*rgb.pictures]
    _check_order(order, len(want.pictures), live=source.live)
    for one in seen:
        drawn = case.writer == "draw" or one.who == "the branch"
        _compare(one, order, want.drawn if drawn else want.pictures, want.boxes)
    _compare_more(case, program, order, want)
    assert copied.conversions == len(program.rgb or ()), copied
    account(rows, len(order), live=source.live, threads=int(case.threads))
    if case.model == "GPU" and case.source in ("surfaces", "uploaded"):
        assert "vaapi -> openvino:GPU" in explained, explained
    check_copies(explained, rows, copied, permit, source.copies)
    if case.access != "as it comes":
        replaced = case.writer == "draw" and source.readonly and case.access == "r"
        assert set(program.moved or ()) <= {replaced}, f"{program.moved}\n{explained}"
        shared = case.writer != "reader"
        assert collect is None or set(collect.moved) <= {shared}, f"{collect.moved}\n{explained}"


def _touch(case: Case) -> list[el.Element]:
    if case.access == "as it comes":
        return []
    return [write() if case.access == "rw" else read()]


def _after_model(case: Case, end: el.Element | None) -> tuple[list[Any], Collect | None]:
    drawing = el.create("opencv.draw", color=COLOR, labels=False)
    collect = Collect() if case.writer in ("reader", "branch", "last branch") else None
    ends = [] if end is None else [end]
    items: dict[str, list[Any]] = {
        "none": ends,
        "reader": [collect, *ends],
        "draw": [drawing, *ends],
        "branch": [[drawing, collect], _pass_on, *ends],
        "last branch": [*ends, [drawing, collect]],
    }
    return items[case.writer], collect


def _pass_on(frame: sb.Frame) -> sb.Frame:
    """Pass a frame on: an item behind a branch, so that the branch is not the last item."""
    return frame


def _let_it_leave_frames_out(out: Any) -> None:
    """Take no frame until the source has given all of them."""
    until = time.monotonic() + 20
    while out.statistics()[0].frames_out < FRAMES and time.monotonic() < until:
        time.sleep(0.01)


def _take(out: Any, program: Seen, case: Case) -> list[sb.Frame]:
    """Note what comes out; the frames themselves, if branches could change them later."""
    assert program.pictures is not None
    assert program.boxes is not None
    assert program.moved is not None
    assert program.lights is not None
    kept = []
    for frame in out:
        program.pictures.append(_planes_of(frame))
        program.boxes.append(boxes_of(frame))
        program.lights.append(lights_of(frame))
        if (image := converted(frame, case.convert)) is not None:
            assert program.rgb is not None
            program.rgb.append(image)
        before = frame.metadata.get("addresses")
        program.moved.append(before is not None and before != addresses(frame.map("cpu")))
        if "branch" in case.writer:
            kept.append(frame)
        del frame
    return kept


def _planes_of(frame: sb.Frame) -> Planes:
    return [plane.native.copy() for plane in frame.map("cpu").planes]


def _order_of(program: Seen, wanted: list[Planes]) -> list[int]:
    """The numbers of the frames that came, found by their bytes."""
    order = []
    for number, planes in enumerate(program.pictures or ()):
        found = [one for one, other in enumerate(wanted) if _equal(planes, other)]
        assert found, f"frame {number} of the program is none of the plain loop's"
        order.append(found[0])
    return order


def _check_order(order: list[int], count: int, *, live: bool) -> None:
    """See that frames came in their order, and none twice.

    A camera shows its pictures again and again, and begins with any. Its server leaves some out
    that it has no CPU time for.
    """
    steps = [(after - before) % count for before, after in pairwise(order)]
    assert all(steps), order
    assert sum(steps) < count, order
    assert live or order == list(range(FRAMES)), order


def _compare(one: Seen, order: list[int], wanted: list[Planes], boxes: list[list[Box]]) -> None:
    for what, found in (("pictures", one.pictures), ("boxes", one.boxes)):
        assert found is None or len(found) == len(order), f"{one.who}: {len(found)} {what}"
    for number, expected in enumerate(order):
        if one.pictures is not None:
            same = _equal(one.pictures[number], wanted[expected])
            assert same, f"{one.who}: the bytes of frame {number} differ from the plain loop's"
        if one.boxes is not None:
            found_, want_ = one.boxes[number], boxes[expected]
            assert found_ == want_, f"{one.who}: the boxes of frame {number}: {found_}, {want_}"


def _compare_more(case: Case, program: Seen, order: list[int], want: Plain) -> None:
    """See that the second stage and conversions made of frames what the plain loop does.

    What the stage says may be off by three of 255: chroma of odd pixels counts for its neighbours.
    """
    full = SOURCES[case.source].full_range
    pictures = want.drawn if case.writer == "draw" else want.pictures
    for number, expected in enumerate(order):
        assert program.lights is not None
        np.testing.assert_allclose(program.lights[number], want.lights[expected], atol=3 / 255)
    if program.rgb is None:
        return
    assert len(program.rgb) == len(order), f"{len(program.rgb)} of {len(order)} were converted"
    for image, expected in zip(program.rgb, order, strict=True):
        wanted = converted_by_hand(pictures[expected], full_range=full)
        assert np.array_equal(image, wanted), f"{np.abs(image.astype(int) - wanted).max()}"


def _equal(planes: Planes, others: Planes) -> bool:
    """True if the numbers are equal; a sink may have written NV12 as I420."""
    if len(planes) == len(others):
        return all(map(np.array_equal, planes, others))
    y, uv = others
    return _equal(planes, [y, uv[..., 0], uv[..., 1]])
