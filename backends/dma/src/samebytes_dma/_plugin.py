# SPDX-License-Identifier: Apache-2.0
"""The plugin's declarations."""

from __future__ import annotations

from samebytes import Transfer
from samebytes.plugins import ContextSpec, MapperSpec, NativeSpec, Plugin, hookimpl

__all__ = ["PLUGIN"]

PLUGIN = Plugin(
    api=(1, 0),
    summary="DMA-BUFs: memory that processes and devices share by file descriptor",
    probe="samebytes_dma._probe:probe",
)


@hookimpl
def samebytes_tensors() -> list[NativeSpec]:
    """Planes of buffers. Plain descriptors are numbers, which cannot be recognised."""
    return [
        NativeSpec(
            native="samebytes_dma._buffer.DMAPlane",
            wraps="samebytes_dma._context:DMATensor",
            level="tensor",
        )
    ]


@hookimpl
def samebytes_contexts() -> list[ContextSpec]:
    """One node; the device names where new memory comes from."""
    return [ContextSpec(node="dma", context="samebytes_dma._context:DMAContext", level="frame")]


@hookimpl
def samebytes_mappers() -> list[MapperSpec]:
    """To CPU memory. Frames have their own edge, which maps each buffer once."""
    return [
        MapperSpec(
            source="dma",
            target="cpu",
            mapper="samebytes_dma._to_cpu:DMAToCpu",
            transfer=Transfer.MAP,
            summary="mmap, between the begin and end of an access by the CPU",
            per_plane=False,
        ),
        MapperSpec(
            source="dma",
            target="cpu",
            mapper="samebytes_dma._to_cpu:DMAFrameToCpu",
            transfer=Transfer.MAP,
            summary="mmap of each buffer once, between the begin and end of an access by the CPU",
            level="frame",
        ),
    ]
