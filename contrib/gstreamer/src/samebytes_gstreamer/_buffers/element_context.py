# SPDX-License-Identifier: Apache-2.0
"""Contexts that the elements of a pipeline share: GStreamer's own GstContext, as ours."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from samebytes import Context
from samebytes.errors import UnsupportedObjectError

from .._abi.gi import Gst, pointer_of
from .context import context_of_display

__all__ = ["context_of"]

# gst/va/gstvadisplay.h: GST_VA_DISPLAY_HANDLE_CONTEXT_TYPE_STR, and the field that
# gst_context_set_va_display() sets.
_VA_DISPLAY = "gst.va.display.handle"
_VA_DISPLAY_FIELD = "gst-display"


def context_of(element: Any) -> Context:
    """The context of the device that an element of a pipeline uses: a "gstreamer:VA" context.

    The element is asked first, then the elements in it if it is a bin, then its neighbours, as
    elements ask each other. Elements have a display once the pipeline is READY.

    Args:
        element: a Gst.Element, a Gst.Bin or a Gst.Pipeline.

    Raises:
        UnsupportedObjectError: it is not an element, or nothing there has a display of VA-API.
        MissingDependencyError: libgstva is not there.
    """
    if not isinstance(element, Gst.Element):
        raise UnsupportedObjectError(f"{element!r} is not a Gst.Element")
    for asked in _inside(element):
        found = asked.get_context(_VA_DISPLAY) or _of_neighbours(asked)
        display = None if found is None else found.get_structure().get_value(_VA_DISPLAY_FIELD)
        if display is not None:
            return context_of_display(pointer_of(display))
    raise UnsupportedObjectError(
        f"neither {element.get_name()} nor its neighbours have a VA-API display: bring the "
        "pipeline to READY, and see that it has elements of the va plugin (gst-inspect-1.0 va)"
    )


def _inside(element: Any) -> Iterator[Any]:
    yield element
    if isinstance(element, Gst.Bin):
        for child in element.children:
            yield from _inside(child)


def _of_neighbours(element: Any) -> Any:
    for pad in element.pads:
        query = Gst.Query.new_context(_VA_DISPLAY)
        if pad.peer_query(query):
            found = query.parse_context()
            if found is not None:
                return found
    return None
