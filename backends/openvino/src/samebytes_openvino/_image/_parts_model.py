# SPDX-License-Identifier: Apache-2.0
"""PartsModel: a model of images that sees parts of a frame, as many at once as its batch has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from samebytes import Frame, ImageInfo
from samebytes.errors import LayoutError
from samebytes.metadata import AffineTransform

from .._request._compiled import CompiledModel
from .._request._request import InferRequest
from ._explain import explanation_of_parts
from ._parts import Array, fill, shown
from ._placing import Box, Rule
from ._planner import Planner
from ._request import ImageRequest
from ._settling import planner_for, rule_of

__all__ = ["PartsModel", "PartsRequest", "parts_model"]


def parts_model(
    model: Any, example: Frame | ImageInfo, *, count: int, **options: Any
) -> PartsModel:
    """A model of parts of frames. Arguments and errors are those of `image_model`.

    Args:
        count: how many parts one inference takes, all of one frame.
        options: those of `image_model`, without `resize`; `fit` is about the parts.
    """
    planner = planner_for(model, example, batch=count, parts=True, **options)
    rule = {name: options[name] for name in ("fit", "align", "pad") if name in options}
    return PartsModel(planner, count, rule_of(**rule))


class PartsModel:
    """A compiled model that takes a frame, and which parts of it to see."""

    def __init__(self, planner: Planner, count: int, rule: Rule) -> None:
        self._planner = planner
        self._count = count
        self._rule = rule

    @property
    def compiled(self) -> CompiledModel:
        """The compiled model for frames of the layout that was seen last."""
        return self._planner.last.compiled

    def create_infer_request(self) -> PartsRequest:
        """A request, for inferences that run side by side."""
        return PartsRequest(self._planner, self._count, self._rule)

    def explain(self) -> str:
        """A description of what is converted where, in frames of the layout that was seen last."""
        planner = self._planner
        name, target = planner.device_name, planner.target
        return "\n".join(explanation_of_parts(planner.last, target, name, self._rule, self._count))


class PartsRequest(ImageRequest):
    """One inference of a PartsModel at a time. Bind frames with `set_parts` alone."""

    def __init__(self, planner: Planner, count: int, rule: Rule) -> None:
        super().__init__(planner.look, None)
        self._planner = planner
        self._count = count
        self._rule = rule
        self._of: InferRequest | None = None
        self._tables: dict[str, Array] = {}

    def set_parts(
        self, frame: Frame, parts: Sequence[Box], *, copy: bool = False
    ) -> list[AffineTransform]:
        """Bind a frame, and say which parts of it to see.

        Args:
            frame: as of `ImageRequest.set_frame`, whose errors are those of this.
            parts: as many as the batch has items, or fewer; each lies in the frame.
            copy: as of `set_frame`.

        Returns:
            Of each part, the transform from the model's image to the frame.
        """
        if not 0 < len(parts) <= self._count:
            raise LayoutError(
                f"{len(parts)} parts were passed, but this request takes 1 to {self._count}"
            )
        self.set_frame(frame, copy=copy)
        request, plan = self.request, self._plan
        assert plan is not None, "a frame was set"
        if request is not self._of:
            self._tables = {
                name: request.get_input_tensor(name).host_array() for name in plan.tables
            }
            self._of = request
        size, target, turn = plan.source.size, self._planner.target.size, plan.source.turn
        found = [shown(self._rule, target, size, part, turn) for part in parts]
        fill(self._tables, found)
        return [one.transform for one in found]

    def close(self) -> None:
        """Wait for a running inference, and release the frame."""
        super().close()
        self._of, self._tables = None, {}
