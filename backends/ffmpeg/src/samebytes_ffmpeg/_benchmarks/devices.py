# SPDX-License-Identifier: Apache-2.0
"""Frames of FFmpeg's devices. PyAV has calls of its own only for CUDA."""

from __future__ import annotations

import av

import samebytes as sb
from samebytes.benchmarks import Ways, along

__all__ = [
    "cuda_download", "cuda_to_frame", "cuda_upload", "dma_to_drm", "download", "drm_download",
    "drm_to_dma", "to_cuda", "to_vaapi", "upload",
]  # fmt: skip


def to_vaapi(width: int, height: int) -> Ways:
    """The surface of the frame."""
    device = sb.context("ffmpeg:VAAPI")
    frame, target = device.allocate_frame("NV12", width, height), device.derive("vaapi")
    go = along("ffmpeg:VAAPI -> vaapi frame alias", frame, target)
    return Ways(ours=lambda: go(frame))


def to_cuda(width: int, height: int) -> Ways:
    """The arrays of the frame's planes."""
    device = sb.context("ffmpeg:CUDA")
    frame, target = device.allocate_frame("NV12", width, height), device.derive("cuda")
    go = along("ffmpeg:CUDA -> cuda frame alias", frame, target)
    planes = frame.native.planes
    return Ways(ours=lambda: go(frame), by_hand=lambda: [plane.__dlpack__() for plane in planes])


def cuda_to_frame(width: int, height: int) -> Ways:
    """A frame over arrays."""
    target = sb.context("ffmpeg:CUDA")
    frame = target.derive("cuda").allocate_frame("NV12", width, height)
    go, planes = along("cuda -> ffmpeg:CUDA frame alias", frame, target), frame.native
    make = av.VideoFrame.from_dlpack
    return Ways(
        ours=lambda: go(frame),
        by_hand=lambda: make(planes, "nv12", width, height, current_ctx=True),
    )


def dma_to_drm(width: int, height: int) -> Ways:
    """A descriptor of its planes."""
    frame = sb.context("dma").allocate_frame("NV12", width, height)
    target = sb.context("ffmpeg:DRM")
    go = along("dma -> ffmpeg:DRM frame import", frame, target)
    return Ways(ours=lambda: go(frame))


def drm_to_dma(width: int, height: int) -> Ways:
    """DMA-BUFs of the planes of a frame."""
    dma = sb.context("dma")
    frame = dma.allocate_frame("NV12", width, height).map("ffmpeg:DRM", "rw")
    go = along("ffmpeg:DRM -> dma frame import", frame, dma)
    return Ways(ours=lambda: go(frame))


def upload(width: int, height: int) -> Ways:
    """A copy into a VA-API surface."""
    return _uploaded("VAAPI", width, height)


def download(width: int, height: int) -> Ways:
    """A copy into a new frame."""
    return _downloaded("VAAPI", width, height)


def cuda_upload(width: int, height: int) -> Ways:
    """A copy into CUDA memory."""
    return _uploaded("CUDA", width, height)


def cuda_download(width: int, height: int) -> Ways:
    """A copy into a new frame."""
    return _downloaded("CUDA", width, height)


def drm_download(width: int, height: int) -> Ways:
    """A copy by the CPU."""
    frame = sb.context("dma").allocate_frame("NV12", width, height).map("ffmpeg:DRM", "rw")
    go = along("ffmpeg:DRM -> ffmpeg frame copy", frame, sb.context("ffmpeg"))
    return Ways(ours=lambda: go(frame))


def _uploaded(kind: str, width: int, height: int) -> Ways:
    frame = sb.frame(av.VideoFrame(width, height, "nv12"))
    go = along(f"ffmpeg -> ffmpeg:{kind} frame copy", frame, sb.context(f"ffmpeg:{kind}"))
    return Ways(ours=lambda: go(frame))


def _downloaded(kind: str, width: int, height: int) -> Ways:
    frame = sb.context(f"ffmpeg:{kind}").allocate_frame("NV12", width, height)
    go = along(f"ffmpeg:{kind} -> ffmpeg frame copy", frame, sb.context("ffmpeg"))
    return Ways(ours=lambda: go(frame))
