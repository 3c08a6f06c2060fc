# SPDX-License-Identifier: Apache-2.0
"""Regions of interest, which frames carry."""

from __future__ import annotations

from dataclasses import dataclass, field
from numbers import Real
from typing import Any

from ._numbers import integer

__all__ = ["Region"]


@dataclass(slots=True)
class Region:
    """A rectangle of interest in a frame.

    Attributes:
        x, y: its left and top edge, in pixels from those of the frame.
        width, height: in pixels.
        label: what it shows, such as the name of a class; "" if that is not known.
        confidence: how sure the detector was, from 0 to 1, or None.
        metadata: the user's own entries.

    Raises:
        LayoutError: x, y, width or height is not an int. Those of numpy become Python's, and so
            does a confidence of numpy's.
    """

    x: int
    y: int
    width: int
    height: int
    label: str = ""
    confidence: float | None = None
    metadata: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("x", "y", "width", "height"):
            value = getattr(self, name)
            if type(value) is not int:
                setattr(self, name, integer(value, f"{name} of a Region"))
        sure = self.confidence
        if sure is not None and type(sure) is not float and isinstance(sure, Real):
            self.confidence = float(sure)

    @property
    def box(self) -> tuple[int, int, int, int]:
        """x, y, width and height: `frame.crop(*region.box)` is this part of the frame."""
        return self.x, self.y, self.width, self.height
