# SPDX-License-Identifier: Apache-2.0
"""The buffers that a context knows already: what comes round again is not imported again."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Hashable
from functools import partial

from samebytes.plugins import Storage

from ._creation import owner_of
from ._display import NativeDisplay

__all__ = ["ImportCache", "Imported"]


class Imported:
    """A surface over memory of somebody else. It is destroyed when the last holder is gone.

    The driver holds the memory itself, so nothing of its source needs to be held.

    Attributes:
        surface: the VASurfaceID.
    """

    __slots__ = ("_display", "_owner", "surface")

    def __init__(self, display: NativeDisplay, surface: int) -> None:
        self.surface = surface
        self._display = display
        self._owner = owner_of(display, surface)

    def mapping(self) -> Storage:
        """An owner for one mapping of the import.

        One of its own, since an import may outlive its mappings, and must not hold the source that
        each of them holds.
        """
        return Storage(self._let_go, wait=partial(self._display.sync, self.surface))

    def _let_go(self) -> None:
        """Nothing. What holds this method holds the import."""


class ImportCache:
    """What was imported into one context.

    Remembered by the storage of the source, weakly: descriptors, by whose numbers a buffer could be
    found as well, are soon another buffer's.
    """

    __slots__ = ("_known", "_lock")

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._known: weakref.WeakKeyDictionary[Storage, dict[Hashable, Imported]] = (
            weakref.WeakKeyDictionary()
        )

    def get(self, source: Storage, layout: Hashable, make: Callable[[], Imported]) -> Imported:
        """The import of what lies in `source` in a layout: a living one, or a new one."""
        with self._lock:
            imports = self._known.setdefault(source, {})
            found = imports.get(layout)
            if found is None:
                found = imports[layout] = make()
            return found
