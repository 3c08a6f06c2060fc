# SPDX-License-Identifier: Apache-2.0
"""The allocation query, by which elements ask those after them which memory to allocate.

A GPU and an NPU take memory of the CPU in whole pages, or refuse to share it; a GPU wants each
plane of a picture to begin at a cache line, too.
"""

from __future__ import annotations

import mmap
from typing import Any

from .._abi.gi import Gst, GstVideo, pointer_of
from .._abi.libraries import gst
from .._abi.video import GstVideoAlignment

__all__ = ["answer_with_pages", "pages"]

_LINE = 64
_IN_MEMORY = Gst.CapsFeatures.new_single(Gst.CAPS_FEATURE_MEMORY_SYSTEM_MEMORY)


def pages() -> Any:
    """The Gst.AllocationParams of memory that begins at a page."""
    return _aligned(mmap.PAGESIZE)


def answer_with_pages(pad: Any) -> None:
    """Ask for such memory at a pad of a sink that has no answer of its own.

    If planes of a picture would not begin at cache lines, rows are padded to whole ones; memory
    then begins at a cache line, not at a page, since GStreamer would pad rows to whole pages too.
    Still no two buffers share a page, which an NPU takes only once.
    """
    pad.add_probe(Gst.PadProbeType.QUERY_DOWNSTREAM, _answer)


def _aligned(size: int) -> Any:
    params = Gst.AllocationParams()
    params.align = size - 1
    params.padding = 0 if size == mmap.PAGESIZE else mmap.PAGESIZE - 1
    return params


def _answer(_: Any, info: Any) -> Any:
    query = info.get_query()
    if query.type != Gst.QueryType.ALLOCATION:
        return Gst.PadProbeReturn.OK
    pointer = pointer_of(query)
    caps, wants_pool = query.parse_allocation()
    del query  # gi's reference: GStreamer only changes objects without another holder
    picture = _picture_to_pad(caps) if wants_pool else None
    params = pages() if picture is None else _aligned(_LINE)
    gst.gst_query_add_allocation_param(pointer, None, pointer_of(params))
    if picture is not None:
        meta = pointer_of(GstVideo.video_meta_api_get_type())
        gst.gst_query_add_allocation_meta(pointer, meta, None)
        pool, size = _pool(caps, picture, params)
        gst.gst_query_add_allocation_pool(pointer, pointer_of(pool), size, 0, 0)
    return Gst.PadProbeReturn.HANDLED


def _picture_to_pad(caps: Any) -> Any:
    """The GstVideo.VideoInfo of pictures in plain memory whose rows must be padded, else None."""
    if caps is None or not caps.is_fixed() or not caps.get_features(0).is_equal(_IN_MEMORY):
        return None
    if caps.get_structure(0).get_name() != "video/x-raw":
        return None
    picture = GstVideo.VideoInfo.new_from_caps(caps)
    whole = all(offset % _LINE == 0 for offset in (*picture.offset, picture.size))
    return None if whole else picture


def _pool(caps: Any, picture: Any, params: Any) -> tuple[Any, int]:
    """A Gst.BufferPool of pictures with rows of whole cache lines, and the bytes of one."""
    alignment = GstVideo.VideoAlignment()
    alignment.reset()
    # gi cannot set an array in a structure.
    GstVideoAlignment.from_address(pointer_of(alignment)).stride_align[:] = [_LINE - 1] * 4
    picture.align(alignment)
    pool = GstVideo.VideoBufferPool.new()
    config = pool.get_config()
    Gst.BufferPool.config_set_params(config, caps, picture.size, 0, 0)
    Gst.BufferPool.config_set_allocator(config, None, params)
    Gst.BufferPool.config_add_option(config, GstVideo.BUFFER_POOL_OPTION_VIDEO_META)
    Gst.BufferPool.config_add_option(config, GstVideo.BUFFER_POOL_OPTION_VIDEO_ALIGNMENT)
    GstVideo.buffer_pool_config_set_video_alignment(config, alignment)
    pool.set_config(config)
    return pool, picture.size
