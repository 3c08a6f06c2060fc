# SPDX-License-Identifier: Apache-2.0
"""The planner of an image model, made of what the user wants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from samebytes import Frame, ImageInfo
from samebytes.errors import LayoutError, UnknownNameError, UnsupportedObjectError
from samebytes.plugins import plane_resizer

from .._remote._context import RemoteContext
from .._remote._core import default_core
from ._colour import MATRICES, RANGES, ColorMatrix, ColorRange
from ._components import components_of
from ._parts import Parts
from ._placing import ALIGNS, FITS, Align, Fit, Rule
from ._plan import Plans
from ._planner import Planner
from ._request import Quality, Resize
from ._seen import Meaning, image_of
from ._target import COLORS, Target, input_size_of, is_of_open_size, layout_of_input, read
from ._upright import AS_IT_LIES, stored_size

__all__ = ["QUALITIES", "planner_for", "rule_of"]

QUALITIES = ("exact", "fast")


def planner_for(
    model: Any,
    example: Frame | ImageInfo,
    *,
    device: str | RemoteContext = "CPU",
    color: str = "BGR",
    layout: str | None = None,
    mean: float | Sequence[float] | None = None,
    scale: float | Sequence[float] | None = None,
    size: tuple[int, int] | None = None,
    resize: Resize | None = None,
    quality: Quality = "exact",
    color_range: ColorRange | None = None,
    color_matrix: ColorMatrix | None = None,
    config: Mapping[Any, Any] | None = None,
    core: Any = None,
    batch: int = 1,
    upright: bool = False,
    fit: Fit = "stretch",
    align: Align = "center",
    pad: float | Sequence[float] = 0,
    parts: bool = False,
) -> Planner:
    """The planner, which has compiled for the example. Arguments and errors are `image_model`'s.

    Args:
        parts: the items of a batch are parts of one frame, not frames; `fit` is about them.
    """
    for what, value, known in (
        ("colour order", color, COLORS),
        ("colour range", color_range or "full", RANGES),
        ("colour matrix", color_matrix or "BT.601", MATRICES),
        ("fit", fit, FITS),
        ("align", align, ALIGNS),
        ("quality", quality, QUALITIES),
    ):
        if value not in known:
            raise UnknownNameError(what, value, known)
    if not isinstance(example, Frame | ImageInfo):
        raise UnsupportedObjectError(
            f"example must be a samebytes.Frame or ImageInfo, not {type(example).__name__}: wrap "
            "what the decoder gave, samebytes.frame(av_frame)"
        )
    info = image_of(example) if isinstance(example, Frame) else example
    components_of(info.format)
    core = core or (device.core if isinstance(device, RemoteContext) else default_core())
    own = read(model, core)
    order = layout_of_input(own, layout)
    meaning = Meaning(color_matrix, color_range, upright)
    if parts and size is None and is_of_open_size(own, order):
        raise LayoutError(
            f"the model's image is {own.inputs[0].partial_shape}, of any size, and so are regions: "
            "pass size=(width, height)"
        )
    turn = meaning.turn(example) if isinstance(example, Frame) else AS_IT_LIES
    input_size = input_size_of(own, order, size, stored_size((info.width, info.height), turn))
    channels = _channels("mean", mean), _channels("scale", scale)
    target = Target(order, input_size, color, *channels)
    if batch < 1:
        raise LayoutError(f"batch={batch}: an inference takes at least one frame")
    if any(channels) and own.inputs[0].element_type.type_name == "u8":
        raise LayoutError("mean and scale need a model of f32 or f16, but this one takes u8")
    rule = rule_of(fit, align, pad)
    if resize is None and quality == "fast":
        resize = plane_resizer("openvino")
    of_parts = Parts(batch, rule) if parts else None
    plans = Plans(own, target, device, config, core, batch, of_parts)
    planner = Planner(plans, target, device, resize, meaning, Rule() if parts else rule)
    planner.prepare(example)
    return planner


def rule_of(
    fit: Fit = "stretch", align: Align = "center", pad: float | Sequence[float] = 0
) -> Rule:
    """The rule for pictures of another shape.

    Raises:
        LayoutError: `pad` is neither one number nor three.
    """
    return Rule(fit, align, _channels("pad", pad))


def _channels(what: str, values: float | Sequence[float] | None) -> tuple[float, ...]:
    if values is None:
        return ()
    numbers = tuple(values) if isinstance(values, Sequence) else (values,) * 3
    if len(numbers) != 3:
        raise LayoutError(f"{what} must be one number, or one for each of the 3 channels: {values}")
    if what == "scale" and 0 in numbers:
        raise LayoutError(f"the image cannot be divided by a scale of 0: {values}")
    return tuple(float(number) for number in numbers)
