# SPDX-License-Identifier: Apache-2.0
"""Signal handlers that raise (Ctrl-C) in the middle of lending to GStreamer: nothing stays lent."""

from __future__ import annotations

from pathlib import Path

import pytest

import samebytes as sb
from samebytes.testing import at_each_step
from samebytes_gstreamer._loans import held_count


def test_a_buffer_over_arrays_may_be_interrupted_at_any_instruction() -> None:
    source = sb.context("cpu").allocate_frame("NV12", 64, 48)
    source.map("gstreamer", "rw")
    for step in at_each_step(lambda: source.map("gstreamer", "rw"), opcodes=True):
        assert held_count() == 0, step


def test_a_memory_over_an_array_may_be_interrupted_at_any_instruction() -> None:
    source = sb.context("cpu").allocate((48, 64))
    source.map("gstreamer", "rw")
    for step in at_each_step(lambda: source.map("gstreamer", "rw"), opcodes=True):
        assert held_count() == 0, step


def test_memories_over_descriptors_may_be_interrupted_at_any_line() -> None:
    pytest.importorskip("samebytes_dma", reason="missing package samebytes-dma")
    source = sb.context("dma").allocate_frame("NV12", 64, 48)
    source.map("gstreamer", "rw")
    held_count()
    before = len(list(Path("/proc/self/fd").iterdir()))
    for step in at_each_step(lambda: source.map("gstreamer", "rw")):
        assert held_count() == 0, step
        assert len(list(Path("/proc/self/fd").iterdir())) == before, step
