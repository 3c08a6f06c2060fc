# SPDX-License-Identifier: Apache-2.0
"""The CUDA benchmarks of `samebytes bench`, compared with cuda-bindings."""

from __future__ import annotations

from samebytes.benchmarks import Benchmark

__all__ = ["BENCHMARKS"]

_WAYS = "samebytes_cuda._benchmarks.ways"
_SMALL = ((640, 360),)

BENCHMARKS = [
    Benchmark(
        name="cuda -> cpu, pinned",
        what="Pinned memory becomes an array",
        make=f"{_WAYS}:pinned_to_cpu",
        edges=("cuda -> cpu tensor alias",),
        sizes=_SMALL,
        beside="numpy at the pointer",
    ),
    Benchmark(
        name="cuda -> cpu, copied",
        what="Device memory is downloaded, because copy=True asks for it,",
        make=f"{_WAYS}:downloaded",
        edges=("cuda -> cpu tensor copy",),
        sizes=_SMALL,
        beside="cuMemcpyDtoH() into a new array",
    ),
    Benchmark(
        name="cpu -> cuda, pinned",
        what="An array in pinned memory becomes memory of the device",
        make=f"{_WAYS}:pinned_to_cuda",
        edges=("cpu -> cuda tensor alias",),
        sizes=_SMALL,
        beside="cuMemHostGetDevicePointer()",
    ),
    Benchmark(
        name="cpu -> cuda, pages, first time",
        what="New pages of the CPU become memory of the device",
        make=f"{_WAYS}:pages_first",
        edges=("cpu -> cuda tensor import",),
        sizes=_SMALL,
        beside="cuMemHostRegister() and cuMemHostUnregister()",
    ),
    Benchmark(
        name="cpu -> cuda, copied",
        what="An array is uploaded, because copy=True asks for it,",
        make=f"{_WAYS}:uploaded",
        edges=("cpu -> cuda tensor copy",),
        sizes=_SMALL,
        beside="cuMemAlloc(), cuMemcpyHtoD() and cuMemFree()",
    ),
    Benchmark(
        name="cuda -> dma",
        what="Exportable device memory becomes a DMA-BUF",
        make=f"{_WAYS}:to_dma",
        edges=("cuda -> dma tensor import",),
        requires=("dma",),
        sizes=_SMALL,
        beside="cuMemGetAddressRange() and cuMemGetHandleForAddressRange()",
    ),
    Benchmark(
        name="dma -> cuda",
        what="A DMA-BUF becomes memory of the device",
        make=f"{_WAYS}:from_dma",
        edges=("dma -> cuda tensor import",),
        requires=("dma",),
        sizes=_SMALL,
        alone="no driver that was tried imports DMA-BUFs in this way",
    ),
]
