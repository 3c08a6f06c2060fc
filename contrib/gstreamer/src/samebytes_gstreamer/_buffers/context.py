# SPDX-License-Identifier: Apache-2.0
"""The contexts of GStreamer's buffers: in memory, on VA-API's displays, and with OpenCL memory."""

from __future__ import annotations

import ctypes
from ctypes import byref, c_void_p
from functools import partial
from typing import TYPE_CHECKING

from samebytes import Context, Device
from samebytes.errors import UnsupportedObjectError
from samebytes.plugins import ContextRegistry, intern

from .._abi.glib import G_TYPE_STRING, GType, GValue
from .._abi.libraries import gobject, va
from .._caps.formats import why_not
from .._memory.memory import is_va
from .._memory.opencl_memory import carried_by
from .frame import GStreamerFrame
from .tensor import GStreamerTensor

if TYPE_CHECKING:
    from typing import Any, Self

    from samebytes import AudioInfo, ImageInfo

__all__ = [
    "GSTREAMER",
    "GStreamerContext",
    "GStreamerOpenCLContext",
    "GStreamerVAContext",
    "context_of_display",
    "context_of_memory",
]


class GStreamerContext(Context[GStreamerTensor, GStreamerFrame]):
    """Buffers of GStreamer. There is one context: `samebytes.context("gstreamer")`.

    It allocates nothing: map a frame of "cpu" to "gstreamer", whose buffer lies on its bytes.
    """

    memory_type = "gstreamer"
    node = "gstreamer"
    tensor_class = GStreamerTensor
    frame_class = GStreamerFrame
    primary_handle = "gst_memory"
    caps_feature = ""
    """The feature in the caps of its frames, such as "memory:VAMemory"; "" for plain memory."""
    singleton = True
    # Textures, and DMA-BUFs with a modifier.
    may_be_opaque = True

    @classmethod
    def create(cls, device: str | None, parent: Context | None) -> Self:
        """The one GStreamer context."""
        super().create(device, parent)
        return GSTREAMER  # type: ignore[return-value]  # the singleton is of this very class

    def rules_out(self, info: ImageInfo | AudioInfo | None) -> str | None:
        """Say why GStreamer has no buffers of such media, or return None."""
        return why_not(info)


GSTREAMER = GStreamerContext()


class _Display:
    """A reference of ours to a GstVaDisplay."""

    __slots__ = ("pointer",)

    def __init__(self, pointer: int) -> None:
        self.pointer = gobject.g_object_ref(pointer)

    def __del__(self, unref: Any = gobject.g_object_unref) -> None:
        unref(self.pointer)


class GStreamerVAContext(Context[GStreamerTensor, GStreamerFrame]):
    """The GstVaDisplay of buffers whose memories are surfaces.

    It comes with such buffers, or from an element: `samebytes_gstreamer.context_of(element)`.
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
        """Refuse, since the displays are GStreamer's own."""
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
    """The context of the display of a surface in a GstMemory*.

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


class GStreamerOpenCLContext(Context[GStreamerTensor, GStreamerFrame]):
    """Buffers that carry memory of one OpenCL context, which is `parent`.

    Elements pass them on, and cannot read them. Map a frame to `frame.context.parent` to get its
    cl_mem objects back.
    """

    memory_type = "gstreamer"
    node = "gstreamer:OpenCL"
    tensor_class = GStreamerTensor
    frame_class = GStreamerFrame
    primary_handle = "gst_memory"
    caps_feature = "memory:OpenCL"
    """The feature in the caps of its frames."""
    may_be_opaque = True

    def __init__(self, parent: Context) -> None:
        handles = {"cl_context": parent.handle("cl_context")}
        super().__init__(parent.device, handles=handles, parent=parent)

    @classmethod
    def create(cls, device: str | None, parent: Context | None) -> Self:
        """The context over an OpenCL context.

        Raises:
            UnsupportedObjectError: there is no parent: such a context can only be derived.
        """
        if parent is None:
            raise UnsupportedObjectError(
                'derive it: samebytes.context("opencl").derive("gstreamer:OpenCL")'
            )
        return cls(parent)


def context_over(parent: Context) -> Context:
    """The living context over an OpenCL context."""
    return intern(GStreamerOpenCLContext(parent))


def context_of_memory(memory: int) -> Context:
    """The context that a GstMemory* belongs to."""
    if is_va(memory):
        return context_of_va_memory(memory)
    frame = carried_by(memory)
    return GSTREAMER if frame is None else context_over(frame.context)
