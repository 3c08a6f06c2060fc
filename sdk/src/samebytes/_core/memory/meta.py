# SPDX-License-Identifier: Apache-2.0
"""FrameMeta: format, size, time and metadata, shared by all mappings of a frame."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from numbers import Integral, Rational
from typing import TYPE_CHECKING, Any, TypedDict

from ...errors import MetadataError

if TYPE_CHECKING:
    from fractions import Fraction

    from ..._region import Region
    from ...formats import AudioInfo, ImageInfo

__all__ = ["FrameMeta", "FrameSays", "say"]


@dataclass(slots=True, eq=False, repr=False)
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

    info: ImageInfo | AudioInfo | None
    pts: int | None = None
    time_base: Fraction | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    regions: list[Region] = field(default_factory=list)

    def when_read(self, note: Callable[[dict[str, Any]], object]) -> None:
        """Let `note(metadata)` add something. Called now, or as late as somebody reads them.

        A backend that reads a frame's metadata on first use, since most programs never do, calls it
        then.

        Args:
            note: changes the dict that it is given. One that was left already, and still waits,
                need not be left again.
        """
        note(self.metadata)

    def color_range_and_matrix(self) -> tuple[str | None, str | None]:
        """The entries `color_range` and `color_matrix`; None for each that is not specified.

        It is asked for every frame that is converted to RGB. A backend that reads metadata on
        first use answers it without reading the others.

        Raises:
            UnknownNameError: an entry about colours is not one of the names that it can be.
        """
        from ...formats._color import Colorimetry  # not before a picture is converted

        said = Colorimetry.of(self.metadata)
        return said.color_range, said.color_matrix

    def __repr__(self) -> str:
        words = [str(self.info or "tensors")]
        if self.pts is not None:
            words.append(f"pts={self.pts}, time_base={self.time_base}")
        if self.metadata:
            words.append(f"metadata={sorted(map(str, self.metadata))}")
        if self.regions:
            words.append(f"regions={len(self.regions)}")
        return f"<{type(self).__name__} {', '.join(words)}>"


class FrameSays(TypedDict, total=False):
    """Keyword arguments of what makes frames: `**says: Unpack[FrameSays]`.

    Attributes:
        pts: presentation time, an int in units of `time_base`.
        time_base: seconds for each unit of `pts`: Fraction(1, 90000).
        duration: seconds for which it is shown: `metadata["duration"]`.
        metadata: entries of `frame.metadata`, which go into the frame's own dict.
    """

    pts: int | None
    time_base: Fraction | None
    duration: Fraction | None
    metadata: Mapping[str, Any] | None


def say(
    meta: FrameMeta,
    pts: int | None = None,
    time_base: Fraction | None = None,
    duration: Fraction | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> None:
    """Set what is given; what is None stays as it is.

    Raises:
        MetadataError: an argument is not what it must be. Nothing was set then.
    """
    if pts is not None and (isinstance(pts, bool) or not isinstance(pts, Integral)):
        raise MetadataError("pts", f"must be an int, in units of time_base, not {pts!r}")
    if time_base is not None:
        time_base = _seconds("time_base", time_base)
        if time_base == 0:
            raise MetadataError("time_base", "must not be 0")
    if duration is not None:
        duration = _seconds("duration", duration)
    if metadata is not None and not isinstance(metadata, Mapping):
        raise MetadataError("metadata", f"must be a dict of entries by name, not {metadata!r}")
    if pts is not None:
        meta.pts = int(pts)
    if time_base is not None:
        meta.time_base = time_base
    if metadata:
        meta.metadata.update(metadata)
    if duration is not None:
        meta.metadata["duration"] = duration


def _seconds(name: str, value: Any) -> Fraction:
    from fractions import Fraction  # not before somebody has times

    # PyAV's and the standard library's times are Fractions, GStreamer's can become one exactly.
    if isinstance(value, bool) or not isinstance(value, Rational) or value < 0:
        raise MetadataError(name, f"must be seconds from 0 on, a Fraction or int, not {value!r}")
    return Fraction(int(value.numerator), int(value.denominator))
