# SPDX-License-Identifier: Apache-2.0
"""Timestamp and Detection: views of a frame's own times and regions, in other units."""

from __future__ import annotations

from dataclasses import field
from fractions import Fraction
from math import isfinite
from typing import TYPE_CHECKING, Any

from .._core.memory.meta import FrameMeta
from .._frozen import frozen
from .._region import Region
from ..errors import MetadataError, SamebytesError
from ..formats import ImageInfo, duration_of
from ._checks import optional_real, optional_whole, real, text, whole
from ._entry import Entry

if TYPE_CHECKING:
    from .._core.memory.frame import Frame

__all__ = ["Detection", "Timestamp", "image_of", "meta_of"]

_NANOSECOND = Fraction(1, 10**9)
# Regions may have coordinates of 64 bits, and reach as far again; beyond that there is no place.
_FARTHEST = 2.0**65
_INT64 = 1 << 63


def meta_of(holder: Frame | FrameMeta) -> FrameMeta:
    """The FrameMeta of a frame; itself if it is one.

    Raises:
        MetadataError: it is neither.
    """
    meta = getattr(holder, "meta", holder)
    if not isinstance(meta, FrameMeta):
        raise MetadataError("frame", f"must be a Frame or a FrameMeta, not {holder!r}")
    return meta


def image_of(meta: FrameMeta) -> ImageInfo:
    """The format and size of a picture.

    Raises:
        MetadataError: the frame is not a picture.
    """
    if not isinstance(meta.info, ImageInfo):
        raise MetadataError(
            "frame", "is not an image, so detections have no width and height to refer to"
        )
    return meta.info


def _is_whole(value: object) -> bool:
    return value is None or (type(value) is int and -_INT64 <= value < _INT64)


@frozen()
class Timestamp(Entry):
    """The times of a frame, in nanoseconds.

    A view of times that the frame holds in other units: `meta.pts` in `meta.time_base`, and
    `metadata["dts"]` and `metadata["duration"]` in seconds. A frame has one at most.

    Args:
        pts: presentation time, or None.
        dts: decoding time, or None.
        duration: the time for which it is shown or heard, or None.

    Raises:
        MetadataError: an invalid value.
    """

    pts: int | None = None
    dts: int | None = None
    duration: int | None = None

    def __post_init__(self) -> None:
        self._set("pts", optional_whole(self.pts, self._name("pts")))
        self._set("dts", optional_whole(self.dts, self._name("dts")))
        self._set("duration", optional_whole(self.duration, self._name("duration"), 0))

    @classmethod
    def of(cls, frame: Frame | FrameMeta) -> Timestamp | None:
        """The timestamp of a frame, to the nearest nanosecond; None if the frame has no time.

        Args:
            frame: the frame, or its FrameMeta.

        Raises:
            MetadataError: an entry of its metadata is not a time.
        """
        meta = meta_of(frame)
        pts = None
        if meta.pts is not None and meta.time_base is not None:
            pts = round(meta.pts * meta.time_base / _NANOSECOND)
        dts = meta.metadata.get("dts")
        if dts is not None and (isinstance(dts, bool) or not isinstance(dts, Fraction | int)):
            raise MetadataError("metadata['dts']", f"must be seconds, a Fraction, not {dts!r}")
        try:
            duration = duration_of(meta.metadata)
        except SamebytesError as error:
            raise MetadataError("metadata['duration']", f"is not a time: {error}") from None
        times = [None if t is None else round(t / _NANOSECOND) for t in (dts, duration)]
        if pts is None and times == [None, None]:
            return None
        return cls(pts, *times)

    def write(self, frame: Frame | FrameMeta) -> None:
        """Set the times of a frame, and remove those that are None here.

        The time base stays if `pts` is a whole number in it; else it becomes a nanosecond.

        Args:
            frame: the frame, or its FrameMeta.
        """
        meta = meta_of(frame)
        meta.pts = self.pts
        if self.pts is not None:
            base = meta.time_base
            units = self.pts * _NANOSECOND / base if base else Fraction(1, 2)
            if units.denominator == 1:
                meta.pts = units.numerator
            else:
                meta.time_base = _NANOSECOND
        for key, time in (("dts", self.dts), ("duration", self.duration)):
            if time is None:
                meta.metadata.pop(key, None)
            else:
                meta.metadata[key] = time * _NANOSECOND


EXACT_BOX = "exact_box"
"""The entry of a region with its x, y, width and height in fractions of pixels."""


def exact_box(region: Region) -> tuple[float, float, float, float] | None:
    """x, y, width and height as the detector gave them, or None.

    They count as long as rounding them gives the region's own numbers: a region that was moved, cut
    or scaled since has only these.
    """
    said = region.metadata.get(EXACT_BOX)
    if said is None:
        return None
    try:
        x, y, width, height = (float(number) for number in said)
        nearest = round(x), round(y), round(x + width), round(y + height)
    except (TypeError, ValueError, OverflowError):
        return None
    own = region.x, region.y, region.x + region.width, region.y + region.height
    return (x, y, width, height) if nearest == own else None


