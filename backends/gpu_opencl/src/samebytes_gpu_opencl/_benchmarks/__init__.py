# SPDX-License-Identifier: Apache-2.0
"""The benchmarks of OpenCL in `samebytes bench`, beside pyopencl."""

from __future__ import annotations

from samebytes.benchmarks import Benchmark

__all__ = ["BENCHMARKS"]

_WAYS = "samebytes_gpu_opencl._benchmarks.ways"
_SMALL = ((640, 360),)

BENCHMARKS = [
    Benchmark(
        name="opencl -> cpu, map and close",
        what="An OpenCL buffer is mapped to the CPU and given back",
        make=f"{_WAYS}:buffer_to_cpu",
        edges=("opencl -> cpu tensor map",),
        sizes=_SMALL,
        beside="enqueue_map_buffer(), release() and finish()",
        goal=1.5,
    ),
    Benchmark(
        name="opencl -> cpu, USM, map and close",
        what="Host USM becomes an array and is given back",
        make=f"{_WAYS}:usm_to_cpu",
        edges=("opencl -> cpu tensor alias",),
        sizes=_SMALL,
        beside="finish() and numpy",
    ),
    Benchmark(
        name="opencl -> cpu, device USM, copied",
        what="Device USM is copied to the CPU, because copy=True asks for it,",
        make=f"{_WAYS}:device_usm_to_cpu",
        edges=("opencl -> cpu tensor copy",),
        sizes=_SMALL,
        alone="pyopencl has no calls for USM",
    ),
    Benchmark(
        name="cpu -> opencl, first time",
        what="New memory of the CPU becomes an OpenCL buffer",
        make=f"{_WAYS}:array_first",
        edges=("cpu -> opencl tensor alias",),
        sizes=_SMALL,
        beside="Buffer(USE_HOST_PTR)",
    ),
    Benchmark(
        name="cpu -> opencl, again",
        what="The same memory of the CPU becomes an OpenCL buffer once more",
        make=f"{_WAYS}:array_again",
        edges=("cpu -> opencl tensor alias",),
        sizes=_SMALL,
        beside="Buffer(USE_HOST_PTR)",
    ),
    Benchmark(
        name="cpu -> opencl, copied",
        what="An array is copied into a new OpenCL buffer, because copy=True asks for it,",
        make=f"{_WAYS}:array_copied",
        edges=("cpu -> opencl tensor copy",),
        sizes=_SMALL,
        beside="Buffer() and enqueue_copy()",
    ),
    Benchmark(
        name="openvino:GPU -> opencl",
        what="A remote tensor becomes an OpenCL buffer",
        make=f"{_WAYS}:remote_to_opencl",
        edges=("openvino:GPU -> opencl tensor alias",),
        requires=("openvino",),
        sizes=_SMALL,
        beside="get_params() and Buffer.from_int_ptr()",
    ),
    Benchmark(
        name="openvino:GPU -> opencl, NV12",
        what="The remote tensors of both planes become OpenCL buffers",
        make=f"{_WAYS}:remote_frame_to_opencl",
        edges=("openvino:GPU -> opencl frame alias",),
        requires=("openvino",),
        sizes=_SMALL,
        beside="get_params() and Buffer.from_int_ptr() twice",
    ),
    Benchmark(
        name="opencv_umat -> opencl",
        what="A UMat becomes an OpenCL buffer",
        make=f"{_WAYS}:umat_to_opencl",
        edges=("opencv_umat -> opencl tensor alias",),
        requires=("opencv",),
        sizes=_SMALL,
        beside="UMat.handle() and Buffer.from_int_ptr()",
    ),
    Benchmark(
        name="dma -> opencl, first time",
        what="A new DMA-BUF becomes an OpenCL buffer",
        make=f"{_WAYS}:dma_first",
        edges=("dma -> opencl tensor import",),
        requires=("dma",),
        sizes=_SMALL,
        alone="pyopencl imports no descriptors",
    ),
    Benchmark(
        name="dma -> opencl, again",
        what="A DMA-BUF becomes an OpenCL buffer once more",
        make=f"{_WAYS}:dma_again",
        edges=("dma -> opencl tensor import",),
        requires=("dma",),
        sizes=_SMALL,
        alone="pyopencl imports no descriptors",
    ),
    Benchmark(
        name="opencl -> dma",
        what="An OpenCL buffer becomes a DMA-BUF",
        make=f"{_WAYS}:to_dma",
        edges=("opencl -> dma tensor import",),
        requires=("dma",),
        sizes=_SMALL,
        alone="pyopencl exports no descriptors",
    ),
]
