# SPDX-License-Identifier: Apache-2.0
"""The benchmarks of VA-API in `samebytes bench`, beside libva's functions called by ctypes."""

from __future__ import annotations

from samebytes.benchmarks import Benchmark

__all__ = ["BENCHMARKS"]

_WAYS = "samebytes_vaapi._benchmarks.ways"
_SMALL = ((640, 360),)
_DERIVE = "vaDeriveImage() to vaDestroyImage()"
_COPY = "vaCreateImage(), vaGetImage(), ndarray.copy() to vaDestroyImage()"

BENCHMARKS = [
    Benchmark(
        name="vaapi -> cpu, NV12, map and close",
        what="A surface is mapped to the CPU and given back",
        make=f"{_WAYS}:to_cpu",
        edges=("vaapi -> cpu frame map",),
        sizes=_SMALL,
        beside=_DERIVE,
    ),
    Benchmark(
        name="vaapi -> cpu, a plane, map and close",
        what="A plane of a surface is mapped to the CPU and given back",
        make=f"{_WAYS}:plane_to_cpu",
        edges=("vaapi -> cpu tensor map",),
        sizes=_SMALL,
        beside=_DERIVE,
    ),
    Benchmark(
        name="vaapi -> cpu, NV12, copied",
        what="A surface is copied to the CPU, because copy=True asks for it,",
        make=f"{_WAYS}:copied",
        edges=("vaapi -> cpu frame copy",),
        sizes=_SMALL,
        beside=_COPY,
    ),
    Benchmark(
        name="vaapi -> cpu, a plane, copied",
        what="A plane of a surface is copied to the CPU, because copy=True asks for it,",
        make=f"{_WAYS}:plane_copied",
        edges=("vaapi -> cpu tensor copy",),
        sizes=_SMALL,
        beside=_COPY,
    ),
    Benchmark(
        name="cpu -> vaapi, NV12, copied",
        what="A frame is copied into a new surface, because copy=True asks for it,",
        make=f"{_WAYS}:uploaded",
        edges=("cpu -> vaapi frame copy",),
        sizes=_SMALL,
        alone="by hand it is the row that copies a surface to the CPU, the other way round",
    ),
    Benchmark(
        name="vaapi -> dma, NV12, first time",
        what="A new surface becomes a DMA-BUF",
        make=f"{_WAYS}:to_dma_first",
        edges=("vaapi -> dma frame import",),
        requires=("dma",),
        sizes=_SMALL,
        beside="vaSyncSurface() and vaExportSurfaceHandle()",
    ),
    Benchmark(
        name="vaapi -> dma, NV12, again",
        what="A surface becomes a DMA-BUF once more",
        make=f"{_WAYS}:to_dma_again",
        edges=("vaapi -> dma frame import",),
        requires=("dma",),
        sizes=_SMALL,
        beside="vaSyncSurface() and vaExportSurfaceHandle()",
    ),
    Benchmark(
        name="vaapi -> dma, a plane, again",
        what="A plane of a surface becomes a DMA-BUF once more",
        make=f"{_WAYS}:plane_to_dma",
        edges=("vaapi -> dma tensor import",),
        requires=("dma",),
        sizes=_SMALL,
        beside="vaSyncSurface() and vaExportSurfaceHandle()",
    ),
    Benchmark(
        name="dma -> vaapi, NV12, again",
        what="DMA-BUFs become a surface once more",
        make=f"{_WAYS}:from_dma",
        edges=("dma -> vaapi frame import",),
        requires=("dma",),
        sizes=_SMALL,
        alone="no package for Python has libva's import of surfaces",
    ),
    Benchmark(
        name="dma -> vaapi, NV12, first time",
        what="New DMA-BUFs become a surface",
        make=f"{_WAYS}:from_dma_first",
        edges=("dma -> vaapi frame import",),
        requires=("dma",),
        sizes=_SMALL,
        alone="no package for Python has libva's import of surfaces",
    ),
]
