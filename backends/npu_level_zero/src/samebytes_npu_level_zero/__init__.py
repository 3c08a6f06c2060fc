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

from importlib import import_module
from typing import TYPE_CHECKING, Any

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
    "AllocationProperties": "_usm",
    "DeviceMemory": "_properties",
    "LevelZeroContext": "_context",
    "LevelZeroError": "_errors",
    "LevelZeroTensor": "_tensor",
    "NotExportableError": "_errors",
    "USMPointer": "_pointer",
    "copy": "_commands",
    "devices": "_devices",
    "fill": "_commands",
}


def __getattr__(name: str) -> Any:
    try:
        home = _HOME[name]
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
    found = globals()[name] = getattr(import_module(f"{__name__}.{home}"), name)
    return found


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
