# SPDX-License-Identifier: Apache-2.0
"""Buffers and memories, and frames that come out of a pipeline."""

from __future__ import annotations

import os
from functools import cache
from typing import Any

import gi
import numpy as np

import samebytes as sb
from samebytes.benchmarks import Ways, along

from .._abi.gi import Gst
from .._pipelines.source import GStreamerSource

gi.require_version("GstAllocators", "1.0")
gi.require_version("GstVideo", "1.0")
from gi.repository import GstAllocators, GstVideo  # noqa: E402  (the versions are chosen first)

__all__ = [
    "carried", "found_again", "frame_from_cpu", "frame_from_dma", "frame_to_cpu", "frame_to_dma",
    "memory_from_cpu", "memory_from_dma", "memory_to_cpu", "memory_to_dma", "read",
]  # fmt: skip


def _planes(width: int, height: int) -> sb.Frame:
    luma = np.ones((height, width), np.uint8)
    chroma = np.ones((height // 2, width // 2, 2), np.uint8)
    return sb.frame([luma, chroma], format="NV12", width=width, height=height)


def _picture(width: int, height: int) -> sb.Tensor:
    return sb.tensor(np.ones((height, width, 3), np.uint8))


def _dma_frame(width: int, height: int) -> sb.Frame:
    return sb.context("dma").allocate_frame("NV12", width, height)


def _dma_tensor(width: int, height: int) -> sb.Tensor:
    return sb.context("dma").allocate((height, width, 3))


def _viewed(thing: Any) -> None:
    """Map a buffer or a memory, make an array of it, and unmap it."""
    good, info = thing.map(Gst.MapFlags.READ)
    assert good
    array = np.frombuffer(info.data, np.uint8)
    del array
    thing.unmap(info)


def frame_to_cpu(width: int, height: int) -> Ways:
    """By hand, one array of all planes; PyGObject copies them, since `info.data` is bytes."""
    frame, cpu = _planes(width, height).map("gstreamer"), sb.context("cpu")
    go, buffer = along("gstreamer -> cpu frame alias", frame, cpu), frame.native
    return Ways(ours=lambda: go(frame).close(), by_hand=lambda: _viewed(buffer))


def memory_to_cpu(width: int, height: int) -> Ways:
    """One memory."""
    tensor, cpu = _picture(width, height).map("gstreamer"), sb.context("cpu")
    go, memory = along("gstreamer -> cpu tensor alias", tensor, cpu), _memory_of(tensor)
    return Ways(ours=lambda: go(tensor).close(), by_hand=lambda: _viewed(memory))


def _memory_of(tensor: sb.Tensor) -> Any:
    native: Any = tensor.native
    return getattr(native, "memory", native)


def frame_from_cpu(width: int, height: int) -> Ways:
    """A buffer over arrays; PyGObject can only copy bytes into a new buffer."""
    frame, target = _planes(width, height), sb.context("gstreamer")
    go = along("cpu -> gstreamer frame alias", frame, target)
    arrays: Any = frame.native

    def copying() -> Any:
        return Gst.Buffer.new_wrapped(b"".join(array.tobytes() for array in arrays))

    return Ways(ours=lambda: go(frame), copying=copying)


def memory_from_cpu(width: int, height: int) -> Ways:
    """The same for one memory."""
    tensor, target = _picture(width, height), sb.context("gstreamer")
    go, array = along("cpu -> gstreamer tensor alias", tensor, target), tensor.native
    return Ways(ours=lambda: go(tensor), copying=lambda: Gst.Buffer.new_wrapped(array.tobytes()))


def _descriptor_of(memory: Any) -> None:
    os.close(os.dup(GstAllocators.fd_memory_get_fd(memory)))


def frame_to_dma(width: int, height: int) -> Ways:
    """The descriptor of its memory."""
    frame, dma = _dma_frame(width, height).map("gstreamer"), sb.context("dma")
    go, memory = along("gstreamer -> dma frame import", frame, dma), frame.native.peek_memory(0)
    return Ways(ours=lambda: go(frame), by_hand=lambda: _descriptor_of(memory))


def memory_to_dma(width: int, height: int) -> Ways:
    """The same for one memory."""
    tensor, dma = _dma_tensor(width, height).map("gstreamer"), sb.context("dma")
    go, memory = along("gstreamer -> dma tensor import", tensor, dma), _memory_of(tensor)
    return Ways(ours=lambda: go(tensor), by_hand=lambda: _descriptor_of(memory))


def _memory_over(descriptor: int, nbytes: int) -> Any:
    """A memory with a descriptor of its own, which it closes."""
    return GstAllocators.DmaBufAllocator.alloc(_dma_allocator(), os.dup(descriptor), nbytes)


@cache
def _dma_allocator() -> Any:
    return GstAllocators.DmaBufAllocator.new()


def frame_from_dma(width: int, height: int) -> Ways:
    """By hand, a buffer of one memory, whose planes the GstVideoMeta places."""
    frame, target = _dma_frame(width, height), sb.context("gstreamer")
    go = along("dma -> gstreamer frame import", frame, target)
    descriptor, size = frame.planes[0].handle("dma_fd"), width * height * 3 // 2

    def by_hand() -> object:
        buffer = Gst.Buffer.new()
        buffer.append_memory(_memory_over(descriptor, size))
        GstVideo.buffer_add_video_meta(
            buffer, GstVideo.VideoFrameFlags.NONE, GstVideo.VideoFormat.NV12, width, height
        )
        return buffer

    return Ways(ours=lambda: go(frame), by_hand=by_hand)


def memory_from_dma(width: int, height: int) -> Ways:
    """The same for one memory."""
    tensor, target = _dma_tensor(width, height), sb.context("gstreamer")
    go = along("dma -> gstreamer tensor import", tensor, target)
    descriptor, size = tensor.handle("dma_fd"), width * height * 3
    return Ways(ours=lambda: go(tensor), by_hand=lambda: _memory_over(descriptor, size))


def carried(width: int, height: int) -> Ways:
    """OpenCL memory in a buffer; GStreamer has no OpenCL memory of its own."""
    cl = sb.context("opencl")
    frame, target = cl.allocate_frame("NV12", width, height), cl.derive("gstreamer:OpenCL")
    go = along("opencl -> gstreamer:OpenCL frame alias", frame, target)
    return Ways(ours=lambda: go(frame))


def found_again(width: int, height: int) -> Ways:
    """The OpenCL memory that an element finds in a GStreamer buffer."""
    cl = sb.context("opencl")
    frame = cl.allocate_frame("NV12", width, height).map("gstreamer:OpenCL")
    go = along("gstreamer:OpenCL -> opencl frame alias", frame, cl)
    return Ways(ours=lambda: go(frame))


def read(width: int, height: int) -> Ways:
    """Black pictures made by GStreamer: the same work on both sides."""
    made = (
        "videotestsrc pattern=black ! "
        f"video/x-raw,format=NV12,width={width},height={height} ! "
        "appsink name=sink sync=false max-buffers=4"
    )
    source = GStreamerSource(Gst.parse_launch(made), timeout=10)
    theirs = Gst.parse_launch(made)
    sink = theirs.get_by_name("sink")
    theirs.set_state(Gst.State.PLAYING)

    def ours() -> None:
        frame = source.read()
        assert frame is not None
        frame.map("cpu").close()

    def by_hand() -> None:
        _viewed(sink.emit("pull-sample").get_buffer())

    def close() -> None:
        theirs.set_state(Gst.State.NULL)
        source.close()

    return Ways(ours=ours, by_hand=by_hand, close=close)
