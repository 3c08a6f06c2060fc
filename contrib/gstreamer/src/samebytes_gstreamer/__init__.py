# SPDX-License-Identifier: Apache-2.0
"""GStreamer buffers as samebytes frames. Importing this does not import gi."""

from __future__ import annotations

from typing import TYPE_CHECKING

from samebytes.plugins import lazy_exports

if TYPE_CHECKING:
    from ._buffers.context import GStreamerContext, GStreamerOpenCLContext, GStreamerVAContext
    from ._buffers.element_context import context_of
    from ._buffers.frame import GStreamerFrame, frame_of, frames_of
    from ._buffers.tensor import GStreamerTensor
    from ._hosted.registering import register
    from ._memory.plane import GStreamerPlane
    from ._metadata.analytics import write_regions_as
    from ._metadata.dlstreamer import add_gva_metas
    from ._metadata.segmentation import Segmentation
    from ._pipelines.pipeline import PipelineError, PipelineTimeoutError
    from ._pipelines.sink import GStreamerSink
    from ._pipelines.source import GStreamerSource

__version__ = "0.1.0"

__all__ = [
    "GStreamerContext",
    "GStreamerFrame",
    "GStreamerOpenCLContext",
    "GStreamerPlane",
    "GStreamerSink",
    "GStreamerSource",
    "GStreamerTensor",
    "GStreamerVAContext",
    "PipelineError",
    "PipelineTimeoutError",
    "Segmentation",
    "add_gva_metas",
    "context_of",
    "frame_of",
    "frames_of",
    "register",
    "write_regions_as",
]

_HOME = {
    "GStreamerContext": "._buffers.context",
    "GStreamerFrame": "._buffers.frame",
    "GStreamerOpenCLContext": "._buffers.context",
    "GStreamerPlane": "._memory.plane",
    "GStreamerSink": "._pipelines.sink",
    "GStreamerSource": "._pipelines.source",
    "GStreamerTensor": "._buffers.tensor",
    "GStreamerVAContext": "._buffers.context",
    "PipelineError": "._pipelines.pipeline",
    "PipelineTimeoutError": "._pipelines.pipeline",
    "Segmentation": "._metadata.segmentation",
    "add_gva_metas": "._metadata.dlstreamer",
    "context_of": "._buffers.element_context",
    "frame_of": "._buffers.frame",
    "frames_of": "._buffers.frame",
    "register": "._hosted.registering",
    "write_regions_as": "._metadata.analytics",
}


if not TYPE_CHECKING:  # to a type checker, any misspelt name would be there
    __getattr__, __dir__ = lazy_exports(__name__, _HOME)
