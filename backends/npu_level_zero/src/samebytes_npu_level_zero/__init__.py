# SPDX-License-Identifier: Apache-2.0
"""Level Zero USM as samebytes memory: NPUs and GPUs, without a wrapper library.

    npu = samebytes.context("level_zero:NPU")
    tensor = npu.allocate((1080, 1920, 3), "uint8", exportable=True)
    with tensor.map("cpu", "w") as view:      # the same bytes as a numpy array
        view.native[...] = 0
    descriptor = tensor.export_fd()           # a DMA-BUF, for whoever takes one

Importing this does not load Level Zero; using a context does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from samebytes.plugins import lazy_exports

if TYPE_CHECKING:
    from ._commands import copy, fill
    from ._context import LevelZeroContext
    from ._devices import devices
    from ._errors import LevelZeroError, NotExportableError
    from ._pointer import USMPointer
    from ._properties import DeviceMemory
    from ._tensor import LevelZeroTensor
    from ._usm import AllocationProperties

__version__ = "0.1.0"

__all__ = [
    "AllocationProperties",
    "DeviceMemory",
    "LevelZeroContext",
    "LevelZeroError",
    "LevelZeroTensor",
    "NotExportableError",
    "USMPointer",
    "copy",
    "devices",
    "fill",
]

_HOME = {
    "AllocationProperties": "._usm",
    "DeviceMemory": "._properties",
    "LevelZeroContext": "._context",
    "LevelZeroError": "._errors",
    "LevelZeroTensor": "._tensor",
    "NotExportableError": "._errors",
    "USMPointer": "._pointer",
    "copy": "._commands",
    "devices": "._devices",
    "fill": "._commands",
}


if not TYPE_CHECKING:  # to a type checker, any misspelt name would be there
    __getattr__, __dir__ = lazy_exports(__name__, _HOME)
