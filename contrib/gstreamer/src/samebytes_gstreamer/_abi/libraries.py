# SPDX-License-Identifier: Apache-2.0
"""The C libraries under gi, for what gi copies, merges, or does not reach.

They are the libraries that gi has loaded. Calls release the interpreter's lock: freeing a
buffer can take locks that streaming threads hold.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from functools import cache
from types import SimpleNamespace
from typing import Any

from samebytes.errors import MissingDependencyError
from samebytes.plugins import bind

from . import glib as glib_abi
from . import gstreamer as gstreamer_abi
from . import plugin_libraries
from . import video as video_abi
from .gi import Gst, GstAudio, GstVideo
from .install_hints import LIBRARIES, VA_LIBRARY

__all__ = [
    "allocators",
    "another",
    "app",
    "audio",
    "check_layouts",
    "glib",
    "gobject",
    "gst",
    "load",
    "va",
    "video",
]


def load(name: str, prototypes: Mapping[str, tuple[Any, ...]], hint: str) -> Any:
    """The functions of a library, as attributes; `library` is the library itself.

    Args:
        prototypes: (result, *arguments) of each function.
        hint: how to get the library.

    Raises:
        MissingDependencyError: it is not there, or lacks one of them.
    """
    try:
        library = ctypes.CDLL(name)
    except OSError as error:
        raise MissingDependencyError("gstreamer", f"{name} ({error})", hint) from error
    types = {symbol: (result, arguments) for symbol, (result, *arguments) in prototypes.items()}
    found = bind(library, types, plugin="gstreamer", library=name, hint=hint)
    return SimpleNamespace(library=library, **found)


glib: Any = load("libglib-2.0.so.0", glib_abi.GLIB, LIBRARIES)
gobject: Any = load("libgobject-2.0.so.0", glib_abi.GOBJECT, LIBRARIES)
gst: Any = load("libgstreamer-1.0.so.0", gstreamer_abi.GSTREAMER, LIBRARIES)
video: Any = load("libgstvideo-1.0.so.0", video_abi.VIDEO, LIBRARIES)
app: Any = load("libgstapp-1.0.so.0", plugin_libraries.APP, LIBRARIES)
audio: Any = load("libgstaudio-1.0.so.0", plugin_libraries.AUDIO, LIBRARIES)
allocators: Any = load("libgstallocators-1.0.so.0", plugin_libraries.ALLOCATORS, LIBRARIES)


def another(functions: Any, symbol: str, result: Any = None) -> Any:
    """A function of a library once more, with a result of another type.

    Args:
        functions: from `load`.
        symbol: the function's name.
        result: its `restype`.
    """
    made = functions.library[symbol]
    made.restype, made.argtypes = result, getattr(functions, symbol).argtypes
    return made


@cache
def va() -> Any:
    """libgstva, which is of gst-plugins-bad and may be missing."""
    return load("libgstva-1.0.so.0", plugin_libraries.VA, VA_LIBRARY)


# The structures that GStreamer allocates, which later versions extend at their ends.
_READ = (
    (Gst.MiniObject, gstreamer_abi.GstMiniObject),
    (Gst.Memory, gstreamer_abi.GstMemory),
    (Gst.Buffer, gstreamer_abi.GstBuffer),
    (Gst.Meta, gstreamer_abi.GstMeta),
    (Gst.MetaInfo, gstreamer_abi.GstMetaInfo),
    (GstAudio.AudioMeta, plugin_libraries.GstAudioMeta),
    (GstVideo.VideoMeta, video_abi.GstVideoMeta),
    (GstVideo.VideoCropMeta, video_abi.GstVideoCropMeta),
    (GstVideo.VideoRegionOfInterestMeta, video_abi.GstVideoRegionOfInterestMeta),
)
# Those of which the other side allocates what is filled here: a byte more, and it lies beyond.
_FILLED = (
    (Gst.MapInfo, gstreamer_abi.GstMapInfo),
    (GstVideo.VideoAlignment, video_abi.GstVideoAlignment),
)


def check_layouts() -> None:
    """Compare the structures that are read here with what the installed typelibs say of them.

    The fields that are known must be where they are known to be. What GStreamer allocates may have
    more behind them, as GstMetaInfo has since 1.24.

    Raises:
        MissingDependencyError: a GStreamer with other structures.
    """
    for described, mirror in (*_READ, *_FILLED):
        info = described.__info__
        size, ours = info.get_size(), ctypes.sizeof(mirror)
        found = {field.get_name(): field.get_offset() for field in info.get_fields()}
        expected = {name: getattr(mirror, name).offset for name, *_ in mirror._fields_}
        known = expected.items() <= found.items()
        if not known or size < ours or (size > ours and (described, mirror) in _FILLED):
            raise MissingDependencyError(
                "gstreamer",
                f"a GStreamer 1.x whose {mirror.__name__} begins with the fields of 1.22 "
                f"(not {Gst.version_string()})",
                "use GStreamer 1.20 or later, or report the version",
            )


check_layouts()
