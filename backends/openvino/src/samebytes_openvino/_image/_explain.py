# SPDX-License-Identifier: Apache-2.0
"""Explanations, in plain words, of what an image model does with frames."""

from __future__ import annotations

from typing import TYPE_CHECKING

from samebytes import Frame
from samebytes.errors import CopyRequiredError

from .._request._request import InferRequest
from ._letterbox import AS_IT_LIES, stored_size
from ._request import bind, is_npu

if TYPE_CHECKING:
    from ._build import Source
    from ._frames import Seen
    from ._letterbox import Rule, Turn
    from ._model_input import Target
    from ._plan import Plan

__all__ = ["explanation", "explanation_of_parts", "placements"]


def explanation(
    plan: Plan,
    target: Target,
    device: str,
    frame_size: tuple[int, int] | None,
    resizes: bool,
    rule: Rule,
) -> list[str]:
    """The explanation for all frames of a plan's layout, with a line for each step.

    Args:
        device: the name of the device.
        frame_size: (width, height) of the frames, if it is known and differs from the plan's.
        resizes: whether a function that the user passed resizes the planes.
        rule: how pictures are brought to the model's shape.
    """
    source = plan.source
    if resizes:
        size = "x".join(map(str, frame_size)) if frame_size else "any size"
        made = f"{source.info}, {source.info.nbytes} bytes"
        lines = [
            f"frames of {size}, for {device}",
            f"planes: mapped to the CPU, resized by resize() into the model's inputs, {made}",
        ]
    else:
        lines = [
            f"{source.info} frames, for {device}",
            f"planes: {_planes(source)}",
        ]
    lines.append(f"colour: {_colour(plan, target)}")
    box = source.placing.box
    width, height = stored_size(target.size if box is None else box[2:], source.turn)
    if rule.fit == "crop":
        lines.append(f"part: {_part(source, resizes)}")
    if not resizes and source.part[2:] != (width, height):
        how = "a weighted mean of four pixels each" if plan.gathers else "after colour"
        lines.append(f"size: bilinear to {width}x{height}, inside the model, {how}")
    if source.turn != AS_IT_LIES:
        lines.append(f"upright: {_turned(source.turn)}, inside the model")
    if box is not None:
        lines.append(f"letterbox: {_letterbox(target, source)}, inside the model")
    return [*lines, _last(target)]


def explanation_of_parts(
    plan: Plan, target: Target, device: str, rule: Rule, count: int
) -> list[str]:
    """The explanation where parts of the frames are seen.

    Args:
        rule: how parts are brought to the model's shape.
        count: how many parts one inference takes.
    """
    source = plan.source
    width, height = target.size
    lines = [
        f"{source.info} frames, for {device}",
        f"planes: {_planes(source)}",
        f"regions: {count} in an inference, where they lie in the planes, at any pixel",
        f"size: bilinear to {width}x{height}, inside the model, a mean of four pixels each",
        f"colour: {_colour(plan, target)}",
    ]
    if source.turn != AS_IT_LIES:
        lines.append(f"upright: {_turned(source.turn)}, inside the model")
    if rule.fit == "letterbox":
        lines.append(
            f"letterbox: each region keeps its shape, around it {_numbers(rule.pad)}, inside the "
            "model"
        )
    elif rule.fit == "crop":
        lines.append("part: what has the model's shape, of each region")
    return [*lines, _last(target)]


def _last(target: Target) -> str:
    steps = [f"minus {_numbers(target.mean)}"] if target.mean else []
    steps += [f"divided by {_numbers(target.scale)}"] if target.scale else []
    return f"then: {', '.join([*steps, target.layout])}, inside the model"


def placements(plan: Plan, frame: Frame, seen: Seen, resizes: bool) -> str:
    """The placement of one frame: in place, imported, or why and how much must be copied."""
    way = f"{frame.context.node} -> {seen.frame.context.node}"
    if frame.context.node == seen.frame.context.node:
        way = frame.context.node
    if resizes:
        return f"copied: nothing ({way})"
    request = InferRequest(plan.compiled)
    try:
        bind(request, plan, 0, seen, False)
    except CopyRequiredError as refused:
        reasons = "; ".join(dict.fromkeys([*refused.reasons, *seen.why]))
        most = seen.source.info.nbytes
        return f"copied: refused without copy=True, up to {most} bytes a frame: {reasons}"
    inputs = [b for b in request.bindings() if b.kind == "input"]
    found = {b.name: b.placement for b in inputs[: plan.inputs_of(0).stop]}
    if seen.rows is not None and is_npu(plan):
        # To the request they are memory of the NPU, in place: bind() imported their pages for it.
        for binding in inputs:
            tensor = binding.tensor
            if tensor is not None and tensor.context is plan.compiled.context:
                found[binding.name] = "imported"
    places = ", ".join(f"{name} {placement}" for name, placement in found.items())
    return f"copied: nothing ({way}; {places})"


def _part(source: Source, resizes: bool) -> str:
    if resizes:
        return "what has the model's shape, of the planes where they lie"
    x, y, width, height = source.part
    return f"{width}x{height} at ({x}, {y}) of {source.size[0]}x{source.size[1]}"


def _letterbox(target: Target, source: Source) -> str:
    assert source.placing.box is not None, "the caller has asked"
    x, y, width, height = source.placing.box
    whole = f"{target.size[0]}x{target.size[1]}"
    return f"{width}x{height} at ({x}, {y}) of {whole}, around it {_numbers(source.placing.pad)}"


def _turned(turn: Turn) -> str:
    rotation, mirrored = turn
    parts = ["mirrored"] if mirrored else []
    parts += [f"turned by {rotation} degrees clockwise"] if rotation else []
    return ", then ".join(parts)


def _planes(source: Source) -> str:
    layouts = source.info.plane_layouts()
    parts = []
    for layout, pitch in zip(layouts, source.pitches, strict=True):
        text = f"{layout.name} {layout.shape[0]} rows of {pitch} bytes"
        if pitch != layout.row_nbytes:
            padding = pitch - layout.row_nbytes
            text += f" ({padding} of them padding, left out inside the model)"
        parts.append(text)
    kind = {"GPU_SURFACE": "surfaces", "GPU_BUFFER": "buffers of the GPU"}.get(source.memory)
    return ("as " + kind + ", " if kind else "") + ", ".join(parts)


def _colour(plan: Plan, target: Target) -> str:
    model, source = plan.source.info.format.color_model, plan.source
    if model == "rgb":
        return f"{source.info.format} to {target.color}, inside the model"
    said = f"{source.range} range"
    if model == "yuv":
        said = f"{source.matrix} in {said}"
    how = "of the pixels that are needed" if plan.gathers else "of the whole frame"
    return f"{said} to {target.color}, inside the model, {how}"


def _numbers(values: tuple[float, ...]) -> str:
    return f"{values[0]:g}" if len(set(values)) == 1 else str([*values])
