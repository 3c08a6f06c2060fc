# SPDX-License-Identifier: Apache-2.0
"""What becomes of a frame's metadata when it is cut, and when it becomes part of a batch.

docs/reference/metadata.md has the rules as a table.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .._core.frame_meta import FrameMeta, Region
from .._numbers import integer
from ..errors import MetadataError
from ..formats import ImageInfo
from ._affine import AffineTransform
from ._checks import sequence
from ._entries import Entry, SourceIdentifier
from ._lookup import KEY, add, entries_of, find
from ._views import Timestamp, image_of, meta_of

if TYPE_CHECKING:
    from .._core.frame import Frame

__all__ = ["meta_of_batch", "meta_of_part"]


def meta_of_part(frame: Frame | FrameMeta, x: int, y: int, width: int, height: int) -> FrameMeta:
    """What `frame.crop(x, y, width, height)` says of itself: a new FrameMeta.

    Kept are format, time, the user's entries (the dict is new, its values are the same objects),
    and entries that do not speak of the whole picture. Regions are new ones, moved and cut; those
    outside are left out. An AffineTransform leads to the source of the frame, or to the frame.

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
    entries: list[Entry] = []
    for entry in entries_of(meta):
        if isinstance(entry, AffineTransform):
            part = entry.after(part)
        elif not entry.about_the_whole:
            entries.append(entry)
    regions = [_moved(r, x, y, width, height) for r in meta.regions]
    return FrameMeta(
        info,
        meta.pts,
        meta.time_base,
        {**meta.metadata, KEY: [*entries, part]},
        [region for region in regions if region is not None],
    )


def _moved(region: Region, x: int, y: int, width: int, height: int) -> Region | None:
    left, top = max(region.x - x, 0), max(region.y - y, 0)
    right = min(region.x - x + region.width, width)
    bottom = min(region.y - y + region.height, height)
    if right <= left or bottom <= top:
        return None
    metadata: dict[str, Any] = dict(region.metadata)
    if isinstance(held := metadata.get(KEY), list):
        metadata[KEY] = list(held)
    return replace(
        region, x=left, y=top, width=right - left, height=bottom - top, metadata=metadata
    )


def meta_of_batch(
    frames: Iterable[Frame | FrameMeta], stream_ids: Sequence[int] | None = None
) -> FrameMeta:
    """What a tensor of several pictures says of itself: a SourceIdentifier for each of them.

    It has no time, regions or results of its own: the frames keep theirs. A frame that has a
    SourceIdentifier already keeps what that says, with another `batch_index`.

    Args:
        frames: in the order of the batch.
        stream_ids: which stream each is of; by default as its SourceIdentifier says, or 0.

    Raises:
        MetadataError: no frame, entries that are none, or more or fewer stream ids than frames.
    """
    batch = FrameMeta(None)
    metas = [meta_of(frame) for frame in frames]
    streams = (None,) * len(metas) if stream_ids is None else sequence(stream_ids, "stream_ids")
    if len(streams) != len(metas):
        raise MetadataError(
            "stream_ids", f"do not fit: {len(metas)} frames, but {len(streams)} stream ids"
        )
    for index, (meta, stream) in enumerate(zip(metas, streams, strict=True)):
        source = find(meta, SourceIdentifier)
        if source is None:
            time = Timestamp.of(meta)
            source = SourceIdentifier(pts=None if time is None else time.pts)
        stream_id = source.stream_id if stream is None else stream
        add(batch, replace(source, batch_index=index, stream_id=stream_id))
    return batch
