# SPDX-License-Identifier: Apache-2.0
"""Write access: nobody has it while somebody else holds the buffer; nothing is copied silently."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest
from gi.repository import Gst

import samebytes as sb
import samebytes_gstreamer as sbg
from samebytes import Access
from samebytes.errors import AccessError, RouteError

GRAY = "video/x-raw,format=GRAY8,width=16,height=8,framerate=0/1"


def new_buffer() -> Any:
    return Gst.Buffer.new_allocate(None, 128, None)


def test_a_buffer_that_nobody_else_holds() -> None:
    frame = sbg.frame_of(new_buffer(), GRAY)
    assert frame.writable
    modes: tuple[Access, ...] = ("w", "rw", "r")
    for access in modes:
        frame.map("cpu", access).close()


def test_a_second_holder() -> None:
    buffer = new_buffer()
    frame = sbg.frame_of(buffer, GRAY)
    sample = Gst.Sample.new(buffer, None, None, None)
    assert frame.readonly
    assert frame.planes[0].readonly
    with pytest.raises(AccessError, match="somebody else holds"):
        frame.map("cpu", "rw")
    with pytest.raises(AccessError):
        frame.planes[0].map("cpu", "w")
    assert frame.map("cpu").readonly
    del sample
    assert frame.writable
    frame.map("cpu", "rw").close()


def test_the_last_frame_of_a_stream_stays_writable() -> None:
    with sbg.GStreamerSource(f"videotestsrc num-buffers=2 ! {GRAY}", access="rw") as source:
        frames = list(source)
        for frame in frames:
            frame.map("cpu", "rw").close()


def test_a_sample_counts_as_one_with_its_buffer() -> None:
    sample = Gst.Sample.new(
        new_buffer(),
        Gst.Caps.from_string(GRAY),
        None,
        None,
    )
    frame = sb.frame(sample)
    assert frame.writable  # type: ignore[attr-defined]  # a GStreamerFrame
    second = sample.get_buffer()
    assert frame.readonly
    del second
    frame.map("cpu", "rw").close()


def test_memory_that_is_read_only() -> None:
    array = np.zeros((8, 16), np.uint8)
    reading = sb.frame(array, format="GRAY8").map("gstreamer")
    again = sb.frame(reading.native)
    assert again.readonly
    with pytest.raises(AccessError, match="read-only"):
        again.map("cpu", "rw")
    # GStreamer would hand out a copy here, without a word.
    assert again.map("cpu").native[0].ctypes.data == array.ctypes.data


def test_memory_in_two_buffers() -> None:
    first, second = new_buffer(), Gst.Buffer.new()
    frame = sbg.frame_of(first, GRAY)
    second.append_memory(first.get_memory(0))
    assert frame.readonly
    with pytest.raises(AccessError):
        frame.map("cpu", "rw")
    del second
    assert frame.writable


def test_mapped_for_reading_first() -> None:
    frame = sbg.frame_of(new_buffer(), GRAY)
    reading = frame.map("cpu")
    with pytest.raises(RouteError, match="mapped for another access"):
        frame.map("cpu", "rw")
    reading.close()
    writing = frame.map("cpu", "rw")
    # What may be written may be read as well.
    frame.map("cpu").close()
    writing.close()
    with frame.map("cpu", "w") as second:
        frame.map("cpu", "rw").close()
        assert second.native[0].flags.writeable


def test_a_mapping_keeps_elements_from_writing() -> None:
    buffer = new_buffer()
    mapped = sbg.frame_of(buffer, GRAY).map("cpu", "rw")
    array = mapped.native[0]
    found, info = buffer.peek_memory(0).map(Gst.MapFlags.READ)
    assert found
    buffer.peek_memory(0).unmap(info)
    mapped.native[0][...] = 5
    del array
    mapped.close()
    assert buffer.extract_dup(0, 3) == b"\x05\x05\x05"


def test_a_memory_alone_by_the_buffers_it_is_in() -> None:
    buffer = new_buffer()
    tensor = sb.tensor(buffer.get_memory(0))
    assert not tensor.readonly
    sample = Gst.Sample.new(buffer, None, None, None)
    assert tensor.readonly
    del sample
    gc.collect()
    assert not tensor.readonly
