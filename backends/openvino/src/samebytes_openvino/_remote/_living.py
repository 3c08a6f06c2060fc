# SPDX-License-Identifier: Apache-2.0
"""Contexts by what they were made from, so that no second one is made from the same.

`samebytes.plugins.intern` finds an equal context when there is one already. That is too late
here: to make an openvino.RemoteContext makes an engine of the plugin, and its tensors work with
no other. So the question comes first.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar, cast

from samebytes.errors import ClosedError
from samebytes.plugins import intern

from ._context import RemoteContext

__all__ = ["Living"]

C = TypeVar("C", bound=RemoteContext)


class Living(Generic[C]):
    """The open contexts of one kind of device. It keeps none of them alive."""

    def __init__(self) -> None:
        self._contexts: weakref.WeakValueDictionary[Hashable, C] = weakref.WeakValueDictionary()
        # Reentrant, since the garbage collector may end a context while one is being made.
        self._lock = threading.RLock()

    def find_or_make(self, key: Hashable, make: Callable[[], C]) -> C:
        """The open context of that key; `make()` makes it where there is none."""
        with self._lock:
            found = self._contexts.get(key)
            if found is None or not _is_open(found):
                made = make()
                # The class of an equal context is the same: its handles say which it is.
                found = self._contexts[key] = cast(C, intern(made))
            return found

    def all(self) -> list[C]:
        """Every open context."""
        with self._lock:
            return [c for c in dict.fromkeys(self._contexts.values()) if _is_open(c)]


def _is_open(context: RemoteContext) -> bool:
    try:
        context.check_open()
    except ClosedError:
        return False
    return True
