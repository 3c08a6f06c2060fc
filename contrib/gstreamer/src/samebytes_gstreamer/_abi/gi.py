# SPDX-License-Identifier: Apache-2.0
"""GStreamer through PyGObject, initialised: the only module that imports gi.

PyGObject has no type stubs, so its modules are Any to the rest of this package. An object of it
for a mini object (a buffer, a memory, caps) holds one reference, and hashes to its C pointer.
"""

from __future__ import annotations

import ctypes
from contextlib import suppress
from typing import Any

from samebytes.errors import MissingDependencyError

from .install_hints import PYGOBJECT, TYPELIBS

__all__ = [
    "GLib",
    "GObject",
    "Gst",
    "GstApp",
    "GstAudio",
    "GstBase",
    "GstVideo",
    "check_pointers",
    "pointer_of",
]

# GStreamer's libraries need libunwind, which has functions of libgcc's names and which gi makes
# visible to all others. Where numpy loaded libgcc for itself alone, other C++ libraries find those,
# and the process ends with their first exception. So libgcc is made visible before.
with suppress(OSError):
    ctypes.CDLL("libgcc_s.so.1", mode=ctypes.RTLD_GLOBAL)

try:
    import gi
except ImportError as error:
    raise MissingDependencyError("gstreamer", f"PyGObject ({error})", PYGOBJECT) from error

for _namespace in ("Gst", "GstApp", "GstAudio", "GstBase", "GstVideo"):
    try:
        gi.require_version(_namespace, "1.0")
    except ValueError as error:
        raise MissingDependencyError("gstreamer", f"{_namespace}-1.0.typelib", TYPELIBS) from error

try:
    # An appsink or appsrc that a program made before this has none of GstApp's methods, nor have
    # those made after it: signals and properties serve.
    from gi.repository import GLib, GObject, Gst, GstApp, GstAudio, GstBase, GstVideo
except ImportError as error:
    raise MissingDependencyError("gstreamer", f"GStreamer ({error})", TYPELIBS) from error

if not Gst.is_initialized():
    # Not None, which newer typelibs with newer versions of PyGObject refuse.
    Gst.init([])

# PyGObject makes a class when it first meets an object of it. An exception of a signal handler that
# comes just then is lost, and so are the attributes of that class, for good. No such exception
# comes while a plugin is imported. So the classes of what GStreamer gives to this package are made
# here; older versions lack some.
for _module, _classes in (
    (Gst, """AllocationParams Allocator Bin BufferList Bus Caps CapsFeatures ChildProxy DateTime
     Element ElementClass ElementFactory Event Message Pad PadDirection PadProbeInfo PadProbeReturn
     PadTemplate Pipeline Plugin PluginFeature Query Sample Segment StateChangeReturn Structure
     TagList URIHandler"""),
    (GstApp, "AppSink AppSrc"),
    (GstAudio, "AudioChannelPosition AudioFormatInfo AudioInfo AudioLayout"),
    (GstBase, "BaseSink BaseSrc BaseTransform PushSrc"),
    (GstVideo, """VideoChromaSite VideoColorMatrix VideoColorPrimaries VideoColorRange
     VideoColorimetry VideoDirection VideoFilter VideoFormatInfo VideoInfo
     VideoTransferFunction"""),
):  # fmt: skip
    for _class in _classes.split():
        getattr(_module, _class, None)


def pointer_of(boxed: Any) -> int:
    """The C pointer of a buffer, a sample, caps or an element; it stays with its owner."""
    return hash(boxed)


def check_pointers() -> None:
    """See that objects hash to their pointers, which PyGObject shows in their repr.

    Raises:
        MissingDependencyError: they do not.
    """
    boxed, gobject = Gst.Buffer.new(), Gst.Registry.get()
    if not all(f" at {pointer_of(one):#x})" in repr(one) for one in (boxed, gobject)):
        raise MissingDependencyError(
            "gstreamer", f"a PyGObject whose objects hash to their pointers (not {gi.__version__})",
            PYGOBJECT,
        )  # fmt: skip


check_pointers()
