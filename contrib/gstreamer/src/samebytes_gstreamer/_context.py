# SPDX-License-Identifier: Apache-2.0
"""The context of GStreamer's buffers in memory, and of DMA-BUFs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from samebytes import Context

from ._formats import why_not
from ._frame import GStreamerFrame
from ._memory import is_va
from ._opencl_memory import carried_by
from ._tensor import GStreamerTensor

if TYPE_CHECKING:
    from typing import Self

    from samebytes import AudioInfo, ImageInfo

__all__ = ["GSTREAMER", "GStreamerContext", "context_of_memory"]


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


def context_of_memory(memory: int) -> Context:
    """The context that a GstMemory* belongs to."""
    if is_va(memory):
        from ._va import context_of_va_memory

        return context_of_va_memory(memory)
    frame = carried_by(memory)
    if frame is not None:
        from ._opencl_in_buffer import context_over

        return context_over(frame.context)
    return GSTREAMER
