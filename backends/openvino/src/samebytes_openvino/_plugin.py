# SPDX-License-Identifier: Apache-2.0
"""The plugin's declarations: its edges, contexts and elements.

Importing it does not import openvino.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from samebytes import Access, Transfer
from samebytes.plugins import ContextSpec, ElementSpec, MapperSpec, NativeSpec, Plugin, hookimpl

__all__ = ["PLUGIN"]

if TYPE_CHECKING:
    from typing import TypedDict, Unpack

    class Shared(TypedDict, total=False):
        """Fields of MapperSpec, with its defaults."""

        access: tuple[Access, ...]
        opaque: bool
        cost: float | None
        requires: tuple[str, ...]
        only: str


_FRAME_TO_CPU = (
    "_host._tensor:OpenVINOFrameToCpu",
    "the data of each plane, (rows, columns) or (rows, columns, channels)",
)
"""Of host memory, and of an NPU's, which is the host's."""


def _both(
    source: str,
    target: str,
    transfer: Transfer,
    *,
    tensor: tuple[str, str],
    frame: tuple[str, str],
    **shared: Unpack[Shared],
) -> tuple[MapperSpec, MapperSpec]:
    """The edge for tensors and the one for frames, whose planes become NHWC.

    Args:
        tensor, frame: the mapper of each, "module:Class" in this package, and its summary.
        shared: what else holds for both.
    """
    here = __package__
    return (
        MapperSpec(
            source=source, target=target, transfer=transfer, mapper=f"{here}.{tensor[0]}",
            summary=tensor[1], per_plane=False, **shared,
        ),
        MapperSpec(
            source=source, target=target, transfer=transfer, mapper=f"{here}.{frame[0]}",
            summary=frame[1], level="frame", **shared,
        ),
    )  # fmt: skip


_GPU_PACKAGE = "samebytes_openvino.intel_gpu"
_GPU = "openvino:GPU"

_GPU_CONTEXT = ContextSpec(
    node=_GPU,
    context=f"{_GPU_PACKAGE}._context:ClContext",
    derives_from=("opencl", "vaapi", _GPU),
    devices="samebytes_openvino._core:gpu_names",
    # Remote tensors are where memory ends up, or where it begins.
    transit=False,
)

_ON_GPU = "intel_gpu._mappers"

_GPU_MAPPERS = (
    *_both(
        "opencl", _GPU, Transfer.ALIAS,
        tensor=(
            f"{_ON_GPU}:OpenCLToGpu",
            "a remote tensor over its cl_mem or USM pointer, in the same cl_context",
        ),
        frame=(
            f"{_ON_GPU}:OpenCLFrameToGpu",
            "a remote tensor over each plane, [1, rows, columns, channels]",
        ),
        opaque=True,
        requires=("opencl>=0.1,<1",),
    ),
    *_both(
        "cpu", _GPU, Transfer.ALIAS,
        tensor=(
            f"{_ON_GPU}:CpuToGpu",
            "CPU_VA over whole cache lines, where the GPU works in the CPU's memory",
        ),
        frame=(
            f"{_ON_GPU}:CpuFrameToGpu", "CPU_VA over each plane, [1, rows, columns, channels]"
        ),
        only="whole cache lines",
    ),
    *_both(
        "cpu", _GPU, Transfer.COPY,
        tensor=(f"{_ON_GPU}:CpuToGpuCopy", "into a new cl_mem of the GPU plugin's"),
        frame=(
            f"{_ON_GPU}:CpuFrameToGpuCopy", "each plane into a new cl_mem of the GPU plugin's"
        ),
        access=("r",),
    ),
    *_both(
        _GPU, "cpu", Transfer.ALIAS,
        tensor=(
            f"{_ON_GPU}:GpuToCpu", "the memory itself: USM of the host, shared USM, CPU_VA"
        ),
        frame=(
            f"{_ON_GPU}:GpuFrameToCpu", "the planes themselves: USM of the host, shared USM, CPU_VA"
        ),
        # After OpenCL's own way to the CPU, which takes all its memory; so this is not tried first
        # for memory of OpenCL.
        cost=101.0,
    ),
    *_both(
        _GPU, "cpu", Transfer.COPY,
        tensor=(f"{_ON_GPU}:GpuToCpuCopy", "RemoteTensor.copy_to into new memory"),
        frame=(
            f"{_ON_GPU}:GpuFrameToCpuCopy", "RemoteTensor.copy_to of each plane into new memory"
        ),
        access=("r",),
        opaque=True,
    ),
    MapperSpec(
        source="vaapi",
        target=_GPU,
        mapper=f"{_GPU_PACKAGE}._mappers:VaapiToGpu",
        transfer=Transfer.IMPORT,
        summary="both planes of the surface, through a VAContext of the same display",
        level="frame",
        access=("r",),
        formats=("NV12",),
        opaque=True,
        requires=("vaapi>=0.1,<1",),
    ),
)  # fmt: skip


_NPU = "openvino:NPU"

_NPU_CONTEXT = ContextSpec(
    node=_NPU,
    context="samebytes_openvino.intel_npu._context:ZeroContext",
    derives_from=("level_zero", _NPU),
    # Remote tensors are where memory ends up, or where it begins.
    transit=False,
)

_ON_NPU = "intel_npu._mappers"

_NPU_MAPPERS = [
    *(
        edge
        for source in ("dma", "level_zero")
        for edge in _both(
            source, _NPU, Transfer.IMPORT,
            tensor=(
                f"{_ON_NPU}:FdToNpu", "the buffer imported once by its descriptor, a tensor in it"
            ),
            frame=(
                f"{_ON_NPU}:FdFrameToNpu", "each buffer imported once, planes as tensors in it"
            ),
            # From level_zero, below the route over the cpu, which the plugin refuses for USM.
            cost=1.5 if source == "level_zero" else None,
            requires=(f"{source}>=0.1,<1",),
        )
    ),
    *_both(
        "cpu", _NPU, Transfer.ALIAS,
        tensor=(
            f"{_ON_NPU}:CpuToNpu", "the whole pages of the memory imported, a tensor in them"
        ),
        frame=(
            f"{_ON_NPU}:CpuFrameToNpu", "the whole pages of the planes imported, tensors in them"
        ),
        only="whole pages, unless it is only read",
    ),
    *_both(
        _NPU, "cpu", Transfer.ALIAS,
        tensor=(
            f"{_ON_NPU}:NpuToCpu", "an array over the Level Zero memory, which is the host's"
        ),
        frame=_FRAME_TO_CPU,
    ),
    *_both(
        _NPU, "level_zero", Transfer.ALIAS,
        tensor=(f"{_ON_NPU}:NpuToLevelZero", "the USM pointer, in the plugin's own ze_context"),
        frame=(
            f"{_ON_NPU}:NpuFrameToLevelZero",
            "the USM pointer of each plane, (rows, columns) or (rows, columns, channels)",
        ),
        requires=("level_zero>=0.1,<1",),
    ),
    *_both(
        "cpu", _NPU, Transfer.COPY,
        tensor=(
            f"{_ON_NPU}:CpuToNpuCopy", "copied by the plugin into its own Level Zero memory"
        ),
        frame=(
            f"{_ON_NPU}:CpuFrameToNpuCopy",
            "copied into one piece of the plugin's Level Zero memory",
        ),
        access=("r",),
    ),
    MapperSpec(
        source=_NPU,
        target="cpu",
        mapper=f"samebytes_openvino.{_ON_NPU}:NpuToCpuCopy",
        transfer=Transfer.COPY,
        summary="copied by the plugin",
        access=("r",),
        per_plane=False,
    ),
]  # fmt: skip


PLUGIN = Plugin(
    api=(1, 1),
    summary="OpenVINO tensors in host memory, and remote tensors of GPUs and NPUs",
    packages={"openvino": 'pip install "samebytes[openvino]"'},
    probe="samebytes_openvino._probe:probe",
)


@hookimpl
def samebytes_tensors() -> list[NativeSpec]:
    """OpenVINO's tensors, under the names by which their classes call themselves."""
    return [
        NativeSpec(
            native="openvino._pyopenvino.Tensor",
            wraps="samebytes_openvino._host._tensor:OpenVINOTensor",
            level="tensor",
        ),
        NativeSpec(
            native="openvino._pyopenvino.RemoteTensor",
            wraps="samebytes_openvino._remote._context:RemoteTensor",
            level="tensor",
        ),
    ]


