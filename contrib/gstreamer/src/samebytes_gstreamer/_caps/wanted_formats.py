# SPDX-License-Identifier: Apache-2.0
"""The formats that an appsink asks for: elements that can give several ask those after them.

The question of an element holds all the formats that it can give. The answer has those of them that
are wanted, in their order, and no others; or all of them if none is wanted. So pipelines that
convert give a wanted format, and no pipeline is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from samebytes.formats import ImageFormat

from .._abi.gi import Gst, pointer_of
from .._abi.libraries import gst
from .formats import known_formats, video_format_name

__all__ = ["ask_for_formats", "usual_first"]

_USUAL = ("NV12", "I420", "BGR", "RGB", "GRAY8", "BGRA", "RGBA", "BGRX", "RGBX")


def usual_first() -> list[str]:
    """The names of all formats that GStreamer has, those that most elements take first."""
    found = [ImageFormat.of(name).name for name in known_formats()]
    return [*(name for name in _USUAL if name in found), *(n for n in found if n not in _USUAL)]


def ask_for_formats(pad: Any, formats: Sequence[str]) -> None:
    """Prefer formats of pictures in plain memory at a pad of a sink that takes anything.

    Args:
        pad: the Gst.Pad.
        formats: their names, best first. Those that GStreamer lacks must not be among them.
    """
    names = (video_format_name(ImageFormat.of(name)) for name in formats)
    wanted = Gst.Caps.from_string(";".join(f"video/x-raw(ANY),format={name}" for name in names))
    pad.add_probe(Gst.PadProbeType.QUERY_DOWNSTREAM, partial(_answer, wanted))


def _answer(wanted: Any, _: Any, info: Any) -> Any:
    query = info.get_query()
    if query.type != Gst.QueryType.CAPS:
        return Gst.PadProbeReturn.OK
    pointer = pointer_of(query)
    possible = query.parse_caps()
    del query  # gi's reference: GStreamer only changes objects without another holder
    found = None if possible is None else _narrowed(possible, wanted)
    if found is None:
        return Gst.PadProbeReturn.OK
    gst.gst_query_set_caps_result(pointer, pointer_of(found))
    return Gst.PadProbeReturn.HANDLED


def _narrowed(possible: Any, wanted: Any) -> Any:
    """The possible caps that are wanted, or no pictures in memory; None if none is wanted."""
    found, any_wanted = Gst.Caps.new_empty(), False
    for number in range(possible.get_size()):
        one = possible.copy_nth(number)
        if _is_plain_picture(one):
            one = one.intersect_full(wanted, Gst.CapsIntersectMode.FIRST)
            any_wanted = any_wanted or not one.is_empty()
        found.append(one)
    return found if any_wanted else None


def _is_plain_picture(caps: Any) -> bool:
    """True if caps with one structure are of pictures that may lie in memory of the CPU."""
    features = caps.get_features(0)
    plain = features.is_any() or features.contains(Gst.CAPS_FEATURE_MEMORY_SYSTEM_MEMORY)
    return bool(plain and caps.get_structure(0).get_name() == "video/x-raw")
