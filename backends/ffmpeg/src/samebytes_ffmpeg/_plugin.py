# SPDX-License-Identifier: Apache-2.0
"""The plugin's declarations. Importing it does not import PyAV."""

from __future__ import annotations

from samebytes import Transfer
from samebytes.plugins import (
    ContextSpec,
    ConverterSpec,
    ElementSpec,
    MapperSpec,
    NativeSpec,
    Plugin,
    hookimpl,
)

__all__ = ["PLUGIN"]

PLUGIN = Plugin(
    api=(1, 2),
    summary="FFmpeg frames, in memory and of devices",
    packages={"av": 'pip install "samebytes[ffmpeg]"'},
    probe="samebytes_ffmpeg._probe:probe",
)


@hookimpl
def samebytes_tensors() -> list[NativeSpec]:
    """av frames and their planes, and frames of devices that are not PyAV's."""
    return [
        NativeSpec(native=native, wraps=wraps, level=level)  # type: ignore[arg-type]  # a literal
        for native, wraps, level in (
            ("av.video.frame.VideoFrame", "samebytes_ffmpeg._frame:FFmpegFrame", "frame"),
            ("av.audio.frame.AudioFrame", "samebytes_ffmpeg._frame:FFmpegFrame", "frame"),
            ("av.video.plane.VideoPlane", "samebytes_ffmpeg._frame:FFmpegPlane", "tensor"),
            ("av.audio.plane.AudioPlane", "samebytes_ffmpeg._frame:FFmpegPlane", "tensor"),
            (
                "samebytes_ffmpeg._hardware.frame.HardwareFrame",
                "samebytes_ffmpeg._hardware.objects:FFmpegHardwareFrame",
                "frame",
            ),
        )
    ]


@hookimpl
def samebytes_contexts() -> list[ContextSpec]:
    """The one context of frames in memory, and those of devices."""
    return [
        ContextSpec(
            node="ffmpeg",
            context="samebytes_ffmpeg._frame:FFmpegContext",
            level="frame",
        ),
        ContextSpec(
            node="ffmpeg:VAAPI",
            context="samebytes_ffmpeg._hardware.device:VAAPIDevice",
            level="frame",
            # Its VADisplay is all that they take of a vaapi context.
            allows_deriving=("vaapi", "openvino:GPU"),
            transit=False,
        ),
        ContextSpec(
            node="ffmpeg:CUDA",
            context="samebytes_ffmpeg._hardware.cuda_device:CUDADevice",
            level="frame",
            # Their CUcontext is all that they take of one another.
            derives_from=("cuda",),
            allows_deriving=("cuda",),
            transit=False,
        ),
        ContextSpec(
            node="ffmpeg:DRM",
            context="samebytes_ffmpeg._hardware.device:DRMDevice",
            level="frame",
            transit=False,
        ),
    ]


@hookimpl
def samebytes_mappers() -> list[MapperSpec]:
    """Between frames and cpu memory, from a plane to cpu memory, and those of devices."""
    return [*_host_mappers(), *_surface_mappers(), *_transfer_mappers(), *_cuda_mappers()]


