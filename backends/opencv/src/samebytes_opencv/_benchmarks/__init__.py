# SPDX-License-Identifier: Apache-2.0
"""The benchmarks of OpenCV in `samebytes bench`."""

from __future__ import annotations

from samebytes.benchmarks import Benchmark

__all__ = ["BENCHMARKS"]

_WAYS = "samebytes_opencv._benchmarks.ways"
_SMALL = ((640, 360),)

BENCHMARKS = [
    Benchmark(
        name="cpu -> opencv",
        what="A CPU tensor becomes what OpenCV's functions take",
        make=f"{_WAYS}:to_mat",
        edges=("cpu -> opencv tensor alias",),
        sizes=((1920, 1080), (640, 360), (3840, 2160), (7680, 4320)),
        beside="ndarray.view()",
        goal_us=1,
    ),
    Benchmark(
        name="opencv -> cpu",
        what="A Mat becomes a CPU tensor",
        make=f"{_WAYS}:from_mat",
        edges=("opencv -> cpu tensor alias",),
        beside="ndarray.view()",
    ),
    Benchmark(
        name="cpu -> opencv_umat, copied",
        what="An array is uploaded to a UMat, because copy=True asks for it,",
        make=f"{_WAYS}:to_umat",
        edges=("cpu -> opencv_umat tensor copy",),
        sizes=_SMALL,
        beside="cv2.UMat(array)",
    ),
    Benchmark(
        name="opencv_umat -> cpu, copied",
        what="A UMat is downloaded, because copy=True asks for it,",
        make=f"{_WAYS}:from_umat",
        edges=("opencv_umat -> cpu tensor copy",),
        sizes=_SMALL,
        beside="UMat.get()",
    ),
    Benchmark(
        name="opencl -> opencv_umat, of a UMat",
        what="OpenCL memory that is a UMat's becomes that UMat again",
        make=f"{_WAYS}:back_to_umat",
        edges=("opencl -> opencv_umat tensor alias",),
        requires=("opencl",),
        sizes=_SMALL,
        alone="cv2 has no call that takes a cl_mem",
    ),
    Benchmark(
        name="dma -> opencv_umat",
        what="A DMA-BUF becomes a UMat",
        make=f"{_WAYS}:dma_to_umat",
        edges=("dma -> opencv_umat tensor import",),
        requires=("dma",),
        sizes=_SMALL,
        alone="no released cv2 imports DMA-BUFs",
    ),
]
