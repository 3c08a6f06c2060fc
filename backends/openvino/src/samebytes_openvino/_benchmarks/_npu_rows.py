# SPDX-License-Identifier: Apache-2.0
"""The rows of OpenVINO's NPU."""

from __future__ import annotations

from samebytes.benchmarks import Benchmark

__all__ = ["NPU_ROWS"]

_NPU = "samebytes_openvino._benchmarks.npu"
_SIZE = ((640, 360),)
_FD = "create_tensor() with SHARED_BUF"
_PAGES = "create_tensor() with CPU_VA"
_ADDRESS = "get_params() and numpy"

NPU_ROWS = [
    Benchmark(
        name="dma -> openvino:NPU, first time",
        what="A new DMA-BUF becomes a tensor of the NPU",
        make=f"{_NPU}:dma_first",
        edges=("dma -> openvino:NPU tensor import",),
        requires=("dma",),
        sizes=_SIZE,
        beside=_FD,
    ),
    Benchmark(
        name="dma -> openvino:NPU, again",
        what="A DMA-BUF becomes a tensor of the NPU once more",
        make=f"{_NPU}:dma_again",
        edges=("dma -> openvino:NPU tensor import",),
        requires=("dma",),
        sizes=_SIZE,
        beside=_FD,
    ),
    Benchmark(
        name="dma -> openvino:NPU, NV12",
        what="Both planes in a DMA-BUF become tensors of the NPU once more",
        make=f"{_NPU}:dma_frame",
        edges=("dma -> openvino:NPU frame import",),
        requires=("dma",),
        sizes=_SIZE,
        alone="by hand each plane is what the row of a tensor has beside it",
    ),
    Benchmark(
        name="level_zero -> openvino:NPU, first time",
        what="New USM of Level Zero becomes a tensor of the NPU",
        make=f"{_NPU}:usm_first",
        edges=("level_zero -> openvino:NPU tensor import",),
        requires=("level_zero",),
        sizes=_SIZE,
        beside=f"{_FD}, of the memory's descriptor",
    ),
    Benchmark(
        name="level_zero -> openvino:NPU, again",
        what="USM of Level Zero becomes a tensor of the NPU once more",
        make=f"{_NPU}:usm_again",
        edges=("level_zero -> openvino:NPU tensor import",),
        requires=("level_zero",),
        sizes=_SIZE,
        beside=f"{_FD}, of the memory's descriptor",
    ),
    Benchmark(
        name="level_zero -> openvino:NPU, NV12",
        what="Both planes in USM become tensors of the NPU once more",
        make=f"{_NPU}:usm_frame",
        edges=("level_zero -> openvino:NPU frame import",),
        requires=("level_zero",),
        sizes=_SIZE,
        alone="by hand each plane is what the row of a tensor has beside it",
    ),
    Benchmark(
        name="cpu -> openvino:NPU, first time",
        what="New pages of the CPU become a tensor of the NPU",
        make=f"{_NPU}:pages_first",
        edges=("cpu -> openvino:NPU tensor alias",),
        sizes=_SIZE,
        beside=_PAGES,
    ),
    Benchmark(
        name="cpu -> openvino:NPU, again",
        what="Pages of the CPU become a tensor of the NPU once more",
        make=f"{_NPU}:pages_again",
        edges=("cpu -> openvino:NPU tensor alias",),
        sizes=_SIZE,
        beside=_PAGES,
    ),
    Benchmark(
        name="cpu -> openvino:NPU, NV12",
        what="Both planes in pages of the CPU become tensors of the NPU once more",
        make=f"{_NPU}:pages_frame",
        edges=("cpu -> openvino:NPU frame alias",),
        sizes=_SIZE,
        alone="by hand each plane is what the row of a tensor has beside it",
    ),
    Benchmark(
        name="cpu -> openvino:NPU, copied",
        what="An array is copied into a new tensor of the NPU, because copy=True asks for it,",
        make=f"{_NPU}:copied",
        edges=("cpu -> openvino:NPU tensor copy",),
        sizes=_SIZE,
        beside="create_tensor() and copy_from()",
    ),
    Benchmark(
        name="cpu -> openvino:NPU, NV12, copied",
        what="Both planes are copied into tensors of the NPU, because copy=True asks for it,",
        make=f"{_NPU}:frame_copied",
        edges=("cpu -> openvino:NPU frame copy",),
        sizes=_SIZE,
        beside="create_tensor() and copy_from() twice",
    ),
    Benchmark(
        name="openvino:NPU -> cpu",
        what="A tensor of the NPU becomes an array",
        make=f"{_NPU}:to_cpu",
        edges=("openvino:NPU -> cpu tensor alias",),
        sizes=_SIZE,
        beside=_ADDRESS,
    ),
    Benchmark(
        name="openvino:NPU -> cpu, NV12",
        what="Both planes in tensors of the NPU become arrays",
        make=f"{_NPU}:frame_to_cpu",
        edges=("openvino:NPU -> cpu frame alias",),
        sizes=_SIZE,
        beside="numpy at addresses that are known",
    ),
    Benchmark(
        name="openvino:NPU -> cpu, copied",
        what="A tensor of the NPU is copied to the CPU, because copy=True asks for it,",
        make=f"{_NPU}:copied_to_cpu",
        edges=("openvino:NPU -> cpu tensor copy",),
        sizes=_SIZE,
        beside="copy_to() of a new openvino.Tensor",
    ),
    Benchmark(
        name="openvino:NPU -> level_zero",
        what="A tensor of the NPU becomes USM of Level Zero",
        make=f"{_NPU}:to_level_zero",
        edges=("openvino:NPU -> level_zero tensor alias",),
        requires=("level_zero",),
        sizes=_SIZE,
        beside='get_params()["MEM_HANDLE"]',
    ),
    Benchmark(
        name="openvino:NPU -> level_zero, NV12",
        what="Both planes in tensors of the NPU become USM of Level Zero",
        make=f"{_NPU}:frame_to_level_zero",
        edges=("openvino:NPU -> level_zero frame alias",),
        requires=("level_zero",),
        sizes=_SIZE,
        alone="by hand each plane is what the row of a tensor has beside it",
    ),
]
