# SPDX-License-Identifier: Apache-2.0
"""The plugin's declarations. Importing it does not import dpctl, and loads no SYCL."""

from __future__ import annotations

from samebytes import Transfer
from samebytes.plugins import ContextSpec, MapperSpec, NativeSpec, Plugin, ProtocolSpec, hookimpl

__all__ = ["PLUGIN"]

PLUGIN = Plugin(
    api=(1, 0),
    summary="SYCL's unified shared memory, through dpctl",
    packages={"dpctl": 'pip install "samebytes[sycl]"'},
    probe="samebytes_sycl._probe:probe",
)


_WRAPS = "samebytes_sycl._context:SYCLTensor"


@hookimpl
def samebytes_tensors() -> list[NativeSpec]:
    """dpctl's memory, and what this backend makes."""
    natives = (
        "samebytes_sycl._usm_array.USMArray",
        "dpctl.memory._memory.MemoryUSMDevice",
        "dpctl.memory._memory.MemoryUSMHost",
        "dpctl.memory._memory.MemoryUSMShared",
    )
    return [NativeSpec(native=native, wraps=_WRAPS, level="tensor") for native in natives]


@hookimpl
def samebytes_protocols() -> list[ProtocolSpec]:
    """Arrays of dpctl, dpnp and others in USM: kDLOneAPI of dlpack.h."""
    return [
        ProtocolSpec(wraps=_WRAPS, dlpack_devices=(14,), attribute="__sycl_usm_array_interface__")
    ]


@hookimpl
def samebytes_contexts() -> list[ContextSpec]:
    """A SYCL queue. Its context is one of OpenCL or of Level Zero, which others can share."""
    return [
        ContextSpec(
            node="sycl",
            context="samebytes_sycl._context:SYCLContext",
            allows_deriving=("opencl", "level_zero"),
            # It uses no memory but its own.
            transit=False,
        )
    ]


@hookimpl
def samebytes_mappers() -> list[MapperSpec]:
    """To and from CPU memory, OpenCL and Level Zero."""
    return [*_cpu(), *_opencl(), *_level_zero()]


def _cpu() -> list[MapperSpec]:
    return [
        MapperSpec(
            source="sycl",
            target="cpu",
            mapper="samebytes_sycl._cpu_edges:USMToCpu",
            transfer=Transfer.ALIAS,
            summary="an array over host or shared USM",
        ),
        MapperSpec(
            source="sycl",
            target="cpu",
            mapper="samebytes_sycl._cpu_edges:DeviceUSMToCpu",
            transfer=Transfer.COPY,
            summary="a copy of device USM by its queue",
            access=("r",),
        ),
        MapperSpec(
            source="cpu",
            target="sycl",
            mapper="samebytes_sycl._cpu_edges:CpuToUSM",
            transfer=Transfer.ALIAS,
            only="USM of a SYCL queue's context",
            summary="an array that lies in USM of the context",
        ),
        MapperSpec(
            source="cpu",
            target="sycl",
            mapper="samebytes_sycl._cpu_edges:CpuCopyToUSM",
            transfer=Transfer.COPY,
            summary="a copy into new shared USM, dense",
            access=("r",),
        ),
    ]


def _opencl() -> list[MapperSpec]:
    return [
        MapperSpec(
            source="sycl",
            target="opencl",
            mapper="samebytes_sycl._opencl_edges:SYCLToOpenCL",
            transfer=Transfer.ALIAS,
            summary="the same USM pointer, in the same cl_context",
            requires=("opencl>=0.1,<1",),
        ),
        MapperSpec(
            source="opencl",
            target="sycl",
            mapper="samebytes_sycl._opencl_edges:OpenCLToSYCL",
            transfer=Transfer.ALIAS,
            only="USM of a SYCL queue's context",
            summary="the same USM pointer, in the same cl_context",
            requires=("opencl>=0.1,<1",),
        ),
    ]


def _level_zero() -> list[MapperSpec]:
    return [
        MapperSpec(
            source="sycl",
            target="level_zero",
            mapper="samebytes_sycl._level_zero_edges:SYCLToLevelZero",
            transfer=Transfer.ALIAS,
            only="USM of a Level Zero queue",
            summary="the same USM pointer, in the same ze_context",
            requires=("level_zero>=0.1,<1",),
        ),
        MapperSpec(
            source="level_zero",
            target="sycl",
            mapper="samebytes_sycl._level_zero_edges:LevelZeroToSYCL",
            transfer=Transfer.ALIAS,
            only="USM of a SYCL queue's context",
            summary="the same USM pointer, in the same ze_context",
            requires=("level_zero>=0.1,<1",),
        ),
    ]
