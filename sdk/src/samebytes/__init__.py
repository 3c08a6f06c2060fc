# SPDX-License-Identifier: Apache-2.0
"""samebytes: one piece of memory, used through many frameworks without copying it.

    frame = samebytes.frame(av_frame)     # over the decoder's own bytes
    y, u, v = frame.map("openvino")       # three OpenVINO tensors on the same bytes

Importing this imports no framework; plugins are looked for when first needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import errors, formats
from ._api import context, frame, refresh, tensor, wrap
from ._copied import copied
from ._core.edges.context import Context, Device
from ._core.edges.edge import Access, Transfer
from ._core.edges.mapper import MemoryMapper
from ._core.memory.frame import Frame
from ._core.memory.info import TensorInfo
from ._core.memory.meta import FrameMeta, Region
from ._core.memory.tensor import Tensor
from ._core.owner.handles import Fd
from ._core.owner.storage import Storage
from ._cpu.context import CpuContext
from ._cpu.tensor import CpuTensor
from ._dtypes import DType, dtype
from ._lazy import lazy_exports
from ._routing.route import Route, route
from ._stats import Stats, reset_stats, stats
from ._version import __version__
from .errors import SamebytesError
from .formats import AudioInfo, ImageFormat, ImageInfo

if TYPE_CHECKING:
    from ._plugins.listing import PluginInfo, installed_plugins

__all__ = [
    "Access",
    "AudioInfo",
    "Context",
    "CpuContext",
    "CpuTensor",
    "DType",
    "Device",
    "Fd",
    "Frame",
    "FrameMeta",
    "ImageFormat",
    "ImageInfo",
    "MemoryMapper",
    "PluginInfo",
    "Region",
    "Route",
    "SamebytesError",
    "Stats",
    "Storage",
    "Tensor",
    "TensorInfo",
    "Transfer",
    "__version__",
    "context",
    "copied",
    "dtype",
    "errors",
    "formats",
    "frame",
    "installed_plugins",
    "refresh",
    "reset_stats",
    "route",
    "stats",
    "tensor",
    "wrap",
]

# What is declared of plugins is imported when it is needed, as the plugins are.
if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_exports(
        __name__,
        {"PluginInfo": "._plugins.listing", "installed_plugins": "._plugins.listing"},
    )