def _host_mappers() -> list[MapperSpec]:
    return [
        MapperSpec(
            source="ffmpeg",
            target="cpu",
            mapper="samebytes_ffmpeg._to_cpu:FrameToCpu",
            transfer=Transfer.ALIAS,
            summary="arrays on the planes, with their own reference to the AVFrame's buffers",
            level="frame",
        ),
        MapperSpec(
            source="ffmpeg",
            target="cpu",
            mapper="samebytes_ffmpeg._to_cpu:PlaneToCpu",
            transfer=Transfer.ALIAS,
            summary="an array on the plane, with its own reference to the AVFrame's buffers",
            level="tensor",
            per_plane=False,
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


def _surface_mappers() -> list[MapperSpec]:
    return [
        MapperSpec(
            source="ffmpeg:VAAPI",
            target="vaapi",
            mapper="samebytes_ffmpeg._hardware.memory_edges:VAAPIFrameToVA",
            transfer=Transfer.ALIAS,
            summary="the surface of the AVFrame (data[3]), with a reference to its buffer",
            level="frame",
            opaque=True,
            requires=("vaapi>=0.1,<1",),
        ),
        MapperSpec(
            source="ffmpeg:DRM",
            target="dma",
            mapper="samebytes_ffmpeg._hardware.memory_edges:DRMFrameToDMA",
            transfer=Transfer.IMPORT,
            summary="duplicates of the descriptors in the AVDRMFrameDescriptor",
            level="frame",
            opaque=True,
            requires=("dma>=0.1,<1",),
        ),
        MapperSpec(
            source="dma",
            target="ffmpeg:DRM",
            mapper="samebytes_ffmpeg._hardware.memory_edges:DMAToDRMFrame",
            transfer=Transfer.IMPORT,
            summary="an AVDRMFrameDescriptor of the buffers' descriptors",
            level="frame",
            opaque=True,
            requires=("dma>=0.1,<1",),
        ),
    ]


def _transfer_mappers() -> list[MapperSpec]:
    return [
        MapperSpec(
            source="ffmpeg",
            target="ffmpeg:VAAPI",
            mapper="samebytes_ffmpeg._hardware.transfer:Upload",
            transfer=Transfer.COPY,
            summary="av_hwframe_transfer_data into a surface of the device's pool",
            level="frame",
            access=("r",),
        ),
        MapperSpec(
            source="ffmpeg:VAAPI",
            target="ffmpeg",
            mapper="samebytes_ffmpeg._hardware.transfer:Download",
            transfer=Transfer.COPY,
            summary="av_hwframe_transfer_data into a new av frame",
            level="frame",
            access=("r",),
            opaque=True,
        ),
        MapperSpec(
            source="ffmpeg:DRM",
            target="ffmpeg",
            mapper="samebytes_ffmpeg._hardware.transfer:Download",
            transfer=Transfer.COPY,
            summary="av_hwframe_transfer_data into a new av frame, by the CPU",
            level="frame",
            access=("r",),
            opaque=True,
        ),
    ]


def _cuda_mappers() -> list[MapperSpec]:
    return [
        MapperSpec(
            source="ffmpeg:CUDA",
            target="cuda",
            mapper="samebytes_ffmpeg._hardware.cuda_edges:CUDAFrameToCUDA",
            transfer=Transfer.ALIAS,
            summary="the planes of the AVFrame, ordered by FFmpeg's stream",
            level="frame",
            requires=("cuda>=0.1,<1",),
        ),
        MapperSpec(
            source="cuda",
            target="ffmpeg:CUDA",
            mapper="samebytes_ffmpeg._hardware.cuda_edges:CUDAToCUDAFrame",
            transfer=Transfer.ALIAS,
            summary="an AVFrame whose buffers are the arrays' memory",
            level="frame",
            requires=("cuda>=0.1,<1",),
        ),
        MapperSpec(
            source="ffmpeg",
            target="ffmpeg:CUDA",
            mapper="samebytes_ffmpeg._hardware.transfer:Upload",
            transfer=Transfer.COPY,
            summary="av_hwframe_transfer_data into memory of the device's pool",
            level="frame",
            access=("r",),
        ),
        MapperSpec(
            source="ffmpeg:CUDA",
            target="ffmpeg",
            mapper="samebytes_ffmpeg._hardware.transfer:Download",
            transfer=Transfer.COPY,
            summary="av_hwframe_transfer_data into a new av frame",
            level="frame",
            access=("r",),
        ),
    ]


@hookimpl
def samebytes_elements() -> list[ElementSpec]:
    """The elements that decode and encode."""
    return [
        ElementSpec(
            name="ffmpeg.source",
            element="samebytes_ffmpeg._elements._source:FFmpegSource",
            summary="the frames of a video file or connection",
        ),
        ElementSpec(
            name="ffmpeg.sink",
            element="samebytes_ffmpeg._elements._sink:FFmpegSink",
            summary="a video file of the frames",
        ),
    ]


@hookimpl
def samebytes_converters() -> list[ConverterSpec]:
    """libswscale, which reads av frames and memory of the CPU."""
    return [
        ConverterSpec(
            node=node,
            converter=f"samebytes_ffmpeg._conversion:{name}",
            summary="libswscale",
        )
        for node, name in (("ffmpeg", "FrameConversion"), ("cpu", "SwscaleConversion"))
    ]
