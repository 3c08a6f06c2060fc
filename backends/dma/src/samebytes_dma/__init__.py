# SPDX-License-Identifier: Apache-2.0
"""DMA-BUFs as samebytes memory: shared by file descriptor, between processes and devices.

tensor = samebytes_dma.from_fd(fd, (1080, 1920, 4), pitch=7680)
with tensor.map("cpu", "rw") as view:      # mmap, and the begin and end of the CPU's access
    view.native[...] = 0

samebytes-ipc sends such memory to other processes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from samebytes.plugins import lazy_exports

if TYPE_CHECKING:
    from ._abi import F_SEAL_FUTURE_WRITE
    from ._buffer import DMABuffer, DMAPlane
    from ._context import DMA, DMAContext, DMATensor
    from ._descriptor import exporter_of, is_dma_buf, seals_of
    from ._fences import export_sync_file, import_sync_file
    from ._kept import KeptMapping
    from ._mapping import lasting_mapping
    from ._modifiers import INVALID, LINEAR
    from ._wrapping import frame_from_fds, frame_of_planes, frame_with_meta, from_fd

__version__ = "0.1.0"

__all__ = [
    "DMA",
    "F_SEAL_FUTURE_WRITE",
    "INVALID",
    "LINEAR",
    "DMABuffer",
    "DMAContext",
    "DMAPlane",
    "DMATensor",
    "KeptMapping",
    "export_sync_file",
    "exporter_of",
    "frame_from_fds",
    "frame_of_planes",
    "frame_with_meta",
    "from_fd",
    "import_sync_file",
    "is_dma_buf",
    "lasting_mapping",
    "seals_of",
]

_HOME = {
    "DMA": "._context",
    "F_SEAL_FUTURE_WRITE": "._abi",
    "INVALID": "._modifiers",
    "LINEAR": "._modifiers",
    "DMABuffer": "._buffer",
    "DMAContext": "._context",
    "DMAPlane": "._buffer",
    "DMATensor": "._context",
    "KeptMapping": "._kept",
    "export_sync_file": "._fences",
    "exporter_of": "._descriptor",
    "frame_from_fds": "._wrapping",
    "frame_of_planes": "._wrapping",
    "frame_with_meta": "._wrapping",
    "from_fd": "._wrapping",
    "import_sync_file": "._fences",
    "is_dma_buf": "._descriptor",
    "lasting_mapping": "._mapping",
    "seals_of": "._descriptor",
}


if not TYPE_CHECKING:  # to a type checker, any misspelt name would be there
    __getattr__, __dir__ = lazy_exports(__name__, _HOME)
