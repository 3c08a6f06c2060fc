# SPDX-License-Identifier: Apache-2.0
"""The SYCL benchmarks of `samebytes bench`, compared with dpctl."""

from __future__ import annotations

from samebytes.benchmarks import Benchmark

__all__ = ["BENCHMARKS"]

_WAYS = "samebytes_sycl._benchmarks.ways"
_SMALL = ((640, 360),)

BENCHMARKS = [
    Benchmark(
        name="sycl -> cpu",
        what="Shared USM becomes an array",
        make=f"{_WAYS}:to_cpu",
        edges=("sycl -> cpu tensor alias",),
        sizes=_SMALL,
        beside="SyclQueue.wait() and np.asarray(memory)",
    ),
    Benchmark(
        name="sycl -> cpu, device USM, copied",
        what="Device USM is copied to the CPU, because copy=True asks for it,",
        make=f"{_WAYS}:device_to_cpu",
        edges=("sycl -> cpu tensor copy",),
        sizes=_SMALL,
        beside="copy_to_host()",
    ),
    Benchmark(
        name="cpu -> sycl, USM",
        what="An array in USM becomes USM again",
        make=f"{_WAYS}:back_to_usm",
        edges=("cpu -> sycl tensor alias",),
        sizes=_SMALL,
        alone="dpctl does not find the USM that an array lies in",
    ),
    Benchmark(
        name="cpu -> sycl, copied",
        what="An array is copied into new shared USM, because copy=True asks for it,",
        make=f"{_WAYS}:copied",
        edges=("cpu -> sycl tensor copy",),
        sizes=_SMALL,
        beside="MemoryUSMShared() and copy_from_host()",
    ),
    Benchmark(
        name="sycl -> opencl",
        what="USM of SYCL becomes USM of OpenCL",
        make=f"{_WAYS}:to_opencl",
        edges=("sycl -> opencl tensor alias",),
        requires=("opencl",),
        sizes=_SMALL,
        alone="dpctl and pyopencl do not take each other's USM",
    ),
    Benchmark(
        name="opencl -> sycl",
        what="USM of OpenCL becomes USM of SYCL",
        make=f"{_WAYS}:from_opencl",
        edges=("opencl -> sycl tensor alias",),
        requires=("opencl",),
        sizes=_SMALL,
        alone="dpctl and pyopencl do not take each other's USM",
    ),
    Benchmark(
        name="sycl -> level_zero",
        what="USM of SYCL becomes USM of Level Zero",
        make=f"{_WAYS}:to_level_zero",
        edges=("sycl -> level_zero tensor alias",),
        requires=("level_zero",),
        sizes=_SMALL,
        alone="dpctl has no calls for memory of Level Zero",
    ),
    Benchmark(
        name="level_zero -> sycl",
        what="USM of Level Zero becomes USM of SYCL",
        make=f"{_WAYS}:from_level_zero",
        edges=("level_zero -> sycl tensor alias",),
        requires=("level_zero",),
        sizes=_SMALL,
        alone="dpctl has no calls for memory of Level Zero",
    ),
]
