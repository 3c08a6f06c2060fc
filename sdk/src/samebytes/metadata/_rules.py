# SPDX-License-Identifier: Apache-2.0
"""The rules for a frame's metadata when it is cut, warped, or becomes part of a batch.

docs/reference/metadata.md has the rules as a table.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from .._core.memory.meta import FrameMeta
from .._numbers import counted, integer
from .._region import Region
from ..errors import MetadataError
from ..formats import ImageInfo, sample_aspect_of
from ._affine import AffineTransform
from ._checks import sequence
from ._cut import Moved, entries_of_cut, is_straight
from ._entries import SourceIdentifier
from ._entry import Entry
from ._lookup import KEY, add, entries_of, find
from ._views import Timestamp, image_of, meta_of

if TYPE_CHECKING:
    from .._core.memory.frame import Frame

__all__ = ["meta_of_batch", "meta_of_part", "meta_of_warped"]

_AS_IT_IS = AffineTransform()

_FINEST = 1000
"""The largest denominator of a sample aspect ratio that was not only scaled."""


def meta_of_part(frame: Frame | FrameMeta, x: int, y: int, width: int, height: int) -> FrameMeta:
    """A new FrameMeta for the part that `frame.crop(x, y, width, height)` returns.

    It keeps format, time, the user's entries (the dict is new, its values are the same objects),
    and entries that do not describe the whole picture. Regions are new ones, moved and cut; those
    outside are left out. An AffineTransform leads to the source of the frame, or to the frame.

    Args:
        frame: the frame, or its FrameMeta.
        x: pixels from the left.
        y: pixels from the top.
        width: the width of the part, in pixels.
        height: the height of the part, in rows.

    Raises:
        LayoutError: a width or height that is not above 0, or no integer.
        MetadataError: the frame is not an image, or its list of entries holds something else.
    """
    meta = meta_of(frame)
    image = image_of(meta)
    info = ImageInfo(image.format, width, height)
    # AffineTransform.of_rectangles() for the simplest case: parts are cut for every detection.
    part = AffineTransform(
        (
            width / image.width,
            0.0,
            integer(x, "x") / image.width,
            0.0,
            height / image.height,
            integer(y, "y") / image.height,
        )
    )

    def moved(across: float, down: float) -> tuple[float, float]:
        return across - x, down - y

    regions = [
        _placed(
            _turned(r, moved), r.x - x, r.y - y, r.x - x + r.width, r.y - y + r.height,
            (width, height), moved, straight=True,
        )
        for r in meta.regions
    ]  # fmt: skip
    return _made(meta, info, _entries_of_part(meta, part), regions)


def meta_of_warped(
    frame: Frame | FrameMeta,
    width: int,
    height: int,
    transform: AffineTransform = _AS_IT_IS,
) -> FrameMeta:
    """A new FrameMeta for a picture that was scaled or warped.

    A picture that was only scaled shows all that the frame shows, and keeps all of it. For other
    pictures the rules are those of a part. Regions are new ones, around the corners of the old ones
    in the new picture.

    A sample aspect ratio becomes that of the new pixels. A picture whose rows were mixed is
    progressive. One that was turned by a quarter or mirrored has no `rotation` and `mirrored`: it
    is shown as it is.

    Args:
        frame: the frame that it was made of, or its FrameMeta.
        width, height: the size of the new picture, in pixels.
        transform: from normalised points of the new picture to normalised points of the frame.

    Raises:
        MetadataError: the frame is not an image, its list of entries holds something else, or the
            new picture shows a line or a point of it.
        LayoutError: metadata["sample_aspect_ratio"] is invalid.
    """
    meta = meta_of(frame)
    image = image_of(meta)
    if not isinstance(transform, AffineTransform):
        raise MetadataError("transform", f"must be an AffineTransform, not {transform!r}")
    whole = transform is _AS_IT_IS or transform == _AS_IT_IS
    is_same = width == image.width and height == image.height
    info = image if is_same else ImageInfo.of(image.format, width, height)
    if whole and not meta.regions and KEY not in meta.metadata:
        # The usual case for frames that are converted.
        made = FrameMeta(info, meta.pts, meta.time_base, {**meta.metadata})
    else:
        made = _warped(meta, info, transform, whole)
    if not whole or height != image.height:
        made.metadata.pop("repeat_fields", None)
        if "field_order" in made.metadata:
            made.metadata["field_order"] = "progressive"
    if not whole:
        _shape(made.metadata, image, width, height, transform)
    else:
        _stretch(made.metadata, image, width, height)
    return made


def _warped(meta: FrameMeta, info: ImageInfo, transform: AffineTransform, whole: bool) -> FrameMeta:
    """The metadata with regions and entries at their places in the new picture."""
    image, width, height = image_of(meta), info.width, info.height
    back = _AS_IT_IS if whole else transform.inverse()

    def moved(across: float, down: float) -> tuple[float, float]:
        left, top = back.apply(across / image.width, down / image.height)
        return left * width, top * height

    regions = []
    straight = whole or is_straight(moved)
    for r in meta.regions:
        right, bottom = r.x + r.width, r.y + r.height
        bounds = back.bounds(
            r.x / image.width, r.y / image.height, right / image.width, bottom / image.height
        )
        left, top, right, bottom = (
            round(n * size) for n, size in zip(bounds, (width, height) * 2, strict=True)
        )
        size = None if whole else (width, height)
        regions.append(
            _placed(_turned(r, moved), left, top, right, bottom, size, moved, straight=straight)
        )
    entries = entries_of(meta) if whole else _entries_of_part(meta, transform)
    return _made(meta, info, entries, regions)


def _stretch(metadata: dict[str, Any], image: ImageInfo, width: int, height: int) -> None:
    """Change the entries on the shape of pixels, which were scaled."""
    ratio = sample_aspect_of(metadata)
    if ratio is not None:
        by = Fraction(image.width * height, image.height * width)
        metadata["sample_aspect_ratio"] = ratio * by


def _shape(
    metadata: dict[str, Any], image: ImageInfo, width: int, height: int, transform: AffineTransform
) -> None:
    """Change the entries on the shape of pixels and on the upright position."""
    a, b, _, d, e, _ = transform.matrix
    ratio = sample_aspect_of(metadata)
    # The steps of one pixel across and one down, as vectors in the frame, in heights of its pixels.
    wide = image.width * (ratio or 1)
    across = a * wide / width, d * image.height / width
    down = b * wide / height, e * image.height / height
    if ratio is not None:
        found = Fraction(math.hypot(*across) / math.hypot(*down)).limit_denominator(_FINEST)
        metadata["sample_aspect_ratio"] = found
    mirrored = a * e - b * d < 0
    if mirrored or across[0] < abs(across[1]):
        for key in ("rotation", "mirrored"):
            metadata.pop(key, None)


def _entries_of_part(meta: FrameMeta, part: AffineTransform) -> list[Entry]:
    entries: list[Entry] = []
    for entry in entries_of(meta):
        if isinstance(entry, AffineTransform):
            part = entry.after(part)
        elif not entry.about_the_whole:
            entries.append(entry)
    return [*entries, part]


def _made(
    meta: FrameMeta, info: ImageInfo, entries: Iterable[Entry], regions: Iterable[Region | None]
) -> FrameMeta:
    own = {**meta.metadata, KEY: list(entries)}
    if not own[KEY]:
        del own[KEY]
    return FrameMeta(
        info, meta.pts, meta.time_base, own, [region for region in regions if region is not None]
    )


def _turned(region: Region, moved: Callable[[float, float], tuple[float, float]]) -> Region:
    """The region with its turned box moved: `moved` puts the middle and the sides of that.

    If width and height are scaled differently, or the picture is sheared, it is the rectangle with
    the same middle whose sides are as long as those of the shape that it became.
    """
    box: Any = region.metadata.get("oriented_box")
    if not isinstance(box, tuple) or len(box) != 5:
        return region
    if not all(isinstance(n, int | float) and math.isfinite(n) for n in box):
        return region
    x, y, width, height, angle = box
    middle, right = (x + width / 2, y + height / 2), (math.cos(angle), math.sin(angle))
    across, down = moved(*middle)
    to_right = moved(middle[0] + right[0] * width / 2, middle[1] + right[1] * width / 2)
    to_bottom = moved(middle[0] - right[1] * height / 2, middle[1] + right[0] * height / 2)
    width = 2 * math.dist(to_right, (across, down))
    height = 2 * math.dist(to_bottom, (across, down))
    angle = math.atan2(to_right[1] - down, to_right[0] - across)
    new: Any = (across - width / 2, down - height / 2, width, height, angle)
    if all(isinstance(n, int) for n in box[:4]):  # as GStreamer has it
        new = (*map(round, new[:4]), angle)
    return replace(region, metadata={**region.metadata, "oriented_box": new})


def _placed(
    region: Region, left: int, top: int, right: int, bottom: int, size: tuple[int, int] | None,
    moved: Moved, *, straight: bool,
) -> Region | None:  # fmt: skip
    """The region at another place, cut to a picture of that size; None if nothing is left."""
    whole = (left, top, right, bottom)
    if size is not None:
        left, top = max(left, 0), max(top, 0)
        right, bottom = min(right, size[0]), min(bottom, size[1])
        if right <= left or bottom <= top:
            return None
    metadata: dict[str, Any] = dict(region.metadata)
    box = left, top, right - left, bottom - top
    if isinstance(held := metadata.get(KEY), list):
        as_it_is = straight and whole == (left, top, right, bottom)
        metadata[KEY] = list(held) if as_it_is else entries_of_cut(held, region.box, box, moved)
    x, y, width, height = box
    return replace(region, x=x, y=y, width=width, height=height, metadata=metadata)


def meta_of_batch(
    frames: Iterable[Frame | FrameMeta], stream_ids: Sequence[int] | None = None
) -> FrameMeta:
    """A new FrameMeta for a tensor of several pictures: a SourceIdentifier for each of them.

    It has no time, regions or results of its own: the frames keep theirs. The SourceIdentifier that
    a frame has already is taken over, with another `batch_index`.

    Args:
        frames: the frames in the order of the batch, or their FrameMetas.
        stream_ids: the stream of each; by default that of its SourceIdentifier, or 0.

    Raises:
        MetadataError: no frame, invalid entries, or another number of stream ids than of frames.
    """
    batch = FrameMeta(None)
    metas = [meta_of(frame) for frame in frames]
    streams = (None,) * len(metas) if stream_ids is None else sequence(stream_ids, "stream_ids")
    if len(streams) != len(metas):
        raise MetadataError(
            "stream_ids",
            f"do not fit: {counted(len(streams), 'stream id')} for {counted(len(metas), 'frame')}",
        )
    for index, (meta, stream) in enumerate(zip(metas, streams, strict=True)):
        source = find(meta, SourceIdentifier)
        if source is None:
            time = Timestamp.of(meta)
            source = SourceIdentifier(pts=None if time is None else time.pts)
        stream_id = source.stream_id if stream is None else stream
        add(batch, replace(source, batch_index=index, stream_id=stream_id))
    return batch
