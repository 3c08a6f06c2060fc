# SPDX-License-Identifier: Apache-2.0
"""samebytes: one piece of memory, used through many frameworks without copying it.

    frame = samebytes.frame(av_frame)     # over the decoder's own bytes
    y, u, v = frame.map("openvino")       # three OpenVINO tensors on the same bytes

Importing this imports no framework, and numpy not before it is needed; so are plugins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._core.owner import storage as _storage  # noqa: F401 - it registers a handler of atexit
from ._lazy import lazy_exports
from ._version import __version__

if TYPE_CHECKING:
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
    from ._plugins.listing import PluginInfo, installed_plugins
    from ._plugins.probe import probe
    from ._routing.route import Route, route
    from ._stats import Stats, reset_stats, stats
    from .errors import SamebytesError
    from .formats import AudioInfo, ImageFormat, ImageInfo

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
    "probe",
    "refresh",
    "reset_stats",
    "route",
    "stats",
    "tensor",
    "wrap",
]

# Each is imported when it is first used: the command needs few of them, and most of them numpy.
_HOME = {
    "errors": ".errors",
    "formats": ".formats",
    "context": "._api",
    "frame": "._api",
    "refresh": "._api",
    "tensor": "._api",
    "wrap": "._api",
    "copied": "._copied",
    "Context": "._core.edges.context",
    "Device": "._core.edges.context",
    "Access": "._core.edges.edge",
    "Transfer": "._core.edges.edge",
    "MemoryMapper": "._core.edges.mapper",
    "Frame": "._core.memory.frame",
    "TensorInfo": "._core.memory.info",
    "FrameMeta": "._core.memory.meta",
    "Region": "._core.memory.meta",
    "Tensor": "._core.memory.tensor",
    "Fd": "._core.owner.handles",
    "Storage": "._core.owner.storage",
    "CpuContext": "._cpu.context",
    "CpuTensor": "._cpu.context",
    "DType": "._dtypes",
    "dtype": "._dtypes",
    "PluginInfo": "._plugins.listing",
    "installed_plugins": "._plugins.listing",
    "probe": "._plugins.probe",
    "Route": "._routing.route",
    "route": "._routing.route",
    "Stats": "._stats",
    "reset_stats": "._stats",
    "stats": "._stats",
    "SamebytesError": ".errors",
    "AudioInfo": ".formats",
    "ImageFormat": ".formats",
    "ImageInfo": ".formats",
}

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_exports(__name__, _HOME)
