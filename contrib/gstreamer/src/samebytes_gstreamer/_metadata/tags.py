# SPDX-License-Identifier: Apache-2.0
"""Tags of a stream (title, language, orientation, bitrate ...) as a dict, and back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from samebytes.formats import ROTATIONS, mirrored_of, rotation_of

from .._abi.gi import GObject, Gst

__all__ = ["TagReader", "orientation_in", "tag_event", "with_orientation"]

_PLAIN = (bool, int, float, str)

# gst/gsttaglist.h: GST_TAG_IMAGE_ORIENTATION: the picture is mirrored, then turned clockwise.
_ORIENTATION = "image-orientation"
_ORIENTATIONS = {
    f"{'flip-' if mirrored else ''}rotate-{rotation}": (rotation, mirrored)
    for rotation in ROTATIONS
    for mirrored in (False, True)
}


class TagReader:
    """The tags that have arrived at a pad. They seldom change, so they are read once."""

    def __init__(self, pad: Any) -> None:
        self._pad = pad
        self._events: list[Any] = []
        self._tags: dict[str, Any] = {}

    def read(self) -> dict[str, Any]:
        """Tag -> value, or a list if there are several; dates as ISO 8601.

        Values that are neither text nor numbers (cover images) are left out.
        """
        events = list(_tag_events(self._pad))
        # gi makes new objects of the same events.
        if [hash(event) for event in events] != [hash(event) for event in self._events]:
            self._events, self._tags = events, {}
            for event in events:
                self._tags.update(_tags_in(event.parse_tag()))
        return dict(self._tags)


def _tag_events(pad: Any) -> Iterator[Any]:
    """The tag events of the stream, and those of the whole container."""
    number = 0
    while (event := pad.get_sticky_event(Gst.EventType.TAG, number)) is not None:
        yield event
        number += 1


def _tags_in(tags: Any) -> Iterator[tuple[str, Any]]:
    for number in range(tags.n_tags()):
        name = tags.nth_tag_name(number)
        found = [tags.get_value_index(name, i) for i in range(tags.get_tag_size(name))]
        values = [value for value in map(_plain, found) if value is not None]
        if values:
            yield name, values if len(values) > 1 else values[0]


def _plain(value: Any) -> Any:
    if isinstance(value, Gst.DateTime):
        return value.to_iso8601_string()
    return value if isinstance(value, _PLAIN) else None


def orientation_in(tags: Mapping[str, Any]) -> dict[str, Any]:
    """The entries of `frame.metadata` that follow from tags."""
    said = tags.get(_ORIENTATION)
    if not isinstance(said, str) or said not in _ORIENTATIONS:
        return {}
    rotation, mirrored = _ORIENTATIONS[said]
    return {"rotation": rotation, **({"mirrored": True} if mirrored else {})}


def with_orientation(tags: Any, metadata: Mapping[str, Any]) -> Any:
    """Tags with the orientation in the entries of a frame's metadata.

    Args:
        tags: those in metadata["gstreamer"].
        metadata: the metadata of the frame.

    Raises:
        LayoutError: an entry is invalid.
    """
    rotation, mirrored = rotation_of(metadata), mirrored_of(metadata)
    held = dict(tags) if isinstance(tags, Mapping) else {}
    if rotation is None and not mirrored:
        if orientation_in(held):  # the entry was deleted
            held[_ORIENTATION] = "rotate-0"
    else:
        held[_ORIENTATION] = f"{'flip-' if mirrored else ''}rotate-{rotation or 0}"
    return held or tags


def tag_event(tags: Any) -> Any:
    """An event that carries tags downstream, or None if there are none.

    Tags that GStreamer does not know are left out, and so are values that are not of a tag's type.
    """
    tag_list = Gst.TagList.new_empty()
    for name, values in tags.items() if isinstance(tags, Mapping) else ():
        if not isinstance(name, str) or not Gst.tag_exists(name):
            continue
        for value in values if isinstance(values, list | tuple) else (values,):
            held = _held(Gst.tag_get_type(name), value)
            if held is not None:
                tag_list.add_value(Gst.TagMergeMode.APPEND, name, held)
    return None if tag_list.is_empty() else Gst.Event.new_tag(tag_list)


def _held(type_: Any, value: Any) -> Any:
    if not isinstance(value, _PLAIN):
        return None
    try:
        if type_ == Gst.DateTime.__gtype__:
            value = Gst.DateTime.new_from_iso8601_string(value)
        return GObject.Value(type_, value)
    except (TypeError, ValueError, OverflowError):  # TypeError also for text that is not a date
        return None
