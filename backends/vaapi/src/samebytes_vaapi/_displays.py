# SPDX-License-Identifier: Apache-2.0
"""The displays of this process: each is opened once, and has one context."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable
from functools import partial

from samebytes import Context, Fd
from samebytes.errors import (
    MissingDependencyError,
)
from samebytes.plugins import ContextRegistry, in_forked_child

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
]

ENVIRONMENT = "SAMEBYTES_VAAPI_DEVICE"
"""The variable that names the default node."""

_NO_NODE = (
    "use a machine with a GPU, or a software one: pip install samebytes-softdevices, then "
    "samebytes-softdevices run --vaapi -- COMMAND"
)

# By what each was opened on, and by its pointer.
_opened: ContextRegistry[NativeDisplay] = ContextRegistry()
_by_pointer: ContextRegistry[NativeDisplay] = ContextRegistry()
# By the id of the display, which an open context holds.
_contexts: ContextRegistry[Context] = ContextRegistry()


def context_of(display: NativeDisplay, make: Callable[[], Context]) -> Context:
    """The living context of a display, or a new one."""
    return _contexts.find_or_make(id(display), make)


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
    """The display at an address: one that lives here already, or one of another owner.

    One that lives already does not get `keep`, which may itself hold the display: the code that
    made it has seen to that.

    Raises:
        LayoutError: there is none, or it was not initialised.
    """
    make = partial(borrow_display, load(), pointer, keep, drm, path)
    return _by_pointer.find_or_make(pointer, make)


def of_context(context: Context) -> NativeDisplay:
    """The display of a context of any memory type, which is kept.

    Raises:
        UnknownNameError: it has none.
    """
    fd = context.find_handle("drm_fd")
    drm = None if fd is None else Fd.borrow(fd)
    return of_pointer(context.handle("va_display"), context, drm, context.device.drm_node)


def path_of(device: str) -> str:
    """The path of a node that is named by the path or by its last part, "renderD129"."""
    return device if os.sep in device else str(_nodes.FOLDER / device)


def _open_once(where: Hashable, open_: Callable[[], NativeDisplay]) -> NativeDisplay:
    display = _opened.find_or_make(where, open_)
    before = _by_pointer.enter(display.pointer, display)
    if before is not display:  # its owner terminated it: the address is used again
        before.close()
        _by_pointer.enter(display.pointer, display)
    return display


def _close_contexts() -> None:
    """Close displays in the child after fork(), since the open ones are the parent's.

    The contexts are closed as well, so that routes lead to new ones.
    """
    for context in _contexts.all():
        context.close()


in_forked_child(_close_contexts)
