# SPDX-License-Identifier: Apache-2.0
"""The plugin's declarations. Importing it does not import openvino."""

from __future__ import annotations

from samebytes import Transfer
from samebytes.plugins import ContextSpec, ElementSpec, MapperSpec, NativeSpec, Plugin, hookimpl

from ._edges import FRAME_TO_CPU, both
from .intel_gpu import _specs as gpu
from .intel_npu import _specs as npu

__all__ = ["PLUGIN"]

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
            wraps="samebytes_openvino._remote._tensor:RemoteTensor",
            level="tensor",
        ),
    ]


@hookimpl
def samebytes_contexts() -> list[ContextSpec]:
    """The one context of host memory, and those of devices."""
    return [
        ContextSpec(node="openvino", context="samebytes_openvino._host._tensor:OpenVINOContext"),
        gpu.CONTEXT,
        npu.CONTEXT,
    ]


@hookimpl
def samebytes_mappers() -> list[MapperSpec]:
    """To and from CPU memory. Frames have their own edges, since their planes become NHWC."""
    return [
        *both(
            "cpu", "openvino", Transfer.ALIAS,
            tensor=(
                "_host._mappers:CpuToOpenVINO",
                "a tensor over the array; padded rows as a region of a wider tensor",
            ),
            frame=(
                "_host._mappers:CpuFrameToOpenVINO",
                "each plane as a tensor [1, rows, columns, channels]",
            ),
        ),
        *both(
            "openvino", "cpu", Transfer.ALIAS,
            tensor=("_host._mappers:OpenVINOToCpu", "the tensor's data"),
            frame=FRAME_TO_CPU,
        ),
        *gpu.MAPPERS,
        *npu.MAPPERS,
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
