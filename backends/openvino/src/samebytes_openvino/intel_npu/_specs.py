# SPDX-License-Identifier: Apache-2.0
"""The plugin's declarations for the NPU. Importing it does not import openvino."""

from __future__ import annotations

from samebytes import Transfer
from samebytes.plugins import ContextSpec, MapperSpec

from .._edges import FRAME_TO_CPU, both

__all__ = ["CONTEXT", "MAPPERS"]

_NPU = "openvino:NPU"

CONTEXT = ContextSpec(
    node=_NPU,
    context="samebytes_openvino.intel_npu._context:ZeroContext",
    derives_from=("level_zero", _NPU),
    # Remote tensors are where memory ends up, or where it begins.
    transit=False,
)

_EDGES = "intel_npu._mappers"

MAPPERS = [
    *(
        edge
        for source in ("dma", "level_zero")
        for edge in both(
            source, _NPU, Transfer.IMPORT,
            tensor=(
                f"{_EDGES}:FdToNpu", "the buffer imported once by its descriptor, a tensor in it"
            ),
            frame=(
                f"{_EDGES}:FdFrameToNpu", "each buffer imported once, planes as tensors in it"
            ),
            # From level_zero, below the route over the cpu, which the plugin refuses for USM.
            cost=1.5 if source == "level_zero" else None,
            requires=(f"{source}>=0.1,<1",),
        )
    ),
    *both(
        "cpu", _NPU, Transfer.ALIAS,
        tensor=(
            f"{_EDGES}:CpuToNpu", "the whole pages of the memory imported, a tensor in them"
        ),
        frame=(
            f"{_EDGES}:CpuFrameToNpu", "the whole pages of the planes imported, tensors in them"
        ),
        only="whole pages, unless it is only read",
    ),
    *both(
        _NPU, "cpu", Transfer.ALIAS,
        tensor=(
            f"{_EDGES}:NpuToCpu", "an array over the Level Zero memory, which is the host's"
        ),
        frame=FRAME_TO_CPU,
    ),
    *both(
        _NPU, "level_zero", Transfer.ALIAS,
        tensor=(f"{_EDGES}:NpuToLevelZero", "the USM pointer, in the plugin's own ze_context"),
        frame=(
            f"{_EDGES}:NpuFrameToLevelZero",
            "the USM pointer of each plane, (rows, columns) or (rows, columns, channels)",
        ),
        requires=("level_zero>=0.1,<1",),
    ),
    *both(
        "cpu", _NPU, Transfer.COPY,
        tensor=(
            f"{_EDGES}:CpuToNpuCopy", "copied by the plugin into its own Level Zero memory"
        ),
        frame=(
            f"{_EDGES}:CpuFrameToNpuCopy",
            "copied into one piece of the plugin's Level Zero memory",
        ),
        access=("r",),
    ),
    MapperSpec(
        source=_NPU,
        target="cpu",
        mapper=f"samebytes_openvino.{_EDGES}:NpuToCpuCopy",
        transfer=Transfer.COPY,
        summary="copied by the plugin",
        access=("r",),
        per_plane=False,
    ),
]  # fmt: skip
