# SPDX-License-Identifier: Apache-2.0
"""Open a display: from a DRM node, an X server, or a pointer to an initialised display."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from ctypes import byref, c_int, c_void_p

from samebytes import Fd
from samebytes.errors import LayoutError, MissingDependencyError, UnknownNameError
from samebytes.plugins import bytes_at

from ._abi.constants import VA_DISPLAY_MAGIC
from ._abi.prototypes import VAMessageCallback
from ._display import NativeDisplay
from ._library import Library, VAError, open_library
from ._nodes import open_node, render_nodes, vendor_of
from ._x11 import XConnection

__all__ = ["borrow_display", "open_drm", "open_x11"]

_INTEL, _AMD, _NVIDIA = 0x8086, 0x1002, 0x10DE
_PACKAGES = {
    _INTEL: "intel-media-va-driver   (before Gen 8: i965-va-driver)",
    _AMD: "mesa-va-drivers",
    _NVIDIA: "nvidia-vaapi-driver",
}


def open_drm(library: Library, path: str) -> NativeDisplay:
    """A new display on a DRM node.

    Raises:
        UnknownNameError: there is no such node, or the file is not a render node.
        MissingDependencyError: no library, no driver, or no permission.
    """
    functions = open_library("libva-drm.so.2", "libva-drm2")
    functions.vaGetDisplayDRM.argtypes = (c_int,)
    functions.vaGetDisplayDRM.restype = c_void_p
    with ExitStack() as undo:
        drm = undo.enter_context(open_node(path))
        pointer = functions.vaGetDisplayDRM(drm.fileno())
        if not pointer:
            advice = "(the file is not a DRM node)"
            raise UnknownNameError("DRM render node", path, render_nodes(), advice)
        version = _initialise(library, pointer, path, vendor_of(drm.fileno()))
        undo.pop_all()
    where = os.path.realpath(path)
    # The driver uses the descriptor until the display is terminated.
    close = drm.close
    return NativeDisplay(
        library, pointer, owned=True, version=version, path=where, drm=drm, close=close
    )


def open_x11(library: Library, name: str | None) -> NativeDisplay:
    """A new display on an X server.

    Args:
        name: the name of the server, for instance ":0"; None for DISPLAY of the environment.

    Raises:
        MissingDependencyError: no library, no server, or no driver.
    """
    functions = open_library("libva-x11.so.2", "libva-x11-2")
    functions.vaGetDisplay.argtypes = (c_void_p,)
    functions.vaGetDisplay.restype = c_void_p
    connection = XConnection(name)
    pointer = functions.vaGetDisplay(connection.pointer)
    where = f"X server {connection.name}"
    if not pointer:
        connection.close()
        raise MissingDependencyError("vaapi", f"VA-API on {where}", "use a DRM node: open()")
    try:
        version = _initialise(library, pointer, where, None)
    except BaseException:
        connection.close()
        raise
    return NativeDisplay(library, pointer, owned=True, version=version, close=connection.close)


def borrow_display(
    library: Library, pointer: int, keep: object, drm: Fd | None = None, path: str | None = None
) -> NativeDisplay:
    """A display of another owner, which terminates it; `keep` is held as long as it is used.

    Raises:
        LayoutError: the pointer is not that of a display, or the display was not initialised.
    """
    if not _begins_with_magic(pointer) or not library.ask("vaDisplayIsValid", pointer):
        raise LayoutError(f"{pointer:#x} is not a VADisplay, or it was terminated")
    # NULL until vaInitialize has opened a driver.
    if not library.ask("vaQueryVendorString", pointer):
        raise LayoutError(f"VADisplay {pointer:#x} is not initialised: call vaInitialize() first")
    return NativeDisplay(library, pointer, owned=False, path=path, drm=drm, keep=keep)


def _begins_with_magic(pointer: int) -> bool:
    """True if a display may be at an address, which need not even be mapped.

    va/va_backend.h: struct VADisplayContext begins with vadpy_magic. vaDisplayIsValid looks there,
    too, but at an address that is not mapped it ends the process.
    """
    if not 0 < pointer < 1 << 63:
        return False
    try:
        begins = bytes_at(pointer, 4)
    except OSError:
        return True  # the system does not say
    return begins == VA_DISPLAY_MAGIC.to_bytes(4, sys.byteorder)


def _initialise(library: Library, pointer: int, where: str, vendor: int | None) -> str:
    """Initialise a display, which is freed if there is no driver for it; the VA-API version."""
    major, minor = c_int(), c_int()
    with _messages(library, pointer) as said:
        try:
            library.call("vaInitialize", pointer, byref(major), byref(minor))
            return f"{major.value}.{minor.value}"
        except VAError as error:
            reason = str(error)
    library.ask("vaTerminate", pointer)  # frees it
    missing = f"a VA-API driver for {where} ({'; '.join([reason, *said])})"
    raise MissingDependencyError("vaapi", missing, _advice(vendor))


def _advice(vendor: int | None) -> str:
    chosen = os.environ.get("LIBVA_DRIVER_NAME")
    if chosen:
        return f"LIBVA_DRIVER_NAME is {chosen!r}: unset it, or install that driver"
    package = None if vendor is None else _PACKAGES.get(vendor)
    return f"apt install {package or 'va-driver-all'}"


@contextmanager
def _messages(library: Library, pointer: int) -> Iterator[list[str]]:
    """Silence libva, which reports its work on stderr, and collect its errors meanwhile.

    If LIBVA_MESSAGING_LEVEL asks for messages, they are printed as usual.
    """
    said: list[str] = []
    if os.environ.get("LIBVA_MESSAGING_LEVEL"):
        yield said
        return
    hear = VAMessageCallback(lambda _, text: said.append(text.decode(errors="replace").strip()))
    library.ask("vaSetInfoCallback", pointer, None, None)
    # Not ctypes.cast(), after which the function refers to itself.
    library.ask("vaSetErrorCallback", pointer, c_void_p.from_buffer(hear), None)
    try:
        yield said
    finally:
        library.ask("vaSetErrorCallback", pointer, None, None)
