# SPDX-License-Identifier: Apache-2.0
"""The rows of OpenVINO's NPU."""

from __future__ import annotations

from functools import partial

from samebytes.benchmarks import Benchmark

__all__ = ["NPU_ROWS"]

_NPU = "samebytes_openvino._benchmarks.npu"
_row = partial(Benchmark, sizes=((640, 360),))
_FD = "create_tensor() with SHARED_BUF"
_PAGES = "create_tensor() with CPU_VA"
_ADDRESS = "get_params() and numpy"

NPU_ROWS = [
    _row(
        name="dma -> openvino:NPU, first time",
        what="A new DMA-BUF becomes a tensor of the NPU",
        make=f"{_NPU}:dma_first",
        edges=("dma -> openvino:NPU tensor import",),
        requires=("dma",),
        beside=_FD,
    ),
    _row(
        name="dma -> openvino:NPU, again",
        what="A DMA-BUF becomes a tensor of the NPU once more",
        make=f"{_NPU}:dma_again",
        edges=("dma -> openvino:NPU tensor import",),
        requires=("dma",),
        beside=_FD,
    ),
    _row(
        name="dma -> openvino:NPU, NV12",
        what="Both planes in a DMA-BUF become tensors of the NPU once more",
        make=f"{_NPU}:dma_frame",
        edges=("dma -> openvino:NPU frame import",),
        requires=("dma",),
        alone="by hand each plane is what the row of a tensor has beside it",
    ),
    _row(
        name="level_zero -> openvino:NPU, first time",
        what="New USM of Level Zero becomes a tensor of the NPU",
        make=f"{_NPU}:usm_first",
        edges=("level_zero -> openvino:NPU tensor import",),
        requires=("level_zero",),
        beside=f"{_FD}, of the memory's descriptor",
    ),
    _row(
        name="level_zero -> openvino:NPU, again",
        what="USM of Level Zero becomes a tensor of the NPU once more",
        make=f"{_NPU}:usm_again",
        edges=("level_zero -> openvino:NPU tensor import",),
        requires=("level_zero",),
        beside=f"{_FD}, of the memory's descriptor",
    ),
    _row(
        name="level_zero -> openvino:NPU, NV12",
        what="Both planes in USM become tensors of the NPU once more",
        make=f"{_NPU}:usm_frame",
        edges=("level_zero -> openvino:NPU frame import",),
        requires=("level_zero",),
        alone="by hand each plane is what the row of a tensor has beside it",
    ),
    _row(
        name="cpu -> openvino:NPU, first time",
        what="New pages of the CPU become a tensor of the NPU",
        make=f"{_NPU}:pages_first",
        edges=("cpu -> openvino:NPU tensor alias",),
        beside=_PAGES,
    ),
    _row(
        name="cpu -> openvino:NPU, again",
        what="Pages of the CPU become a tensor of the NPU once more",
        make=f"{_NPU}:pages_again",
        edges=("cpu -> openvino:NPU tensor alias",),
        beside=_PAGES,
    ),
    _row(
        name="cpu -> openvino:NPU, NV12",
        what="Both planes in pages of the CPU become tensors of the NPU once more",
        make=f"{_NPU}:pages_frame",
        edges=("cpu -> openvino:NPU frame alias",),
        alone="by hand each plane is what the row of a tensor has beside it",
    ),
    _row(
        name="cpu -> openvino:NPU, copied",
        what="An array is copied into a new tensor of the NPU, because copy=True asks for it,",
        make=f"{_NPU}:copied",
        edges=("cpu -> openvino:NPU tensor copy",),
        beside="create_tensor() and copy_from()",
    ),
    _row(
        name="cpu -> openvino:NPU, NV12, copied",
        what="Both planes are copied into tensors of the NPU, because copy=True asks for it,",
        make=f"{_NPU}:frame_copied",
        edges=("cpu -> openvino:NPU frame copy",),
        beside="create_tensor() and copy_from() twice",
    ),
    _row(
        name="openvino:NPU -> cpu",
        what="A tensor of the NPU becomes an array",
        make=f"{_NPU}:to_cpu",
        edges=("openvino:NPU -> cpu tensor alias",),
        beside=_ADDRESS,
    ),
    _row(
        name="openvino:NPU -> cpu, NV12",
        what="Both planes in tensors of the NPU become arrays",
        make=f"{_NPU}:frame_to_cpu",
        edges=("openvino:NPU -> cpu frame alias",),
        beside="numpy at addresses that are known",
    ),
    _row(
        name="openvino:NPU -> cpu, copied",
        what="A tensor of the NPU is copied to the CPU, because copy=True asks for it,",
        make=f"{_NPU}:copied_to_cpu",
        edges=("openvino:NPU -> cpu tensor copy",),
        beside="copy_to() of a new openvino.Tensor",
    ),
    _row(
        name="openvino:NPU -> level_zero",
        what="A tensor of the NPU becomes USM of Level Zero",
        make=f"{_NPU}:to_level_zero",
        edges=("openvino:NPU -> level_zero tensor alias",),
        requires=("level_zero",),
        beside='get_params()["MEM_HANDLE"]',
    ),
    _row(
        name="openvino:NPU -> level_zero, NV12",
        what="Both planes in tensors of the NPU become USM of Level Zero",
        make=f"{_NPU}:frame_to_level_zero",
        edges=("openvino:NPU -> level_zero frame alias",),
        requires=("level_zero",),
        alone="by hand each plane is what the row of a tensor has beside it",
    ),
]
