# SPDX-License-Identifier: Apache-2.0
"""The displays of this process: each is opened once, and has one context."""

from __future__ import annotations

import ctypes
import os
import threading
import weakref
from collections.abc import Callable, Hashable
from contextlib import suppress
from operator import index
from typing import Any

from samebytes.errors import (
    MissingDependencyError,
    SamebytesError,
    UnknownNameError,
    UnsupportedObjectError,
)
from samebytes.plugins import Context, Fd

from . import _nodes
from ._display import NativeDisplay
from ._library import load
from ._nodes import number_of, render_nodes
from ._opening import borrow_display, open_drm, open_x11
from ._tiles import choose_tile

__all__ = [
    "ENVIRONMENT",
    "context_of",
    "default_paths",
    "of_context",
    "of_pointer",
    "on_node",
    "on_x11",
    "path_of",
    "pointer_of",
]

ENVIRONMENT = "SAMEBYTES_VAAPI_DEVICE"
"""The variable that names the default node."""

_NO_NODE = (
    "use a machine with a GPU, or a software one: pip install samebytes-softdevices, then "
    "samebytes-softdevices run --vaapi -- COMMAND"
)

_lock = threading.RLock()
# By what each was opened on, and by its pointer, while somebody holds it.
_opened: weakref.WeakValueDictionary[Hashable, NativeDisplay] = weakref.WeakValueDictionary()
_by_pointer: weakref.WeakValueDictionary[int, NativeDisplay] = weakref.WeakValueDictionary()
_contexts: weakref.WeakKeyDictionary[NativeDisplay, weakref.ref[Context]] = (
    weakref.WeakKeyDictionary()
)


def context_of(display: NativeDisplay, make: Callable[[], Context]) -> Context:
    """The living context of a display, or a new one."""
    with _lock:
        known = _contexts.get(display)
        context = None if known is None else known()
        if context is None or _is_closed(context):
            context = make()
            _contexts[display] = weakref.ref(context)
        return context


def on_node(path: str | None, tile: int | None) -> NativeDisplay:
    """The display on a node, or on the default one.

    Raises:
        UnknownNameError: there is no such node or tile.
        MissingDependencyError: no libva, no driver, or no permission.
    """
    if path is not None:
        return _on_node(path, tile)
    reasons = []
    for node in default_paths():
        try:
            return _on_node(node, tile)
        except MissingDependencyError as error:
            reasons.append(error)
    if reasons:
        raise reasons[0]
    raise MissingDependencyError("vaapi", f"a GPU (no {_nodes.FOLDER}/renderD*)", _NO_NODE)


def default_paths() -> list[str]:
    """The nodes among which the default is the first that works."""
    chosen = os.environ.get(ENVIRONMENT)
    return [chosen] if chosen else render_nodes()


def _on_node(path: str, tile: int | None) -> NativeDisplay:
    def open_() -> NativeDisplay:
        display = open_drm(load(), path)
        if tile is not None:
            choose_tile(display, tile)
        return display

    return _open_once(("drm", number_of(path) or path, tile), open_)


def on_x11(name: str | None) -> NativeDisplay:
    """The display on an X server, or on that of the environment."""
    server = os.environ.get("DISPLAY") if name is None else name
    return _open_once(("x11", server), lambda: open_x11(load(), server))


def of_pointer(
    pointer: int, keep: object, drm: Fd | None = None, path: str | None = None
) -> NativeDisplay:
    """The display at an address: a living one, or one of somebody else.

    A living one does not get `keep`, which may itself hold that one: who made it has seen to that.

    Raises:
        LayoutError: there is none, or it was not initialised.
    """
    with _lock:
        known = _by_pointer.get(pointer)
        if known is None or not known.usable:
            known = _by_pointer[pointer] = borrow_display(load(), pointer, keep, drm, path)
        return known


def of_context(context: Context) -> NativeDisplay:
    """The display of a context of any memory type, which is kept.

    Raises:
        UnknownNameError: it has none.
    """
    drm = None
    with suppress(UnknownNameError):
        drm = Fd.borrow(context.handle("drm_fd"))
    return of_pointer(context.handle("va_display"), context, drm, context.device.drm_node)


def path_of(device: str) -> str:
    """The path of a node that is named by the path or by its last part, "renderD129"."""
    return device if os.sep in device else str(_nodes.FOLDER / device)


def pointer_of(given: Any) -> int:
    """A VADisplay as an int, from an int, a ctypes pointer, or a PyCapsule of any name.

    Raises:
        UnsupportedObjectError: it is none of these.
    """
    if isinstance(given, ctypes.c_void_p):
        return given.value or 0
    if type(given).__name__ == "PyCapsule":
        return _pointer_in(given)
    try:
        return index(given)
    except TypeError:
        raise UnsupportedObjectError(
            f"a VADisplay is an int, a ctypes pointer or a PyCapsule, not {given!r}"
        ) from None


def _pointer_in(capsule: Any) -> int:
    api = ctypes.pythonapi
    name = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", api))
    get = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", api)
    )
    return get(capsule, name(capsule)) or 0


def _open_once(where: Hashable, open_: Callable[[], NativeDisplay]) -> NativeDisplay:
    with _lock:
        display = _opened.get(where)
        if display is None or not display.usable:
            display = _opened[where] = open_()
            _by_pointer[display.pointer] = display
        return display


def _is_closed(context: Context) -> bool:
    try:
        context.check_open()
    except SamebytesError:
        return True
    return False


def _begin_anew() -> None:
    """In the child after fork(): what was opened is the parent's.

    Its contexts are closed, so that a route to one is made anew to another.
    """
    global _lock  # noqa: PLW0603 - another thread of the parent may have held it
    _lock = threading.RLock()
    for known in list(_contexts.values()):
        context = known()
        if context is not None:
            context.close()
    _contexts.clear()
    _opened.clear()
    _by_pointer.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)
