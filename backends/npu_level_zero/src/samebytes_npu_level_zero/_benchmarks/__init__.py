# SPDX-License-Identifier: Apache-2.0
"""The benchmarks of Level Zero in `samebytes bench`, beside its C functions called by ctypes."""

from __future__ import annotations

from samebytes.benchmarks import Benchmark

__all__ = ["BENCHMARKS"]

_WAYS = "samebytes_npu_level_zero._benchmarks.ways"
_SMALL = ((640, 360),)

BENCHMARKS = [
    Benchmark(
        name="level_zero -> cpu",
        what="Host USM becomes an array",
        make=f"{_WAYS}:to_cpu",
        edges=("level_zero -> cpu tensor alias",),
        sizes=_SMALL,
        beside="numpy at the pointer",
    ),
    Benchmark(
        name="cpu -> level_zero, first time",
        what="New pages of the CPU become USM",
        make=f"{_WAYS}:pages_first",
        edges=("cpu -> level_zero tensor import",),
        sizes=_SMALL,
        beside="zeMemAllocHost() and zeMemFree()",
    ),
    Benchmark(
        name="cpu -> level_zero, again",
        what="Pages of the CPU become USM once more",
        make=f"{_WAYS}:pages_again",
        edges=("cpu -> level_zero tensor import",),
        sizes=_SMALL,
        beside="zeMemAllocHost() and zeMemFree()",
    ),
    Benchmark(
        name="level_zero -> dma",
        what="Exportable USM becomes a DMA-BUF",
        make=f"{_WAYS}:to_dma",
        edges=("level_zero -> dma tensor import",),
        requires=("dma",),
        sizes=_SMALL,
        beside="zeMemGetAllocProperties()",
    ),
    Benchmark(
        name="level_zero -> dma, NV12",
        what="Both planes in exportable USM become a DMA-BUF",
        make=f"{_WAYS}:frame_to_dma",
        edges=("level_zero -> dma frame import",),
        requires=("dma",),
        sizes=_SMALL,
        beside="zeMemGetAllocProperties()",
    ),
    Benchmark(
        name="dma -> level_zero, first time",
        what="A new DMA-BUF becomes USM",
        make=f"{_WAYS}:dma_first",
        edges=("dma -> level_zero tensor import",),
        requires=("dma",),
        sizes=_SMALL,
        beside="zeMemAllocHost() and zeMemFree()",
    ),
    Benchmark(
        name="dma -> level_zero, again",
        what="A DMA-BUF becomes USM once more",
        make=f"{_WAYS}:dma_again",
        edges=("dma -> level_zero tensor import",),
        requires=("dma",),
        sizes=_SMALL,
        beside="zeMemAllocHost() and zeMemFree()",
    ),
]
