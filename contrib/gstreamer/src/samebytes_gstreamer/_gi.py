# SPDX-License-Identifier: Apache-2.0
"""GStreamer through PyGObject, initialised: the only module that imports gi.

PyGObject has no type stubs, so its modules are Any to the rest of this package. An object of it
for a mini object (a buffer, a memory, caps) holds one reference, and hashes to its C pointer.
"""

from __future__ import annotations

from typing import Any

from samebytes.errors import MissingDependencyError

__all__ = ["Gst", "GstAudio", "GstVideo", "check_pointers", "pointer_of"]

_PYGOBJECT = (
    "sudo apt install libgirepository1.0-dev libcairo2-dev gcc pkg-config python3-dev && "
    'pip install "PyGObject>=3.42,<3.51"'
)
_TYPELIBS = (
    "sudo apt install gir1.2-gstreamer-1.0 gir1.2-gst-plugins-base-1.0 gstreamer1.0-plugins-base"
)

try:
    import gi
except ImportError as error:
    raise MissingDependencyError("gstreamer", f"PyGObject ({error})", _PYGOBJECT) from error

for _namespace in ("Gst", "GstApp", "GstAudio", "GstVideo"):
    try:
        gi.require_version(_namespace, "1.0")
    except ValueError as error:
        raise MissingDependencyError("gstreamer", f"{_namespace}-1.0.typelib", _TYPELIBS) from error

try:
    # GstApp is not named again: with it appsink and appsrc have their methods.
    from gi.repository import Gst, GstApp, GstAudio, GstVideo  # noqa: F401
except ImportError as error:
    raise MissingDependencyError("gstreamer", f"GStreamer ({error})", _TYPELIBS) from error

if not Gst.is_initialized():
    Gst.init(None)


def pointer_of(boxed: Any) -> int:
    """The C pointer of a buffer, a memory, a sample or caps; it stays with its owner."""
    return hash(boxed)


def check_pointers() -> None:
    """See that objects hash to their pointers, which PyGObject shows in their repr.

    Raises:
        MissingDependencyError: they do not.
    """
    buffer = Gst.Buffer.new()
    if f"(GstBuffer at {pointer_of(buffer):#x})" not in repr(buffer):
        raise MissingDependencyError(
            "gstreamer", f"a PyGObject whose objects hash to their pointers (not {gi.__version__})",
            'pip install "PyGObject>=3.42,<3.51"',
        )  # fmt: skip


check_pointers()