@hookimpl
def samebytes_contexts() -> list[ContextSpec]:
    """The one context of host memory, and those of devices."""
    return [
        ContextSpec(node="openvino", context="samebytes_openvino._host._tensor:OpenVINOContext"),
        _GPU_CONTEXT,
        _NPU_CONTEXT,
    ]


@hookimpl
def samebytes_mappers() -> list[MapperSpec]:
    """To and from CPU memory. Frames have their own edges, since their planes become NHWC."""
    return [
        *_both(
            "cpu", "openvino", Transfer.ALIAS,
            tensor=(
                "_host._tensor:CpuToOpenVINO",
                "a tensor over the array; padded rows as a region of a wider tensor",
            ),
            frame=(
                "_host._tensor:CpuFrameToOpenVINO",
                "each plane as a tensor [1, rows, columns, channels]",
            ),
        ),
        *_both(
            "openvino", "cpu", Transfer.ALIAS,
            tensor=("_host._tensor:OpenVINOToCpu", "the tensor's data"),
            frame=_FRAME_TO_CPU,
        ),
        *_GPU_MAPPERS,
        *_NPU_MAPPERS,
    ]  # fmt: skip


@hookimpl
def samebytes_elements() -> list[ElementSpec]:
    """The element that runs models."""
    return [
        ElementSpec(
            name="openvino.infer",
            element="samebytes_openvino._elements._infer:OpenVINOInfer",
            summary="runs a model on each frame, on any device",
        )
    ]
