# SPDX-License-Identifier: Apache-2.0
"""The living contexts: find the one over some native handles, or make it."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable
from functools import partial
from operator import attrgetter
from typing import Any, Generic, Protocol, TypeVar

from ..owner.interrupts import deferred
from ..owner.locks import Lock
from .context import Context, Device, is_current

__all__ = ["Closable", "ContextRegistry", "intern"]


class Closable(Protocol):
    """An entry of a registry: a context, or an object that a plugin makes for several contexts.

    `close()` gives back what it owns; it is `closed` when it can no longer be used.
    """

    @property
    def closed(self) -> bool: ...
    def close(self) -> None: ...


AnyContext = TypeVar("AnyContext", bound=Context)
T = TypeVar("T", bound=Closable)


class ContextRegistry(Generic[T]):
    """The living contexts of one kind, by what they were made from. It keeps none of them alive.

    Keys are numbers, strings, and tuples of them: the native handles, or the name of a device. A
    context is not found again once it was closed, or one that it was derived from: who closes it
    may end what its handles name, and the numbers are used again.

    Any thread may use it at any time, and so may finalizers. While `make` runs, no lock is held.
    """

    __slots__ = ("__weakref__", "_entries", "_lock")

    def __init__(self) -> None:
        self._entries: dict[Hashable, weakref.ref[T]] = {}
        self._lock = Lock()

    def find(self, key: Hashable) -> T | None:
        """The living context of a key, if there is one.

        Args:
            key: the key with which it was entered.
        """
        entry = self._entries.get(key)
        found = None if entry is None else entry()
        return found if found is not None and is_current(found) else None

    def find_or_make(self, key: Hashable, make: Callable[[], T]) -> T:
        """The living context of a key, or the one that `make()` makes.

        Args:
            key: what the context is made from.
            make: makes a context that nobody else has. Where two threads make one at the same
                time, both get the one that was entered first, and the other is closed.
        """
        found = self.find(key)
        if found is None:
            with deferred():
                made = make()
                one: Any = intern(made) if isinstance(made, Context) else made
                found = self.enter(key, one)
                if found is not made:
                    made.close()
        return found

    def enter(self, key: Hashable, made: T) -> T:
        """Enter a new context and return it, or return the living context of that key.

        Args:
            key: what the context stands for, such as a native handle.
            made: the new context.
        """
        entry = weakref.ref(made, partial(_forget, weakref.ref(self), key))
        with self._lock:
            # No call between answer and entry: a finalizer of this thread could come there.
            found = self.find(key)
            if found is None:
                self._entries[key] = entry
        return made if found is None else found

    def all(self) -> list[T]:
        """Every living context."""
        found = (entry() for entry in list(self._entries.values()))
        return [context for context in found if context is not None and is_current(context)]


def _forget(
    registry: weakref.ref[ContextRegistry[Any]], key: Hashable, entry: weakref.ref[Any]
) -> None:
    """Remove the entry of what is gone, unless another one stands there by now."""
    known = registry()
    if known is not None:
        with known._lock:
            # No call between question and answer: a finalizer of this thread could come there. And
            # no suppress(): when the interpreter ends, this module's names are None.
            try:
                if known._entries[key] is entry:
                    del known._entries[key]
            except KeyError:
                pass


# Those that were asked for by name or made by a registry; and those that live with the process.
_contexts: ContextRegistry[Context] = ContextRegistry()
_singletons: dict[Hashable, Context] = {}
_fields = attrgetter(*Device.__match_args__)


def intern(context: AnyContext) -> AnyContext:
    """The living context equal to `context`, which is `context` itself if it is the first.

    Contexts of a class that was replaced, as when another release of its plugin is installed into
    the running process, are not found for the new class.

    Args:
        context: one that was just made.
    """
    node, device, handles = context.key
    # Compared and hashed in C, unlike a Device.
    key = (type(context), node, _fields(device), handles)
    found: Any = _contexts.enter(key, context)
    if found.singleton:
        _singletons[key] = found
    return found  # type: ignore[no-any-return]  # of the class of `context`, which is in the key
