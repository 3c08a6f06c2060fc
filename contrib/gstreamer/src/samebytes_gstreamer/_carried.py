# SPDX-License-Identifier: Apache-2.0
"""gstreamer:OpenCL: buffers that carry OpenCL memory through a pipeline."""

from __future__ import annotations

from typing import TYPE_CHECKING

from samebytes.errors import UnsupportedObjectError
from samebytes.plugins import Context, Frame, MemoryMapper, Refused, intern

from ._carrying import carried_by, carry
from ._frame import GStreamerFrame
from ._gi import pointer_of
from ._tensor import GStreamerTensor, memory_in
from ._writing import buffer_of, check_picture, describe_buffer

if TYPE_CHECKING:
    from typing import Any, Self

    from samebytes import Access, Storage, TensorInfo

__all__ = ["BufferToOpenCL", "GStreamerOpenCLContext", "OpenCLToBuffer", "context_over"]


class GStreamerOpenCLContext(Context):
    """Buffers that carry memory of one OpenCL context, which is `parent`.

    Elements pass them on, and cannot read them. Map a frame to `frame.context.parent` to have its
    cl_mem objects again.
    """

    memory_type = "gstreamer"
    node = "gstreamer:OpenCL"
    tensor_class = GStreamerTensor
    frame_class = GStreamerFrame
    primary_handle = "gst_memory"
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
    """opencl -> gstreamer:OpenCL: a buffer with a memory for each plane."""

    __slots__ = ()

    def connect(
        self, item: Frame, access: Access
    ) -> tuple[Any, TensorInfo | None, Storage | None]:
        """The buffer; its memories hold the tensors."""
        if self.target.parent != item.context:
            raise Refused("the target carries memory of another OpenCL context")
        layouts = item.image.plane_layouts()
        check_picture(item.image, [layout.pitch for layout in layouts])
        offsets, end = [], 0
        for plane in item.planes:
            offsets.append(end)
            end += max(plane.info.nbytes, 1)
        buffer = buffer_of([carry(plane) for plane in item.planes])
        describe_buffer(buffer, item.meta, offsets, [layout.pitch for layout in layouts])
        return buffer, None, None


class BufferToOpenCL(MemoryMapper):
    """gstreamer:OpenCL -> opencl: what the buffer carries."""

    __slots__ = ()

    def connect(
        self, item: Frame, access: Access
    ) -> tuple[tuple[Any, ...], TensorInfo | None, Storage | None]:
        """The native objects that were put in."""
        tensors = [
            carried_by(pointer_of(memory_in(plane.native))) for plane in item.planes
        ]
        if any(tensor is None for tensor in tensors):
            raise Refused("an element put other memory into the buffer")
        for tensor in tensors:
            assert tensor is not None
            if tensor.context != self.target:
                raise Refused("the buffer carries memory of another OpenCL context")
            if access != "r" and tensor.readonly:
                raise Refused("what the buffer carries was mapped for reading")
        return tuple(tensor.native for tensor in tensors if tensor is not None), None, None
