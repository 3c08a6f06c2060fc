# SPDX-License-Identifier: Apache-2.0
"""gstreamer:VA: surfaces of VA-API in buffers, as the elements of the "va" plugin pass them on."""

from __future__ import annotations

import ctypes
from ctypes import byref, c_void_p
from functools import partial
from typing import TYPE_CHECKING

from samebytes import Context, Device, Frame, MemoryMapper
from samebytes.errors import UnsupportedObjectError
from samebytes.plugins import ContextRegistry, Refused

from ._abi.glib import G_TYPE_STRING, GType, GValue
from ._abi.plugin_libraries import VA_INVALID_SURFACE
from ._frame import GStreamerFrame
from ._gi import pointer_of
from ._libraries import gobject, va
from ._tensor import GStreamerTensor, memory_in

if TYPE_CHECKING:
    from typing import Any, Self

    from samebytes import Access, Storage, TensorInfo

__all__ = ["GStreamerVAContext", "VAFrameToSurface", "context_of_display", "context_of_va_memory"]


class _Display:
    """A reference of ours to a GstVaDisplay."""

    __slots__ = ("pointer",)

    def __init__(self, pointer: int) -> None:
        self.pointer = gobject.g_object_ref(pointer)

    def __del__(self, unref: Any = gobject.g_object_unref) -> None:
        unref(self.pointer)


class GStreamerVAContext(Context[GStreamerTensor, GStreamerFrame]):
    """The GstVaDisplay of buffers whose memory are surfaces.

    It comes with them, or from an element: `samebytes_gstreamer.context_of(element)`.
    Handle: "va_display". There is one context for each display, which it keeps alive.
    """

    memory_type = "gstreamer"
    node = "gstreamer:VA"
    tensor_class = GStreamerTensor
    frame_class = GStreamerFrame
    primary_handle = "gst_memory"
    caps_feature = "memory:VAMemory"
    """The feature in the caps of its frames."""
    may_be_opaque = True

    def __init__(self, display: int) -> None:
        self._display = _Display(display)
        handles = {"va_display": va().gst_va_display_get_va_dpy(display)}
        super().__init__(Device("GPU", drm_node=_node_of(display)), handles=handles)

    @classmethod
    def create(cls, device: str | None, parent: Context | None) -> Self:
        """Refused: the displays are GStreamer's own."""
        raise UnsupportedObjectError(
            "a GStreamer display comes with a buffer, or from an element of a pipeline: "
            "samebytes_gstreamer.context_of(element)"
        )


# By GstVaDisplay*, of which an open context holds a reference.
_contexts: ContextRegistry[GStreamerVAContext] = ContextRegistry()


def context_of_display(display: int) -> Context:
    """The context of a GstVaDisplay*."""
    return _contexts.find_or_make(display, partial(GStreamerVAContext, display))


def context_of_va_memory(memory: int) -> Context:
    """The context of the display that a surface in a GstMemory* is of.

    Raises:
        UnsupportedObjectError: it has no display.
    """
    display = va().gst_va_memory_peek_display(memory)
    if not display:
        raise UnsupportedObjectError("GStreamer's memory of VA-API has no display")
    return context_of_display(display)


def _node_of(display: int) -> str | None:
    """The DRM node of a GstVaDisplay* that has one."""
    # gobject/gobject.h: an instance begins with its class, and a class with its type.
    type_ = GType.from_address(c_void_p.from_address(display).value or 0).value
    if gobject.g_type_name(type_) != b"GstVaDisplayDrm":
        return None
    value = GValue()
    gobject.g_value_init(byref(value), G_TYPE_STRING)
    gobject.g_object_get_property(display, b"path", byref(value))
    path: bytes | None = gobject.g_value_get_string(ctypes.addressof(value))
    gobject.g_value_unset(byref(value))
    return None if path is None else path.decode()


class VAFrameToSurface(MemoryMapper):
    """gstreamer:VA -> vaapi: the surface in the buffer, which stays GStreamer's."""

    __slots__ = ()

    def connect(self, item: Frame, access: Access) -> tuple[Any, TensorInfo | None, Storage | None]:
        """The surface, which keeps the buffer."""
        target: Any = self.target
        native = item.planes[0].native
        surface_id = va().gst_va_memory_get_surface(pointer_of(memory_in(native)))
        if surface_id == VA_INVALID_SURFACE:
            raise Refused("the memory has no surface")
        if target.handle("va_display") != self.source.handle("va_display"):
            raise Refused(
                "the surface is of another VADisplay: map to vaapi by name, which shares this one"
            )
        surface = target.import_surface(surface_id, item.image, keep=native)
        return surface, None, surface.storage
