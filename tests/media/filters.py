# SPDX-License-Identifier: Apache-2.0
"""Frames as filters of FFmpeg see them, mark them and show them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

__all__ = ["filtered"]

av = pytest.importorskip("av", reason="missing package av: pip install av")


def filtered(native: Any, *filters: tuple[str, str]) -> Any:
    """Return the av.VideoFrame that a chain of filters makes of one.

    Args:
        native: an av.VideoFrame.
        filters: the name of each, and its arguments.
    """
    graph = av.filter.Graph()
    last = source = graph.add_buffer(
        width=native.width, height=native.height, format=native.format, time_base=Fraction(1, 25)
    )
    for name, arguments in filters:
        added = graph.add(name, arguments)
        last.link_to(added)
        last = added
    sink = graph.add("buffersink")
    last.link_to(sink)
    graph.configure()
    source.push(native)
    return sink.pull()
