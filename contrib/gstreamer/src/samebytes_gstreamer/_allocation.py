# SPDX-License-Identifier: Apache-2.0
"""The allocation query: elements that allocate ask those after them in what memory.

A GPU and an NPU take memory of the CPU in whole pages, or refuse to share it.
"""

from __future__ import annotations

import mmap
from typing import Any

from ._gi import Gst, pointer_of
from ._libraries import gst

__all__ = ["answer_with_pages", "pages"]


def pages() -> Any:
    """The Gst.AllocationParams of memory that begins at a page."""
    params = Gst.AllocationParams()
    params.align = mmap.PAGESIZE - 1
    return params


def answer_with_pages(pad: Any) -> None:
    """Ask for such memory at a pad of a sink that has no answer of its own."""
    pad.add_probe(Gst.PadProbeType.QUERY_DOWNSTREAM, _answer)


def _answer(_: Any, info: Any) -> Any:
    query = info.get_query()
    if query.type != Gst.QueryType.ALLOCATION:
        return Gst.PadProbeReturn.OK
    pointer, params = pointer_of(query), pages()
    del query  # gi's reference: GStreamer changes only what has no other holder
    gst.gst_query_add_allocation_param(pointer, None, pointer_of(params))
    return Gst.PadProbeReturn.HANDLED
