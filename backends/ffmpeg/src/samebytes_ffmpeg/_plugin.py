# SPDX-License-Identifier: Apache-2.0
"""What this plugin declares. Importing it does not import PyAV."""

from __future__ import annotations

from samebytes.plugins import (
    ContextSpec,
    MapperSpec,
    NativeSpec,
    Plugin,
    Transfer,
    hookimpl,
)

__all__ = ["PLUGIN"]

PLUGIN = Plugin(
    api=(1, 0),
    summary="FFmpeg frames in memory, through PyAV",
    packages={"av": 'pip install "samebytes[ffmpeg]"'},
    probe="samebytes_ffmpeg._probe:probe",
)


@hookimpl
def samebytes_tensors() -> list[NativeSpec]:
    """av frames, and their planes."""
    return [
        NativeSpec(native=native, wraps=wraps, level=level)  # type: ignore[arg-type]  # a literal
        for native, wraps, level in (
            ("av.video.frame.VideoFrame", "samebytes_ffmpeg._frame:FFmpegFrame", "frame"),
            ("av.audio.frame.AudioFrame", "samebytes_ffmpeg._frame:FFmpegFrame", "frame"),
            ("av.video.plane.VideoPlane", "samebytes_ffmpeg._plane:FFmpegPlane", "tensor"),
            ("av.audio.plane.AudioPlane", "samebytes_ffmpeg._plane:FFmpegPlane", "tensor"),
        )
    ]


@hookimpl
def samebytes_contexts() -> list[ContextSpec]:
    """The one FFmpeg context."""
    return [
        ContextSpec(node="ffmpeg", context="samebytes_ffmpeg._context:FFmpegContext", level="frame")
    ]


@hookimpl
def samebytes_mappers() -> list[MapperSpec]:
    """Between frames and cpu memory, and from a plane to cpu memory."""
    return [
        MapperSpec(
            source="ffmpeg",
            target="cpu",
            mapper="samebytes_ffmpeg._to_cpu:FrameToCpu",
            transfer=Transfer.ALIAS,
            summary="arrays on the planes, with a reference of their own to the AVFrame's buffers",
            level="frame",
        ),
        MapperSpec(
            source="ffmpeg",
            target="cpu",
            mapper="samebytes_ffmpeg._to_cpu:PlaneToCpu",
            transfer=Transfer.ALIAS,
            summary="an array on the plane, with a reference of its own to the AVFrame's buffers",
            level="tensor",
            lifts=False,
        ),
        MapperSpec(
            source="cpu",
            target="ffmpeg",
            mapper="samebytes_ffmpeg._from_cpu:CpuToFrame",
            transfer=Transfer.ALIAS,
            summary="an av frame whose buffers are the arrays' memory",
            level="frame",
        ),
    ]
