# SPDX-License-Identifier: Apache-2.0
"""A VADisplay: terminated once nothing made in it is left, if samebytes opened it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from ctypes import byref, c_int, c_uint32
from typing import Any

from samebytes import Device, Fd, Storage

from ._abi.structures import VAImageFormat
from ._display_resources import DisplayResources
from ._formats import fourcc_text, name_of
from ._library import Library
from ._nodes import pci_of

__all__ = ["NativeDisplay"]


class NativeDisplay:
    """An initialised VADisplay. Contexts, surfaces and images hold it.

    Attributes:
        library: the library through which it is used.
        pointer: the VADisplay.
        device: the GPU.
        drm: the DRM node that it was opened on, or None.
        owned: True if it is terminated with this object.
        version: the version of VA-API, for instance "1.17"; "" if it is not known.
        resources: the objects made in it.
        keep: the object that keeps it alive, if it has another owner.
    """

    __slots__ = (
        "__weakref__",
        "_image_formats",
        "_owner",
        "device",
        "drm",
        "keep",
        "library",
        "owned",
        "pointer",
        "resources",
        "version",
    )

    def __init__(
        self,
        library: Library,
        pointer: int,
        *,
        owned: bool,
        version: str = "",
        path: str | None = None,
        drm: Fd | None = None,
        keep: object = None,
        close: Callable[[], object] | None = None,
    ) -> None:
        """Take an initialised display.

        Args:
            owned: True to terminate it in the end.
            version: the version of VA-API, if it is known.
            path: the path of the DRM node.
            drm: the open node.
            keep: an object to hold as long as this one lives.
            close: called after it was terminated, to close the connection it was opened on.
        """
        self.library = library
        self.pointer = pointer
        self.owned = owned
        self.version = version
        self.drm = drm
        self.keep = keep
        self.resources = DisplayResources(library, pointer)
        pci = pci_of(path if drm is None else drm.fileno())
        self.device = Device("GPU", self.vendor, pci=pci, drm_node=path)
        self._image_formats: dict[str, VAImageFormat] | None = None
        # At exit a display ends after all that other libraries made of it, which is younger.
        self._owner: Storage | None = Storage(_end(self.resources, owned, close), at_exit=True)

    @property
    def closed(self) -> bool:
        """True if it was terminated, or belongs to the process that forked this one."""
        return not self.resources.usable

    def close(self) -> None:
        """End it, and all objects made in it: for a display that was not used yet."""
        self._owner = None

    @property
    def vendor(self) -> str:
        """The driver's description of itself."""
        said: bytes | None = self.library.ask("vaQueryVendorString", self.pointer)
        return (said or b"").decode(errors="replace")

    def call(self, name: str, *arguments: Any) -> None:
        """Call a function of libva on this display.

        Raises:
            VAError: it fails.
            ClosedError: the display was terminated, or is of the process before fork().
        """
        self.resources.check()
        self.library.call(name, self.pointer, *arguments)

    def check_surface(self, surface: int) -> None:
        """Raise VAError if the driver knows no surface of that id."""
        self.call("vaQuerySurfaceStatus", surface, byref(c_uint32()))

    def sync(self, surface: int) -> None:
        """Wait until nothing renders into a surface any more."""
        self.call("vaSyncSurface", surface)

    def image_formats(self) -> dict[str, VAImageFormat]:
        """Return the formats of images that the driver can transfer, by samebytes' names."""
        if self._image_formats is None:
            self.resources.check()
            most = max(self.library.ask("vaMaxNumImageFormats", self.pointer), 1)
            found, count = (VAImageFormat * most)(), c_int(0)
            self.call("vaQueryImageFormats", found, byref(count))
            listed = {name_of(f.fourcc) or fourcc_text(f.fourcc): f for f in found[: count.value]}
            self._image_formats = listed
        return self._image_formats


def _end(
    resources: DisplayResources, owned: bool, close: Callable[[], object] | None
) -> Callable[[], object]:
    """Return the release for a display's storage.

    It must not hold the display, whose end it waits for.
    """

    def end() -> None:
        with ExitStack() as undo:
            if close is not None and resources.usable:
                undo.callback(close)
            resources.end(terminate=owned)

    return end
