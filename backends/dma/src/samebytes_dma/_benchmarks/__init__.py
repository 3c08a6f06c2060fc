# SPDX-License-Identifier: Apache-2.0
"""The benchmarks of DMA-BUFs in `samebytes bench`: mappings to the CPU."""

from __future__ import annotations

from samebytes.benchmarks import Benchmark

__all__ = ["BENCHMARKS"]

_WAYS = "samebytes_dma._benchmarks.ways"

BENCHMARKS = [
    Benchmark(
        name="dma -> cpu, map and close",
        what="A DMA-BUF is mapped to the CPU and given back",
        make=f"{_WAYS}:to_cpu",
        edges=("dma -> cpu tensor map",),
        beside="fcntl.ioctl() and mmap.mmap()",
    ),
    Benchmark(
        name="dma -> cpu, NV12, map and close",
        what="Both planes in a DMA-BUF are mapped to the CPU and given back",
        make=f"{_WAYS}:frame_to_cpu",
        edges=("dma -> cpu frame map",),
        beside="fcntl.ioctl() and mmap.mmap()",
    ),
]
