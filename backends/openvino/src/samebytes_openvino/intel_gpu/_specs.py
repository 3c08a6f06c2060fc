# SPDX-License-Identifier: Apache-2.0
"""The declarations of the plugin for the node "openvino:GPU". Data only."""

from __future__ import annotations

from samebytes import Transfer
from samebytes.plugins import ContextSpec, MapperSpec

__all__ = ["CONTEXT", "MAPPERS"]

_HERE = "samebytes_openvino.intel_gpu"
_GPU = "openvino:GPU"

CONTEXT = ContextSpec(
    node=_GPU,
    context=f"{_HERE}._context:ClContext",
    derives_from=("opencl", "vaapi", _GPU),
    devices=f"{_HERE}._devices:names",
    # Remote tensors are where memory ends up, or where it begins.
    transit=False,
)

MAPPERS = (
    MapperSpec(
        source="opencl",
        target=_GPU,
        mapper=f"{_HERE}._mappers:OpenCLToGpu",
        transfer=Transfer.ALIAS,
        summary="a remote tensor over its cl_mem or USM pointer, in the same cl_context",
        opaque=True,
        per_plane=False,
        requires=("opencl>=0.1,<1",),
    ),
    MapperSpec(
        source="opencl",
        target=_GPU,
        mapper=f"{_HERE}._frame_mappers:OpenCLFrameToGpu",
        transfer=Transfer.ALIAS,
        summary="a remote tensor over each plane, [1, rows, columns, channels]",
        level="frame",
        opaque=True,
        requires=("opencl>=0.1,<1",),
    ),
    MapperSpec(
        source="cpu",
        target=_GPU,
        mapper=f"{_HERE}._mappers:CpuToGpu",
        transfer=Transfer.ALIAS,
        only="whole cache lines",
        summary="CPU_VA over whole cache lines, where the GPU works in the CPU's memory",
        per_plane=False,
    ),
    MapperSpec(
        source="cpu",
        target=_GPU,
        mapper=f"{_HERE}._frame_mappers:CpuFrameToGpu",
        transfer=Transfer.ALIAS,
        only="whole cache lines",
        summary="CPU_VA over each plane, [1, rows, columns, channels]",
        level="frame",
    ),
    MapperSpec(
        source="cpu",
        target=_GPU,
        mapper=f"{_HERE}._mappers:CpuToGpuCopy",
        transfer=Transfer.COPY,
        summary="into a new cl_mem of the GPU plugin's",
        access=("r",),
        per_plane=False,
    ),
    MapperSpec(
        source="cpu",
        target=_GPU,
        mapper=f"{_HERE}._frame_mappers:CpuFrameToGpuCopy",
        transfer=Transfer.COPY,
        summary="each plane into a new cl_mem of the GPU plugin's",
        level="frame",
        access=("r",),
    ),
    MapperSpec(
        source=_GPU,
        target="cpu",
        mapper=f"{_HERE}._mappers:GpuToCpu",
        transfer=Transfer.ALIAS,
        summary="the memory itself: USM of the host, shared USM, CPU_VA",
        per_plane=False,
        # After OpenCL's own way to the CPU, which takes all its memory; so this is not tried first
        # for memory of OpenCL.
        cost=101.0,
    ),
    MapperSpec(
        source=_GPU,
        target="cpu",
        mapper=f"{_HERE}._frame_mappers:GpuFrameToCpu",
        transfer=Transfer.ALIAS,
        summary="the planes themselves: USM of the host, shared USM, CPU_VA",
        level="frame",
        cost=101.0,
    ),
    MapperSpec(
        source=_GPU,
        target="cpu",
        mapper=f"{_HERE}._mappers:GpuToCpuCopy",
        transfer=Transfer.COPY,
        summary="RemoteTensor.copy_to into new memory",
        access=("r",),
        opaque=True,
        per_plane=False,
    ),
    MapperSpec(
        source=_GPU,
        target="cpu",
        mapper=f"{_HERE}._frame_mappers:GpuFrameToCpuCopy",
        transfer=Transfer.COPY,
        summary="RemoteTensor.copy_to of each plane into new memory",
        level="frame",
        access=("r",),
        opaque=True,
    ),
    MapperSpec(
        source="vaapi",
        target=_GPU,
        mapper=f"{_HERE}._frame_mappers:VaapiToGpu",
        transfer=Transfer.IMPORT,
        summary="both planes of the surface, through a VAContext of the same display",
        level="frame",
        access=("r",),
        formats=("NV12",),
        opaque=True,
        requires=("vaapi>=0.1,<1",),
    ),
)
