# SPDX-License-Identifier: Apache-2.0
"""Pictures for tests of CUDA frames, and two ways to upload them."""

from __future__ import annotations

from fractions import Fraction

import av
from av.filter import Graph

import samebytes as sb
from samebytes_ffmpeg import HardwareDevice

__all__ = ["SIZE", "by_device", "by_ffmpeg", "picture"]

SIZE = (64, 48)


def picture(value: int = 7, format_: str = "nv12") -> av.VideoFrame:
    native = av.VideoFrame(*SIZE, format_)
    for number, plane in enumerate(sb.frame(native).map("cpu", "rw").native):
        plane[...] = value + number
    native.pts, native.time_base = 3, Fraction(1, 25)
    return native


def by_ffmpeg(native: av.VideoFrame) -> av.VideoFrame:
    """Uploaded by a filter of FFmpeg's, which makes a CUDA context of its own."""
    graph = Graph()
    source = graph.add_buffer(
        width=native.width, height=native.height, format=native.format, time_base=Fraction(1, 25)
    )
    upload, sink = graph.add("hwupload_cuda"), graph.add("buffersink")
    source.link_to(upload)
    upload.link_to(sink)
    graph.configure()
    graph.push(native)
    found = graph.pull()
    assert isinstance(found, av.VideoFrame)
    return found


def by_device(native: av.VideoFrame) -> av.VideoFrame:
    """Uploaded into the context that torch uses."""
    device = sb.context("ffmpeg:CUDA")
    assert isinstance(device, HardwareDevice)
    uploaded = device.upload(native).native
    assert isinstance(uploaded, av.VideoFrame)
    return uploaded
