# SPDX-License-Identifier: Apache-2.0
"""The plugin's declarations for the NPU. Importing it does not import openvino."""

from __future__ import annotations

from typing import Literal

from samebytes import Transfer
from samebytes.plugins import ContextSpec, MapperSpec

__all__ = ["CONTEXT", "MAPPERS"]

_HERE = "samebytes_openvino.intel_npu._mappers"
_NPU = "openvino:NPU"

CONTEXT = ContextSpec(
    node=_NPU,
    context="samebytes_openvino.intel_npu._context:ZeroContext",
    derives_from=("level_zero", _NPU),
    # Remote tensors are where memory ends up, or where it begins.
    transit=False,
)

_FD_MAPPERS: tuple[tuple[str, str, Literal["tensor", "frame"]], ...] = (
    ("FdToNpu", "the buffer imported once by its descriptor, a tensor in it", "tensor"),
    ("FdFrameToNpu", "each buffer imported once, planes as tensors in it", "frame"),
)
_FD_EDGES = [
    MapperSpec(
        source=source,
        target=_NPU,
        mapper=f"{_HERE}:{mapper}",
        transfer=Transfer.IMPORT,
        summary=summary,
        level=level,
        per_plane=False,
        # From level_zero, below the route over the cpu, which the plugin refuses for USM.
        cost=1.5 if source == "level_zero" else None,
        requires=(f"{source}>=0.1,<1",),
    )
    for source in ("dma", "level_zero")
    for mapper, summary, level in _FD_MAPPERS
]

MAPPERS = [
    *_FD_EDGES,
    MapperSpec(
        source="cpu",
        target=_NPU,
        mapper=f"{_HERE}:CpuToNpu",
        transfer=Transfer.ALIAS,
        only="whole pages, unless it is only read",
        summary="the whole pages of the memory imported, a tensor in them",
        per_plane=False,
    ),
    MapperSpec(
        source="cpu",
        target=_NPU,
        mapper=f"{_HERE}:CpuFrameToNpu",
        transfer=Transfer.ALIAS,
        only="whole pages, unless it is only read",
        summary="the whole pages of the planes imported, tensors in them",
        level="frame",
    ),
    MapperSpec(
        source=_NPU,
        target="cpu",
        mapper=f"{_HERE}:NpuToCpu",
        transfer=Transfer.ALIAS,
        summary="an array over the Level Zero memory, which is the host's",
        per_plane=False,
    ),
    MapperSpec(
        source=_NPU,
        target="cpu",
        mapper="samebytes_openvino._host._mappers:OpenVINOFrameToCpu",
        transfer=Transfer.ALIAS,
        summary="the data of each plane, (rows, columns) or (rows, columns, channels)",
        level="frame",
    ),
    MapperSpec(
        source=_NPU,
        target="level_zero",
        mapper=f"{_HERE}:NpuToLevelZero",
        transfer=Transfer.ALIAS,
        summary="the USM pointer, in the plugin's own ze_context",
        per_plane=False,
        requires=("level_zero>=0.1,<1",),
    ),
    MapperSpec(
        source=_NPU,
        target="level_zero",
        mapper=f"{_HERE}:NpuFrameToLevelZero",
        transfer=Transfer.ALIAS,
        summary="the USM pointer of each plane, (rows, columns) or (rows, columns, channels)",
        level="frame",
        requires=("level_zero>=0.1,<1",),
    ),
    MapperSpec(
        source="cpu",
        target=_NPU,
        mapper=f"{_HERE}:CpuToNpuCopy",
        transfer=Transfer.COPY,
        summary="copied by the plugin into its own Level Zero memory",
        access=("r",),
        per_plane=False,
    ),
    MapperSpec(
        source="cpu",
        target=_NPU,
        mapper=f"{_HERE}:CpuFrameToNpuCopy",
        transfer=Transfer.COPY,
        summary="copied into one piece of the plugin's Level Zero memory",
        level="frame",
        access=("r",),
    ),
    MapperSpec(
        source=_NPU,
        target="cpu",
        mapper=f"{_HERE}:NpuToCpuCopy",
        transfer=Transfer.COPY,
        summary="copied by the plugin",
        access=("r",),
        per_plane=False,
    ),
]
