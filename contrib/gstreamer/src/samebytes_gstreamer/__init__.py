# SPDX-License-Identifier: Apache-2.0
"""GStreamer buffers as samebytes frames. Importing this does not import gi."""

from __future__ import annotations

from typing import TYPE_CHECKING

from samebytes.plugins import lazy_exports

if TYPE_CHECKING:
    from ._analytics import write_regions_as
    from ._context import GStreamerContext, GStreamerOpenCLContext, GStreamerVAContext
    from ._dlstreamer import add_gva_metas
    from ._element_context import context_of
    from ._frame import GStreamerFrame, frame_of, frames_of
    from ._hosted.registering import register
    from ._pipeline import PipelineError, PipelineTimeoutError
    from ._plane import GStreamerPlane
    from ._segmentation import Segmentation
    from ._sink import GStreamerSink
    from ._source import GStreamerSource
    from ._tensor import GStreamerTensor

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
    "GStreamerContext": "._context",
    "GStreamerFrame": "._frame",
    "GStreamerOpenCLContext": "._context",
    "GStreamerPlane": "._plane",
    "GStreamerSink": "._sink",
    "GStreamerSource": "._source",
    "GStreamerTensor": "._tensor",
    "GStreamerVAContext": "._context",
    "PipelineError": "._pipeline",
    "PipelineTimeoutError": "._pipeline",
    "Segmentation": "._segmentation",
    "add_gva_metas": "._dlstreamer",
    "context_of": "._element_context",
    "frame_of": "._frame",
    "frames_of": "._frame",
    "register": "._hosted.registering",
    "write_regions_as": "._analytics",
}


if not TYPE_CHECKING:  # to a type checker, any misspelt name would be there
    __getattr__, __dir__ = lazy_exports(__name__, _HOME)
