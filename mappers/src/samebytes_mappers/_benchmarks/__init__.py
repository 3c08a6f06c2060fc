# SPDX-License-Identifier: Apache-2.0
"""What `samebytes bench` measures between two backends."""

from __future__ import annotations

from samebytes.benchmarks import Benchmark

__all__ = ["BENCHMARKS"]

_WAYS = "samebytes_mappers._benchmarks.ways"
_SIZES = ((1920, 1080), (640, 360), (3840, 2160), (7680, 4320), (318, 238))
_HAND = "np.frombuffer(plane) and openvino.Tensor() for each plane"

BENCHMARKS = [
    Benchmark(
        name="ffmpeg -> openvino, I420",
        what="The planes of a decoded frame become OpenVINO tensors",
        make=f"{_WAYS}:joined",
        edges=("ffmpeg -> openvino frame alias",),
        requires=("ffmpeg", "openvino"),
        sizes=_SIZES,
        beside=_HAND,
        goal=1.25,
    ),
    Benchmark(
        name='frame() and map("openvino"), I420',
        what="An av.VideoFrame becomes OpenVINO tensors",
        make=f"{_WAYS}:wrapped_and_joined",
        requires=("ffmpeg", "openvino"),
        sizes=_SIZES[:3],
        beside=_HAND,
        goal=1.6,
    ),
    Benchmark(
        name="ffmpeg -> cpu -> openvino, I420",
        what="The planes of a decoded frame become arrays and those OpenVINO tensors",
        make=f"{_WAYS}:two_hops",
        requires=("ffmpeg", "openvino"),
        beside=_HAND,
        goal=1.6,
    ),
    Benchmark(
        name="opencl -> opencv_umat, copied",
        what="An OpenCL buffer is copied into a new UMat, because copy=True asks for it,",
        make=f"{_WAYS}:to_umat",
        edges=("opencl -> opencv_umat tensor copy",),
        requires=("opencl", "opencv"),
        sizes=((640, 360),),
    ),
]
