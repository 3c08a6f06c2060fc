# SPDX-License-Identifier: Apache-2.0
"""The declarations of the plugin for the node "openvino:GPU". Data only."""

from __future__ import annotations

from samebytes import Transfer
from samebytes.plugins import ContextSpec, MapperSpec

from .._edges import both

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

_EDGES = "intel_gpu._mappers"

MAPPERS = (
    *both(
        "opencl", _GPU, Transfer.ALIAS,
        tensor=(
            f"{_EDGES}:OpenCLToGpu",
            "a remote tensor over its cl_mem or USM pointer, in the same cl_context",
        ),
        frame=(
            f"{_EDGES}:OpenCLFrameToGpu",
            "a remote tensor over each plane, [1, rows, columns, channels]",
        ),
        opaque=True,
        requires=("opencl>=0.1,<1",),
    ),
    *both(
        "cpu", _GPU, Transfer.ALIAS,
        tensor=(
            f"{_EDGES}:CpuToGpu",
            "CPU_VA over whole cache lines, where the GPU works in the CPU's memory",
        ),
        frame=(
            f"{_EDGES}:CpuFrameToGpu", "CPU_VA over each plane, [1, rows, columns, channels]"
        ),
        only="whole cache lines",
    ),
    *both(
        "cpu", _GPU, Transfer.COPY,
        tensor=(f"{_EDGES}:CpuToGpuCopy", "into a new cl_mem of the GPU plugin's"),
        frame=(
            f"{_EDGES}:CpuFrameToGpuCopy", "each plane into a new cl_mem of the GPU plugin's"
        ),
        access=("r",),
    ),
    *both(
        _GPU, "cpu", Transfer.ALIAS,
        tensor=(
            f"{_EDGES}:GpuToCpu", "the memory itself: USM of the host, shared USM, CPU_VA"
        ),
        frame=(
            f"{_EDGES}:GpuFrameToCpu", "the planes themselves: USM of the host, shared USM, CPU_VA"
        ),
        # After OpenCL's own way to the CPU, which takes all its memory; so this is not tried first
        # for memory of OpenCL.
        cost=101.0,
    ),
    *both(
        _GPU, "cpu", Transfer.COPY,
        tensor=(f"{_EDGES}:GpuToCpuCopy", "RemoteTensor.copy_to into new memory"),
        frame=(
            f"{_EDGES}:GpuFrameToCpuCopy", "RemoteTensor.copy_to of each plane into new memory"
        ),
        access=("r",),
        opaque=True,
    ),
    MapperSpec(
        source="vaapi",
        target=_GPU,
        mapper=f"{_HERE}._mappers:VaapiToGpu",
        transfer=Transfer.IMPORT,
        summary="both planes of the surface, through a VAContext of the same display",
        level="frame",
        access=("r",),
        formats=("NV12",),
        opaque=True,
        requires=("vaapi>=0.1,<1",),
    ),
)  # fmt: skip
