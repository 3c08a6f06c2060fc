# SPDX-License-Identifier: Apache-2.0
"""The only locks of samebytes and its plugins: reentrant, and unlocked in a forked child.

The garbage collector runs finalizers between any two instructions, in any thread, even while that
thread holds a lock. A finalizer that takes the same lock must get it, so every lock is reentrant,
and its holder calls other code only while what the lock guards is in a consistent state.

fork() copies locks as they are, and not the threads that would unlock them. So every lock is
unlocked in the child, before anything else of samebytes runs there.

No lock is held while a driver, an import or a plugin runs: these may wait for a thread that waits
for the lock. Make first, enter what was made under the lock, and drop it if another thread was
faster. `KeyLocks` is for the exceptions, where making the same thing twice is wrong.
"""

from __future__ import annotations

import ctypes
import os
import weakref
from _thread import RLock
from collections.abc import Callable, Hashable

__all__ = ["KeyLocks", "Lock", "in_forked_child"]

_locks: weakref.WeakSet[Lock] = weakref.WeakSet()
# One reference more than holders: not even the end of a child's interpreter empties it.
_left_to_the_parent: list[object] = []
ctypes.pythonapi.Py_IncRef(ctypes.py_object(_left_to_the_parent))


class Lock(RLock):  # type: ignore[misc]  # final for typeshed, not for CPython
    """A reentrant lock, which a forked child finds unlocked, unless the thread that forks holds it.

    Written in C: no exception of a signal handler comes between taking and holding it in a `with`.
    """

    __slots__ = ()

    def __init__(self) -> None:
        _locks.add(self)


class KeyLocks:
    """A lock for each key, made when it is first asked for.

    For what must not be made twice at a time: the lock of its key is held while it is made, and
    callers that want something else do not wait. docs/explanation/design.md lists what uses it.
    """

    __slots__ = ("_guard", "_locks")

    def __init__(self) -> None:
        self._guard = Lock()
        # A lock lives as long as somebody holds it or waits for it.
        self._locks: weakref.WeakValueDictionary[Hashable, Lock] = weakref.WeakValueDictionary()

    def of(self, key: Hashable) -> Lock:
        """The lock of a key: `with locks.of(key): ...`.

        Args:
            key: what must not be made twice at a time.
        """
        made = Lock()
        with self._guard:
            return self._locks.setdefault(key, made)


def _unlock_all() -> None:
    for lock in list(_locks):
        # The test is that of threading.Condition; the standard library unlocks its own locks so.
        if not lock._is_owned():  # type: ignore[attr-defined]  # not in typeshed
            lock._at_fork_reinit()  # type: ignore[attr-defined]  # not in typeshed


def in_forked_child(function: Callable[[], object]) -> None:
    """Let `function` be called in each child that fork() makes, where every lock is free.

    Args:
        function: takes no arguments, and must not raise; the child never drops what it returns.
    """
    if hasattr(os, "register_at_fork"):  # not on Windows
        os.register_at_fork(after_in_child=lambda: _left_to_the_parent.append(function()))


in_forked_child(_unlock_all)
