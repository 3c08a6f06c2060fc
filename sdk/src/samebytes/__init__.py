# SPDX-License-Identifier: Apache-2.0
"""samebytes: one piece of memory, used through many frameworks without copying it.

    frame = samebytes.frame(av_frame)     # over the decoder's own bytes
    y, u, v = frame.map("openvino")       # three OpenVINO tensors on the same bytes

Functions:

    frame, tensor       over a framework's own frame, an array or a tensor: no byte is copied
    wrap                either of them, whatever the object is
    context             a place where memory lives: context("cpu").allocate_frame("NV12", 640, 480)
    route               the way that map() takes from one memory to another, and its cost
    stats, reset_stats  what was copied and converted so far
    installed_plugins   the frameworks that can be used; probe says why one cannot, and refresh
                        looks for them again
    dtype               an element type by its name or numpy's
    copied              let a tensor or frame be copied into a pickle

Classes, described by help(), as in help(samebytes.Frame):

    Frame, Tensor       a picture or sound, and one array: map(), convert(), crop(), planes, native
    FrameMeta, Region   the description of a frame, and a rectangle in it
    ImageFormat, ImageInfo, AudioInfo, TensorInfo, DType
                        formats, sizes and layouts
    Route, Stats, PluginInfo, Device
                        what the functions above return
    Context, CpuContext, CpuTensor, MemoryMapper, Transfer, Access, Storage, Fd
                        for authors of backends
    SamebytesError      the root of all errors

Modules: samebytes.elements (pipelines), .metadata, .formats, .errors, .metrics, .plugins (for
authors) and .testing (for their tests). Names that begin with an underscore are private.

Importing samebytes imports no framework. numpy and plugins are imported when first needed.
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
    from ._core.memory.meta import FrameMeta
    from ._core.memory.tensor import CpuTensor, Tensor
    from ._core.owner.handles import Fd
    from ._core.owner.storage import Storage
    from ._cpu.context import CpuContext
    from ._dtypes import DType, dtype
    from ._plugins.listing import PluginInfo, installed_plugins
    from ._plugins.probe import probe
    from ._region import Region
    from ._routing.route import Route, route
    from ._stats import Stats, reset_stats, stats
    from .errors import SamebytesError
    from .formats import AudioInfo, ImageFormat, ImageInfo

    # Not at run time: help(samebytes) would append 2,700 lines on all classes to the page above.
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
    "Region": "._region",
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
