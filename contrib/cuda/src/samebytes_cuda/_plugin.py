# SPDX-License-Identifier: Apache-2.0
"""The declarations of this plugin. Importing it imports no cuda-bindings and loads no driver."""

from __future__ import annotations

from samebytes import Transfer
from samebytes.plugins import ContextSpec, MapperSpec, NativeSpec, Plugin, ProtocolSpec, hookimpl

__all__ = ["PLUGIN"]

PLUGIN = Plugin(
    api=(1, 0),
    summary="CUDA memory of NVIDIA GPUs, through cuda-bindings",
    packages={"cuda": 'pip install "samebytes[cuda]"'},
    probe="samebytes_cuda._probe:probe",
)

_WRAPS = "samebytes_cuda._context:CudaTensor"


@hookimpl
def samebytes_tensors() -> list[NativeSpec]:
    """The tensor type that this backend makes itself."""
    return [NativeSpec(native="samebytes_cuda._array.CudaArray", wraps=_WRAPS, level="tensor")]


@hookimpl
def samebytes_protocols() -> list[ProtocolSpec]:
    """Arrays of any library on a GPU: kDLCUDA, kDLCUDAHost and kDLCUDAManaged of dlpack.h."""
    return [
        ProtocolSpec(wraps=_WRAPS, dlpack_devices=(2, 3, 13), attribute="__cuda_array_interface__")
    ]


@hookimpl
def samebytes_contexts() -> list[ContextSpec]:
    """A CUDA context; by default the primary one of a device."""
    return [
        ContextSpec(
            node="cuda",
            context="samebytes_cuda._context:CudaContext",
            # No memory becomes reachable for others by going through a GPU.
            transit=False,
        )
    ]


@hookimpl
def samebytes_mappers() -> list[MapperSpec]:
    """To and from CPU memory and DMA-BUFs."""
    return [*_cpu(), *_dma()]


def _cpu() -> list[MapperSpec]:
    return [
        MapperSpec(
            source="cuda",
            target="cpu",
            mapper="samebytes_cuda._to_cpu:HostVisibleToCpu",
            transfer=Transfer.ALIAS,
            summary="an array over pinned or managed memory",
            only="pinned and managed memory",
        ),
        MapperSpec(
            source="cuda",
            target="cpu",
            mapper="samebytes_cuda._to_cpu:DeviceToCpu",
            transfer=Transfer.COPY,
            summary="a download of device memory",
            access=("r",),
        ),
        MapperSpec(
            source="cpu",
            target="cuda",
            mapper="samebytes_cuda._from_cpu:KnownToCuda",
            transfer=Transfer.ALIAS,
            summary="memory of the host that the device uses already: pinned, registered, managed",
            only="memory that CUDA knows",
        ),
        MapperSpec(
            source="cpu",
            target="cuda",
            mapper="samebytes_cuda._from_cpu:PagesToCuda",
            transfer=Transfer.IMPORT,
            summary="whole pages, registered with the driver",
            only="whole pages",
        ),
        MapperSpec(
            source="cpu",
            target="cuda",
            mapper="samebytes_cuda._from_cpu:CopyToCuda",
            transfer=Transfer.COPY,
            summary="an upload into new device memory, dense",
            access=("r",),
        ),
    ]


def _dma() -> list[MapperSpec]:
    return [
        MapperSpec(
            source="cuda",
            target="dma",
            mapper="samebytes_cuda._dma_edges:CudaToDma",
            transfer=Transfer.IMPORT,
            summary="a DMA-BUF of the allocation",
            only="device memory",
            requires=("dma>=0.1,<1",),
        ),
        MapperSpec(
            source="dma",
            target="cuda",
            mapper="samebytes_cuda._dma_edges:DmaToCuda",
            transfer=Transfer.IMPORT,
            summary="external memory, where the driver takes DMA-BUFs",
            requires=("dma>=0.1,<1",),
        ),
    ]