@frozen()
class Detection(Entry):
    """A rectangle in which a detector found something: a `Region`, in fractions of the picture.

    `frame.regions` is the one list of rectangles, in pixels. A Detection is read from a Region
    when it is looked up, and written to one by `add()` and `change()`, to the nearest pixel.
    A change of a Region shows in the next look-up.

    Args:
        x_min, y_min, x_max, y_max: the sides; 0 is the left or top of the picture, 1 its right
            or bottom. A rectangle may reach beyond.
        label: the name of the object's class; "" if it is not known.
        confidence: the confidence of the detector, usually 0 to 1, or None.
        label_id: the number of the class, or None. `region.metadata["label_id"]`
        id: the number of the region in its frame, or None. `region.metadata["id"]`
        parent_id: the number of the region that this one lies in, or None.
            `region.metadata["parent_id"]`
        origin: the Region that this was read from, or None; comparisons ignore it.

    Raises:
        MetadataError: an invalid value, or a maximum below its minimum.
    """

    x_min: float
    y_min: float
    x_max: float
    y_max: float
    label: str = ""
    confidence: float | None = None
    label_id: int | None = None
    id: int | None = None
    parent_id: int | None = None
    origin: Region | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not self._is_usual():
            self._check()

    def _is_usual(self) -> bool:
        """True if nothing needs to be converted: detections are read for every frame."""
        return (
            type(self.x_min) is type(self.y_min) is type(self.x_max) is type(self.y_max) is float
            and -_FARTHEST <= self.x_min <= self.x_max <= _FARTHEST
            and -_FARTHEST <= self.y_min <= self.y_max <= _FARTHEST
            and type(self.label) is str
            and (self.confidence is None or type(self.confidence) is float)
            and (self.confidence is None or isfinite(self.confidence))
            and _is_whole(self.label_id)
            and _is_whole(self.id)
            and _is_whole(self.parent_id)
            and (self.origin is None or type(self.origin) is Region)
        )

    def _check(self) -> None:
        for side in ("x_min", "y_min", "x_max", "y_max"):
            number = real(getattr(self, side), self._name(side))
            if abs(number) > _FARTHEST:
                raise MetadataError(
                    self._name(side), f"must be between -{_FARTHEST} and {_FARTHEST}, not {number}"
                )
            self._set(side, number)
        for low, high in (("x_min", "x_max"), ("y_min", "y_max")):
            if getattr(self, high) < getattr(self, low):
                raise MetadataError(
                    self._name(high),
                    f"must not be below {low} ({getattr(self, low)}), but is {getattr(self, high)}",
                )
        self._set("label", text(self.label, self._name("label")))
        self._set("confidence", optional_real(self.confidence, self._name("confidence")))
        for name in ("label_id", "id", "parent_id"):
            self._set(name, optional_whole(getattr(self, name), self._name(name)))
        if self.origin is not None and not isinstance(self.origin, Region):
            raise MetadataError(self._name("origin"), f"must be a Region, not {self.origin!r}")

    @property
    def region(self) -> Region:
        """The Region of the frame in which this was found.

        Raises:
            MetadataError: it was not read from a frame, but made.
        """
        if self.origin is None:
            raise MetadataError(
                self._name("region"),
                "is not known: add() returns it, and find() and all_of() give Detections that have "
                "one",
            )
        return self.origin

    @classmethod
    def of(cls, region: Region, frame: Frame | FrameMeta) -> Detection:
        """The Detection for a region of that frame.

        Args:
            region: one of the frame's regions.
            frame: the frame, or its FrameMeta.

        Raises:
            MetadataError: the region has an invalid value, or the frame is not an image.
        """
        image = image_of(meta_of(frame))
        known: dict[str, Any] = region.metadata
        x, y, width, height = exact_box(region) or (
            whole(region.x, "Region.x"),
            whole(region.y, "Region.y"),
            whole(region.width, "Region.width", 0),
            whole(region.height, "Region.height", 0),
        )
        return cls(
            x / image.width,
            y / image.height,
            (x + width) / image.width,
            (y + height) / image.height,
            region.label,
            region.confidence,
            known.get("label_id"),
            known.get("id"),
            known.get("parent_id"),
            region,
        )

    def write(self, region: Region, frame: Frame | FrameMeta) -> None:
        """Set rectangle, label, confidence and numbers of a region of that frame.

        Numbers that are None here are removed. Its other metadata stay.

        Args:
            region: one of the frame's regions.
            frame: the frame, or its FrameMeta.
        """
        image = image_of(meta_of(frame))
        region.x, region.y = round(self.x_min * image.width), round(self.y_min * image.height)
        region.width = round(self.x_max * image.width) - region.x
        region.height = round(self.y_max * image.height) - region.y
        if EXACT_BOX in region.metadata:
            left, top = self.x_min * image.width, self.y_min * image.height
            right, bottom = self.x_max * image.width, self.y_max * image.height
            region.metadata[EXACT_BOX] = left, top, right - left, bottom - top
        region.label = self.label
        region.confidence = self.confidence
        for name in ("label_id", "id", "parent_id"):
            number = getattr(self, name)
            if number is None:
                region.metadata.pop(name, None)
            else:
                region.metadata[name] = number
