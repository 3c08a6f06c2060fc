# SPDX-License-Identifier: Apache-2.0
"""Frames of FFmpeg's devices. PyAV has no calls that would do the same by hand."""

from __future__ import annotations

import av

import samebytes as sb
from samebytes.benchmarks import Ways, along

__all__ = ["dma_to_drm", "download", "drm_download", "drm_to_dma", "to_vaapi", "upload"]


def to_vaapi(width: int, height: int) -> Ways:
    """The surface of the frame."""
    device = sb.context("ffmpeg:VAAPI")
    frame, target = device.allocate_frame("NV12", width, height), device.derive("vaapi")
    go = along("ffmpeg:VAAPI -> vaapi frame alias", frame, target)
    return Ways(ours=lambda: go(frame))


def dma_to_drm(width: int, height: int) -> Ways:
    """A descriptor of its planes."""
    frame = sb.context("dma").allocate_frame("NV12", width, height)
    target = sb.context("ffmpeg:DRM")
    go = along("dma -> ffmpeg:DRM frame import", frame, target)
    return Ways(ours=lambda: go(frame))


def drm_to_dma(width: int, height: int) -> Ways:
    """The other way."""
    dma = sb.context("dma")
    frame = dma.allocate_frame("NV12", width, height).map("ffmpeg:DRM", "rw")
    go = along("ffmpeg:DRM -> dma frame import", frame, dma)
    return Ways(ours=lambda: go(frame))


def upload(width: int, height: int) -> Ways:
    """Into a surface of the device's pool."""
    device = sb.context("ffmpeg:VAAPI")
    frame = sb.frame(av.VideoFrame(width, height, "nv12"))
    go = along("ffmpeg -> ffmpeg:VAAPI frame copy", frame, device)
    return Ways(ours=lambda: go(frame))


def download(width: int, height: int) -> Ways:
    """Into a new frame."""
    frame = sb.context("ffmpeg:VAAPI").allocate_frame("NV12", width, height)
    go, keep = along("ffmpeg:VAAPI -> ffmpeg frame copy", frame, sb.context("ffmpeg")), frame
    return Ways(ours=lambda: go(keep))


def drm_download(width: int, height: int) -> Ways:
    """By the CPU."""
    frame = sb.context("dma").allocate_frame("NV12", width, height).map("ffmpeg:DRM", "rw")
    go = along("ffmpeg:DRM -> ffmpeg frame copy", frame, sb.context("ffmpeg"))
    return Ways(ours=lambda: go(frame))
