# SPDX-License-Identifier: Apache-2.0
"""The benchmarks of FFmpeg's frames in `samebytes bench`."""

from __future__ import annotations

from samebytes.benchmarks import Benchmark

__all__ = ["BENCHMARKS"]

_HOST = "samebytes_ffmpeg._benchmarks.host"
_DEVICES = "samebytes_ffmpeg._benchmarks.devices"
_SIZES = ((1920, 1080), (640, 360), (3840, 2160), (7680, 4320))
_SMALL = ((640, 360),)
_PICTURES = ((1280, 720), (1920, 1080), (640, 360))

BENCHMARKS = [
    Benchmark(
        name="ffmpeg -> cpu, I420, map and close",
        what="The planes of a decoded frame become arrays, which are given back,",
        make=f"{_HOST}:to_cpu",
        edges=("ffmpeg -> cpu frame alias",),
        sizes=_SIZES,
        beside="np.frombuffer(plane) of each plane",
        goal_us=20,
    ),
    Benchmark(
        name="ffmpeg -> cpu, a plane",
        what="A plane of a decoded frame becomes an array",
        make=f"{_HOST}:plane_to_cpu",
        edges=("ffmpeg -> cpu tensor alias",),
        beside="np.frombuffer(plane)",
    ),
    Benchmark(
        name="cpu -> ffmpeg, NV12",
        what="Two arrays become a frame that FFmpeg encodes or scales",
        make=f"{_HOST}:from_cpu",
        edges=("cpu -> ffmpeg frame alias",),
        beside="VideoFrame.from_numpy_buffer(), whose one array has all planes",
    ),
    Benchmark(
        name="frame.readonly",
        what="A frame says whether it may be written to",
        make=f"{_HOST}:asked",
        goal_us=3,
        alone="PyAV does not say it",
    ),
    Benchmark(
        name="frame.readonly, while it is mapped",
        what="A frame that is mapped says whether it may be written to",
        make=f"{_HOST}:asked_while_mapped",
        goal_us=3,
        alone="PyAV does not say it",
    ),
    Benchmark(
        name="frame.convert, I420 to RGB",
        what="A decoded frame of I420 is converted to RGB",
        make=f"{_HOST}:to_rgb",
        sizes=_PICTURES,
        beside="VideoReformatter.reformat() of one that is kept, in one thread",
        goal=1.5,
    ),
    Benchmark(
        name="frame.convert, I420 to RGB of half the size",
        what="A decoded frame of I420 is scaled to half the size, as RGB,",
        make=f"{_HOST}:to_half_rgb",
        sizes=_PICTURES,
        beside="VideoReformatter.reformat() of one that is kept, in one thread",
        goal=1.5,
    ),
    Benchmark(
        name="ffmpeg:VAAPI -> vaapi",
        what="A frame of FFmpeg's VA-API device becomes a surface",
        make=f"{_DEVICES}:to_vaapi",
        edges=("ffmpeg:VAAPI -> vaapi frame alias",),
        requires=("vaapi",),
        sizes=_SMALL,
        alone="PyAV has no call that does it",
    ),
    Benchmark(
        name="ffmpeg:DRM -> dma",
        what="A DRM PRIME frame of FFmpeg's becomes DMA-BUFs",
        make=f"{_DEVICES}:drm_to_dma",
        edges=("ffmpeg:DRM -> dma frame import",),
        requires=("dma",),
        sizes=_SMALL,
        alone="PyAV has no call that does it",
    ),
    Benchmark(
        name="dma -> ffmpeg:DRM",
        what="DMA-BUFs become a DRM PRIME frame of FFmpeg's",
        make=f"{_DEVICES}:dma_to_drm",
        edges=("dma -> ffmpeg:DRM frame import",),
        requires=("dma",),
        sizes=_SMALL,
        alone="PyAV has no call that does it",
    ),
    Benchmark(
        name="ffmpeg -> ffmpeg:VAAPI, copied",
        what="A frame is uploaded to FFmpeg's VA-API device, because copy=True asks for it,",
        make=f"{_DEVICES}:upload",
        edges=("ffmpeg -> ffmpeg:VAAPI frame copy",),
        sizes=_SMALL,
        alone="PyAV has no call that does it",
    ),
    Benchmark(
        name="ffmpeg:VAAPI -> ffmpeg, copied",
        what="A frame of FFmpeg's VA-API device is downloaded, because copy=True asks for it,",
        make=f"{_DEVICES}:download",
        edges=("ffmpeg:VAAPI -> ffmpeg frame copy",),
        sizes=_SMALL,
        alone="PyAV has no call that does it",
    ),
    Benchmark(
        name="ffmpeg:DRM -> ffmpeg, copied",
        what="A DRM PRIME frame is copied by the CPU, because copy=True asks for it,",
        make=f"{_DEVICES}:drm_download",
        edges=("ffmpeg:DRM -> ffmpeg frame copy",),
        requires=("dma",),
        sizes=_SMALL,
        alone="PyAV has no call that does it",
    ),
    Benchmark(
        name="ffmpeg:CUDA -> cuda",
        what="A frame of FFmpeg's CUDA device becomes arrays of CUDA",
        make=f"{_DEVICES}:to_cuda",
        edges=("ffmpeg:CUDA -> cuda frame alias",),
        requires=("cuda",),
        sizes=_SMALL,
        beside="VideoPlane.__dlpack__() of each plane, which waits for no stream",
    ),
    Benchmark(
        name="cuda -> ffmpeg:CUDA",
        what="Arrays of CUDA become a frame of FFmpeg's CUDA device",
        make=f"{_DEVICES}:cuda_to_frame",
        edges=("cuda -> ffmpeg:CUDA frame alias",),
        requires=("cuda",),
        sizes=_SMALL,
        beside="VideoFrame.from_dlpack()",
    ),
    Benchmark(
        name="ffmpeg -> ffmpeg:CUDA, copied",
        what="A frame is uploaded to FFmpeg's CUDA device, because copy=True asks for it,",
        make=f"{_DEVICES}:cuda_upload",
        edges=("ffmpeg -> ffmpeg:CUDA frame copy",),
        requires=("cuda",),
        sizes=_SMALL,
        alone="PyAV has no call that does it",
    ),
    Benchmark(
        name="ffmpeg:CUDA -> ffmpeg, copied",
        what="A frame of FFmpeg's CUDA device is downloaded, because copy=True asks for it,",
        make=f"{_DEVICES}:cuda_download",
        edges=("ffmpeg:CUDA -> ffmpeg frame copy",),
        requires=("cuda",),
        sizes=_SMALL,
        alone="PyAV has no call that does it",
    ),
]
