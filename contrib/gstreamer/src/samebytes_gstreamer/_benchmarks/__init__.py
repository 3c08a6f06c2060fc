# SPDX-License-Identifier: Apache-2.0
"""The GStreamer benchmarks of `samebytes bench`, compared with PyGObject."""

from __future__ import annotations

from samebytes.benchmarks import Benchmark

__all__ = ["BENCHMARKS"]

_WAYS = "samebytes_gstreamer._benchmarks.ways"

BENCHMARKS = [
    Benchmark(
        name="gstreamer -> cpu, NV12, map and close",
        what="The planes of a buffer become arrays, which are given back,",
        make=f"{_WAYS}:frame_to_cpu",
        edges=("gstreamer -> cpu frame alias",),
        beside="Gst.Buffer.map() and unmap()",
    ),
    Benchmark(
        name="gstreamer -> cpu, map and close",
        what="A memory becomes an array, which is given back,",
        make=f"{_WAYS}:memory_to_cpu",
        edges=("gstreamer -> cpu tensor alias",),
        beside="Gst.Memory.map() and unmap()",
    ),
    Benchmark(
        name="cpu -> gstreamer, NV12",
        what="Two arrays become a buffer",
        make=f"{_WAYS}:frame_from_cpu",
        edges=("cpu -> gstreamer frame alias",),
        alone="PyGObject can only copy bytes into a new buffer",
    ),
    Benchmark(
        name="cpu -> gstreamer",
        what="An array becomes a memory",
        make=f"{_WAYS}:memory_from_cpu",
        edges=("cpu -> gstreamer tensor alias",),
        alone="PyGObject can only copy bytes into a new buffer",
    ),
    Benchmark(
        name="gstreamer -> dma, NV12",
        what="A buffer in a DMA-BUF becomes that DMA-BUF",
        make=f"{_WAYS}:frame_to_dma",
        edges=("gstreamer -> dma frame import",),
        requires=("dma",),
        beside="GstAllocators.fd_memory_get_fd() and os.dup()",
    ),
    Benchmark(
        name="gstreamer -> dma",
        what="A memory in a DMA-BUF becomes that DMA-BUF",
        make=f"{_WAYS}:memory_to_dma",
        edges=("gstreamer -> dma tensor import",),
        requires=("dma",),
        beside="GstAllocators.fd_memory_get_fd() and os.dup()",
    ),
    Benchmark(
        name="dma -> gstreamer, NV12",
        what="A DMA-BUF becomes a buffer",
        make=f"{_WAYS}:frame_from_dma",
        edges=("dma -> gstreamer frame import",),
        requires=("dma",),
        beside="DmaBufAllocator.alloc() and buffer_add_video_meta()",
    ),
    Benchmark(
        name="dma -> gstreamer",
        what="A DMA-BUF becomes a memory",
        make=f"{_WAYS}:memory_from_dma",
        edges=("dma -> gstreamer tensor import",),
        requires=("dma",),
        beside="DmaBufAllocator.alloc()",
    ),
    Benchmark(
        name="opencl -> gstreamer:OpenCL, NV12",
        what="OpenCL buffers become a buffer that carries them through a pipeline",
        make=f"{_WAYS}:carried",
        edges=("opencl -> gstreamer:OpenCL frame alias",),
        requires=("opencl",),
        sizes=((640, 360),),
        alone="GStreamer has no OpenCL memory of its own",
    ),
    Benchmark(
        name="gstreamer:OpenCL -> opencl, NV12",
        what="The OpenCL buffers that a buffer carries are found again",
        make=f"{_WAYS}:found_again",
        edges=("gstreamer:OpenCL -> opencl frame alias",),
        requires=("opencl",),
        sizes=((640, 360),),
        alone="GStreamer has no OpenCL memory of its own",
    ),
    Benchmark(
        name="a frame from a pipeline",
        what="A frame is read from a pipeline and mapped to the CPU",
        make=f"{_WAYS}:read",
        sizes=((640, 360), (1920, 1080)),
        beside="appsink's pull_sample() and Gst.Buffer.map()",
    ),
]
