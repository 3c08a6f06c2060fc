# SPDX-License-Identifier: Apache-2.0
"""FrameMeta: format, size, time and metadata, shared by all mappings of a frame."""

from __future__ import annotations

from dataclasses import dataclass, field
from operator import index
from typing import TYPE_CHECKING, Any

from ..errors import LayoutError
from ..formats import AudioInfo, ImageInfo

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction

__all__ = ["FrameMeta", "Region"]


@dataclass(slots=True)
class Region:
    """A rectangle of interest in a frame.

    Attributes:
        x: its left edge, an int, in pixels from the left of the frame.
        y: its top edge, an int, in pixels from the top of the frame.
        width: an int, in pixels.
        height: an int, in pixels.
        label: what it shows, such as the name of a class; "" if that is not known.
        confidence: how sure the detector was, from 0 to 1, or None.
        metadata: the user's own entries.

    Raises:
        LayoutError: x, y, width or height is not an int. Those of numpy become Python's.
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
                try:
                    setattr(self, name, index(value))
                except TypeError:
                    raise LayoutError(
                        f"{name} of a Region is an int, in pixels, not {value!r}"
                    ) from None

    @property
    def box(self) -> tuple[int, int, int, int]:
        """x, y, width and height: `frame.crop(*region.box)` is this part of the frame."""
        return self.x, self.y, self.width, self.height


class FrameMeta:
    """The description of a frame: all that is known of it besides its bytes.

    All mappings of a frame share one FrameMeta, since all of them show the same picture.

    Attributes:
        info: ImageInfo, AudioInfo, or None for a plain list of tensors.
        pts: presentation time in units of `time_base`, or None.
        time_base: seconds for each unit of `pts`, or None.
        metadata: the user's own entries, and those that backends share: colours, fields, duration
            (docs/reference/frame-metadata.md).
        regions: rectangles of interest.
    """

    __slots__ = ("info", "metadata", "pts", "regions", "time_base")

    info: ImageInfo | AudioInfo | None
    pts: int | None
    time_base: Fraction | None
    metadata: dict[str, Any]
    regions: list[Region]

    def __init__(
        self,
        info: ImageInfo | AudioInfo | None,
        pts: int | None = None,
        time_base: Fraction | None = None,
        metadata: dict[str, Any] | None = None,
        regions: list[Region] | None = None,
    ) -> None:
        self.info = info
        self.pts = pts
        self.time_base = time_base
        self.metadata = {} if metadata is None else metadata
        self.regions = [] if regions is None else regions

    def when_read(self, note: Callable[[dict[str, Any]], object]) -> None:
        """Let `note(metadata)` add something. Called now, or as late as somebody reads them.

        A backend that reads a frame's metadata on first use, since most programs never do, calls it
        then.

        Args:
            note: changes the dict that it is given. One that was left already, and still waits,
                need not be left again.
        """
        note(self.metadata)
