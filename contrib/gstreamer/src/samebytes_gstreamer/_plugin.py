# SPDX-License-Identifier: Apache-2.0
"""The plugin's declarations. Importing it does not import gi."""

from __future__ import annotations

from samebytes import Transfer
from samebytes.plugins import ContextSpec, ElementSpec, MapperSpec, NativeSpec, Plugin, hookimpl

__all__ = ["PLUGIN"]

PLUGIN = Plugin(
    api=(1, 2),
    summary="GStreamer buffers, and pipelines to read frames from and write them to",
    packages={"gi": 'pip install "samebytes[gstreamer]"'},
    probe="samebytes_gstreamer._probe:probe",
)


@hookimpl
def samebytes_tensors() -> list[NativeSpec]:
    """Buffers and samples, memories, and planes in them."""
    frame, tensor = (
        "samebytes_gstreamer._buffers.frame:GStreamerFrame",
        ("samebytes_gstreamer._buffers.tensor:GStreamerTensor"),
    )
    return [
        NativeSpec(native="gi.repository.Gst.Buffer", wraps=frame, level="frame"),
        NativeSpec(native="gi.repository.Gst.Sample", wraps=frame, level="frame"),
        NativeSpec(native="gi.repository.Gst.Memory", wraps=tensor, level="tensor"),
        NativeSpec(
            native="samebytes_gstreamer._memory.plane.GStreamerPlane", wraps=tensor, level="tensor"
        ),
    ]


@hookimpl
def samebytes_elements() -> list[ElementSpec]:
    """Pipelines of GStreamer at both ends of one of samebytes."""
    return [
        ElementSpec(
            name="gstreamer.source",
            element="samebytes_gstreamer._pipelines.elements:SourceElement",
            summary="the frames of a pipeline as for gst-launch-1.0",
        ),
        ElementSpec(
            name="gstreamer.sink",
            element="samebytes_gstreamer._pipelines.elements:SinkElement",
            summary="frames for a pipeline as for gst-launch-1.0",
        ),
    ]


@hookimpl
def samebytes_contexts() -> list[ContextSpec]:
    """Buffers in memory, and those of VA-API's displays."""
    return [
        ContextSpec(
            node="gstreamer",
            context="samebytes_gstreamer._buffers.context:GStreamerContext",
            level="frame",
            transit=False,
        ),
        ContextSpec(
            node="gstreamer:VA",
            context="samebytes_gstreamer._buffers.context:GStreamerVAContext",
            level="frame",
            transit=False,
        ),
        ContextSpec(
            node="gstreamer:OpenCL",
            context="samebytes_gstreamer._buffers.context:GStreamerOpenCLContext",
            derives_from=("opencl",),
            level="frame",
            transit=False,
        ),
    ]


@hookimpl
def samebytes_mappers() -> list[MapperSpec]:
    """Between buffers and CPU memory, DMA-BUFs, and memory of devices."""
    return [*_cpu_mappers(), *_dma_mappers(), *_device_mappers()]


def _cpu_mappers() -> list[MapperSpec]:
    return [
        MapperSpec(
            source="gstreamer",
            target="cpu",
            mapper="samebytes_gstreamer._buffers.to_cpu:FrameToCpu",
            transfer=Transfer.ALIAS,
            summary="gst_memory_map of each memory once; nothing is merged",
            level="frame",
        ),
        MapperSpec(
            source="gstreamer",
            target="cpu",
            mapper="samebytes_gstreamer._buffers.to_cpu:MemoryToCpu",
            transfer=Transfer.ALIAS,
            summary="gst_memory_map",
            per_plane=False,
        ),
        MapperSpec(
            source="cpu",
            target="gstreamer",
            mapper="samebytes_gstreamer._buffers.from_cpu:CpuToBuffer",
            transfer=Transfer.ALIAS,
            summary="a buffer whose memories are the arrays', with a VideoMeta",
            level="frame",
        ),
        MapperSpec(
            source="cpu",
            target="gstreamer",
            mapper="samebytes_gstreamer._buffers.from_cpu:CpuToMemory",
            transfer=Transfer.ALIAS,
            summary="gst_memory_new_wrapped",
            per_plane=False,
        ),
    ]


def _dma_mappers() -> list[MapperSpec]:
    return [
        MapperSpec(
            source="gstreamer",
            target="dma",
            mapper="samebytes_gstreamer._buffers.to_dma:FrameToDMA",
            transfer=Transfer.IMPORT,
            only="memory behind a descriptor",
            summary="a duplicate of each memory's descriptor",
            level="frame",
            opaque=True,
            requires=("dma>=0.1,<1",),
        ),
        MapperSpec(
            source="gstreamer",
            target="dma",
            mapper="samebytes_gstreamer._buffers.to_dma:MemoryToDMA",
            transfer=Transfer.IMPORT,
            only="memory behind a descriptor",
            summary="a duplicate of the memory's descriptor",
            per_plane=False,
            opaque=True,
            requires=("dma>=0.1,<1",),
        ),
        MapperSpec(
            source="dma",
            target="gstreamer",
            mapper="samebytes_gstreamer._buffers.from_dma:DMAToBuffer",
            transfer=Transfer.IMPORT,
            summary="a buffer of memories with their own descriptors",
            level="frame",
            requires=("dma>=0.1,<1",),
        ),
        MapperSpec(
            source="dma",
            target="gstreamer",
            mapper="samebytes_gstreamer._buffers.from_dma:DMAToMemory",
            transfer=Transfer.IMPORT,
            summary="a memory with its own descriptor",
            per_plane=False,
            requires=("dma>=0.1,<1",),
        ),
    ]


def _device_mappers() -> list[MapperSpec]:
    return [
        MapperSpec(
            source="gstreamer:VA",
            target="vaapi",
            mapper="samebytes_gstreamer._buffers.device_edges:VAFrameToSurface",
            transfer=Transfer.ALIAS,
            summary="the surface in the buffer",
            level="frame",
            opaque=True,
            requires=("vaapi>=0.1,<1",),
        ),
        MapperSpec(
            source="opencl",
            target="gstreamer:OpenCL",
            mapper="samebytes_gstreamer._buffers.device_edges:OpenCLToBuffer",
            transfer=Transfer.ALIAS,
            summary="a buffer that carries the cl_mem objects through a pipeline",
            level="frame",
            opaque=True,
            requires=("opencl>=0.1,<1",),
        ),
        MapperSpec(
            source="gstreamer:OpenCL",
            target="opencl",
            mapper="samebytes_gstreamer._buffers.device_edges:BufferToOpenCL",
            transfer=Transfer.ALIAS,
            summary="the cl_mem objects that the buffer carries",
            level="frame",
            opaque=True,
            requires=("opencl>=0.1,<1",),
        ),
    ]
