# SPDX-License-Identifier: Apache-2.0
"""gstreamer:OpenCL: buffers that carry OpenCL memory through a pipeline."""

from __future__ import annotations

from typing import TYPE_CHECKING

from samebytes import Context, Frame, MemoryMapper
from samebytes.errors import UnsupportedObjectError
from samebytes.plugins import Refused, intern

from ._frame import GStreamerFrame
from ._gi import pointer_of
from ._opencl_memory import carried_by, carry
from ._tensor import GStreamerTensor
from ._writing import buffer_of, check_picture, describe_buffer, mark_readonly

if TYPE_CHECKING:
    from typing import Any, Self

    from samebytes import Access, Storage, TensorInfo

__all__ = ["BufferToOpenCL", "GStreamerOpenCLContext", "OpenCLToBuffer", "context_over"]


class GStreamerOpenCLContext(Context[GStreamerTensor, GStreamerFrame]):
    """Buffers that carry memory of one OpenCL context, which is `parent`.

    Elements pass them on, and cannot read them. Map a frame to `frame.context.parent` to have its
    cl_mem objects again.
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
            UnsupportedObjectError: there is none: it is derived.
        """
        if parent is None:
            raise UnsupportedObjectError(
                'derive it: samebytes.context("opencl").derive("gstreamer:OpenCL")'
            )
        return cls(parent)


def context_over(parent: Context) -> Context:
    """The living context over an OpenCL context."""
    return intern(GStreamerOpenCLContext(parent))


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
    """gstreamer:OpenCL -> opencl: what the buffer carries."""

    __slots__ = ()

    def connect(
        self, item: Frame, access: Access
    ) -> tuple[tuple[Any, ...], TensorInfo | None, Storage | None]:
        """The native objects that were put in."""
        frame = carried_by(pointer_of(item.planes[0].native.memory))
        if frame is None:
            raise Refused("an element replaced the memory in the buffer")
        if frame.context != self.target:
            raise Refused("the buffer carries memory of another OpenCL context")
        if access != "r" and frame.readonly:
            raise Refused("the memory that the buffer carries was mapped for reading only")
        return tuple(plane.native for plane in frame.planes), None, None
