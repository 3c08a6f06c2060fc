# SPDX-License-Identifier: Apache-2.0
"""register(): an element of samebytes.elements becomes one of GStreamer."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import samebytes.elements as el
from samebytes.errors import UnsupportedObjectError

from .._abi.gi import GObject, Gst
from .caps import caps_of, patterns_of
from .gobjects import InPlace, Making, Writing
from .properties import properties_of

__all__ = ["register"]

_OURS: set[str] = set()


def register(
    element_class: Callable[..., Any], *, name: str | None = None, rank: int | None = None
) -> str:
    """Make an element of samebytes.elements one of GStreamer's, in this process.

        samebytes_gstreamer.register(Blur)
        Gst.parse_launch("videotestsrc ! Blur radius=7 ! autovideosink")

    A Transform or TransformInplace becomes a GstBase.BaseTransform, a Sink a GstBase.BaseSink. Its
    parameters are properties (`add_labels` is `add-labels`), whose values are read when the
    pipeline goes to PAUSED; the element is opened then, and closed on the way back to READY. One
    more property, `copy`, allows copies, which are counted; a parameter `copy` gets its value.

    Args:
        element_class: a class, or a function that `el.inplace`, `el.transform` or `el.sink`
            decorated.
        name: its name in pipelines; by default its own name, with "_" for "." and the like. An
            element registered under that name before is replaced for pipelines made from now on.
        rank: a Gst.Rank, for elements that look for others by themselves; by default they never
            choose it.

    Returns:
        Its name in pipelines.

    Raises:
        UnsupportedObjectError: it is not such a class, GStreamer has another element of that name,
            or GStreamer has no caps for the frames that it takes and gives, for instance because
            they depend on parameters; or a parameter has the name of a property of all elements.
    """
    made_of = _checked(element_class)
    base = _base_of(made_of)
    kind = made_of.name
    name = re.sub(r"[^A-Za-z0-9_-]", "_", kind) if name is None else name
    registry = Gst.Registry.get()
    found = registry.lookup_feature(name)
    if found is not None and name not in _OURS:
        raise UnsupportedObjectError(f"GStreamer has an element {name!r} already: pass name=")
    takes = patterns_of(made_of, "takes") or ()
    taken = caps_of(takes, kind)
    gives = patterns_of(made_of, "gives")
    given = taken if gives is None else caps_of(gives, kind)
    unique = _type_name(kind)
    made = type(base)(
        unique,
        (base,),
        {
            "__gtype_name__": unique,
            "__gproperties__": properties_of(made_of.declared_parameters(), base, kind),
            "made_of": made_of,
            # An element that takes frames as they come may hand them to a device itself.
            "on_devices": any({*(p.memories or ("any",))} - {"cpu", "gstreamer"} for p in takes),
            "taken": taken,
            "given": given,
        },
    )
    text = (made_of.__doc__ or kind).strip().partition("\n")[0]
    where = "Sink" if base is Writing else "Filter"
    made.set_metadata(kind, where, text, made_of.__module__ or "")
    _add_template(made, "sink", Gst.PadDirection.SINK, taken)
    if base is not Writing:
        _add_template(made, "src", Gst.PadDirection.SRC, given)
    if found is not None:
        registry.remove_feature(found)
    number = int(Gst.Rank.NONE) if rank is None else int(rank)
    if not Gst.Element.register(None, name, number, made.__gtype__):
        raise UnsupportedObjectError(f"GStreamer does not take {name!r} as the name of an element")
    _OURS.add(name)
    return name


def _checked(element_class: Any) -> type[el.Element]:
    if not (isinstance(element_class, type) and issubclass(element_class, el.Element)):
        raise UnsupportedObjectError(
            f"{element_class!r} is not a class of samebytes.elements: pass the class, not an "
            "object, and a function with el.inplace, el.transform or el.sink before it"
        )
    for what in ("takes", "gives"):
        if isinstance(getattr(element_class, what, None), property):
            raise UnsupportedObjectError(
                f"what {element_class.name!r} {what} depends on its parameters, and elements of "
                "GStreamer have caps before those are set: put it into a samebytes.elements."
                "Pipeline, behind a gstreamer.source"
            )
    return element_class


def _base_of(element_class: type[el.Element]) -> Any:
    if issubclass(element_class, el.Sink):
        return Writing
    if not issubclass(element_class, el.Transform):
        raise UnsupportedObjectError(
            f"{element_class.name!r} is a source: write its frames with a GStreamerSink"
        )
    gives = patterns_of(element_class, "gives")
    return InPlace if gives is None or issubclass(element_class, el.TransformInplace) else Making


def _type_name(kind: str) -> str:
    """A name that no GType has."""
    stem = "Samebytes" + re.sub(r"[^A-Za-z0-9]", "", kind.title())
    found, number = stem, 1
    while _exists(found):
        number += 1
        found = f"{stem}{number}"
    return found


def _exists(name: str) -> bool:
    try:
        GObject.type_from_name(name)
    except RuntimeError:
        return False
    return True


def _add_template(made: Any, name: str, direction: Any, caps: Any) -> None:
    made.add_pad_template(Gst.PadTemplate.new(name, direction, Gst.PadPresence.ALWAYS, caps))
