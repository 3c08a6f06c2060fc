# SPDX-License-Identifier: Apache-2.0
"""Edges between buffers and memory of devices: surfaces of VA-API, and OpenCL memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from samebytes import Frame, MemoryMapper
from samebytes.plugins import Refused

from .._abi.gi import pointer_of
from .._abi.libraries import va
from .._abi.plugin_libraries import VA_INVALID_SURFACE
from .._memory.opencl_memory import carried_by, carry
from .tensor import memory_in
from .writing import buffer_of, check_picture, describe_buffer, mark_readonly

if TYPE_CHECKING:
    from typing import Any

    from samebytes import Access, Storage, TensorInfo

__all__ = ["BufferToOpenCL", "OpenCLToBuffer", "VAFrameToSurface"]


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


class OpenCLToBuffer(MemoryMapper):
    """opencl -> gstreamer:OpenCL: a buffer whose one memory carries all planes."""

    __slots__ = ()

    def connect(self, item: Frame, access: Access) -> tuple[Any, TensorInfo | None, Storage | None]:
        """The buffer; its memory holds the frame."""
        if self.target.parent != item.context:
            raise Refused("the target carries memory of another OpenCL context")
        layouts = item.image.packed_layouts()
        pitches = [layout.pitch for layout in layouts]
        check_picture(item.image, pitches)
        memory = carry(item, item.image.nbytes)
        if access == "r":
            mark_readonly(memory)
        buffer = buffer_of([memory])
        describe_buffer(buffer, item.meta, [layout.offset for layout in layouts], pitches)
        return buffer, None, None


class BufferToOpenCL(MemoryMapper):
    """gstreamer:OpenCL -> opencl: the frame that the buffer carries."""

    __slots__ = ()

    def connect(
        self, item: Frame, access: Access
    ) -> tuple[tuple[Any, ...], TensorInfo | None, Storage | None]:
        """The native objects of that frame."""
        frame = carried_by(pointer_of(item.planes[0].native.memory))
        if frame is None:
            raise Refused("an element replaced the memory in the buffer")
        if frame.context != self.target:
            raise Refused("the buffer carries memory of another OpenCL context")
        if access != "r" and frame.readonly:
            raise Refused("the memory that the buffer carries was mapped for reading only")
        return tuple(plane.native for plane in frame.planes), None, None
