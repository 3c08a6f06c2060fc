# SPDX-License-Identifier: Apache-2.0
"""The plugin's declarations. Importing it does not load Level Zero."""

from __future__ import annotations

from samebytes import Transfer
from samebytes.plugins import ContextSpec, MapperSpec, NativeSpec, Plugin, hookimpl

__all__ = ["PLUGIN"]

PLUGIN = Plugin(
    api=(1, 0),
    summary="Level Zero USM of NPUs and GPUs",
    probe="samebytes_npu_level_zero._probe:probe",
)


@hookimpl
def samebytes_tensors() -> list[NativeSpec]:
    """USMPointer, this package's own: Level Zero's pointers are plain numbers."""
    return [
        NativeSpec(
            native="samebytes_npu_level_zero._pointer.USMPointer",
            wraps="samebytes_npu_level_zero._tensor:LevelZeroTensor",
            level="tensor",
        )
    ]


@hookimpl
def samebytes_contexts() -> list[ContextSpec]:
    """One context on each device; in OpenVINO's NPU context its ze_context is shared."""
    return [
        ContextSpec(
            node="level_zero",
            context="samebytes_npu_level_zero._context:LevelZeroContext",
            derives_from=("openvino:NPU",),
            devices="samebytes_npu_level_zero._devices:devices",
        )
    ]


@hookimpl
def samebytes_mappers() -> list[MapperSpec]:
    """To and from CPU memory and DMA-BUFs."""
    return [
        MapperSpec(
            source="level_zero",
            target="cpu",
            mapper="samebytes_npu_level_zero._cpu_edges:LevelZeroToCpu",
            transfer=Transfer.ALIAS,
            summary="an array over host or shared USM",
            # More than a MAP: memory of others gets to the CPU without this driver.
            cost=101.0,
        ),
        MapperSpec(
            source="cpu",
            target="level_zero",
            mapper="samebytes_npu_level_zero._cpu_edges:CpuToLevelZero",
            transfer=Transfer.IMPORT,
            only="whole pages",
            summary="whole pages imported as host USM",
            # Dearer than an alias, and cheaper than two: no other framework is asked to do it.
            cost=1.5,
        ),
        MapperSpec(
            source="level_zero",
            target="dma",
            mapper="samebytes_npu_level_zero._dma_edges:LevelZeroToDma",
            transfer=Transfer.IMPORT,
            only="memory that was allocated as exportable",
            summary="the descriptor of an exportable allocation",
            per_plane=False,
            requires=("dma>=0.1,<1",),
        ),
        MapperSpec(
            source="level_zero",
            target="dma",
            mapper="samebytes_npu_level_zero._dma_edges:LevelZeroFrameToDma",
            transfer=Transfer.IMPORT,
            only="memory that was allocated as exportable",
            summary="one descriptor for all planes of an exportable allocation",
            level="frame",
            requires=("dma>=0.1,<1",),
        ),
        MapperSpec(
            source="dma",
            target="level_zero",
            mapper="samebytes_npu_level_zero._dma_edges:DmaToLevelZero",
            transfer=Transfer.IMPORT,
            summary="the whole buffer imported once as host USM",
            requires=("dma>=0.1,<1",),
        ),
    ]
