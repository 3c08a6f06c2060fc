# SPDX-License-Identifier: Apache-2.0
"""find, all_of, add, change, remove: typed metadata of frames and regions."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, TypeVar, overload

from .._core.memory.meta import FrameMeta
from .._region import Region
from ..errors import MetadataError
from ..formats import ImageInfo
from ._entry import Entry
from ._views import Detection, Timestamp, meta_of

if TYPE_CHECKING:
    from .._core.memory.frame import Frame

__all__ = ["KEY", "add", "all_of", "change", "entries_of", "find", "remove"]

KEY = "samebytes"
"""`frame.metadata[KEY]` and `region.metadata[KEY]` are the lists of their entries."""

EntryT = TypeVar("EntryT", bound=Entry)


def entries_of(holder: Frame | FrameMeta | Region) -> list[Entry]:
    """The entries that a frame or region holds as they are, without views, in a new list.

    Args:
        holder: a frame, its FrameMeta, or a region.

    Raises:
        MetadataError: the value under the key is not a list of entries.
    """
    return list(_held(_metadata_of(holder)))


def all_of(holder: Frame | FrameMeta | Region, kind: type[EntryT]) -> list[EntryT]:
    """The entries of that class, in the order in which they were added.

    Args:
        holder: a frame or its FrameMeta, where all_of(frame, Detection) gives one Detection for
            each region; or a region, for the entries that were added to it.
        kind: a class of this module, or one derived from Entry; Entry itself gives them all.

    Raises:
        MetadataError: an entry of the frame is invalid, or `kind` is no such class.
    """
    if not (isinstance(kind, type) and issubclass(kind, Entry)):
        raise MetadataError("kind", f"must be a class derived from Entry, not {kind!r}")
    found: list[Any] = []
    if isinstance(holder, Region):
        if kind is Detection:
            raise MetadataError(
                "region",
                "does not know the size of its picture: use Detection.of(region, frame)",
            )
    else:
        meta = meta_of(holder)
        if issubclass(Timestamp, kind) and (times := Timestamp.of(meta)) is not None:
            found.append(times)
        if issubclass(Detection, kind) and (kind is Detection or isinstance(meta.info, ImageInfo)):
            found += [Detection.of(region, meta) for region in meta.regions]
    found += [entry for entry in _held(_metadata_of(holder)) if isinstance(entry, kind)]
    return found


def find(holder: Frame | FrameMeta | Region, kind: type[EntryT]) -> EntryT | None:
    """The first entry of that class, or None. Arguments and errors are those of `all_of`.

    Args:
        holder: a frame, its FrameMeta, or a region.
        kind: a class of entries.
    """
    if kind is not Detection:
        return next(iter(all_of(holder, kind)), None)
    if not isinstance(holder, Region) and (regions := meta_of(holder).regions):
        return Detection.of(regions[0], holder)  # type: ignore[return-value]  # kind is Detection
    return next(iter(all_of(holder, kind)), None)


@overload
def add(  # type: ignore[overload-overlap]  # a Detection is the one Entry that gives a Region
    holder: Frame | FrameMeta, entry: Detection
) -> Region: ...


@overload
def add(holder: Frame | FrameMeta | Region, entry: Entry) -> None: ...


def add(holder: Frame | FrameMeta | Region, entry: Entry) -> Region | None:
    """Add an entry to a frame or region, where all mappings of the frame see it.

    Args:
        holder: the frame, its FrameMeta, or the region that the entry describes.
        entry: it is held as it is, except for views: a Detection becomes a Region of
            `frame.regions`, and a Timestamp sets the frame's times.

    Returns:
        The Region that a Detection became; None for other entries.

    Raises:
        MetadataError: `entry` is not an Entry, or is a view that is added to a region.
    """
    if not isinstance(entry, Entry):
        raise MetadataError("entry", f"must be an entry of samebytes.metadata, not {entry!r}")
    if isinstance(entry, Detection | Timestamp):
        if isinstance(holder, Region):
            raise MetadataError(
                "region", f"has no {type(entry).__name__}: add it to the frame, not to a region"
            )
        meta = meta_of(holder)
        if isinstance(entry, Timestamp):
            entry.write(meta)
            return None
        region = Region(0, 0, 0, 0)
        entry.write(region, meta)
        meta.regions.append(region)
        return region
    metadata = _metadata_of(holder)
    _held(metadata)  # raises the error that fits
    metadata.setdefault(KEY, []).append(entry)
    return None


def change(frame: Frame | FrameMeta, found: Detection, **values: Any) -> Detection:
    """Give new values to a Detection that was found in a frame, and to its Region.

        for found in metadata.all_of(frame, Detection):
            metadata.change(frame, found, label=NAMES[found.label_id])

    Args:
        frame: the frame, or its FrameMeta.
        found: a Detection that `find` or `all_of` returned.
        values: new values of its fields, by name.

    Returns:
        The changed Detection, a new object.

    Raises:
        MetadataError: an invalid value, no Detection, or one that is not of this frame.
    """
    if not isinstance(found, Detection):
        raise MetadataError(
            "found", f"must be a Detection that find() or all_of() gave, not {found!r}"
        )
    region = found.origin
    if region is None or not any(each is region for each in meta_of(frame).regions):
        raise MetadataError(
            "Detection.region", "is not a region of this frame: find() and all_of() give those"
        )
    unknown = values.keys() - {f.name for f in fields(found) if f.name != "origin"}
    if unknown:
        raise MetadataError("Detection", f"has no {', '.join(sorted(unknown))}")
    # Values that are not named are taken from the region, which may have changed since.
    replace(Detection.of(region, frame), **values).write(region, frame)
    return Detection.of(region, frame)


def remove(holder: Frame | FrameMeta | Region, entry: Entry) -> None:
    """Remove an entry: for a Detection its Region, for a Timestamp all times of the frame.

    Args:
        holder: a frame, its FrameMeta, or a region.
        entry: an entry that `find` or `all_of` returned.

    Raises:
        MetadataError: the holder does not have it.
    """
    if isinstance(entry, Timestamp) and not isinstance(holder, Region):
        Timestamp().write(holder)
        return
    items: list[Any]
    sought: Any = entry
    if isinstance(entry, Detection) and not isinstance(holder, Region):
        items, sought = meta_of(holder).regions, entry.origin
    else:
        metadata = _metadata_of(holder)
        items = metadata.get(KEY, []) if _held(metadata) else []
    for number, item in enumerate(items):
        if item is sought:
            del items[number]
            return
    raise MetadataError("entry", f"is not here, so it cannot be removed: {entry!r}")


def _metadata_of(holder: Frame | FrameMeta | Region) -> dict[str, Any]:
    return holder.metadata if isinstance(holder, Region) else meta_of(holder).metadata


def _held(metadata: dict[str, Any]) -> list[Entry]:
    held = metadata.get(KEY)
    if held is None:
        return []
    if not isinstance(held, list) or not all(isinstance(entry, Entry) for entry in held):
        raise MetadataError(
            f"metadata[{KEY!r}]", "must be the list of entries that metadata.add() makes"
        )
    return held
