# SPDX-License-Identifier: Apache-2.0
"""Signal handlers that raise (Ctrl-C) in the middle of lending to GStreamer: nothing stays lent."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import MagicMock

import pytest

import samebytes as sb
from samebytes.plugins import Storage
from samebytes.testing import at_each_step
from samebytes_gstreamer._gi import Gst
from samebytes_gstreamer._libraries import gst
from samebytes_gstreamer._loans import held_count
from samebytes_gstreamer._memory import map_memory

pytestmark = pytest.mark.together


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


def test_an_interrupted_release_unmaps_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Storage calls it again: see Resumable."""
    buffer = Gst.Buffer.new_allocate(None, 64, None)
    assert buffer is not None
    memory = buffer.get_memory(0)
    maps, unmaps = MagicMock(wraps=gst.gst_memory_map), MagicMock(wraps=gst.gst_memory_unmap)
    monkeypatch.setattr(gst, "gst_memory_map", maps)
    monkeypatch.setattr(gst, "gst_memory_unmap", unmaps)
    begun: list[Storage] = []

    def work() -> None:
        begun.append(map_memory(memory, "rw"))
        assert begun[0].release is not None
        begun[0].release()

    for step in at_each_step(work, opcodes=True, finalizers=False):
        for storage in begun:
            assert storage.release is not None
            storage.release()
        begun.clear()  # and so it is called once more
        assert unmaps.call_count == maps.call_count, step
    assert maps.call_count > 10
